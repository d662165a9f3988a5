/** The whole exchange in one process: log, engine, clock, projections, order intake, reads and HTTP, put together from their parts. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { FindOrder } from '../command/answer.js';
import { createCancelOrder } from '../command/cancel-order.js';
import { createCommandWriter } from '../command/command-writer.js';
import { findEngineOrder, findMarket } from '../command/engine-view.js';
import { createKeccak256 } from '../command/keccak.js';
import { createPlaceOrder } from '../command/place-order.js';
import { createSignerRecovery } from '../command/recover.js';
import { prepareDomain } from '../command/typed-data.js';
import { runClock } from '../engine/clock.js';
import { RequestError } from '../engine/errors.js';
import type { Log } from '../engine/log.js';
import { createGroupCommit, type GroupCommit } from '../engine/log/group-commit.js';
import { openPostgresLog } from '../engine/log/postgres.js';
import { createOutcomes } from '../engine/outcomes.js';
import { startEngine, type EngineRun } from '../engine/run.js';
import { openReadModels, type Database } from '../query/database.js';
import { findOrder as findRecordedOrder } from '../query/order.js';
import { openMissingMarkets, readCatalogue } from './catalogue.js';
import { configHandler, orderDomain } from './api/config-answer.js';
import { createRoutes } from './api/routes.js';
import type { Config } from './config.js';
import { checkHistory } from './history-check.js';
import { createHealth, type HealthSources } from './health.js';
import { createApp } from './http/app.js';
import { docsPage } from './http/docs.js';
import { createLimiters } from './http/limits.js';
import { closeServer, createServer, listen } from './http/server.js';
import type { Logger } from './logger.js';
import { createMetrics } from './metrics.js';
import { observedOrders, requestObserver } from './observe.js';
import { startProjectionThread } from './projection-thread.js';
import { createQueries } from './queries.js';
import type { StopStep } from './stop.js';

const VERSION = '0.1.0';
/** After this time a client whose command has no outcome yet is told so. */
const ANSWER_WITHIN_MS = 30_000;
/** How long a read waits for X-Min-Log-Position (design, section 5). */
const READ_WAIT_MS = 2_000;

export interface Exchange {
  readonly url: string;
  /** The engine, for tests and tools in the same process. */
  readonly run: EngineRun;
  /** What ends it, in order. */
  readonly stopSteps: readonly StopStep[];
  /** Rejects when a part has failed and the process should not go on. */
  readonly failed: Promise<never>;
}

