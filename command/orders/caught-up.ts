/**
 * Waits until this process's replica has everything that is in the log: so a request about all orders of a trader
 * misses none.
 */
import { LogUnavailable, RecordsLost, type Log } from '../../engine/log/log.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { RequestError } from '../../engine/records/errors.js';

export interface CaughtUpParts {
  readonly log: Pick<Log, 'length'>;
  readonly view: { readonly position: number };
  /** Resolves once the engine has decided the command at the position. */
  readonly outcomeOf: (position: number) => Promise<CommandOutcome>;
  /** After this time the client is told to ask again. */
  readonly withinMs: number;
}

/** Throws RequestError `unavailable` when the log does not answer, or the replica does not get so far in time. */
export function createCaughtUp({ log, view, outcomeOf, withinMs }: CaughtUpParts): () => Promise<void> {
  return async () => {
    const length = await log.length('commands').catch((error: unknown) => {
      if (error instanceof LogUnavailable || error instanceof RecordsLost) throw new RequestError('unavailable', 'the log cannot be reached; the request was not accepted');
      throw error;
    });
    if (view.position >= length) return;
    await new Promise<void>((resolve, reject) => {
      const late = () => { reject(new RequestError('unavailable', 'this process is behind the log; the request was not accepted')); };
      const bound = setTimeout(late, withinMs);
      outcomeOf(length - 1).then(() => { resolve(); }, late).finally(() => { clearTimeout(bound); });
    });
  };
}
