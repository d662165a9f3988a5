/** The environment that a stack gives its processes: its own settings, with the databases and the chain that it has started. */
import { join, resolve } from 'node:path';
import { IGNORED_WITH_CHAINS_FILE, type Config } from '../config.js';
import type { Urls } from '../process/shared-parts.js';

export interface StackGrounds {
  /** The stack's own environment, including the secrets that a chains file names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly urls: Urls;
  /** Whether the stack runs the development chain, which a file in DATA_DIR describes. */
  readonly hasDevChain: boolean;
}

/**
 * What is for the stack alone: LOG_URL is given the log, whichever setting named it, and each process has its metrics at its own port, which
 * only this machine reaches.
 */
const NOT_HANDED_ON = ['EVENTSTORE_URL', 'METRICS_PORT', 'METRICS_HOST'];

/** The environment without ROLES and PORT, which differ per process. Defaults that depend on other settings are written out. */
export function childEnvironment(config: Config, { environment, urls, hasDevChain }: StackGrounds): Record<string, string> {
  const isLeftOut = (name: string): boolean => NOT_HANDED_ON.includes(name) || (hasDevChain && IGNORED_WITH_CHAINS_FILE.includes(name));
  const given = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined && !isLeftOut(entry[0]));
  return {
    ...Object.fromEntries(given),
    HOST: '127.0.0.1', DATA_DIR: resolve(config.dataDir), DATABASE_URL: urls.readModels, LOG_URL: urls.log, OUTBOX_URL: urls.outbox,
    CHAINS: hasDevChain ? join(resolve(config.dataDir), 'chain', 'chains.json') : config.chains,
    CANCEL_AUTH: config.cancelAuth, RATE_LIMIT_ORDERS: String(config.rateLimitOrders), RATE_LIMIT_READS: String(config.rateLimitReads),
    MIN_FREE_DISK_MB: String(config.minFreeDiskMb), MAX_PRICE_STREAMS_PER_ADDRESS: String(config.maxPriceStreamsPerAddress),
    PRICE_SOURCES: config.priceSources.length === 0 ? 'none' : config.priceSources.join(),
    STOP_GRACE_MS: String(config.stopGraceMs),
    // Every connection of a process comes from the front.
    MAX_CONNECTIONS_PER_ADDRESS: '0',
    // The front adds the client's address to X-Forwarded-For.
    TRUST_PROXY: String(config.trustProxy + 1),
  };
}
