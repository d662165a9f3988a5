/** The engine against the slow and obvious one over histories long enough to meet every event, reason and limit again and again. */
import fc from 'fast-check';
import { createLockstep, createRealEngine, compareHistories, everything } from '../reference/compared-engines.js';
import { createReferenceEngine } from '../reference/engine.js';
import { commandScripts } from '../support/command-scripts.js';
import { extent, SEED } from '../support/extent.js';
import { createRandomCommands, crowd, pile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createControlCommands } from '../support/random-requests.js';

const CROWD = extent({ push: { commands: 20_000, times: 2 }, long: { commands: 50_000, times: 5 } });
const PILE = extent({ push: { commands: 15_000 }, long: { commands: 30_000 } });
/** The others are those of the short histories in reference.test.ts. */
const seeds = (...push: number[]): readonly number[] => extent({ push, long: [SEED, SEED + 1, SEED + 2] });

describe(`the engine and the reference engine over long histories (SEED=${SEED})`, () => {
  for (const seed of seeds(2)) {
    it(`agree over ${CROWD.commands} commands of a crowd that chains tell of, with a relayer and prices, seed ${seed}`, () => {
      compareHistories(createControlCommands(seed, crowd), { ...CROWD, expected: everything });
    });
  }

  for (const seed of seeds(6)) {
    it(`agree over ${PILE.commands} commands that pile up orders to the limits of work, seed ${seed}`, () => {
      const expected = ['match_limit', 'market_closed', 'settlement_failed', 'expired', 'FillMatched'];
      compareHistories(createRandomCommands(seed, pile), { ...PILE, expected });
    });
  }

  for (const seed of seeds(2)) {
    it(`agree over ${CROWD.commands} commands of a crowd without chains, seed ${seed}`, () => {
      compareHistories(createRandomCommands(seed, crowd), { commands: CROWD.commands });
    });
  }

  for (const seed of seeds(4)) {
    it(`agree over ${PILE.commands} commands that pile up orders, told by chains, which cancel and resolve thousands of orders at once, seed ${seed}`, () => {
      compareHistories(createChainCommands(seed, pile), { ...PILE, expected: ['user', 'market_closed', 'NonceFloorRaised', 'MarketResolved'] });
    });
  }

  it('agree over short scripts', () => {
    fc.assert(fc.property(commandScripts, (commands) => {
      const step = createLockstep(createReferenceEngine(), createRealEngine());
      commands.forEach((command) => step(command));
    }), { numRuns: extent({ push: 200, long: 5_000 }), seed: SEED });
  });
});
