/** Refuses requests that RFC 9112 refuses, and that Node would answer itself, without a body. */
import type { IncomingMessage } from 'node:http';
import { RequestError } from '../../engine/records/errors.js';
import type { ClientError } from '../api/errors.js';
import type { Step } from './step.js';

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

export const wellFormed: Step = (request, _response, next) => { next(faultOf(request)); };

/** One Host line, which only HTTP/1.0 may leave out; and no expectation but 100-continue. Undefined when all is well. */
function faultOf({ httpVersion, rawHeaders, headers: { expect } }: IncomingMessage): ClientError | undefined {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1 || (hosts === 0 && httpVersion !== '1.0')) {
    return new RequestError('invalid_request', 'Host: given once in every HTTP/1.1 request', [{ field: 'Host', message: 'given once' }]);
  }
  return expect !== undefined && httpVersion === '1.1' && !CONTINUE.test(expect) ? new RequestError('expectation_failed') : undefined;
}
