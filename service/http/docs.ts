/** The documentation page: Swagger UI, with its own assets, on the OpenAPI document. */
import { Router, type RequestHandler } from 'express';
import swaggerUi from 'swagger-ui-express';
import { pageHeaders } from './security.js';

/** What serves `/docs`. Whatever is neither the page nor one of its assets is left to the application's 404. */
export function docsPage(documentUrl: string): RequestHandler {
  const page = swaggerUi.setup(undefined, { swaggerOptions: { url: documentUrl }, customSiteTitle: 'Prediction exchange API' });
  const router = Router();
  router.use(onlyAssets, pageHeaders(), toDirectory, ...swaggerUi.serve);
  router.get('/', page);
  return router;
}

/** Not the package's own description, which lies among the assets. */
const onlyAssets: RequestHandler = ({ method, path }, _response, next) => {
  if ((method === 'GET' || method === 'HEAD') && !path.endsWith('/package.json')) next(); else next('router');
};

/** The page's assets are relative to `/docs/`. */
const toDirectory: RequestHandler = (request, response, next) => {
  if (request.originalUrl.split('?', 1)[0] === request.baseUrl) response.redirect(308, `${request.baseUrl}/`); else next();
};
