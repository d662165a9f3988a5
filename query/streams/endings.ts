/** What a reader is told of an error. */
import { LogUnavailable } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Ending } from '../../service/api/conversation.js';
import { clientText, type ClientError } from '../../service/api/errors.js';

/** Calls `onError` with an error that a reader is not told. */
export function endingOf(error: unknown, onError: (error: unknown) => void): Ending {
  if (error instanceof RequestError) return { code: error.code, text: textOf(error) };
  if (error instanceof LogUnavailable) return { code: 'unavailable', text: 'the log cannot be read at the moment; connect again, with the last position' };
  onError(error);
  return { code: 'internal', text: 'an unexpected error; it has been logged' };
}

/** A message has no list of fields: its text names them. */
function textOf(error: ClientError): string {
  if (error.detail !== '' || error.fields.length === 0) return clientText(error);
  return clientText(new RequestError(error.code, error.fields.map(({ field, message }) => `${field}: ${message}`).join('; ')));
}
