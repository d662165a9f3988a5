/** The documentation page: Swagger UI with its assets, which shows the OpenAPI document. */
import { Router, type RequestHandler } from 'express';
import swaggerUi from 'swagger-ui-express';
import { pageHeaders } from './security.js';

/** The handler of `/docs`. Paths that are neither the page nor an asset get the application's 404. */
export function docsPage(documentUrl: string): RequestHandler {
  const page = swaggerUi.setup(undefined, { swaggerOptions: { url: documentUrl }, customSiteTitle: 'Prediction exchange API' });
  const router = Router();
  router.use(onlyAssets, pageHeaders(), toDirectory, ...swaggerUi.serve);
  router.get('/', page);
  return router;
}

/** Hides the package.json of the Swagger UI package, which is among the assets. */
const onlyAssets: RequestHandler = ({ method, path }, _response, next) => {
  if ((method === 'GET' || method === 'HEAD') && !path.endsWith('/package.json')) next(); else next('router');
};

/** Redirects `/docs` to `/docs/`, since the page refers to its assets by relative paths. */
const toDirectory: RequestHandler = (request, response, next) => {
  if (request.originalUrl.split('?', 1)[0] === request.baseUrl) response.redirect(308, `${request.baseUrl}/`); else next();
};
