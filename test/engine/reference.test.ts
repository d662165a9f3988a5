/** The engine against the slow and obvious one: the same events, texts and digests over long random histories and short ones. */
import { equal, ok, throws } from 'node:assert/strict';
import fc from 'fast-check';
import { encodeCommand } from '../../engine/records/codec.js';
import { formatDigest } from '../../engine/records/digest.js';
import { createEngine } from '../../engine/run/engine.js';
import { CancelReason, eventSchemas, RejectionCode } from '../../engine/records/events.js';
import { commandScripts } from '../support/command-scripts.js';
import { createLockstep, createRealEngine, type ComparedEngine } from '../reference/compared-engines.js';
import { createRandomCommands, crowd, pile, type Profile, type RandomCommands } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createReferenceEngine } from '../reference/engine.js';

/** Every event type, rejection code and cancel reason that a crowd with chains must lead to; match_limit takes a pile. */
const everything = [
  ...names(RejectionCode), ...names(CancelReason).filter((name) => name !== 'match_limit'),
  ...Object.keys(eventSchemas).filter((name) => name !== 'CommandRejected' && name !== 'OrderCancelled'),
];

/** What version 1 of the rules gave after 10,000 commands. */
const histories: readonly (readonly [number, Profile, string])[] = [
  [1, crowd, '0x06a6f63c4dc53b5c0ca245f3ca6970ab8802c26c88feff6c7d095ee77231ecf8'],
  [2, pile, '0xbbfbbe0219a5e3a29dde4c5033bd2368d137d44c407f0c2dfebbc683fe6a0c68'],
];

function names({ anyOf }: { anyOf: readonly { const: string }[] }): string[] {
  return anyOf.map((literal) => literal.const);
}

/** Runs both engines through a history; returns how often each event type, rejection code and cancel reason came. */
function compare(generator: RandomCommands, commands: number): Map<string, number> {
  const step = createLockstep(createReferenceEngine(), createRealEngine());
  const seen = new Map<string, number>();
  for (let i = 0; i < commands; i++) {
    const { outcome } = step(generator.next());
    generator.learn(outcome);
    for (const event of outcome.events) {
      const name = 'code' in event ? event.code : event.type === 'OrderCancelled' ? event.reason : event.type;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
  }
  return seen;
}

describe('the engine and the reference engine', () => {
  for (const seed of [1, 2, 3]) {
    it(`agree over 50,000 commands of a crowd that chains tell of, seed ${seed}`, () => {
      const seen = compare(createChainCommands(seed, crowd), 50_000);
      for (const name of everything) ok((seen.get(name) ?? 0) >= 5, `${name} came ${seen.get(name) ?? 0} times: the history is too tame`);
    });
  }

  for (const seed of [4, 5]) {
    it(`agree over 30,000 commands that pile up orders to the limits of work, seed ${seed}`, () => {
      const seen = compare(createRandomCommands(seed, pile), 30_000);
      for (const name of ['match_limit', 'market_closed', 'settlement_failed', 'expired', 'FillMatched']) {
        ok(seen.has(name), `no ${name}: the history is too tame`);
      }
    });
  }

  it('agree over 50,000 commands of a crowd without chains', () => { compare(createRandomCommands(1, crowd), 50_000); });

  it('agree over 30,000 commands that pile up orders, told by chains, which cancel and resolve thousands of orders at once', () => {
    const seen = compare(createChainCommands(4, pile), 30_000);
    for (const name of ['user', 'market_closed', 'NonceFloorRaised', 'MarketResolved']) ok(seen.has(name), `no ${name}: the history is too tame`);
  });

  it('agree over every short script', () => {
    fc.assert(fc.property(commandScripts, (commands) => {
      const step = createLockstep(createReferenceEngine(), createRealEngine());
      commands.forEach((command) => step(command));
    }), { numRuns: 500 });
  });

  it('keep the digests of histories from before chains had their say', () => {
    for (const [seed, profile, digest] of histories) {
      const generator = createRandomCommands(seed, profile);
      const engine = createEngine();
      for (let i = 0; i < 10_000; i++) generator.learn(engine.step(encodeCommand(generator.next())).outcome);
      equal(formatDigest(engine.digest), digest);
    }
  });

  it('would be told apart by a single event or digest', () => {
    const reference = createReferenceEngine();
    const forgetful: ComparedEngine = {
      step(command, data) {
        const answer = reference.step(command, data);
        return command.kind === 'AdvanceClock' ? { ...answer, outcome: { ...answer.outcome, events: [] } } : answer;
      },
    };
    const generator = createRandomCommands(1, crowd);
    const step = createLockstep(createReferenceEngine(), forgetful);
    throws(() => {
      for (let i = 0; i < 10_000; i++) generator.learn(step(generator.next()).outcome);
    }, /differ at position \d+\n\{"kind":"AdvanceClock"/);
  });
});
