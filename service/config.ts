/** The settings: one table with the name, parser, default and description of each. No other module reads the environment. */
import { SIGNED_TOPIC_NAME, TOPIC_NAME } from '../command/feed/kafka/topic-shape.js';
import type { PlannedHalt } from '../command/orders/planned-halts.js';
import type { SourceName } from '../command/prices/observation.js';
import { PUBLIC_URLS } from '../command/prices/source-urls.js';
import { KAFKA_DETAILS, broker, kafkaName, kafkaProblems, kafkaTls } from './kafka-settings.js';
import { MAX_QUICK_S, MIN_QUICK_S } from '../engine/rules/limits.js';
import { ROLE_NAMES } from './process/roles.js';
import { PRICE_URL_NAMES, asset, priceSources, priceUrls } from './price-settings.js';
import { removedSettings } from './removed-settings.js';
import { processesOf, rolesOf } from './role-settings.js';
import {
  SettingError, databaseUrl, flag, host, integer, isLoopback, list, logUrl, oneOf, hostPort, plannedHalts, proxies, text, type HostPort, type Parse,
} from './settings.js';

interface Setting<T> {
  readonly parse: Parse<T>;
  /** The value when the variable is absent or empty. It may depend on settings that stand earlier in the table. */
  readonly fallback: T | ((above: Readonly<Record<string, unknown>>) => T);
  /** The default as `--help` shows it. */
  readonly shown: string;
  readonly about: string;
  /** Whether the value must never be printed or logged. */
  readonly secret: boolean;
}

function setting<T>(parse: Parse<T>, fallback: Setting<T>['fallback'], about: string, options: { shown?: string; secret?: boolean } = {}): Setting<T> {
  const shown = options.shown ?? (typeof fallback === 'function' ? '' : String(fallback));
  return { parse, fallback, shown, about, secret: options.secret ?? false };
}

const onLoopback = (above: Readonly<Record<string, unknown>>) => isLoopback(above['host'] as string);

/** Whether this is the development stack, which an empty environment gives: embedded Postgres, reachable from this machine only. */
const isDevelopment = (above: Readonly<Record<string, unknown>>) => onLoopback(above) && above['databaseUrl'] === '';

/** By default, requests from this machine are not limited: without a proxy, the caller on loopback is the operator. */
const publicLimit = (limit: number) => (above: Readonly<Record<string, unknown>>) => onLoopback(above) && above['trustProxy'] === 0 ? 0 : limit;

/** Without a proxy, one address has at most a quarter of all connections; 64 for people who share one, if that leaves half of them to others. */
function shareOfConnections(above: Readonly<Record<string, unknown>>): number {
  const all = above['maxConnections'] as number;
  if (above['trustProxy'] !== 0) return 0;
  return Math.max(1, Math.min(Math.max(64, Math.floor(all / 4)), Math.floor(all / 2)));
}

export const DEFAULT_DATA_DIR = '.data';

