/** A read that names a log position waits until the read models include it. */
import { RequestError } from '../../engine/records/errors.js';
import type { ClientSignals } from './client-signals.js';
import type { Step } from './step.js';

/** Resolves when the read models include the position; rejects with RequestError `not_caught_up`. */
export type WaitForPosition = (position: number, signal: AbortSignal) => Promise<void>;

/** Waits for the position in `X-Min-Log-Position`, if there is one. */
export function minLogPosition(waitForPosition: WaitForPosition, clients: ClientSignals): Step {
  return async ({ headers, socket }, _response, next) => {
    const header = headers['x-min-log-position'];
    if (header !== undefined) await waitForPosition(parsePosition(header), clients.signalOf(socket));
    next();
  };
}

/** A log position; -1 is that of an empty log. Throws RequestError. */
function parsePosition(header: string | string[]): number {
  const position = typeof header === 'string' && /^(-1|\d{1,16})$/.test(header) ? Number(header) : NaN;
  if (Number.isSafeInteger(position)) return position;
  const message = 'a log position: a whole number from 0, or -1 for none';
  throw new RequestError('invalid_request', `X-Min-Log-Position: ${message}`, [{ field: 'X-Min-Log-Position', message }]);
}
