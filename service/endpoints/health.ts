/** The endpoints for who runs a process: whether it answers, whether requests should be sent to it, and its metrics. */
import { Type, type TObject, type TProperties, type TSchema } from '../../engine/records/schema-types.js';
import type { Shown } from '../../engine/state-table.js';
import * as field from '../../engine/records/answer-fields.js';
import { anybody } from '../api/authority.js';
import { defineEndpoint, type Reply } from '../api/endpoint.js';
import * as example from '../api/examples.js';
import { inQuery } from '../api/parameter.js';
import { problems } from '../api/problems.js';
import { oneOf, optional } from '../api/request-fields.js';
import { ROLE_NAMES, type RoleName } from '../process/roles.js';
import { STATE_TABLES } from '../status/state-tables.js';
import { ofEveryProcess } from '../api/of-every-process.js';

/** The parts that the process and its roles show, each with the fields of its state tables. */
function parts(): TProperties {
  const shown = Object.values(STATE_TABLES).flat().flatMap(({ shows }) => shows ?? []);
  const others = (one: Shown) => shown.filter((each) => each.part === one.part && each !== one);
  return Object.fromEntries(shown.map((one) => [one.part, Type.Optional(schemaOf(one, others(one)))]));
}

function schemaOf({ schema, single, description }: Shown, others: readonly Shown[]): TSchema {
  const options = description === undefined ? {} : { description };
  if (single === true) return { ...schema as TObject, ...options };
  if (others.length === 0) return Type.Array(schema as TObject, options);
  // Each role has its own fields, and a process not every role.
  const properties = Object.assign(
    {}, schema.properties, ...others.map((each) => each.schema.properties),
  ) as TProperties;
  return Type.Array(Type.Partial(field.answer('ChainReadiness', properties)), {
    description: 'State of the indexer and settlement roles; each has its own fields.',
  });
}

const Readiness = field.answer('Readiness', {
  ready: Type.Boolean(),
  reasons: Type.Array(Type.String(), { description: 'Why the service is not ready; empty when it is ready.' }),
  roles: Type.Array(Type.String(), { description: 'Roles of the process; for a stack of several processes, the roles of all of them.' }),
  ...parts(),
});

const role = inQuery('role', optional(oneOf(ROLE_NAMES)), {
  description: 'Whether requests of this role should be sent here: not while another process does the role\'s work and this one stands by.', example: 'relayer',
});

const readiness = {
  ready: true, roles: ['projections', 'engine', 'indexer', 'lane', 'feed', 'settlement', 'relayer', 'prices', 'query', 'api'], reasons: [],
  engine: { position: 4_218, logLength: 4_218, standby: false }, projections: [{ name: 'orders', position: 4_218, lag: 0 }],
  clock: { trusted: true, doubts: [], time: '2026-11-22T07:30:00.000Z', wallAheadMs: 1, databaseAheadMs: 0, historyAheadMs: -412 },
  databases: [{ name: 'log', answers: true, lastError: null }, { name: 'read models', answers: true, lastError: null }],
  disk: { directory: 'DATA_DIR', freeBytes: 84_825_690_112, minFreeBytes: 512_000_000 },
  readModels: { position: 4_217, lag: 0 }, feeds: [{ topic: 'fills.v1', standby: false, position: 4_217, lag: 1, problem: null, topicProblem: null }],
  intakes: [{ standby: false, position: 4_217, lag: 1, problem: null, kafkaProblem: null }],
  lanes: [{ chainId: 31_337, key: 'operator', address: example.bob, standby: false, problem: null }],
  relays: [{
    chainId: 31_337, address: example.maker, standby: false, openRelays: 1, problem: null,
    keeper: { standby: false, dueProposals: 2, overdueProposals: 0, problem: null },
  }],
  prices: [{
    standby: false, problem: null, sources: [{ name: 'pyth', connected: true, sinceHeardS: 0, problem: null }],
    assets: [{ asset: 'BTC', source: 'pyth', sincePriceS: 1 }],
  }],
  quickMarkets: [{
    chainId: 31_337, address: example.maker, standby: false, missingMarkets: 0, decidedMarkets: 2,
    unresolvableMarkets: 0, refused: 0, problem: null,
  }],
  chains: [{
    chainId: 31_337, finalBlock: 312, lagBlocks: 0, reachable: true, failures: 0, lastError: null, sinceLookS: 0,
    stalled: false,
    waitingFills: 3, sentFills: 12, oldestWaitingS: 0, settlementProblem: null, stopped: null,
    resolutionProblem: null, contradictedMarkets: 0, anchorsPassedOver: 0,
  }],
};

export const getReadiness = defineEndpoint({
  id: 'getReadiness', role: 'every', method: 'GET', path: '/health/ready', tag: 'Service', summary: 'Whether requests should be sent to the service',
  description: 'Ready when the engine has decided nearly all commands, every read model has nearly caught up, the databases answer, the clock is trusted and '
    + 'the disk has space. Lags are in records. A process that starts says what it waits for. A proxy that sends requests of one role here asks with `role`.',
  parameters: { role }, authority: anybody, errorShape: problems,
  answer: {
    description: 'Ready.', schema: Readiness,
    examples: { ready: readiness, starting: { ...readiness, ready: false, reasons: ['the engine is 18 records behind'] } },
    statuses: { 503: 'Not ready; `reasons` says why.' },
  },
  errors: [], limit: 'none', consistent: false,
}, ({ readiness: answer }: { readonly readiness: (role: RoleName | undefined) => Promise<Reply> }) => ({ role: asked }) => answer(asked));

export const getLiveness = defineEndpoint({
  ...ofEveryProcess,
  id: 'getLiveness', path: '/health/live', summary: 'Whether the process answers', description: 'A process that does not answer should be restarted.',
  answer: {
    description: 'The process answers.', schema: field.answer('Liveness', { live: Type.Literal(true) }), examples: { live: { live: true } },
  },
  limit: 'none',
}, () => () => ({ body: '{"live":true}' }));

export const getMetrics = defineEndpoint({
  ...ofEveryProcess,
  id: 'getMetrics', path: '/metrics', summary: 'Metrics in Prometheus\' text format',
  description: 'Durations by route, orders by result, queue, batches, positions, lags, connections, event-loop delay. Served at METRICS_PORT instead, '
    + 'where that is set.',
  answer: {
    description: 'The metrics.', schema: Type.String(), contentType: 'text/plain',
    examples: { metrics: '# TYPE exchange_engine_position gauge\nexchange_engine_position 4218\n' },
  },
  limit: 'none',
}, ({ scrape }: { readonly scrape: () => Promise<Reply> }) => scrape);