/** Starts everything on a database and listens. Resolves when the history has been caught up with and the catalogue's markets are open. */
export async function startExchange(config: Config, databaseUrl: string, logger: Logger): Promise<Exchange> {
  const now = (): number => Date.now();
  const catalogue = await readCatalogue(config.catalogue);
  const metrics = createMetrics();
  const stopping = { engine: new AbortController(), clock: new AbortController(), http: false };
  const keccak256 = await createKeccak256();
  const recovery = await createSignerRecovery(keccak256);
  const log = await openPostgresLog({ url: databaseUrl });
  const outcomes = createOutcomes(log);
  const projections = startProjectionThread({ url: databaseUrl }, (trouble) => { logger.warn({ trouble }, 'projections'); });
  const writerId = randomUUID();
  const run = await startEngine({
    log, outcomes, writerId, signal: stopping.engine.signal, snapshotDirectory: join(config.dataDir, 'snapshots'), snapshotEvery: config.snapshotEvery,
    report: (message, details) => { logger.info(details, message); },
  });
  const commits = createGroupCommit({ log, stream: 'commands', maxQueued: config.maxQueuedOrders, committed: metrics.batch });
  await Promise.race([caughtUp(run), run.done, projections.ended]);
  const domain = prepareDomain(keccak256, orderDomain(config));
  await checkHistory({ state: run.engine.state, log, domain });
  const isKnown = (marketId: string) => findMarket(run.engine.state, marketId) !== undefined;
  await openMissingMarkets({ catalogue, chainId: config.chainId, keccak256, isKnown, commits, outcomeOf: outcomes.outcomeOf, now });
  const clock = runClock({ log, run, outcomes, now, signal: stopping.clock.signal, report: (message) => { logger.warn(message); } });
  await Promise.race([projections.started, projections.ended]);
  const db = await openReadModels({ url: databaseUrl, onError: (error) => { logger.warn({ error: error.message }, 'read models'); } });

  const domainOf = (chainId: number) => chainId === config.chainId ? domain : undefined;
  const submit = createCommandWriter({ commits, outcomeOf: outcomes.outcomeOf, writerId, answerWithinMs: ANSWER_WITHIN_MS });
  const findOrder = orderFinder(run, db);
  const orders = observedOrders(metrics, {
    placeOrder: createPlaceOrder({
      findMarket: (marketId) => findMarket(run.engine.state, marketId), domainOf, permitDigestOf: () => undefined, exposureOf: () => undefined,
      recovery, submit, findOrder, originalOutcome: outcomes.outcomeOf, now,
    }),
    cancelOrder: createCancelOrder({ auth: config.cancelAuth, domainOf, recovery, submit, findOrder, now }),
  });
  const watch = await watchLength(log);
  const sources = healthSources({ run, projections, commits, stopping, watch, maxLag: config.readyMaxLag });
  metrics.observe({ ...sources.metrics, recoveryBackend: recovery.backend });
  const health = createHealth(sources.health);
  const routes = createRoutes({
    ...orders, queries: createQueries({ db, log, now }), version: VERSION, config: configHandler(config, now),
    syncPosition: () => Promise.reject(new RequestError('chain_unavailable')),
    live: health.live, ready: health.ready, metrics: metrics.scrape,
  });
  const app = createApp({
    routes, pages: { '/docs': docsPage('/openapi.json') }, trustProxy: config.trustProxy, now: () => performance.now(),
    limiters: createLimiters({ windowS: config.rateLimitWindowS, orders: config.rateLimitOrders, reads: config.rateLimitReads }),
    waitForPosition: (position, signal) => db.waitForPosition(position, { timeoutMs: READ_WAIT_MS, signal }),
    observer: requestObserver(metrics, logger),
  });
  const server = createServer(app, config);
  const port = await listen(server, config);
  const stopSteps: StopStep[] = [
    { what: 'stop taking requests', run: () => { stopping.http = true; return closeServer(app, server, config.stopTimeoutMs); } },
    { what: 'finish the commands in hand', run: () => { stopping.clock.abort(); return Promise.all([clock, commits.drain()]); } },
    { what: 'stop the engine', run: () => { stopping.engine.abort(); return run.done; } },
    { what: 'stop the projections', run: () => projections.stop() },
    { what: 'close the database connections', run: () => { watch.stop(); return Promise.all([db.close(), log.close()]); } },
  ];
  const failed = Promise.race([run.done.then(() => pending), projections.ended.then(() => pending), clock.then(() => pending)]);
  return { url: `http://${config.host}:${port}`, run, stopSteps, failed };
}

const pending = new Promise<never>(() => undefined);

async function caughtUp(run: EngineRun): Promise<void> {
  while (!run.ready) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The engine knows every order that can still change, and at once; the read model knows the rest. */
function orderFinder(run: EngineRun, db: Database): FindOrder {
  return async (orderHash) => {
    const live = findEngineOrder(run.engine.state, orderHash);
    if (live !== undefined) return live;
    const recorded = await findRecordedOrder(db, orderHash);
    const market = recorded === undefined ? undefined : findMarket(run.engine.state, recorded.marketId);
    if (recorded === undefined || market === undefined) return undefined;
    const { orderNumber, marketId, trader, side, status, closedPosition } = recorded;
    const [size, remaining] = [String(recorded.size), String(recorded.remaining)];
    const order = { orderNumber, marketId, trader, side, status, chainId: market.chainId, size, remaining };
    return closedPosition === null ? order : { ...order, asOf: closedPosition };
  };
}

interface LengthWatch {
  readonly length: number;
  stop(): void;
}

const WATCH_EVERY_MS = 1_000;

/** How many commands the log has, as of a moment ago. */
async function watchLength(log: Log): Promise<LengthWatch> {
  let length = await log.length('commands');
  const timer = setInterval(() => {
    log.length('commands').then((current) => { length = current; }, () => undefined);
  }, WATCH_EVERY_MS).unref();
  return {
    get length() { return length; },
    stop() { clearInterval(timer); },
  };
}

interface Observed {
  readonly run: EngineRun;
  readonly projections: { readonly positions: ReadonlyMap<string, number> };
  readonly commits: GroupCommit;
  readonly stopping: { readonly http: boolean };
  readonly watch: LengthWatch;
  readonly maxLag: number;
}

function healthSources({ run, projections, commits, stopping, watch, maxLag }: Observed) {
  const engine = () => {
    const { position } = run.engine.state;
    return { position, logLength: Math.max(position, watch.length), standby: run.standby };
  };
  const models = () => [...projections.positions].map(([name, position]) => ({ name, position }));
  const health: HealthSources = {
    engine, projections: () => Promise.resolve(models()), stopping: () => stopping.http, maxLag,
  };
  return {
    health,
    metrics: {
      queuedOrders: () => commits.queued(), engine,
      projections: () => Promise.resolve(models().map(({ name, position }) => ({ name, lag: engine().position - position }))),
    },
  };
}
