/** A link between a log's handle and its store that loses what a test tells it to lose: what the log's contract is tested with. */
import type { Fate } from './tcp-proxy.js';

export interface FaultyLink {
  /** What happens to the requests of the next appends, in this order; later requests pass. */
  next(...fates: Fate[]): void;
  /** Called when a request meets a fate other than `pass`, before its sender notices. */
  met: () => void;
  /** Called when the store has answered a request of fate `lose-reply`, before its sender notices. */
  replied: () => Promise<void>;
  /** Nothing reaches the store until accept(). */
  refuse(): void;
  accept(): void;
  /** What was withheld reaches the store; resolves when the store has dealt with it. */
  release(): Promise<void>;
  close(): Promise<void>;
}
