/** The deterministic engine: recorded commands in, outcomes and digests out. No clock, no randomness, no I/O. */
import { moveCursor } from '../rules/chain-cursor.js';
import { decodeCommand, outcomeText, DigestChain, type CommandOutcome } from '../records/codec.js';
import type { Command } from '../records/commands.js';
import { decide } from '../rules/decide.js';
import { advance, evolve } from '../rules/evolve.js';
import { emptyState, type State } from '../rules/state.js';

/**
 * A command's outcome, with the text that the digest covers, and the digest of the whole history up to this position.
 */
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
   * Decides and applies the next command, given as recorded bytes. A caller that has decoded the bytes passes `command`
   * too, so that they are not decoded twice. Throws MalformedRecord; then nothing has changed.
   */
  step(data: Uint8Array, command?: Command): Step;
}

/** An engine at the start of the history, or at the position of a snapshot. */
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
