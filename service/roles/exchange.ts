/** The whole exchange in one process: trading core, chains, order intake, reads and HTTP, put together from their parts. */
import type { FindOrder } from '../../command/orders/answer.js';
import { createCancelOrder } from '../../command/orders/cancel-order.js';
import { createCommandWriter } from '../../command/orders/command-writer.js';
import { findEngineOrder, findMarket } from '../../command/orders/engine-view.js';
import { createKeccak256, type Keccak256 } from '../../command/signing/keccak.js';
import { createPlaceOrder } from '../../command/orders/place-order.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { prepareDomain } from '../../command/signing/typed-data.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Log } from '../../engine/log/log.js';
import type { GroupCommit } from '../../engine/log/group-commit.js';
import type { EngineRun } from '../../engine/run/run.js';
import { openReadModels, type Database } from '../../query/database.js';
import { marketIdOf } from '../../query/markets.js';
import { findOrder as findRecordedOrder } from '../../query/order.js';
import { heldPosition } from '../../query/positions.js';
import { openMissingMarkets, readCatalogue } from '../chains/catalogue.js';
import { startChainWorkers, type ChainWorkers, type ConfiguredChain } from '../chains/chain-workers.js';
import { configHandler, orderDomains } from '../api/config-answer.js';
import { orderEndpoints, readEndpoints, serviceEndpoints } from '../api/endpoints.js';
import type { SyncPosition } from '../api/endpoints/sync-position.js';
import type { Config } from '../config.js';
import { checkHistory } from './history-check.js';
import { createHealth, type HealthSources } from './health.js';
import { createApp } from '../http/app.js';
import { docsPage } from '../http/docs.js';
import { createLimiters } from '../http/limits.js';
import { closeServer, createServer, listen } from '../http/server.js';
import type { Logger } from '../logger.js';
import { createMetrics } from '../metrics.js';
import { observedOrders, requestObserver } from './observe.js';
import { createQueries } from './queries.js';
import type { StopStep } from '../stop.js';
import { startTradingCore, type TradingCore } from './trading-core.js';

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

/** What the exchange stands on. */
export interface Grounds {
  readonly databaseUrl: string;
  /** Where orders settle; none: they are matched, and that is all. */
  readonly chains: readonly ConfiguredChain[];
  /** The development chain's JSON-RPC, which clients may be told. */
  readonly devRpcUrl?: string | undefined;
}

/**
 * Starts everything and listens. Resolves when the history has been caught up with, the chains have been read to their final blocks
 * (those that can be reached), and the markets are open. When it rejects, nothing is left running.
 */
export async function startExchange(config: Config, grounds: Grounds, logger: Logger): Promise<Exchange> {
  const metrics = createMetrics();
  const core = await startTradingCore({ config, databaseUrl: grounds.databaseUrl, committed: metrics.batch, logger });
  const stopSteps = [...core.stopSteps];
  try {
    return await openExchange({ config, grounds, logger, metrics, core, stopSteps });
  } catch (error) {
    for (const { run } of stopSteps) await run();
    throw error;
  }
}

interface Opening {
  readonly config: Config;
  readonly grounds: Grounds;
  readonly logger: Logger;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly core: TradingCore;
  /** What ends all that has been started so far, in order. */
  readonly stopSteps: StopStep[];
}

/** Everything around the trading core. */
async function openExchange({ config, grounds, logger, metrics, core, stopSteps }: Opening): Promise<Exchange> {
  const now = (): number => Date.now();
  const { databaseUrl } = grounds;
  const keccak256 = await createKeccak256();
  const recovery = await createSignerRecovery(keccak256);
  const { run, log, commits, outcomeOf, projections } = core;
  const domains = new Map(orderDomains(config, grounds.chains).map((domain) => [domain.chainId, prepareDomain(keccak256, domain)]));
  await checkHistory({ state: run.engine.state, log, domains: [...domains.values()], settles: grounds.chains.length > 0 });
  const submit = createCommandWriter({ commits, outcomeOf, writerId: core.writerId, answerWithinMs: ANSWER_WITHIN_MS });
  core.startClock();
  const chains = await startChains({ config, grounds, core, keccak256, submit, logger });
  stopSteps.unshift({ what: 'stop the chains\' workers', run: () => Promise.all([...chains.values()].map((chain) => chain.stop())) });
  await Promise.race([projections.started, projections.ended]);
  const db = await openReadModels({ url: databaseUrl, onError: (error) => { logger.warn({ error: error.message }, 'read models'); } });
  stopSteps.unshift({ what: 'close the read models', run: () => db.close() });

  const domainOf = (chainId: number) => domains.get(chainId);
  const findOrder = orderFinder(run, db);
  const orders = observedOrders(metrics, {
    placeOrder: createPlaceOrder({
      findMarket: (marketId) => findMarket(run.engine.state, marketId), domainOf, recovery, submit, findOrder, originalOutcome: outcomeOf, now,
      permitDigestOf: (chainId) => chains.get(chainId)?.permitDigest(), exposureOf: (chainId) => chains.get(chainId)?.exposure,
    }),
    cancelOrder: createCancelOrder({ auth: config.cancelAuth, domainOf, recovery, submit, findOrder, now }),
  });
  const watch = await watchLength(log);
  stopSteps.unshift({ what: 'stop watching the log', run: () => Promise.resolve(watch.stop()) });
  const stopping = { http: false };
  const sources = healthSources({ run, projections, commits, stopping, watch, chains, maxLag: config.readyMaxLag });
  metrics.observe({ ...sources.metrics, recoveryBackend: recovery.backend });
  const health = createHealth(sources.health);
  const routes = [
    ...orderEndpoints({ ...orders, syncPosition: positionSync({ run, db, chains }) }),
    ...readEndpoints(createQueries({ db, log, now })),
    ...serviceEndpoints({
      getConfig: configHandler({ config, chains: [...chains.values()], devRpcUrl: grounds.devRpcUrl, now }),
      getLiveness: health.live, getReadiness: health.ready, getMetrics: metrics.scrape,
    }, VERSION),
  ];
  const app = createApp({
    routes, pages: { '/docs': docsPage('/openapi.json') }, trustProxy: config.trustProxy, now: () => performance.now(),
    limiters: createLimiters({ windowS: config.rateLimitWindowS, orders: config.rateLimitOrders, reads: config.rateLimitReads }),
    waitForPosition: (position, signal) => db.waitForPosition(position, { timeoutMs: READ_WAIT_MS, signal }),
    observer: requestObserver(metrics, logger),
  });
  const server = createServer(app, config);
  const port = await listen(server, config);
  stopSteps.unshift({ what: 'stop taking requests', run: () => { stopping.http = true; return closeServer(app, server, config.stopTimeoutMs); } });
  return {
    url: `http://${config.host}:${port}`, run, failed: core.failed, stopSteps,
  };
}

