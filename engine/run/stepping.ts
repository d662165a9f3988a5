/** One step of the deterministic engine: a recorded command in, its outcome and digest out. Runs in Node and in a browser. */
import { decodeCommand, outcomeText, type CommandOutcome } from '../records/codec.js';
import type { Command } from '../records/commands.js';
import { moveCursor } from '../rules/chain-cursor.js';
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

/** The chain of digests. A port, since the fastest SHA-256 is another one in Node than in a browser. */
export interface Digests {
  /** The last digest; 32 bytes. */
  readonly last: Uint8Array;
  /** The digest that covers the one before, these bytes of a command, and its outcome's text: 64 hex digits with `0x`. */
  next(command: Uint8Array, text: string): string;
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

/** An engine at the start of the history, or in this state, whose last digest is the chain's. */
export function engineOf(chain: Digests, state: State = emptyState()): Engine {
  return {
    state,
    get digest() { return chain.last; },
    step(data, command = decodeCommand(data)) {
      const { position } = state;
      advance(state, command.at);
      const events = decide(state, command, position);
      for (const event of events) evolve(state, event);
      if ('fact' in command || command.kind === 'AdvanceChain') moveCursor(state, command);
      state.position = position + 1;
      const outcome = { at: state.now, events };
      const text = outcomeText(outcome);
      return { position, outcome, text, digest: chain.next(data, text) };
    },
  };
}
