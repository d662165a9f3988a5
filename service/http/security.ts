/** The security headers of every answer, from helmet. Computed once: for an API they are constants. */
import type { RequestHandler } from 'express';
import helmet, { type HelmetOptions } from 'helmet';

/** Answers are data, not pages: they may not load anything and may not be framed, but any origin may read them. */
const forData: HelmetOptions = {
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ['\'none\''], frameAncestors: ['\'none\''] } },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
  frameguard: { action: 'deny' },
  // These headers are for pages and have no effect on data.
  crossOriginOpenerPolicy: false, originAgentCluster: false, dnsPrefetchControl: false, ieNoOpen: false,
  permittedCrossDomainPolicies: false, xssFilter: false, hidePoweredBy: false,
};

/** The headers of every data answer, with their names. */
export function dataHeaders(): readonly (readonly [name: string, value: string])[] {
  const headers: [string, string][] = [];
  const recorder = { setHeader: (name: string, value: string) => { headers.push([name, value]); }, removeHeader: () => undefined };
  helmet(forData)({} as never, recorder as never, (error?: unknown) => { if (error !== undefined) throw error as Error; });
  return headers;
}

/**
 * Headers for the documentation page: helmet's defaults, which let the page load its assets from the same origin. Without
 * upgrade-insecure-requests: the service speaks plain HTTP, so the upgraded requests would fail and the page would stay empty.
 */
export function pageHeaders(): RequestHandler {
  return helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });
}