const settings = {
  ROLES: setting(rolesOf, ROLE_NAMES, 'The roles of this process, separated by commas or spaces.', { shown: 'all' }),
  HOST: setting(host, '127.0.0.1', 'Address to listen on.'),
  PORT: setting(integer(0, 65_535), 8080, 'Port to listen on; 0 takes any free port.'),
  DATA_DIR: setting(text(1_000), DEFAULT_DATA_DIR, 'Directory of the embedded Postgres, the development chain and the snapshots.'),
  DATABASE_URL: setting(databaseUrl, '', 'Postgres of the read models; empty starts an embedded Postgres in DATA_DIR.', { shown: '(embedded)', secret: true }),
  QUERY_DATABASE_URL: setting(databaseUrl, '', 'The same Postgres for the reads of every role, with a user who may only read; empty: DATABASE_URL.',
    { shown: '(DATABASE_URL; the embedded Postgres has such a user)', secret: true }),
  LOG_URL: setting(logUrl, '', 'Postgres of the log, or its EventStoreDB; empty: DATABASE_URL.', { shown: '(DATABASE_URL)', secret: true }),
  ALLOW_UNSAFE_POSTGRES: setting(flag, false,
    'Whether the Postgres of the log may have fsync or synchronous_commit off, so that a crash loses orders that were acknowledged: for tests only.'),
  OUTBOX_URL: setting(databaseUrl, '', 'Postgres of the outbox (requests to lanes, messages between roles); empty: DATABASE_URL.', { shown: '(DATABASE_URL)', secret: true }),
  KAFKA_BROKERS: setting<readonly string[]>(list(broker), [],
    'Some brokers of the Kafka cluster that carries the fill feed, as host:port, separated by commas or spaces; without any, settlement follows the log.', { shown: '(none)' }),
  KAFKA_TOPIC: setting(kafkaName, TOPIC_NAME, 'Topic of the fill feed, which the feed role makes where it is missing.'),
  KAFKA_TOPIC_V2: setting(kafkaName, SIGNED_TOPIC_NAME,
    'Topic of the fill feed with the signed orders of each fill, which the feed role makes where it is missing; none: it is not published.'),
  KAFKA_GROUP: setting(kafkaName, 'settlement', 'Consumer group of the settlement role.'),
  KAFKA_SSL: setting(kafkaTls, false,
    'Whether the brokers are reached by TLS: true, false, or the file with the certificates that theirs are checked by, in PEM; with true, by those of Node.'),
  KAFKA_USERNAME: setting(text(1_000), '', 'User at the brokers, with SASL.', { shown: '(none)' }),
  KAFKA_PASSWORD: setting(text(1_000), '', 'The user\'s password.', { shown: '(none)', secret: true }),
  KAFKA_MECHANISM: setting(oneOf('scram-sha-512', 'scram-sha-256', 'plain'), 'scram-sha-512', 'How the password is shown to the brokers.'),
  KAFKA_REPLICATION: setting(integer(1, 100), 3, 'How many brokers have a copy of each topic: the feed role makes topics so, and raises an alert while one has fewer.'),
  PROCESSES: setting(processesOf, ROLE_NAMES.map((name) => [name]),
    'For npm run start:roles: the processes. Each is one role, or several joined by +. Name a process twice to run two of it. '
    + 'The one with the api role listens at PORT, the others at the ports after it.', { shown: ROLE_NAMES.join(' ') }),
  LOG_LEVEL: setting(oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), 'info', 'Least serious level of log lines to write; debug writes one line per request.'),
  TRUST_PROXY: setting(proxies, 0, 'Number of reverse proxies in front of the service. With any, client addresses are taken from X-Forwarded-For.', { shown: 'false' }),
  CHAINS: setting(text(1_000), (above) => isDevelopment(above) ? 'dev' : 'none',
    'Where orders settle: dev starts a development chain in DATA_DIR; none settles nothing; any other text is the path of a chains file.',
    { shown: 'none (dev with the embedded Postgres on loopback)' }),
  CANCEL_AUTH: setting(oneOf('required', 'open'), (above): 'required' | 'open' => (
    isDevelopment(above) && above['chains'] === 'dev' ? 'open' : 'required'),
  'Whether a cancel needs the trader\'s signature; open lets anybody cancel any order and is refused unless HOST is loopback.',
  { shown: 'required (open with the embedded Postgres and the development chain on loopback)' }),
  CHAIN_PORT: setting(integer(0, 65_535), 8545, 'Port of the development chain\'s JSON-RPC, on this machine only; 0 takes any free port.'),
  DEV_DISPUTE_WINDOW_S: setting(integer(1, 7_200), 7_200, 'Seconds in which a proposed resolution can be disputed on the development chain; fixed when it is made.'),
  EXPOSURE_CHECK: setting(flag, false, 'With CHAINS=dev: whether orders are checked against their traders\' balances and allowances. Without the check, fills that cannot be paid end as failed trades.'),
  CHAIN_ID: setting(integer(1, Number.MAX_SAFE_INTEGER), 31_337, 'Without a chains file: the chain id, which is part of the signing domain.'),
  CATALOGUE: setting(text(1_000), '', 'JSON file of the markets to open at start.', { shown: '(built in)' }),
  KEEP_HISTORY_DAYS: setting<number | undefined>(integer(2, 36_500), undefined,
    'For how many days the read models keep what is over: trades that are settled, orders that are closed, past books. The log keeps everything. Unset: for ever.', { shown: '(for ever)' }),
  SNAPSHOT_EVERY: setting(integer(1_000, 1_000_000_000), 200_000, 'Commands between two snapshots of the engine.'),
  PLANNED_HALTS: setting<readonly PlannedHalt[]>(plannedHalts, [],
    'Times at which the api role takes no orders, and which /api/v1/status shows: FROM/TO REASON in UTC, as 2026-12-01T10:00Z/2026-12-01T10:30Z new database; several separated by semicolons.',
    { shown: '(none)' }),
  MAX_OPEN_ORDERS: setting(integer(1, 10_000_000), 5_000, 'How many open orders one trader may have, in all markets together; further orders are refused.'),
  MAX_CONNECTIONS: setting(integer(1, 1_000_000), 10_000, 'How many client connections may be open; further connections are closed at once.'),
  MAX_CONNECTIONS_PER_ADDRESS: setting(integer(0, 1_000_000), shareOfConnections,
    'How many of them one client address may have besides its price streams; 0 = no limit. Behind a proxy every connection has the proxy\'s address.',
    { shown: 'a quarter of MAX_CONNECTIONS, at least 64, at most half of it (0 with TRUST_PROXY)' }),
  METRICS_PORT: setting<HostPort | undefined>(hostPort('127.0.0.1'), undefined,
    'Port of /metrics on loopback, or its host:port; /metrics is then not served at PORT. Port 0 takes any free one, which the log names.', { shown: '(PORT)' }),
  RATE_LIMIT_ORDERS: setting(integer(0, 100_000_000), publicLimit(6_000), 'Orders and cancels per client address and minute; 0 = no limit.',
    { shown: '6000 (0 on loopback without proxy)' }),
  RATE_LIMIT_READS: setting(integer(0, 100_000_000), publicLimit(6_000), 'Reads per client address and minute; 0 = no limit.',
    { shown: '6000 (0 on loopback without proxy)' }),
  MAX_PRICE_STREAMS_PER_ADDRESS: setting(integer(0, 1_000_000), publicLimit(64), 'How many price streams one client address may have, of the process\'s, which are half of MAX_CONNECTIONS; 0 = no limit.',
    { shown: '64 (0 on loopback without proxy)' }),
  RELAY_GAS_PER_OWNER: setting(integer(0, Number.MAX_SAFE_INTEGER), 20_000_000,
    'Gas per hour that the relayer may be asked for by one signer, by the ceilings of its transactions; 0 = no limit.'),
  RELAY_GAS_PER_TOKEN: setting(integer(0, Number.MAX_SAFE_INTEGER), 1_000_000_000,
    'Gas per hour that the relayer may be asked for with one bearer token; 0 = no limit.'),
  PRICE_SOURCES: setting(priceSources, (above): readonly SourceName[] => isDevelopment(above) && above['chains'] === 'dev' ? ['simulated'] : [],
    'Where the prices of quick markets come from, the best first: pyth, coinbase, binance; or simulated alone, for development; or none.',
    { shown: 'none (simulated with the embedded Postgres and the development chain on loopback)' }),
  PYTH_API_KEY: setting(text(1_000), '', 'The key of the price source pyth. Without one it is skipped, except at a server of one\'s own in PRICE_URLS.', { shown: '(none)', secret: true }),
  PRICE_URLS: setting(priceUrls, PUBLIC_URLS,
    'Servers of the price sources that are not the providers\' own, as name=url, separated by commas or spaces; the names: '
    + `${PRICE_URL_NAMES.join(', ')}.`, { shown: '(the providers\' public servers)', secret: true }),
  QUICK_ASSETS: setting(list(asset), ['BTC', 'ETH'], 'Assets of the quick markets, separated by commas or spaces; none: no quick markets are made.', { shown: 'BTC,ETH' }),
  QUICK_INTERVAL_S: setting(integer(MIN_QUICK_S, MAX_QUICK_S), 900, 'Length of a quick market in seconds. Quick markets start at its multiples since the Unix epoch.'),
  STOP_GRACE_MS: setting(integer(0, 600_000), (above) => above['databaseUrl'] === '' ? 0 : 5_000,
    'Time after SIGTERM in which a process says that it is not ready and goes on serving, until the proxies have noticed, in milliseconds.', { shown: '5000 with DATABASE_URL, else 0' }),
  CLOCK_MAX_JUMP_S: setting(integer(2, 3_153_600_000), 10,
    'How far the clocks of this machine, the log\'s database and the history may differ, in seconds, before orders are refused.'),
  MIN_FREE_DISK_MB: setting(integer(0, 1_000_000_000), (above) => above['databaseUrl'] === '' ? 512 : 0,
    'Free space, in MB, on each disk of DATA_DIR and its folders, below which orders are refused; 0 = never.', { shown: '512 with the embedded Postgres, else 0' }),
} as const;

