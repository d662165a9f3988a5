/**
 * Every endpoint of the service, by the role that serves it. To add one: a file with its definition, and its name in
 * its role's list.
 */
import { replicaEndpoints, orderEndpoints } from '../command/orders/endpoints.js';
import { relayerEndpoints } from '../command/relayer/endpoints.js';
import { lookUpEndpoints, readEndpoints } from '../query/endpoints.js';
import type { Endpoint, EndpointRole } from './api/endpoint.js';
import { getConfig } from './endpoints/config.js';
import { getContracts } from '../command/chain/contracts.js';
import { getAsyncapi, getOpenapi } from './endpoints/documents.js';
import { getLiveness, getMetrics, getReadiness } from './endpoints/health.js';

/** Every process, about itself. */
export const serviceEndpoints = [
  getConfig, getContracts, getOpenapi, getAsyncapi, getLiveness, getReadiness, getMetrics,
] as const;

/** Tried in this order. */
export const allEndpoints: readonly Endpoint[] = [
  ...replicaEndpoints, ...orderEndpoints, ...lookUpEndpoints, ...readEndpoints, ...relayerEndpoints,
  ...serviceEndpoints,
];

/** Pages that are not endpoints of the API, with all paths below them, and the role that serves each. */
export const pages: Readonly<Record<string, EndpointRole>> = { '/': 'query', '/assets': 'query', '/docs': 'query' };
