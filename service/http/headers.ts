/** The headers of every answer: any web page may read it, nobody may keep it, and it is data, not a page (helmet). */
import { dataHeaders } from './security.js';
import type { Step } from './step.js';

const FOR_ANY_PAGE: readonly (readonly [name: string, value: string])[] = [
  ['Access-Control-Allow-Origin', '*'],
  [
    'Access-Control-Expose-Headers',
    'X-Log-Position, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, Allow, WWW-Authenticate',
  ],
];

export const COMMON_HEADERS = new Map<string, string>([
  ...FOR_ANY_PAGE, ['Cache-Control', 'no-store'], ...dataHeaders(),
]);

export const commonHeaders: Step = (_request, response, next) => {
  response.setHeaders(COMMON_HEADERS);
  next();
};

/** For an endpoint whose answers web pages of other sites may not read. */
export const withoutCors: Step = (_request, response, next) => {
  for (const [name] of FOR_ANY_PAGE) response.removeHeader(name);
  next();
};
