/** A read of the log for a client, who is told when the log is away. */
import { LogUnavailable } from '../engine/log/log.js';
import { RequestError } from '../engine/records/errors.js';

/** What the work rejects with LogUnavailable, it rejects with RequestError `unavailable`. */
export async function unlessLogAway<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LogUnavailable ? new RequestError('unavailable', 'the log cannot be reached') : error;
  }
}
