/**
 * The environment that a stack gives each process: its settings, less other roles' secrets, with the databases and the chain that it has
 * started.
 */
import { join, resolve } from 'node:path';
import { IGNORED_WITH_CHAINS_FILE, type Config } from '../service/config.js';
import type { Urls } from '../service/process/shared-parts.js';
import type { RoleName } from '../service/process/roles.js';
import { hostPortText } from '../service/settings.js';

export interface StackForChildren {
  /** The stack's own environment, including the secrets that a chains file names. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly urls: Urls;
  /** Whether the stack runs the development chain, which a file in DATA_DIR describes. */
  readonly hasDevChain: boolean;
  /** The environment variables that hold keys, as the chains file says. */
  readonly keyVariables: readonly string[];
}

/** A process of the stack, with ports of its own. */
export interface ChildPlace {
  readonly roles: readonly RoleName[];
  readonly port: number;
  /** Undefined: the metrics are at `port`. */
  readonly metricsPort: Config['metricsPort'];
}

/** The roles that use a secret; undefined for what is no secret, or every role's. */
function usersOf(name: string, keyVariables: readonly string[]): readonly RoleName[] | undefined {
  if (keyVariables.includes(name)) return ['lane'];
  if (name === 'PYTH_API_KEY') return ['prices'];
  // All of Kafka's settings: a user without the password is refused.
  return name.startsWith('KAFKA_') ? ['feed', 'settlement'] : undefined;
}

/** The roles that write to no database. */
const READERS: readonly RoleName[] = ['query'];

/** A process that writes nothing gets no other user of the read models' Postgres than the one who may only read. */
function databasesFor(roles: readonly RoleName[], { log, readModels, outbox, reads }: Urls): Record<string, string> {
  if (reads === undefined) return { DATABASE_URL: readModels, LOG_URL: log, OUTBOX_URL: outbox };
  const rights = roles.every((role) => READERS.includes(role)) ? reads : readModels;
  const own = (url: string): string => url === readModels ? rights : url;
  return { DATABASE_URL: rights, LOG_URL: own(log), OUTBOX_URL: own(outbox), QUERY_DATABASE_URL: reads };
}

/** The environment of the process. Defaults that depend on other settings are written out. */
export function childEnvironment(
  config: Config, { environment, urls, hasDevChain, keyVariables }: StackForChildren, { roles, port, metricsPort }: ChildPlace,
): Record<string, string> {
  const isLeftOut = (name: string): boolean => (hasDevChain && IGNORED_WITH_CHAINS_FILE.includes(name))
    || usersOf(name, keyVariables)?.some((role) => roles.includes(role)) === false;
  const given = Object.entries(environment)
    .filter((entry): entry is [string, string] => entry[1] !== undefined && !isLeftOut(entry[0]));
  return {
    ...Object.fromEntries(given), ...databasesFor(roles, urls),
    ROLES: roles.join(), PORT: String(port), ...metricsPort === undefined ? {} : { METRICS_PORT: hostPortText(metricsPort) },
    DATA_DIR: resolve(config.dataDir),
    CHAINS: hasDevChain ? join(resolve(config.dataDir), 'chain', 'chains.json') : config.chains,
    CANCEL_AUTH: config.cancelAuth, RATE_LIMIT_ORDERS: String(config.rateLimitOrders),
    RATE_LIMIT_READS: String(config.rateLimitReads), MIN_FREE_DISK_MB: String(config.minFreeDiskMb),
    MAX_PRICE_STREAMS_PER_ADDRESS: String(config.maxPriceStreamsPerAddress),
    PRICE_SOURCES: config.priceSources.length === 0 ? 'none' : config.priceSources.join(),
    STOP_GRACE_MS: String(config.stopGraceMs),
  };
}
