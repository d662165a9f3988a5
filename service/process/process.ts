/** One process: the roles that its settings name, on shared parts, behind one HTTP server. */
import { allEndpoints, serviceEndpoints } from '../api/endpoints.js';
import type { Route } from '../api/endpoint.js';
import { cancelOrder } from '../api/endpoints/orders.js';
import { getMetrics } from '../api/endpoints/service.js';
import { configHandler } from '../api/config-answer.js';
import { contractsHandler } from '../api/endpoints/wallet-contracts.js';
import type { ConfiguredChain } from '../chains/configured-chain.js';
import type { Config } from '../config.js';
import { createApp } from '../http/app.js';
import { docsPage } from '../http/docs.js';
import { createLimiters } from '../http/limits.js';
import { requestObserver } from '../http/observe.js';
import type { Logger } from '../logger.js';
import { createMetrics, type Figure, type Metrics } from '../metrics.js';
import type { StopStep } from '../stop.js';
import { allRoles } from '../roles/all-roles.js';
import { bearerTokensFor } from './bearer-tokens.js';
import { machineClocks } from '../conditions/clock.js';
import type { Machine } from '../conditions/conditions.js';
import { freeBytesOf } from '../conditions/disk.js';
import { mergeReadiness, type ReadinessParts } from './readiness.js';
import { ROLE_NAMES, type RoleName } from '../roles/role-names.js';
import type { RunningRole } from '../roles/role.js';
import { serve, type Listener } from './serve.js';
import { openSharedParts, type SharedParts, type Urls } from './shared-parts.js';

const VERSION = '0.1.0';
/** How long a read waits for the position in X-Min-Log-Position. */
const READ_WAIT_MS = 2_000;

export interface ExchangeProcess {
  readonly url: string;
  /** The steps that stop the process, in order. */
  readonly stopSteps: readonly StopStep[];
  /** Rejects when a part has failed and the process should end. */
  readonly failed: Promise<never>;
}

/** The databases and chains of a process. */
export interface Grounds {
  readonly urls: Urls;
  /** Where orders settle; empty: orders are matched and trades do not settle. */
  readonly chains: readonly ConfiguredChain[];
  /** The part of `/health/ready`, and the figures, of what was started here for all processes; absent when nothing was. */
  readonly started?: StartedHere | undefined;
}

export interface StartedHere {
  readonly health: () => ReadinessParts;
  readonly figures: readonly Figure[];
}

const THIS_MACHINE: Machine = { clocks: machineClocks, freeBytesOf };

/**
 * Starts the roles in their order, then listens. Resolves when each role works: the process has caught up with the history and, for each
 * chain that can be reached, with its final blocks. When the promise rejects, nothing is left running.
 */
export async function startProcess(
  config: Config, { urls, chains, started }: Grounds, logger: Logger, machine = THIS_MACHINE,
): Promise<ExchangeProcess> {
  const roles = new Set(config.roles);
  const metrics = createMetrics();
  const { parts, failed, leaveChains, stopSteps } = await openSharedParts({ config, roles, urls, chains, logger, metrics, machine });
  const steps = [...stopSteps];
  try {
    const running = new Map<RoleName, RunningRole>();
    for (const name of ROLE_NAMES.filter((each) => roles.has(each))) {
      const role = await allRoles[name].start(parts);
      steps.unshift({ what: `stop the ${name} role`, run: () => role.stop() });
      metrics.show(role.figures);
      running.set(name, role);
    }
    metrics.show(started?.figures ?? []);
    steps.unshift(leaveChains);
    const { url, stop } = await listenFor({ config, parts, running, metrics, logger, started });
    steps.unshift({ what: 'stop taking requests', run: stop });
    return { url, stopSteps: steps, failed: Promise.race([failed, ...[...running.values()].map((role) => role.failed)]) };
  } catch (error) {
    for (const { run } of [leaveChains, ...steps]) await run();
    throw error;
  }
}

interface Started {
  readonly config: Config;
  readonly parts: SharedParts;
  readonly running: ReadonlyMap<RoleName, RunningRole>;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly started: Grounds['started'];
}

async function listenFor({ config, parts, running, metrics, logger, started }: Started): Promise<Listener> {
  let stopping = false;
  const routes: Route[] = [...running.values()].flatMap((role) => role.routes);
  const reads = running.has('query') || running.has('api') ? await parts.readModels() : undefined;
  const service = serviceEndpoints({
    getContracts: contractsHandler([...parts.chains.values()].map(({ chain }) => chain)),
    getConfig: configHandler({ config, chains: [...parts.chains.values()], now: parts.now }), getLiveness: () => ({ body: '{"live":true}' }), getMetrics: metrics.scrape,
    getReadiness: async () => readinessAnswer([...running.keys()], [
      { reasons: stopping ? ['the service is stopping'] : [] }, ...started === undefined ? [] : [started.health()],
      ...await Promise.all([parts.conditions.health(), ...[...running.values()].map((role) => role.health())]),
    ]),
  }, VERSION);
  const tokens = bearerTokensFor(routes, { url: parts.urls.readModels, logger });
  const app = createApp({
    ...tokens.lookUp,
    routes: [...routes, ...service.filter(({ endpoint }) => endpoint !== getMetrics || config.metricsPort === undefined)], endpoints: allEndpoints,
    ownPagesOnly: config.cancelAuth === 'open' ? [cancelOrder] : [],
    pages: running.has('query') ? { '/docs': docsPage('/openapi.json') } : {}, trustProxy: config.trustProxy, now: () => performance.now(),
    limiters: createLimiters({ windowS: config.rateLimitWindowS, orders: config.rateLimitOrders, reads: config.rateLimitReads }),
    waitForPosition: async (position, signal) => reads?.waitForPosition(position, { timeoutMs: READ_WAIT_MS, signal }),
    observer: requestObserver(metrics, logger),
  });
  const { url, stop } = await serve(app, { config, metrics, logger, filesPerConnection: 1 });
  return {
    url,
    stop: async () => {
      stopping = true;
      await stop();
      await tokens.close();
    },
  };
}

/** The answer to `/health/ready`: status 503 when there is a reason not to send requests to the process. */
export function readinessAnswer(roles: readonly string[], health: readonly ReadinessParts[]) {
  const { reasons, ...shown } = mergeReadiness(health);
  return { status: reasons.length === 0 ? 200 : 503, body: JSON.stringify({ ready: reasons.length === 0, roles, reasons, ...shown }) };
}
