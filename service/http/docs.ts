/** The documentation page: a quick start, then Swagger UI with its assets, which shows the OpenAPI document. */
import type { IncomingMessage } from 'node:http';
import { Router, type RequestHandler } from 'express';
import swaggerUi from 'swagger-ui-express';
import { LOCAL_URL, QUICK_START_CSS, quickStartHtml } from './quick-start.js';
import { pageHeaders } from './security.js';

/**
 * The handler of `/docs`, whose programs use the address at which the page was asked for. `trustProxy`: the number of
 * trusted proxies in front of the service. Paths that are neither the page nor an asset get the application's 404.
 */
export function docsPage(documentUrl: string, trustProxy = 0): RequestHandler {
  const page = withQuickStart(swaggerUi.generateHTML(undefined, {
    swaggerOptions: { url: documentUrl }, customSiteTitle: 'Prediction exchange API', customCss: QUICK_START_CSS,
  }));
  const router = Router();
  router.use(onlyAssets, pageHeaders(), toDirectory, ...swaggerUi.serve);
  router.get('/', (request, response) => { response.type('html').send(page(addressOf(request, trustProxy))); });
  return router;
}

/** Swagger UI's page with the quick start above it, for a service at a URL. */
function withQuickStart(html: string): (url: string) => string {
  const [head, tail, ...more] = html.split(SWAGGER_UI);
  if (head === undefined || tail === undefined || more.length > 0) throw new Error(`the page of swagger-ui-express must have ${SWAGGER_UI} once`);
  return (url) => head + quickStartHtml(url) + SWAGGER_UI + tail;
}

/** A host's name, or an address, with a port: nothing that could mean more within a program or a page. */
const HOST = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** The service's own URL, by which the client has found it; that of a stack on this machine when the request does not tell. */
function addressOf({ headers }: IncomingMessage, trustProxy: number): string {
  const { host = '', 'x-forwarded-proto': forwarded } = headers;
  const protocol = trustProxy > 0 && forwarded === 'https' ? 'https' : 'http';
  return HOST.test(host) ? `${protocol}://${host}` : LOCAL_URL;
}

/** The element in which Swagger UI shows the document. */
const SWAGGER_UI = '<div id="swagger-ui"></div>';

/** Hides the package.json of the Swagger UI package, which is among the assets. */
const onlyAssets: RequestHandler = ({ method, path }, _response, next) => {
  if ((method === 'GET' || method === 'HEAD') && !path.endsWith('/package.json')) next(); else next('router');
};

/** Redirects `/docs` to `/docs/`, since the page refers to its assets by relative paths. */
const toDirectory: RequestHandler = (request, response, next) => {
  if (request.originalUrl.split('?', 1)[0] === request.baseUrl) response.redirect(308, `${request.baseUrl}/`); else next();
};
