/** What a test of the log's contract is given. */
import type { Log } from '../../engine/log/log.js';
import type { FaultyLink } from '../support/proxies.js';

export interface HandleOptions {
  readonly unknownAfterMs?: number;
  readonly attemptTimeoutMs?: number;
}

/** What each test starts with: its own store and a handle on it. Further handles and links are closed after the test. */
export interface Scene {
  readonly log: Log;
  open(): Promise<Log>;
  openFaulty(options?: HandleOptions): Promise<{ readonly log: Log; readonly link: FaultyLink }>;
}
