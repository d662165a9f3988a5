/** Tells the service's own pages from web pages of other sites: for endpoints that ask for no signature, which any page could call else. */
import { RequestError } from '../../engine/records/errors.js';
import { isLoopback } from '../settings.js';
import type { Step } from './step.js';

/**
 * Refuses a request that a browser has sent for a page of another site. Browsers send `Origin` with every DELETE. `Host` must name this
 * machine, since a site can make its own name resolve to 127.0.0.1 and so have the service's address for its origin (DNS rebinding).
 * Programs that are not browsers send no Origin. Throws RequestError `other_site`.
 */
export const onlyOwnPages: Step = ({ headers: { host = '', origin } }, _response, next) => {
  const own = authorityOf(`http://${host}`);
  if (own === undefined || !isLoopback(own.hostname.replace(/^\[|\]$/g, ''))) throw new RequestError('other_site', 'Host does not name this machine');
  if (origin !== undefined && authorityOf(origin)?.host !== own.host) throw new RequestError('other_site', 'Origin names another site');
  next();
};

function authorityOf(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
