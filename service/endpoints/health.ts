/** The endpoints for who runs a process: whether it answers, whether requests should be sent to it, and its metrics. */
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../api/answer-fields.js';
import { anybody } from '../api/authority.js';
import { defineEndpoint, type Reply } from '../api/endpoint.js';
import * as example from '../api/examples.js';
import { inQuery } from '../api/parameter.js';
import { problems } from '../api/problems.js';
import { oneOf, optional } from '../api/request-fields.js';
import { ROLE_NAMES, type RoleName } from '../roles/role-names.js';
import { ofEveryProcess } from './of-every-process.js';

const Readiness = field.answer('Readiness', {
  ready: Type.Boolean(),
  reasons: Type.Array(Type.String(), { description: 'Why the service is not ready; empty when it is ready.' }),
  roles: Type.Array(Type.String(), { description: 'Roles of the process; for a stack of several processes, the roles of all of them.' }),
  engine: Type.Optional(field.answer('EngineReadiness', {
    position: field.integer('Number of commands that this engine has decided.'), logLength: field.integer('Number of commands in the log.'),
    standby: Type.Boolean({ description: 'This engine is on standby: another engine records the command outcomes.' }),
  })),
  projections: Type.Optional(Type.Array(field.answer('ProjectionReadiness', {
    name: Type.String(), position: field.integer('Number of command outcomes that the read model includes.'),
    lag: field.integer('Number of command outcomes that the read model does not include yet.'),
  }), { description: 'State of the projections role.' })),
  readModels: Type.Optional(field.answer('ReadModelsReadiness', {
    position: Type.Integer({ minimum: -1, description: 'Last log position that all reads include; -1 for none.' }),
    lag: field.integer('Number of commands after that position.'),
  }, { description: 'State of the query role.' })),
  clock: Type.Optional(field.answer('ClockReadiness', {
    trusted: Type.Boolean({ description: 'While the clock is not trusted, orders are refused and no time passes in the history.' }),
    doubts: Type.Array(Type.String(), { description: 'Why the clock is not trusted; empty while it is.' }),
    time: Type.String({ description: 'The trusted time, ISO 8601 in UTC.' }),
    wallAheadMs: Type.Integer({ description: 'The machine\'s clock minus the trusted time, in milliseconds.' }),
    databaseAheadMs: field.orNull(Type.Integer(), 'The clock of the log\'s database minus the trusted time; null while it is not known.'),
    historyAheadMs: field.orNull(Type.Integer(), 'The latest time in the history minus the trusted time; null while the history is empty or not known here.'),
  }, { description: 'The process\'s clock; for a stack, the clock that differs most.' })),
  databases: Type.Optional(Type.Array(field.answer('DatabaseReadiness', {
    name: field.oneOf(['log', 'read models', 'outbox'], 'What the database is for.'), answers: Type.Boolean(),
    lastError: field.orNull(Type.String(), 'Why it does not answer; null while it does.'),
  }), { description: 'Databases that the process uses. Each is asked at most twice per second, with a time limit of 2 s.' })),
  disk: Type.Optional(field.answer('DiskReadiness', {
    directory: Type.String({ description: 'The first directory on the fullest of the disks that the process writes to, such as DATA_DIR or DATA_DIR/postgres.' }),
    freeBytes: field.integer('Free space on that disk.'), minFreeBytes: field.integer('Below this, orders are refused; 0 means never.'),
  })),
  feeds: Type.Optional(Type.Array(field.answer('FeedReadiness', {
    topic: Type.String({ description: 'Kafka\'s topic.' }), standby: Type.Boolean({ description: 'Another process publishes the fill feed.' }),
    position: field.orNull(field.integer('Number of command outcomes.'), 'Number of command outcomes whose messages are published; null while that is not known.'),
    lag: field.orNull(field.integer('Number of commands.'), 'Number of commands whose messages are not published yet; null while that is not known.'),
    trouble: field.orNull(Type.String(), 'Why nothing can be published; null when it can.'),
    topicTrouble: field.orNull(Type.String(), 'What of the topic is not as the feed promises, with what mends it; null when nothing is known to be.'),
  }), { description: 'State of the feed role, with KAFKA_BROKERS: how far the fill feed is published in each of its topics.' })),
  intakes: Type.Optional(Type.Array(field.answer('IntakeReadiness', {
    standby: Type.Boolean({ description: 'Another process takes in the fills, and settles them.' }),
    position: field.orNull(field.integer('Number of command outcomes.'), 'Number of command outcomes that are taken in; null while that is not known.'),
    lag: field.orNull(field.integer('Number of commands.'), 'Number of commands that are not taken in yet; null while that is not known.'),
    trouble: field.orNull(Type.String(), 'Why nothing can be taken in; null when it can.'),
    kafkaTrouble: field.orNull(Type.String(), 'Why fills are taken from the log, and not from Kafka; null while they come by Kafka, or are not to.'),
  }), { description: 'State of the settlement role: how far the fills to settle have come in.' })),
  lanes: Type.Optional(Type.Array(field.answer('LaneReadiness', {
    chainId: field.ChainId, key: Type.String({ description: 'Name of the key in the settings.' }), address: field.Address,
    standby: Type.Boolean({ description: 'Another process sends with this key.' }), trouble: field.orNull(Type.String(), 'What blocks the lane; null when nothing does.'),
  }), { description: 'State of the lane role.' })),
  relays: Type.Optional(Type.Array(field.answer('RelayerReadiness', {
    chainId: field.ChainId, address: field.Address, standby: Type.Boolean({ description: 'Another process relays on this chain.' }),
    openRelays: field.integer('Number of relayed requests that have not ended.'),
    trouble: field.orNull(Type.String(), 'Why the relayer cannot send; null when it can.'),
    keeper: field.answer('KeeperReadiness', {
      standby: Type.Boolean({ description: 'Another process is the keeper of this chain.' }),
      dueProposals: field.integer('Number of proposed resolutions that are disputed, or past their dispute window and the time for others to settle them.'),
      overdueProposals: field.integer('Number of those that have waited for more than seven days since their dispute window.'),
      trouble: field.orNull(Type.String(), 'Why the keeper cannot look or send; null when it can.'),
    }),
  }), { description: 'State of the relayer role.' })),
  prices: Type.Optional(Type.Array(field.answer('PricesReadiness', {
    standby: Type.Boolean({ description: 'Another process records prices.' }), trouble: field.orNull(Type.String(), 'Why no price can be recorded; null when it can.'),
    sources: Type.Array(field.answer('PriceSourceReadiness', {
      name: Type.String(), connected: Type.Boolean(), sinceHeardS: field.orNull(field.integer('Seconds.'), 'Seconds since its last price; null before the first.'),
      trouble: field.orNull(Type.String(), 'What went wrong last; null when all has been well since prices came.'),
    }), { description: 'The best first.' }),
    assets: Type.Array(field.answer('PricedAssetReadiness', {
      asset: Type.String(), source: Type.String({ description: 'The source in use.' }),
      sincePriceS: field.orNull(field.integer('Seconds.'), 'Seconds since the last price that counts was published; null before the first.'),
    })),
  }), { description: 'State of the prices role.' })),
  quickMarkets: Type.Optional(Type.Array(field.answer('QuickMarketsReadiness', {
    chainId: field.ChainId, address: field.Address, standby: Type.Boolean({ description: 'Another process creates and resolves the quick markets of this chain.' }),
    missingMarkets: field.integer('Number of quick markets that there should be and are not.'),
    decidedMarkets: field.integer('Number of decided quick markets that the chain has not resolved.'),
    unresolvableMarkets: field.integer('Number of quick markets whose price at the start or the end did not come in time.'),
    refused: field.integer('Number of creations and resolutions that the contracts refused last.'),
    trouble: field.orNull(Type.String(), 'Why nothing can be looked at or sent; null when it can.'),
  }), { description: 'State of the prices role, for each chain with a key for quick markets.' })),
  chains: Type.Optional(Type.Array(Type.Partial(field.answer('ChainReadiness', {
    chainId: field.ChainId, finalBlock: field.orNull(field.integer('Number of the block.'), 'The last final block of the chain; null while there is none, as before the chain has answered.'),
    lagBlocks: field.integer('Number of final blocks that the history does not have yet.'),
    reachable: Type.Boolean({ description: 'Whether the last request to the chain succeeded. While the chain is unreachable, orders are accepted and fills wait.' }),
    failures: field.integer('Number of requests to the chain that failed in a row.'),
    lastError: field.orNull(Type.String(), 'Why the last request failed, or which blocks a node that answers has lost; null when nothing is wrong.'),
    sinceLookS: field.integer('Seconds since a request succeeded, or since the start.'),
    stalled: Type.Boolean({ description: 'The chain has had no new block for too long.' }),
    waitingFills: field.integer('Number of fills that wait to be sent, counted up to 10,000.'),
    sentFills: field.integer('Number of fills in transactions that are neither confirmed nor failed.'),
    oldestWaitingS: field.orNull(field.integer('Seconds.'), 'How long the oldest waiting fill has waited, in seconds; null when none waits.'),
    settlementTrouble: field.orNull(Type.String(), 'What blocks settlement; null when nothing does.'),
    stopped: field.orNull(Type.String(), 'Why the chain is not recorded any more; null while it is recorded.'),
    resolutionTrouble: field.orNull(Type.String(), 'Which quick market the chain has resolved otherwise than the exchange decided, since the process started; null when none.'),
    contradictedMarkets: field.integer('Number of quick markets that the chain has resolved otherwise than the exchange decided, since the process started.'),
    anchorsPassedOver: field.integer('Number of transactions whose anchors the chain\'s settings pass over.'),
  })), { description: 'State of the indexer and settlement roles; each has its own fields.' })),
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
  readModels: { position: 4_217, lag: 0 }, feeds: [{ topic: 'fills.v1', standby: false, position: 4_217, lag: 1, trouble: null, topicTrouble: null }],
  intakes: [{ standby: false, position: 4_217, lag: 1, trouble: null, kafkaTrouble: null }],
  lanes: [{ chainId: 31_337, key: 'operator', address: example.bob, standby: false, trouble: null }],
  relays: [{
    chainId: 31_337, address: example.maker, standby: false, openRelays: 1, trouble: null,
    keeper: { standby: false, dueProposals: 2, overdueProposals: 0, trouble: null },
  }],
  prices: [{
    standby: false, trouble: null, sources: [{ name: 'pyth', connected: true, sinceHeardS: 0, trouble: null }],
    assets: [{ asset: 'BTC', source: 'pyth', sincePriceS: 1 }],
  }],
  quickMarkets: [{
    chainId: 31_337, address: example.maker, standby: false, missingMarkets: 0, decidedMarkets: 2, unresolvableMarkets: 0, refused: 0, trouble: null,
  }],
  chains: [{
    chainId: 31_337, finalBlock: 312, lagBlocks: 0, reachable: true, failures: 0, lastError: null, sinceLookS: 0, stalled: false,
    waitingFills: 3, sentFills: 12, oldestWaitingS: 0, settlementTrouble: null, stopped: null,
    resolutionTrouble: null, contradictedMarkets: 0, anchorsPassedOver: 0,
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
