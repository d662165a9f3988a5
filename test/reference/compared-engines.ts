/** Two engines through the same commands, stopping at the first difference, and through random histories that must have led to something. */
import { AssertionError, ok } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { type CommandOutcome } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { CancelReason, eventSchemas, RejectionCode } from '../../engine/records/events.js';
import { createEngine } from '../../engine/run/engine.js';
import type { RandomCommands } from '../support/random-commands.js';
import { createReferenceEngine } from './engine.js';

export interface EngineAnswer {
  readonly outcome: CommandOutcome;
  readonly text: string;
  readonly digest: string;
}

/** An engine as the tests drive it: `data` are the command's recorded bytes. */
export interface ComparedEngine {
  step(command: Command, data: Uint8Array): EngineAnswer;
}

/** The real engine. */
export function createRealEngine(): ComparedEngine {
  const engine = createEngine();
  return { step: (_command, data) => engine.step(data) };
}

/** Both engines by name, for tests that hold for each. */
export const engines: Readonly<Record<string, () => ComparedEngine>> = {
  'the engine': createRealEngine, 'the reference engine': createReferenceEngine,
};

/** A pair in lockstep: gives each command to both, and returns their common answer. */
export function createLockstep(expected: ComparedEngine, actual: ComparedEngine): (command: Command) => EngineAnswer {
  let position = 0;
  return (command) => {
    const data = encodeCommand(command);
    const wanted = expected.step(command, data);
    const given = actual.step(command, data);
    if (given.text !== wanted.text || given.digest !== wanted.digest || !isDeepStrictEqual(given.outcome, wanted.outcome)) {
      throw new AssertionError({
        message: `the engines differ at position ${position}\n${JSON.stringify(command)}`, actual: readable(given), expected: readable(wanted),
      });
    }
    position++;
    return wanted;
  };
}

/** One line an event, the recorded text too if it says something else, and the digest. */
function readable({ outcome, text, digest }: EngineAnswer): string {
  const lines = [`at ${outcome.at}`, ...outcome.events.map((event) => JSON.stringify(event))];
  if (!isDeepStrictEqual(JSON.parse(text), outcome)) lines.push(`but the text is ${text}`);
  return [...lines, digest].join('\n');
}

/**
 * Every event type, rejection code and cancel reason that a crowd with chains, a relayer and prices must lead to; match_limit takes a pile,
 * too_many_relays takes 100,000 requests, and too_many_markets 100 markets at one time. post_only takes a book that has moved across a filled
 * order by the time its fill fails, which is rare: scenarios have it.
 * AnchorPassedOver is in the scenarios and the scripts only: nothing depends on it, and without it the crowd's histories keep the digests of
 * earlier versions.
 */
export const everything: readonly string[] = [
  ...names(RejectionCode).filter((name) => !name.startsWith('too_many_')), ...names(CancelReason).filter((name) => name !== 'match_limit' && name !== 'post_only'),
  ...Object.keys(eventSchemas).filter((name) => !['CommandRejected', 'OrderCancelled', 'AnchorPassedOver'].includes(name)),
];

function names({ anyOf }: { anyOf: readonly { const: string }[] }): string[] {
  return anyOf.map((literal) => literal.const);
}

/** Throws where the engines differ, and when an event of `expected` came fewer than `times` times: such a history tests too little. */
export function compareHistories(
  generator: RandomCommands, { commands, expected = [], times = 1 }: { commands: number; expected?: readonly string[]; times?: number },
): void {
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
  for (const name of expected) {
    ok((seen.get(name) ?? 0) >= times, `${name} came ${seen.get(name) ?? 0} times: the history is too tame: see createControlCommands`);
  }
}
