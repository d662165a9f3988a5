/** The engine against the slow and obvious one: the same events, texts and digests over long random histories and short ones. */
import { ok, throws } from 'node:assert/strict';
import fc from 'fast-check';
import { CancelReason, eventSchemas, RejectionCode } from '../engine/events.js';
import { commandScripts } from './command-scripts.js';
import { createLockstep, createRealEngine, type ComparedEngine } from './compared-engines.js';
import { createRandomCommands, crowd, pile, type Profile } from './random-commands.js';
import { createReferenceEngine } from './reference-engine.js';

/** Every event type, rejection code and cancel reason that a crowd must lead to; match_limit takes a pile. */
const everything = [
  ...names(RejectionCode), ...names(CancelReason).filter((name) => name !== 'match_limit'),
  ...Object.keys(eventSchemas).filter((name) => name !== 'CommandRejected' && name !== 'OrderCancelled'),
];

function names({ anyOf }: { anyOf: readonly { const: string }[] }): string[] {
  return anyOf.map((literal) => literal.const);
}

/** Runs both engines through a history; returns how often each event type, rejection code and cancel reason came. */
function compare(seed: number, profile: Profile, commands: number): Map<string, number> {
  const generator = createRandomCommands(seed, profile);
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
    it(`agree over 50,000 commands of a crowd, seed ${seed}`, () => {
      const seen = compare(seed, crowd, 50_000);
      for (const name of everything) ok((seen.get(name) ?? 0) >= 5, `${name} came ${seen.get(name) ?? 0} times: the history is too tame`);
    });
  }

  for (const seed of [4, 5]) {
    it(`agree over 30,000 commands that pile up orders to the limits of work, seed ${seed}`, () => {
      const seen = compare(seed, pile, 30_000);
      for (const name of ['match_limit', 'market_closed', 'settlement_failed', 'expired', 'FillMatched']) {
        ok(seen.has(name), `no ${name}: the history is too tame`);
      }
    });
  }

  it('agree over every short script', () => {
    fc.assert(fc.property(commandScripts, (commands) => {
      const step = createLockstep(createReferenceEngine(), createRealEngine());
      commands.forEach((command) => step(command));
    }), { numRuns: 500 });
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
