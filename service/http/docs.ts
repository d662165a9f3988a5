/** The documentation page: a quick start, then Swagger UI with its assets, which shows the OpenAPI document. */
import { Router, type RequestHandler } from 'express';
import swaggerUi from 'swagger-ui-express';
import { QUICK_START_CSS, quickStartHtml } from './quick-start.js';
import { pageHeaders } from './security.js';

/** The handler of `/docs`. Paths that are neither the page nor an asset get the application's 404. */
export function docsPage(documentUrl: string): RequestHandler {
  const page = withQuickStart(swaggerUi.generateHTML(undefined, {
    swaggerOptions: { url: documentUrl }, customSiteTitle: 'Prediction exchange API', customCss: QUICK_START_CSS,
  }));
  const router = Router();
  router.use(onlyAssets, pageHeaders(), toDirectory, ...swaggerUi.serve);
  router.get('/', (_request, response) => { response.type('html').send(page); });
  return router;
}

/** Swagger UI's page with the quick start above it. */
function withQuickStart(html: string): string {
  const [head, tail, ...more] = html.split(SWAGGER_UI);
  if (head === undefined || tail === undefined || more.length > 0) throw new Error(`the page of swagger-ui-express must have ${SWAGGER_UI} once`);
  return head + quickStartHtml() + SWAGGER_UI + tail;
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
