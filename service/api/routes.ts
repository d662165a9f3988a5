/** The route table: every endpoint, from its handlers. It gives the router, the limits and the OpenAPI document. */
import type { TSchema } from 'typebox';
import { marketRoutes, type MarketQueries } from './markets.js';
import { openapiDocument } from './openapi.js';
import { orderRoutes, type OrderHandlers, type OrderQueries } from './orders.js';
import type { Route } from './route.js';
import { settlementRoutes, type SettlementQueries } from './settlements.js';
import { serviceRoutes, type HistoryQueries, type ServiceHandlers } from './service.js';
import { syncRoute, type SyncHandlers, type SyncQueries } from './sync.js';
import { userRoutes, type UserQueries } from './users.js';

/** The reads of the query side, each giving finished JSON and the log position that it is true at. */
export type Queries = OrderQueries & UserQueries & MarketQueries & SettlementQueries & SyncQueries & HistoryQueries;

export type RouteHandlers = OrderHandlers & SyncHandlers & Omit<ServiceHandlers, 'openapi'> & {
  readonly queries: Queries;
  /** Version of the service, for the document. */
  readonly version: string;
};

/** All routes, the hot ones first. */
export function createRoutes(handlers: RouteHandlers): Route[] {
  const { queries, version } = handlers;
  let document = '';
  const openapi = () => ({ body: document });
  const routes = [
    ...orderRoutes(handlers, queries), ...marketRoutes(queries), ...userRoutes(queries), syncRoute(handlers, queries),
    ...settlementRoutes(queries),
    ...serviceRoutes({ ...handlers, openapi }, queries),
  ];
  document = JSON.stringify(openapiDocument(routes, version));
  return routes;
}

/** Each answer's schema by operation id, to check real answers against. */
export function answerSchemas(routes: readonly Route[]): ReadonlyMap<string, TSchema> {
  return new Map(routes.map(({ id, answer }) => [id, answer.schema]));
}
