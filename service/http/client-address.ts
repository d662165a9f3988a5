/** Finds the address of the client of a request, behind the proxies that the operator trusts. */
import type { IncomingMessage } from 'node:http';
import type { Step } from './step.js';

/** `trustProxy`: the number of trusted proxies in front of the service. */
export function clientAddress(trustProxy: number): Step {
  return (request, response, next) => {
    response.locals.address = addressOf(request, trustProxy);
    next();
  };
}

/** Each proxy appends the address that has called it to `X-Forwarded-For`; what stands before the trusted ones' entries is the client's word. */
function addressOf({ headers, socket: { remoteAddress } }: IncomingMessage, trustProxy: number): string | undefined {
  const header = headers['x-forwarded-for'];
  if (trustProxy === 0 || typeof header !== 'string') return remoteAddress;
  const forwarded = header.split(',').map((address) => address.trim()).filter((address) => address !== '');
  return forwarded.slice(-trustProxy)[0] ?? remoteAddress;
}
