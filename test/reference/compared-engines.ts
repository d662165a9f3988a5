/** Steps two engines through the same commands and stops at the first difference, told so that it can be read. */
import { AssertionError } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { encodeCommand, type CommandOutcome } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { createEngine } from '../../engine/run/engine.js';
import { createReferenceEngine } from './engine.js';

export interface Answer {
  readonly outcome: CommandOutcome;
  readonly text: string;
  readonly digest: string;
}

/** An engine as the tests drive it: `data` are the command's recorded bytes. */
export interface ComparedEngine {
  step(command: Command, data: Uint8Array): Answer;
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
export function createLockstep(expected: ComparedEngine, actual: ComparedEngine): (command: Command) => Answer {
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
function readable({ outcome, text, digest }: Answer): string {
  const lines = [`at ${outcome.at}`, ...outcome.events.map((event) => JSON.stringify(event))];
  if (!isDeepStrictEqual(JSON.parse(text), outcome)) lines.push(`but the text is ${text}`);
  return [...lines, digest].join('\n');
}
