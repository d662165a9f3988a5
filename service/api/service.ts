/** The routes about the service itself: history, configuration, documentation, health, metrics. */
import Type from 'typebox';
import { EVENTS_LIMIT } from '../../query/events.js';
import { limitOf, optionalPositionOf } from '../../query/parameters.js';
import { signedTypes } from './config-answer.js';
import * as example from './examples.js';
import type { Answer } from '../../query/statement.js';
import * as parameter from './parameters.js';
import type { Reply, Route } from './route.js';
import * as schema from './schemas.js';

export interface HistoryQueries {
  /** A page of the log; `lines` asks for NDJSON, one entry a line. */
  events(asked: { from: number; limit: number; lines: boolean }): Promise<Answer>;
}

export interface ServiceHandlers {
  readonly config: () => Reply;
  readonly live: () => Reply;
  readonly ready: () => Promise<Reply>;
  readonly metrics: () => Promise<Reply>;
  /** The OpenAPI document of the whole table. */
  readonly openapi: () => Reply;
}

const NDJSON = 'application/x-ndjson';

export function serviceRoutes(handlers: ServiceHandlers, queries: HistoryQueries): Route[] {
  return [eventsRoute(queries), configRoute(handlers), openapiRoute(handlers), ...healthRoutes(handlers), metricsRoute(handlers)];
}

function eventsRoute(queries: HistoryQueries): Route {
  const entry = {
    position: 4_217, id: '1b671a64-40d5-591e-99b0-da01ff1f3341',
    command: { kind: 'CancelOrder', v: 1, at: example.placedAt * 1_000, orderHash: example.orderHash, marketId: example.marketId },
    outcome: {
      at: example.placedAt * 1_000, events: [{ type: 'CommandRejected', v: 1, code: 'unknown_order', subject: example.orderHash }],
    },
    digest: example.digest,
  };
  return {
    id: 'listEvents', method: 'GET', path: '/api/v1/events', tag: 'History', summary: 'The history: every command and all that it caused',
    description: 'Contiguous positions from `from` on. Each digest is SHA-256(the digest before, 32 zero bytes at first | the '
      + 'command\'s byte length as uint32 big-endian | the command | the outcome), over the very bytes shown. A page may have fewer than `limit` '
      + `entries; only an empty one is the end. Send \`Accept: ${NDJSON}\` for one entry a line.`,
    parameters: [parameter.optional(parameter.from), parameter.optional(parameter.limit(EVENTS_LIMIT.byDefault,
      EVENTS_LIMIT.max))],
    answer: {
      description: 'A page of the history.', schema: schema.EventsAnswer,
      examples: { 'one entry': { events: [entry], count: 1, next: 4_218 }, 'the end': { events: [], count: 0, next: 4_218 } },
      alternatives: { [NDJSON]: 'The entries of `events`, one a line.' },
    },
    errors: ['invalid_request', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: async ({ query, headers }) => {
      const lines = headers.accept?.includes(NDJSON) ?? false;
      const answer = await queries.events({
        from: optionalPositionOf({ name: 'from', value: query['from'] }) ?? 0, limit: limitOf({ name: 'limit', value: query['limit'] }, EVENTS_LIMIT), lines,
      });
      return lines ? { ...answer, contentType: `${NDJSON}; charset=utf-8` } : answer;
    },
  };
}

function configRoute({ config }: ServiceHandlers): Route {
  return {
    id: 'getConfig', method: 'GET', path: '/api/v1/config', tag: 'Service', summary: 'Chains, signing domains, limits, server time',
    description: 'Everything that a client needs to sign orders and permits. Parts that the service does not have are null.',
    parameters: [],
    answer: {
      description: 'The configuration.', schema: schema.ConfigAnswer,
      examples: {
        development: {
          serverTime: example.placedAt,
          chains: [{
            chainId: 31_337, name: 'Development chain', testnet: true, rpcUrl: 'http://127.0.0.1:8545',
            contracts: {
              settlement: example.settlementAddress, conditionalTokens: example.maker, collateral: example.collateralAddress, marketFactory: null,
              oracle: null, oracleResolver: null, quickResolver: null, multicall: null,
            },
            collateral: { name: 'Test USD Coin', version: '1', symbol: 'USDC', decimals: 6, address: example.collateralAddress },
            confirmations: 1, exposureCheck: true,
            orderDomain: { name: 'Prediction Exchange Settlement', version: '1', chainId: 31_337, verifyingContract: example.settlementAddress },
          }],
          orderTypes: signedTypes,
          cancelAuth: 'required',
          limits: { minPrice: 1, maxPrice: 999_999, minExpirationS: 60, maxBodyBytes: 65_536 },
        },
      },
    },
    errors: [], limit: 'reads', consistent: false, handler: config,
  };
}

function openapiRoute({ openapi }: ServiceHandlers): Route {
  return {
    id: 'getOpenapi', method: 'GET', path: '/openapi.json', tag: 'Service', summary: 'This document', description: 'The API as OpenAPI 3.1; /docs shows it.',
    parameters: [],
    answer: {
      description: 'The document.', schema: Type.Object({ openapi: Type.String() }), examples: { document: { openapi: '3.1.0' } },
    },
    errors: [], limit: 'none', consistent: false, handler: openapi,
  };
}

function healthRoutes({ live, ready }: ServiceHandlers): Route[] {
  const readiness = {
    ready: true, reasons: [], engine: { position: 4_218, logLength: 4_218, standby: false }, projections: [{ name: 'orders', position: 4_218, lag: 0 }],
    chains: [{
      chainId: 31_337, finalBlock: 312, lagBlocks: 0, reachable: true, failures: 0, lastError: null, sinceLookS: 0, stalled: false,
      waitingFills: 3, sentFills: 12, oldestWaitingS: 0, settlementTrouble: null, stopped: null,
    }],
  };
  return [{
    id: 'getLiveness', method: 'GET', path: '/health/live', tag: 'Service', summary: 'Whether the process answers',
    description: 'A process that fails this should be restarted.', parameters: [],
    answer: { description: 'It does.', schema: schema.LivenessAnswer, examples: { live: { live: true } } },
    errors: [], limit: 'none', consistent: false, handler: live,
  }, {
    id: 'getReadiness', method: 'GET', path: '/health/ready', tag: 'Service', summary: 'Whether the service should be sent requests',
    description: 'Ready once the engine has decided all commands and every read model is near; with each one\'s lag in records.', parameters: [],
    answer: {
      description: 'Ready.', schema: schema.ReadinessAnswer,
      examples: { ready: readiness, starting: { ...readiness, ready: false, reasons: ['the engine is 18 commands behind the log'] } },
      statuses: { 503: 'Not ready; `reasons` says why.' },
    },
    errors: [], limit: 'none', consistent: false, handler: ready,
  }];
}

function metricsRoute({ metrics }: ServiceHandlers): Route {
  return {
    id: 'getMetrics', method: 'GET', path: '/metrics', tag: 'Service', summary: 'Metrics in Prometheus\' text format',
    description: 'Durations by route, orders by result, queue, batches, positions, lags, event-loop delay.', parameters: [],
    answer: {
      description: 'The metrics.', schema: Type.String(), contentType: 'text/plain',
      examples: { metrics: '# TYPE exchange_engine_position gauge\nexchange_engine_position 4218\n' },
    },
    errors: [], limit: 'none', consistent: false, handler: metrics,
  };
}
