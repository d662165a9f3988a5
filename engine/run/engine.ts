/** The deterministic engine: recorded commands in, outcomes and digests out. No clock, no randomness, no I/O. */
import { moveCursor } from '../rules/chain-cursor.js';
import { decodeCommand, type CommandOutcome } from '../records/codec.js';
import type { Command } from '../records/commands.js';
import { decide } from '../rules/decide.js';
import { DigestChain } from '../records/digest.js';
import { outcomeText } from '../records/event-text.js';
import { advance, evolve } from '../rules/evolve.js';
import { emptyState, type State } from '../rules/state.js';

/** What a command caused, as it is recorded: the text that the digest covers, and the digest of the whole history up to here. */
export interface Step {
  readonly position: number;
  readonly outcome: CommandOutcome;
  readonly text: string;
  readonly digest: string;
}

export interface Engine {
  readonly state: State;
  /** The digest up to the last step; 32 bytes. */
  readonly digest: Uint8Array;
  /**
   * Takes the next command's recorded bytes; `command` saves decoding them to whoever has both. Throws MalformedRecord, and then
   * nothing has changed.
   */
  step(data: Uint8Array, command?: Command): Step;
}

/** An engine at the start of history, or where a snapshot left off. */
export function createEngine(state: State = emptyState(), lastDigest?: Uint8Array): Engine {
  const chain = new DigestChain(lastDigest);
  return {
    state,
    get digest() { return chain.last; },
    step(data, command = decodeCommand(data)) {
      const { position } = state;
      advance(state, command.at);
      const events = decide(state, command, position);
      for (const event of events) evolve(state, event);
      moveCursor(state, command);
      state.position = position + 1;
      const outcome = { at: state.now, events };
      const text = outcomeText(outcome);
      return { position, outcome, text, digest: chain.next(data, text) };
    },
  };
}
