/** The engine against the slow and obvious one over histories long enough to meet every event, reason and limit again and again. */
import fc from 'fast-check';
import { createLockstep, createRealEngine } from '../reference/compared-engines.js';
import { compareHistories, everything } from '../reference/compared-histories.js';
import { createReferenceEngine } from '../reference/engine.js';
import { commandScripts } from '../support/command-scripts.js';
import { createRandomCommands, crowd, pile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createLateCommands } from '../support/random-late-markets.js';

describe('the engine and the reference engine over long histories', () => {
  for (const seed of [1, 2, 3]) {
    it(`agree over 50,000 commands of a crowd that chains tell of, with a relayer and prices, seed ${seed}`, () => {
      compareHistories(createLateCommands(seed, crowd), { commands: 50_000, expected: everything, times: 5 });
    });
  }

  for (const seed of [4, 5]) {
    it(`agree over 30,000 commands that pile up orders to the limits of work, seed ${seed}`, () => {
      const expected = ['match_limit', 'market_closed', 'settlement_failed', 'expired', 'FillMatched'];
      compareHistories(createRandomCommands(seed, pile), { commands: 30_000, expected });
    });
  }

  it('agree over 50,000 commands of a crowd without chains', () => { compareHistories(createRandomCommands(1, crowd), { commands: 50_000 }); });

  it('agree over 30,000 commands that pile up orders, told by chains, which cancel and resolve thousands of orders at once', () => {
    compareHistories(createChainCommands(4, pile), { commands: 30_000, expected: ['user', 'market_closed', 'NonceFloorRaised', 'MarketResolved'] });
  });

  it('agree over 500 short scripts', () => {
    fc.assert(fc.property(commandScripts, (commands) => {
      const step = createLockstep(createReferenceEngine(), createRealEngine());
      commands.forEach((command) => step(command));
    }), { numRuns: 500 });
  });
});
