/** What the engine says of an error, and what the service says of the same error, agree. */
import { deepEqual } from 'node:assert/strict';
import { ERROR_CODES, RequestError } from '../../engine/records/errors.js';
import { errors } from '../../service/api/errors.js';

describe('the table of errors', () => {
  it('answers 503 for exactly those errors that say nothing about the request, and says that they may pass', () => {
    const unavailable = ERROR_CODES.filter((code) => new RequestError(code).isUnavailable);
    deepEqual(ERROR_CODES.filter((code) => errors[code].status === 503), unavailable);
    deepEqual(unavailable.filter((code) => !errors[code].retry), []);
  });
});
