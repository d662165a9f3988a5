/**
 * A conversation over a WebSocket as an endpoint holds it. The HTTP side knows of frames, pings and limits, and nothing
 * of what is said.
 */

/** Why a stream ends. */
export interface Ending {
  readonly code: string;
  readonly text: string;
}

export interface Conversation {
  /** A message of the client; undefined for one that is not text. Must not throw. */
  hear(message: Uint8Array | undefined): void;
  /** Ends what is sent: the last message says why. */
  end(ending: Ending): void;
  /** Why it has ended; undefined before. */
  ending(): Ending | undefined;
}
