/** What a reader is told of an error. */
import { LogUnavailable } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Ending } from '../../service/api/conversation.js';
import { clientText } from '../../service/api/errors.js';

/** Calls `onError` with an error that a reader is not told. */
export function endingOf(error: unknown, onError: (error: unknown) => void): Ending {
  if (error instanceof RequestError) return { code: error.code, text: clientText(error) };
  if (error instanceof LogUnavailable) return { code: 'unavailable', text: 'the log cannot be read at the moment; connect again, with the last position' };
  onError(error);
  return { code: 'internal', text: 'an unexpected error; it has been logged' };
}