type Settings = typeof settings;
export type SettingName = keyof Settings;
type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}` : Lowercase<S>;

/** The values of all settings, by their names in camel case: `MAX_OPEN_ORDERS` is `maxOpenOrders`. */
export type Config = {
  readonly [Name in keyof Settings as CamelCase<Name>]: Settings[Name] extends Setting<infer T> ? T : never;
};

/** One or more settings are wrong. The message lists all of them. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is wrong in ${problems.length} place${problems.length === 1 ? '' : 's'}:\n${problems.map((each) => `  ${each}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Parses the settings of an environment. An empty variable counts as absent. Throws ConfigError, which lists all faults. */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const isGiven = (name: string): boolean => (environment[name]?.trim() ?? '') !== '';
  const config: Record<string, unknown> = {};
  const problems = removedSettings(isGiven);
  for (const [name, each] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const given = environment[name]?.trim() ?? '';
    try {
      config[camelCase(name)] = given !== ''
        ? each.parse(given)
        : typeof each.fallback === 'function' ? (each.fallback as (above: object) => unknown)(config) : each.fallback;
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      problems.push(`${name}: ${error.message}${each.secret ? '' : `, not ${JSON.stringify(given)}`}`);
      config[camelCase(name)] = typeof each.fallback === 'function' ? undefined : each.fallback;
    }
  }
  const parsed = config as unknown as Config;
  if (parsed.cancelAuth === 'open' && !isLoopback(parsed.host)) {
    problems.push(`CANCEL_AUTH: open lets anybody cancel any order, so it needs a loopback HOST, not ${JSON.stringify(parsed.host)}`);
  }
  if (parsed.kafkaBrokers !== undefined) problems.push(...kafkaProblems(parsed, isGiven));
  problems.push(...withoutEffect(parsed.chains as string | undefined, isGiven));
  if (problems.length > 0) throw new ConfigError(problems);
  return parsed;
}

