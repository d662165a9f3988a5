/**
 * One process: the roles that its settings name, on shared parts, behind one HTTP server that listens from the
 * beginning; their start and end.
 */
import type { Reading } from '../../engine/state-table.js';
import { pause } from '../../engine/waiting.js';
import { serve as routesOf, type Endpoint, type Reply, type Route } from '../api/endpoint.js';
import { openapiDocument } from '../api/openapi.js';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import type { Config } from '../config.js';
import { allEndpoints, serviceEndpoints } from '../endpoints.js';
import { cancelEndpoints } from '../../command/orders/endpoints.js';
import { contractsHandler } from '../../command/chain/contracts.js';
import { getLiveness, getMetrics, getReadiness } from '../endpoints/health.js';
import { createApp, type App } from '../http/app.js';
import { RATE_LIMIT_WINDOW_S, createLimiters } from '../http/limits.js';
import { requestObserver, createMetrics, type Metrics } from '../status/metrics.js';
import type { Logger } from '../logger.js';
import { machineClocks } from '../machine/clock.js';
import { spaceOf } from '../machine/disk.js';
import type { Resources } from '../resources.js';
import type { RoleName } from './roles.js';
import type { Machine } from '../status/conditions.js';
import { readinessAnswer, startingReasons } from '../status/readiness.js';
import type { StopStep } from '../stop.js';
import { bearerTokensFor } from './bearer-tokens.js';
import { serve } from './serve.js';
import type { Urls } from './shared-parts.js';
import { startRoles, type Working } from './startup.js';
import { createWaits } from './waits.js';

const VERSION = '0.1.0';
/** How long a read waits for the position in X-Min-Log-Position. */
const READ_WAIT_MS = 2_000;

export interface ExchangeProcess {
  readonly url: string;
  /** Resolves when each role works. Rejects with the reason why the process cannot work. */
  readonly started: Promise<void>;
  /** The steps that stop the process, in order, also before its start is over. */
  readonly stopSteps: readonly StopStep[];
  /** Rejects when a part has failed and the process should end. */
  readonly failed: Promise<never>;
}

const THIS_MACHINE: Machine = { clocks: machineClocks, spaceOf, lookEveryMs: 1_000 };

export interface OpeningProcess {
  readonly config: Config;
  readonly resources: Resources;
  readonly logger: Logger;
  readonly machine?: Machine | undefined;
  /** For how long it goes on serving after it has said that it leaves, so that a proxy notices. */
  readonly graceMs: number;
}

/**
 * Listens at once, and starts the roles in their order. Until each role works, `/health/ready` says what is waited for
 * and every other endpoint answers 503. When the promise rejects, nothing is left running.
 */
export async function openProcess({
  config, resources, logger, machine = THIS_MACHINE, graceMs,
}: OpeningProcess): Promise<ExchangeProcess> {
  const { urls, chains, routes: others = [], ownPagesOnly = [] } = resources;
  const roles = new Set(config.roles);
  const metrics = createMetrics();
  const ending = new AbortController();
  const waits = createWaits({ logger, signal: ending.signal });
  const leaving = { isSaid: false };
  let working: Working | undefined;
  // Loaded where it is served: the documentation's assets take a tenth of a second.
  const pages = roles.has('query') ? { '/docs': (await import('../http/docs.js')).docsPage('/openapi.json', config.trustProxy) } : {};
  const frontPage = roles.has('query') ? await (await import('../http/page.js')).builtPage() : undefined;
  const { app, open, closeTokens } = appOf({ pages, frontPage, config, chains, others, ownPagesOnly, urls, metrics, logger, working: () => working,
    readiness: async (role) => {
      const now = working;
      const left = leaving.isSaid ? ['the service is stopping'] : [];
      return readinessAnswer({
        roles: config.roles,
        reasons: now === undefined ? startingReasons([...left, ...waits.reasons()]) : [...left, ...reasonsOf(now, role)],
        readings: now === undefined ? [] : stateOf(now, role),
      });
    } });
  const { url, stop } = await serve(app, { config, metrics, logger });
  const { started, failed, stopSteps } = startRoles({
    config, roles, urls, chains, logger, metrics, machine, waits, abort: (reason) => { ending.abort(reason); },
  });
  const isWorking = started.then((all) => {
    working = all;
    open(all);
  });
  isWorking.catch(() => undefined);
  return {
    url, started: isWorking, failed,
    stopSteps: [
      { what: 'say that this process leaves', async run() {
        leaving.isSaid = true;
        app.leave();
        if (working !== undefined) await pause(graceMs);
      } },
      { what: 'stop taking requests', run: async () => {
        await stop();
        await closeTokens();
      } },
      ...stopSteps,
    ],
  };
}