interface ChainsParts {
  readonly config: Config;
  readonly grounds: Grounds;
  readonly core: TradingCore;
  readonly keccak256: Keccak256;
  readonly submit: ReturnType<typeof createCommandWriter>;
  readonly logger: Logger;
}

/** The chains' workers by chain id. Without a chain the catalogue's markets are opened by commands of our own. */
async function startChains({ config, grounds, core, keccak256, submit, logger }: ChainsParts): Promise<ReadonlyMap<number, ChainWorkers>> {
  const { run, commits, outcomeOf } = core;
  if (grounds.chains.length === 0) {
    const isKnown = (marketId: string) => findMarket(run.engine.state, marketId) !== undefined;
    const catalogue = await readCatalogue(config.catalogue);
    await openMissingMarkets({ catalogue, chainId: config.chainId, keccak256, isKnown, commits, outcomeOf, now: () => Date.now() });
  }
  const started = grounds.chains.map((configured) => startChainWorkers({
    ...configured, run, log: core.log, outcomeOf, submit, databaseUrl: grounds.databaseUrl, keccak256, logger,
    onEvents: (listener) => { core.onStep(({ outcome }) => { listener(outcome.events); }); },
  }));
  const results = await Promise.allSettled(started);
  const workers = results.flatMap((result) => result.status === 'fulfilled' ? [result.value] : []);
  const refusal = results.find((result) => result.status === 'rejected');
  if (refusal !== undefined) {
    await Promise.all(workers.map((each) => each.stop()));
    throw refusal.reason;
  }
  return new Map(workers.map((each) => [each.chain.chainId, each]));
}

/** Asks the chain, and records what it says where the read model says otherwise. */
function positionSync(
  { run, db, chains }: { run: EngineRun; db: Database; chains: ReadonlyMap<number, ChainWorkers> },
): SyncPosition {
  return async ({ market: named, user }) => {
    const asked = { marketId: await marketIdOf(db, named), user };
    const market = findMarket(run.engine.state, asked.marketId);
    if (market === undefined) throw new RequestError('unknown_market');
    const chain = chains.get(market.chainId);
    if (chain === undefined) throw new RequestError('chain_unavailable', `chain ${market.chainId} is not configured`);
    const known = async () => {
      await db.waitForPosition(run.engine.state.position - 1, { timeoutMs: READ_WAIT_MS });
      return heldPosition(db, asked);
    };
    const correctedAt = await chain.sync({ ...asked, known });
    if (correctedAt !== undefined) await db.waitForPosition(correctedAt, { timeoutMs: READ_WAIT_MS });
    const position = await heldPosition(db, asked);
    const message = correctedAt === undefined ? 'Position equals on-chain balances already' : 'Position synced from on-chain balances';
    return { success: true, position, message, logPosition: position.position };
  };
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
  readonly chains: ReadonlyMap<number, ChainWorkers>;
  readonly maxLag: number;
}

function healthSources({ run, projections, commits, stopping, watch, chains, maxLag }: Observed) {
  const engine = () => {
    const { position } = run.engine.state;
    return { position, logLength: Math.max(position, watch.length), standby: run.standby };
  };
  const models = () => [...projections.positions].map(([name, position]) => ({ name, position }));
  const health: HealthSources = {
    engine, projections: () => Promise.resolve(models()), stopping: () => stopping.http, maxLag,
    chains: () => [...chains.values()].map((chain) => chain.status()),
  };
  return {
    health,
    metrics: {
      queuedOrders: () => commits.queued(), engine, chains: health.chains,
      projections: () => Promise.resolve(models().map(({ name, position }) => ({ name, lag: engine().position - position }))),
    },
  };
}
