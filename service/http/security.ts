/** The security headers of every answer, from helmet: worked out once, since for an API they are constants. */
import helmet, { type HelmetOptions } from 'helmet';
import type { RequestHandler } from 'express';

/** An answer is data, never a page: it may load nothing and be framed nowhere, but any origin may read it. */
const forData: HelmetOptions = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ['\'none\''], frameAncestors: ['\'none\''] } },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
  frameguard: { action: 'deny' },
  // Meant for pages, without effect on data.
  crossOriginOpenerPolicy: false, originAgentCluster: false, dnsPrefetchControl: false, ieNoOpen: false,
  permittedCrossDomainPolicies: false, xssFilter: false, hidePoweredBy: false,
};

/** The headers of every data answer, as the flat list of names and values that `writeHead` takes. */
export function dataHeaders(): readonly string[] {
  const headers: string[] = [];
  const recorder = { setHeader: (name: string, value: string) => { headers.push(name, value); }, removeHeader: () => undefined };
  helmet(forData)({} as never, recorder as never, (error?: unknown) => { if (error !== undefined) throw error as Error; });
  return headers;
}

/**
 * Headers for the documentation page: helmet's own, which let it load what is served beside it. Not upgrade-insecure-requests:
 * the service itself speaks plain HTTP, and a page that may not would show nothing.
 */
export function pageHeaders(): RequestHandler {
  return helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });
}
