/** The settings: one table with the name, parser, default and description of each. No other module reads the environment. */
import { SIGNED_TOPIC_NAME, TOPIC_NAME } from '../command/feed/kafka/topic-shape.js';
import { SOURCE_NAMES, checkNames, isAsset, type SourceName } from '../command/prices/observation.js';
import { PUBLIC_URLS } from '../command/prices/source-urls.js';
import { KAFKA_DETAILS, broker, kafkaName, kafkaProblems } from './kafka-settings.js';
import { MAX_QUICK_S, MIN_QUICK_S } from '../engine/rules/limits.js';
import { ROLE_NAMES } from './process/roles.js';
import { processesOf, rolesOf } from './role-settings.js';
import {
  SettingError, address, databaseUrl, eventStoreUrl, flag, host, httpUrl, integer, isLoopback, list, logUrl, oneOf, proxies, text, webSocketUrl,
  type Parse,
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

function priceSources(given: string): readonly SourceName[] {
  const names = list(oneOf(...SOURCE_NAMES))(given);
  try {
    checkNames(names);
  } catch (error) {
    throw new SettingError((error as Error).message);
  }
  return names;
}

function asset(symbol: string): string {
  if (!isAsset(symbol)) throw new SettingError('expected assets in capitals and digits, as BTC');
  return symbol;
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
  EVENTSTORE_URL: setting(eventStoreUrl, '', 'EventStoreDB (KurrentDB) of the log; empty: LOG_URL.', { shown: '(LOG_URL)', secret: true }),
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
  KAFKA_SSL_CA: setting(text(1_000), '', 'File with the certificates that the brokers\' are checked by, in PEM; empty: the usual ones.', { shown: '(those of Node)' }),
  KAFKA_SSL: setting(flag, (above) => above['kafkaSslCa'] !== '', 'Whether the brokers are reached by TLS.', { shown: 'false (true with KAFKA_SSL_CA)' }),
  KAFKA_USERNAME: setting(text(1_000), '', 'User at the brokers, with SASL.', { shown: '(none)' }),
  KAFKA_PASSWORD: setting(text(1_000), '', 'The user\'s password.', { shown: '(none)', secret: true }),
  KAFKA_PASSWORD_FILE: setting(text(1_000), '', 'File with the password, in place of KAFKA_PASSWORD.', { shown: '(none)' }),
  KAFKA_MECHANISM: setting(oneOf('scram-sha-512', 'scram-sha-256', 'plain'), 'scram-sha-512', 'How the password is shown to the brokers.'),
  KAFKA_REPLICATION: setting(integer(1, 100), 3, 'How many brokers have a copy of each topic: the feed role makes topics so, and raises an alarm while one has fewer.'),
  KAFKA_MIN_INSYNC: setting(integer(1, 100), (above) => Math.max(1, above['kafkaReplication'] as number - 1),
    'How many of them must have a message before it counts as published; as with KAFKA_REPLICATION.', { shown: 'one less than KAFKA_REPLICATION, at least 1' }),
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
  CHAIN_NAME: setting(text(100), 'Development chain', 'Without a chains file: the chain\'s display name.'),
  CHAIN_TESTNET: setting(flag, true, 'With CHAINS=none: whether the chain is a test network, whose money has no value.'),
  SETTLEMENT_DOMAIN_NAME: setting(text(100), 'Prediction Exchange Settlement', 'With CHAINS=none: name in the signing domain of orders.'),
  SETTLEMENT_ADDRESS: setting(address, '0x5fbdb2315678afecb367f032d93f642f64180aa3',
    'With CHAINS=none: address of the settlement contract, which is the verifyingContract in the signing domain of orders.'),
  CATALOGUE: setting(text(1_000), '', 'JSON file of the markets to open at start.', { shown: '(built in)' }),
  SNAPSHOT_EVERY: setting(integer(1_000, 1_000_000_000), 200_000, 'Commands between two snapshots of the engine.'),
  MAX_QUEUED_ORDERS: setting(integer(1, 1_000_000), 10_000, 'How many orders may wait for the log; further orders are refused as overloaded.'),
  MAX_OPEN_ORDERS: setting(integer(1, 10_000_000), 5_000, 'How many open orders one trader may have, in all markets together; further orders are refused.'),
  MAX_CONNECTIONS: setting(integer(1, 1_000_000), 10_000, 'How many client connections may be open; further connections are closed at once.'),
  MAX_CONNECTIONS_PER_ADDRESS: setting(integer(0, 1_000_000), shareOfConnections,
    'How many of them one client address may have besides its price streams; 0 = no limit. Behind a proxy every connection has the proxy\'s address.',
    { shown: 'a quarter of MAX_CONNECTIONS, at least 64, at most half of it (0 with TRUST_PROXY)' }),
  METRICS_PORT: setting<number | undefined>(integer(0, 65_535), undefined,
    'Port of /metrics, which is then not served at PORT; 0 takes any free port, which the log names.', { shown: '(PORT)' }),
  METRICS_HOST: setting(host, '127.0.0.1', 'With METRICS_PORT: address at which the metrics are served.'),
  RATE_LIMIT_WINDOW_S: setting(integer(1, 3_600), 60, 'Length of the rate limits\' window, in seconds.'),
  RATE_LIMIT_ORDERS: setting(integer(0, 100_000_000), publicLimit(6_000), 'Orders and cancels per client address and window; 0 = no limit.',
    { shown: '6000 (0 on loopback without proxy)' }),
  RATE_LIMIT_READS: setting(integer(0, 100_000_000), publicLimit(6_000), 'Reads per client address and window; 0 = no limit.',
    { shown: '6000 (0 on loopback without proxy)' }),
  MAX_PRICE_STREAMS: setting(integer(1, 1_000_000), (above) => Math.max(1, Math.floor(above['maxConnections'] as number / 2)),
    'How many price streams a process may have open; further ones are refused as overloaded.', { shown: 'half of MAX_CONNECTIONS' }),
  MAX_PRICE_STREAMS_PER_ADDRESS: setting(integer(0, 1_000_000), publicLimit(64), 'How many of them one client address may have; 0 = no limit.',
    { shown: '64 (0 on loopback without proxy)' }),
  RELAY_GAS_PER_OWNER: setting(integer(0, Number.MAX_SAFE_INTEGER), 20_000_000,
    'Gas per hour that the relayer may be asked for by one signer, by the ceilings of its transactions; 0 = no limit.'),
  RELAY_GAS_PER_TOKEN: setting(integer(0, Number.MAX_SAFE_INTEGER), 1_000_000_000,
    'Gas per hour that the relayer may be asked for with one bearer token; 0 = no limit.'),
  KEEPER_GRACE_S: setting(integer(1, 604_800), 60,
    'Seconds after a dispute window in which others may settle an undisputed proposal, before the relayer\'s keeper does.'),
  PRICE_SOURCES: setting(priceSources, (above): readonly SourceName[] => isDevelopment(above) && above['chains'] === 'dev' ? ['simulated'] : [],
    'Where the prices of quick markets come from, the best first: pyth, coinbase, binance; or simulated alone, for development; or none.',
    { shown: 'none (simulated with the embedded Postgres and the development chain on loopback)' }),
  PYTH_API_KEY: setting(text(1_000), '', 'The key of the price source pyth. Without one it is skipped, except at a PYTH_URL of one\'s own.', { shown: '(none)', secret: true }),
  PYTH_URL: setting(httpUrl, PUBLIC_URLS.pyth, 'Hermes server of the price source pyth.', { secret: true }),
  COINBASE_URL: setting(httpUrl, PUBLIC_URLS.coinbase, 'REST server of the price source coinbase, which fills gaps.', { secret: true }),
  COINBASE_STREAM_URL: setting(webSocketUrl, PUBLIC_URLS.coinbaseStream, 'WebSocket feed of the price source coinbase.', { secret: true }),
  BINANCE_URL: setting(httpUrl, PUBLIC_URLS.binance, 'REST server of the price source binance, which fills gaps.', { secret: true }),
  BINANCE_STREAM_URL: setting(webSocketUrl, PUBLIC_URLS.binanceStream, 'WebSocket streams of the price source binance.', { secret: true }),
  QUICK_ASSETS: setting(list(asset), ['BTC', 'ETH'], 'Assets of the quick markets, separated by commas or spaces; none: no quick markets are made.', { shown: 'BTC,ETH' }),
  QUICK_INTERVAL_S: setting(integer(MIN_QUICK_S, MAX_QUICK_S), 900, 'Length of a quick market in seconds. Quick markets start at its multiples since the Unix epoch.'),
  QUICK_AHEAD: setting(integer(1, 96), 2, 'How many quick markets of each asset are made ahead of the one that runs.'),
  REQUEST_TIMEOUT_MS: setting(integer(100, 300_000), 10_000, 'Time for a whole request to arrive, in milliseconds.'),
  KEEP_ALIVE_TIMEOUT_MS: setting(integer(100, 600_000), 65_000, 'Time after which an idle connection is closed, in milliseconds.'),
  STOP_TIMEOUT_MS: setting(integer(0, 600_000), 10_000, 'Time for requests in flight to be answered when the service stops, in milliseconds.'),
  STOP_GRACE_MS: setting(integer(0, 600_000), (above) => above['databaseUrl'] === '' ? 0 : 5_000,
    'Time after SIGTERM in which a process says that it is not ready and goes on serving, until the proxies have noticed, in milliseconds.', { shown: '5000 with DATABASE_URL, else 0' }),
  CLOCK_MAX_JUMP_S: setting(integer(2, 3_153_600_000), 10,
    'How far the clocks of this machine, the log\'s database and the history may differ, in seconds, before orders are refused.'),
  CLOCK_ACCEPT_AFTER_S: setting(integer(10, 31_536_000), 600,
    'After this time, in seconds, a new time on which this machine and the log\'s database agree is accepted.'),
  MIN_FREE_DISK_MB: setting(integer(0, 1_000_000_000), (above) => above['databaseUrl'] === '' ? 512 : 0,
    'Free space, in MB, on each disk of DATA_DIR and its folders, below which orders are refused; 0 = never.', { shown: '512 with the embedded Postgres, else 0' }),
  READY_MAX_LAG: setting(integer(0, 1_000_000_000), 10_000, 'How many log records a read model may be behind before /health/ready answers 503.'),
} as const;

type Settings = typeof settings;
export type SettingName = keyof Settings;
type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}` : Lowercase<S>;

/** The values of all settings, by their names in camel case: `MAX_QUEUED_ORDERS` is `maxQueuedOrders`. */
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
  const problems: string[] = [];
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
  if (parsed.eventstoreUrl !== '' && parsed.logUrl !== '' && parsed.eventstoreUrl !== parsed.logUrl) {
    problems.push('EVENTSTORE_URL: LOG_URL names another log: unset the one of the two that is not meant');
  }
  if (parsed.metricsPort === undefined && isGiven('METRICS_HOST')) problems.push('METRICS_HOST: has no effect without METRICS_PORT: unset it, or set METRICS_PORT');
  if (parsed.kafkaBrokers !== undefined) problems.push(...kafkaProblems(parsed, isGiven));
  problems.push(...withoutEffect(parsed.chains as string | undefined, isGiven));
  if (problems.length > 0) throw new ConfigError(problems);
  return parsed;
}

/** The URL of the log: that of the settings, or the read models' database. */
export function logUrlOf({ eventstoreUrl, logUrl: given }: Pick<Config, 'eventstoreUrl' | 'logUrl'>, readModelsUrl: string): string {
  return eventstoreUrl || given || readModelsUrl;
}

/**
 * Settings that have no effect in a mode of CHAINS. Giving one that is `ignored` is an error: its author expects an effect. One that is
 * `alsoUnused` may be given: its effect is not on the chain's nature.
 */
const CHAIN_SETTINGS = {
  none: { ignored: ['EXPOSURE_CHECK'], alsoUnused: ['CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S'], because: 'since without a chain there are no balances to check' },
  dev: { ignored: ['CHAIN_TESTNET', 'SETTLEMENT_DOMAIN_NAME', 'SETTLEMENT_ADDRESS'], alsoUnused: [], because: 'since the development chain has its own values' },
  file: {
    ignored: ['EXPOSURE_CHECK', 'CHAIN_ID', 'CHAIN_NAME', 'CHAIN_TESTNET', 'SETTLEMENT_DOMAIN_NAME', 'SETTLEMENT_ADDRESS'],
    alsoUnused: ['CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S', 'CATALOGUE'], because: 'since the chains file describes each chain',
  },
} as const;

/** The settings that a chains file replaces: it describes each chain itself. */
export const IGNORED_WITH_CHAINS_FILE: readonly string[] = CHAIN_SETTINGS.file.ignored;

function modeOf(chains: string): keyof typeof CHAIN_SETTINGS {
  return chains === 'dev' || chains === 'none' ? chains : 'file';
}

function withoutEffect(chains: string | undefined, isGiven: (name: string) => boolean): string[] {
  if (chains === undefined) return [];
  const { ignored, because } = CHAIN_SETTINGS[modeOf(chains)];
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
