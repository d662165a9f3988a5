/** Where a client has reached the service, for documents that name the address. */
import type { IncomingMessage } from 'node:http';

/** A name or an address, and a port: what clients send for it stands in a document. */
const AUTHORITY = /^(?:[a-z\d.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Scheme and authority of the request's URL, as the last of the trusted proxies reports them; undefined for a request
 * without a valid `Host`, which HTTP/1.0 allows.
 */
export function ownUrl({ headers }: Pick<IncomingMessage, 'headers'>, trustProxy: number): string | undefined {
  const reported = (name: string): string | undefined => {
    const value = trustProxy === 0 ? undefined : headers[name];
    return typeof value === 'string' ? value.split(',').at(-1)?.trim() : undefined;
  };
  const scheme = reported('x-forwarded-proto') === 'https' ? 'https' : 'http';
  const host = reported('x-forwarded-host') ?? headers.host ?? '';
  return AUTHORITY.test(host) && URL.canParse(`${scheme}://${host}`) ? `${scheme}://${host}` : undefined;
}