/** The URL of the log: that of the settings, or the read models' database. */
export function logUrlOf({ logUrl: given }: Pick<Config, 'logUrl'>, readModelsUrl: string): string {
  return given || readModelsUrl;
}

interface UnusedSettings {
  /** Giving one of them is an error: its author expects an effect. */
  readonly ignored: readonly SettingName[];
  /** They may be given: their effect is not on the chain's nature. */
  readonly alsoUnused: readonly SettingName[];
  readonly because?: string;
}

/** Settings that have no effect in a mode of CHAINS. */
const CHAIN_SETTINGS: Readonly<Record<'none' | 'dev' | 'file', UnusedSettings>> = {
  none: { ignored: ['EXPOSURE_CHECK'], alsoUnused: ['CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S'], because: 'since without a chain there are no balances to check' },
  dev: { ignored: [], alsoUnused: [] },
  file: {
    ignored: ['EXPOSURE_CHECK', 'CHAIN_ID'],
    alsoUnused: ['CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S', 'CATALOGUE'], because: 'since the chains file describes each chain',
  },
};

/** The settings that a chains file replaces: it describes each chain itself. */
export const IGNORED_WITH_CHAINS_FILE: readonly string[] = CHAIN_SETTINGS.file.ignored;

function modeOf(chains: string): keyof typeof CHAIN_SETTINGS {
  return chains === 'dev' || chains === 'none' ? chains : 'file';
}

function withoutEffect(chains: string | undefined, isGiven: (name: string) => boolean): string[] {
  if (chains === undefined) return [];
  const { ignored, because = '' } = CHAIN_SETTINGS[modeOf(chains)];
  return ignored.filter(isGiven).map((name) => `${name}: has no effect with CHAINS=${chains}, ${because}: unset it, or set CHAINS`);
}

/** The settings that count, as they may be logged. A secret that is given is shown as `(secret)`. `unused` are settings that the program ignores. */
export function publicConfig(config: Config, unused: readonly SettingName[] = []): Record<string, unknown> {
  const { ignored, alsoUnused } = CHAIN_SETTINGS[modeOf(config.chains)];
  const left = new Set<string>([...ignored, ...alsoUnused, ...config.kafkaBrokers.length === 0 ? KAFKA_DETAILS : [], ...unused]);
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !left.has(name)).map(([name, each]) => {
    const value = config[camelCase(name) as keyof Config];
    return [name, each.secret && value !== each.fallback ? '(secret)' : value];
  }));
}

/** The settings as text for `--help`. */
export function settingsHelp(): string {
  const width = Math.max(...Object.keys(settings).map((name) => name.length));
  return Object.entries(settings).map(([name, each]) => `${name.padEnd(width)}  ${each.about} Default: ${each.shown}`).join('\n');
}

/** The settings as a Markdown table. */
export function settingsMarkdown(): string {
  const rows = Object.entries(settings).map(([name, each]) => `| \`${name}\` | ${each.shown} | ${each.about} |`);
  return ['| setting | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

function camelCase(name: string): string {
  return name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
