/** The headers of every answer, those for security from helmet. Computed once, as names and values in turn: for an API they are constants. */
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

function headersByHelmet(): readonly string[] {
  const headers: string[] = [];
  const recorder = {
    setHeader: (name: string, value: string) => { headers.push(name, value); }, removeHeader: () => undefined,
  };
  helmet(forData)(
    {} as never, recorder as never, (error?: unknown) => { if (error !== undefined) throw error as Error; },
  );
  return headers;
}

/** Of an answer that web pages of other sites may not read: nobody may keep it, and it is data, not a page. */
export const DATA_HEADERS: readonly string[] = ['Cache-Control', 'no-store', ...headersByHelmet()];

/** Of every other answer: any web page may read it. */
export const COMMON_HEADERS: readonly string[] = [
  'Access-Control-Allow-Origin', '*',
  'Access-Control-Expose-Headers', 'X-Log-Position, Idempotent-Replayed, X-Error-Code, ETag, RateLimit, RateLimit-Policy, Retry-After, Allow, WWW-Authenticate',
  ...DATA_HEADERS,
];

/**
 * Headers for the documentation page: helmet's defaults, which let the page load its assets from the same origin.
 * Without upgrade-insecure-requests: the service speaks plain HTTP, so the upgraded requests would fail and the page
 * would stay empty.
 */
export function pageHeaders(): RequestHandler {
  return helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });
}

const NONE = ['\'none\''];
const OWN = ['\'self\''];

/**
 * Headers for the exchange's own page, which signs with a visitor's wallet: nothing in it can run, load or be framed
 * but what the service itself serves. `connect-src` is wider than the rest: whoever verifies the history compares it
 * with a chain through a node of their own choice, which may be anywhere by HTTPS, or on their machine.
 */
export function pageWithWalletHeaders(script: readonly string[] = OWN): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: NONE, scriptSrc: [...script], styleSrc: OWN, workerSrc: OWN, imgSrc: ['\'self\'', 'data:'],
        connectSrc: ['\'self\'', 'https:', 'http://127.0.0.1:*', 'http://localhost:*'],
        baseUri: NONE, formAction: NONE, frameAncestors: NONE,
      },
    },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    frameguard: { action: 'deny' },
    // Wallets in windows of their own speak to the page that has opened them.
    crossOriginOpenerPolicy: { policy: 'same-origin-allow-popups' },
  });
}

/**
 * Headers of the page's workers, whose policy is their own: they may also compile WebAssembly, which hashes. Neither they
 * nor the document may make JavaScript of text.
 */
export function pageWorkerHeaders(): RequestHandler {
  return pageWithWalletHeaders(['\'self\'', '\'wasm-unsafe-eval\'']);
}
