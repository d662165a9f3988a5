/**
 * One process: the roles that its settings name, on shared parts, behind one HTTP server that listens from the
 * beginning; their start and end.
 */
import { RequestError } from '../../engine/records/errors.js';
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
import { reportTo, type Logger } from '../logger.js';
import { machineClocks } from '../machine/clock.js';
import { spaceOf } from '../machine/disk.js';
import type { Resources } from '../resources.js';
import { ROLE_NAMES, type RoleName } from './roles.js';
import type { Machine } from '../status/conditions.js';
import { readinessAnswer, startingReasons } from '../status/readiness.js';
import type { StopStep } from '../stop.js';
import { bearerTokensFor } from './bearer-tokens.js';
import { serve } from './serve.js';
import { openSharedParts, type Urls, type OpenedParts, type OpenOptions, type SharedParts } from './shared-parts.js';
import { createWaits } from './waits.js';
import { neverFails } from '../../engine/running-role.js';
import type { Database } from '../../query/database.js';
import { configHandler } from '../endpoints/config.js';
import { createAlerts } from '../status/alerts.js';
import { startRole, type StartedRole } from './start-role.js';

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
  const { urls, chains, routes: others = [] } = resources;
  const roles = new Set(config.roles);
  const metrics = createMetrics();
  const ending = new AbortController();
  const waits = createWaits({ logger, signal: ending.signal });
  const leaving = { isSaid: false };
  let startup: Startup | undefined;
  const working = () => startup?.working();
  // Loaded where it is served: the documentation's assets take a tenth of a second.
  const pages = roles.has('query') ? { '/docs': (await import('../http/docs.js')).docsPage('/openapi.json', config.trustProxy) } : {};
  const { app, closeTokens } = appOf({ pages, config, chains, others, urls, metrics, logger, working, readiness: async (role) => {
    const now = working();
    const left = leaving.isSaid ? ['the service is stopping'] : [];
    return readinessAnswer({
      roles: config.roles,
      reasons: now === undefined ? startingReasons([...left, ...waits.reasons()]) : [...left, ...reasonsOf(now, role)],
      readings: now === undefined ? [] : stateOf(now, role),
    });
  } });
  const { url, stop } = await serve(app, { config, metrics, logger });
  const { started, failed, stopSteps } = startup = startRoles({
    config, roles, urls, chains, logger, metrics, machine, waits, abort: (reason) => { ending.abort(reason); },
  });
  return {
    url, started, failed,
    stopSteps: [
      { what: 'say that this process leaves', async run() {
        leaving.isSaid = true;
        app.leave();
        if (working() !== undefined) await pause(graceMs);
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
  readonly config: Config;
  readonly chains: readonly ConfiguredChain[];
  /** Beside those of the exchange. */
  readonly others: readonly Route[];
  readonly urls: Urls;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly working: () => Working | undefined;
  readonly readiness: (role: RoleName | undefined) => Promise<Reply>;
}

/** What tells of a process whose roles do not work yet. */
const ALWAYS: ReadonlySet<Endpoint> = new Set<Endpoint>([getLiveness, getReadiness, getMetrics]);

/** The application of the roles' endpoints, whose handlers come when the roles work. */
function appOf(
  { pages, config, chains, others, urls, metrics, logger, working, readiness }: AppParts,
): { readonly app: App; closeTokens(): Promise<void> } {
  const works = (): Working => {
    const now = working();
    if (now === undefined) throw new RequestError('unavailable', 'the process is starting: /health/ready says what it waits for');
    return now;
  };
  const roles = new Set<string>(config.roles);
  const endpoints = [...allEndpoints, ...others.map(({ endpoint }) => endpoint)];
  const routes = allEndpoints.filter(({ role }) => roles.has(role)).map((endpoint): Route => (
    { endpoint, handler: (request) => handlerOf(works(), endpoint)(request) }));
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
    admit: (endpoint) => { if (!ALWAYS.has(endpoint)) works(); },
    ownPagesOnly: config.cancelAuth === 'open' ? cancelEndpoints : [],
    pages, trustProxy: config.trustProxy, now: () => performance.now(),
    limiters: createLimiters({
      windowS: RATE_LIMIT_WINDOW_S, orders: config.rateLimitOrders, reads: config.rateLimitReads,
    }),
    waitForPosition: async (position, signal) => works().reads?.waitForPosition(
      position, { timeoutMs: READ_WAIT_MS, signal },
    ),
    observer: requestObserver(metrics, logger),
  });
  return { app, closeTokens: () => tokens.close() };
}

function handlerOf({ handlers }: Working, endpoint: Endpoint): Route['handler'] {
  const handler = handlers.get(endpoint);
  if (handler === undefined) throw new TypeError(`the role ${endpoint.role} has no handler for ${endpoint.id}`);
  return handler;
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

/** A process whose roles all work. */
export interface Working {
  readonly parts: SharedParts;
  readonly roles: ReadonlyMap<RoleName, StartedRole>;
  readonly handlers: ReadonlyMap<Endpoint, Route['handler']>;
  /** The read models, for the roles that answer from them. */
  readonly reads: Database | undefined;
  readonly getConfig: () => Reply;
}

export interface Startup {
  /** Undefined until the start is over. */
  working(): Working | undefined;
  /** Resolves when each role works. Rejects with the reason why the process cannot work. */
  readonly started: Promise<void>;
  /** Rejects when a part or a role has failed after the start. */
  readonly failed: Promise<never>;
  /** The steps that end everything that was started, in order, also before the start is over. */
  readonly stopSteps: readonly StopStep[];
}

/** How often the values are looked at that may be alerts. */
const LOOK_EVERY_MS = 5_000;

/** Begins the start. `abort` ends what it waits for. */
export function startRoles(options: OpenOptions & { readonly abort: (reason: Error) => void }): Startup {
  const { roles, logger, metrics, machine, waits, abort } = options;
  const names = ROLE_NAMES.filter((name) => roles.has(name));
  const running = new Map<RoleName, StartedRole>();
  let opened: OpenedParts | undefined;
  let working: Working | undefined;
  let looking: NodeJS.Timeout | undefined;

  async function start(): Promise<void> {
    const { parts, failed } = opened = await openSharedParts(options);
    for (const name of names) {
      waits.signal.throwIfAborted();
      const starting = startRole(name, parts).then((role) => { running.set(name, role); });
      await waits.during(() => `the ${name} role is starting`, Promise.race([starting, failed, ...failuresOf(running)]));
    }
    // The replica is one for all roles.
    const state = [...new Set([...running.values()].flatMap((role) => role.state))];
    metrics.show(state);
    const look = createAlerts({ report: reportTo(logger), now: machine.clocks.monotonic });
    looking = setInterval(() => { void look([...parts.conditions.state, ...state]); }, LOOK_EVERY_MS).unref();
    working = {
      parts, roles: running, reads: running.has('query') || running.has('api') ? await parts.readModels() : undefined,
      handlers: new Map([...running.values()].flatMap(
        ({ routes = [] }) => routes.map(({ endpoint, handler }) => [endpoint, handler] as const),
      )),
      getConfig: configHandler({
        config: options.config, chains: [...parts.chains.values()], now: () => parts.clock.now(),
      }),
    };
  }

  const started = start();
  started.catch(() => undefined);
  return {
    working: () => working, started,
    failed: started.then(() => Promise.race([opened?.failed ?? neverFails, ...failuresOf(running)]), () => neverFails),
    stopSteps: [
      { what: 'stop asking the chains', async run() {
        abort(new Error('the process stops'));
        await opened?.leaveChains();
        await started.catch(() => undefined);
        clearInterval(looking);
      } },
      ...names.toReversed().map((name): StopStep => ({ what: `stop the ${name} role`, run: async () => { await running.get(name)?.stop(); } })),
      { what: 'stop the replica', run: async () => { await opened?.stopReplica(); } },
      { what: 'close the read models', run: async () => { await opened?.closeReadModels(); } },
      { what: 'close the log', run: async () => { await opened?.closeLog(); } },
    ],
  };
}

function failuresOf(running: ReadonlyMap<RoleName, StartedRole>): Promise<never>[] {
  return [...running.values()].map(({ failed }) => failed);
}