/**
 * Opens a process and waits until each role works, so that it has caught up with the history. When the promise rejects,
 * nothing is left running.
 */
export async function startProcess(
  config: Config, resources: Resources, logger: Logger, machine?: Machine,
): Promise<ExchangeProcess> {
  const process = await openProcess({ config, resources, logger, machine, graceMs: 0 });
  try {
    await process.started;
    return process;
  } catch (error) {
    for (const { run } of process.stopSteps) await run();
    throw error;
  }
}

interface AppParts {
  readonly pages: Parameters<typeof createApp>[0]['pages'];
  readonly frontPage: Parameters<typeof createApp>[0]['frontPage'];
  readonly config: Config;
  readonly chains: readonly ConfiguredChain[];
  /** Beside those of the exchange. */
  readonly others: readonly Route[];
  readonly ownPagesOnly: readonly Endpoint[];
  readonly urls: Urls;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly working: () => Working | undefined;
  readonly readiness: (role: RoleName | undefined) => Promise<Reply>;
}

/** What tells of a process whose roles do not work yet. */
const ALWAYS: ReadonlySet<Endpoint> = new Set<Endpoint>([getLiveness, getReadiness, getMetrics]);

/** The application of the roles' endpoints; `open` gives them their handlers when the roles work. */
function appOf(
  { pages, frontPage, config, chains, others, ownPagesOnly, urls, metrics, logger, working, readiness }: AppParts,
): { readonly app: App; open(all: Working): void; closeTokens(): Promise<void> } {
  const works = (): Working => {
    const now = working();
    if (now === undefined) throw new TypeError('a request was let in before the roles work');
    return now;
  };
  const roles = new Set<string>(config.roles);
  const endpoints = [...allEndpoints, ...others.map(({ endpoint }) => endpoint)];
  const start = { isOver: false, servedBefore: ALWAYS };
  const routes = allEndpoints.filter(({ role }) => roles.has(role)).map((endpoint) => ({ endpoint, handler: noHandler(endpoint) }));
  const service = routesOf(serviceEndpoints, {
    configuration: () => works().getConfig(), contracts: contractsHandler(chains.map(({ chain }) => chain)),
    scrape: () => metrics.scrape(), readiness, openapi: () => openapiDocument(endpoints, VERSION),
  });
  const tokens = bearerTokensFor(routes, { url: urls.readModels, logger });
  const app = createApp({
    ...tokens.lookUp,
    routes: [
      ...routes, ...others, ...service.filter(({ endpoint }) => endpoint !== getMetrics || config.metricsPort === undefined),
    ], endpoints,
    start,
    ownPagesOnly: [...config.cancelAuth === 'open' ? cancelEndpoints : [], ...ownPagesOnly],
    pages, frontPage, trustProxy: config.trustProxy, now: machineClocks.monotonic,
    limiters: createLimiters({
      windowS: RATE_LIMIT_WINDOW_S, orders: config.rateLimitOrders, reads: config.rateLimitReads,
    }),
    waitForPosition: async (position, signal) => works().reads?.waitForPosition(
      position, { timeoutMs: READ_WAIT_MS, signal },
    ),
    observer: requestObserver(metrics, logger),
  });
  return {
    app, closeTokens: () => tokens.close(),
    open({ handlers }) {
      for (const route of routes) route.handler = handlers.get(route.endpoint) ?? route.handler;
      start.isOver = true;
    },
  };
}

function noHandler({ id, role }: Endpoint): Route['handler'] {
  return () => { throw new TypeError(`the role ${role} has no handler for ${id}`); };
}

/** Why requests for the role should not be sent here, beside what the role reports; absent: for any role. */
function reasonsOf({ roles }: Working, role: RoleName | undefined): string[] {
  if (role === undefined) return [];
  const running = roles.get(role);
  if (running === undefined) return [`this process does not have the role ${role}`];
  return running.standsBy?.() === true ? [`another process does the work of the role ${role}; this one stands by`] : [];
}

function stateOf({ parts, roles }: Working, role: RoleName | undefined): readonly Reading[] {
  return [
    ...parts.conditions.state,
    ...[...roles].flatMap(([name, running]) => role === undefined || name === role ? running.state : []),
  ];
}
