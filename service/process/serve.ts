/** Listens with an application at PORT and, where METRICS_PORT is set, with the metrics at an address of their own. */
import { reading } from '../../engine/state-table.js';
import { bind } from '../api/endpoint.js';
import { getMetrics } from '../endpoints/health.js';
import type { Config } from '../config.js';
import { createApp, type App } from '../http/app.js';
import { connectionObserver, requestObserver, type Metrics } from '../status/metrics.js';
import { TIMEOUTS, closeServer, createServer, listen, urlOf } from '../http/server.js';
import type { Logger } from '../logger.js';
import { connectionsState } from '../status/process-state.js';
import { fitConnections, openFilesLimit } from '../machine/descriptors.js';

export interface Serving {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** How many files the process may have open; undefined when the system does not tell. */
  readonly openFiles?: () => Promise<number | undefined>;
}

export interface Listener {
  readonly url: string;
  /** Answers what is in flight and closes all connections, within STOP_TIMEOUT_MS. */
  stop(): Promise<void>;
}

/** Time for requests in flight to be answered when the process stops. */
export const STOP_TIMEOUT_MS = 10_000;

/** Whoever reads metrics needs few connections. */
const METRICS_CONNECTIONS = 64;

/** Starts listening. Rejects with the reason when an address cannot be had; then nothing is left listening. */
export async function serve(
  app: App, { config, metrics, logger, openFiles = openFilesLimit }: Serving,
): Promise<Listener> {
  const { limits, warning } = fitConnections(config, await openFiles());
  if (warning !== undefined) logger.warn(warning);
  metrics.show([reading(connectionsState, () => [{ open: app.connections.size }])]);
  const refused = connectionObserver(metrics, logger, () => performance.now());
  const metricsListener = await serveMetrics({ config, metrics, logger });
  const server = createServer(app, { ...TIMEOUTS, ...limits }, refused);
  try {
    const port = await listen(server, config);
    return {
      url: urlOf({ host: config.host, port }),
      stop: async () => { await Promise.all([closeServer(app, server, STOP_TIMEOUT_MS), metricsListener?.stop()]); },
    };
  } catch (error) {
    await metricsListener?.stop();
    throw error;
  }
}

/** Serves the metrics at METRICS_PORT; undefined when it is not set. */
async function serveMetrics({ config, metrics, logger }: Pick<Serving, 'config' | 'metrics' | 'logger'>): Promise<Listener | undefined> {
  const place = config.metricsPort;
  if (place === undefined) return undefined;
  const { host } = place;
  const app = createApp({
    routes: [bind(getMetrics, metrics.scrape)], pages: {}, limiters: {}, trustProxy: 0, now: () => performance.now(),
    observer: requestObserver(metrics, logger), waitForPosition: () => Promise.resolve(),
  });
  const server = createServer(app, { ...TIMEOUTS, maxConnections: METRICS_CONNECTIONS, maxConnectionsPerAddress: 0 });
  const port = await listen(server, { ...place, setting: 'METRICS_PORT' });
  logger.info({ url: `${urlOf({ host, port })}${getMetrics.path}` }, 'metrics');
  return { url: urlOf({ host, port }), stop: async () => { await closeServer(app, server, STOP_TIMEOUT_MS); } };
}
