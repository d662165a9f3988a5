/**
 * Settings that earlier versions took. Giving one is an error that says what to do instead: no operator's value is
 * silently ignored.
 */

const CHAIN = 'describe the chain in a chains file (CHAINS)';
const FIXED = 'unset it';
const prices = (name: string): string => `give PRICE_URLS=${name}=URL`;

/** By the name of the setting: what has its effect now. No sentence has the value, which may be a secret. */
const REMOVED: Readonly<Record<string, string>> = {
  EVENTSTORE_URL: 'give its URL to LOG_URL',
  KAFKA_SSL_CA: 'give KAFKA_SSL=FILE',
  KAFKA_PASSWORD_FILE: 'give KAFKA_PASSWORD, by node --env-file=FILE where it must not be in the environment of other programs',
  KAFKA_MIN_INSYNC: `it is one less than KAFKA_REPLICATION, at least 1: ${FIXED}`,
  CHAIN_NAME: `${CHAIN}, or unset it`,
  CHAIN_TESTNET: `${CHAIN}, or unset it`,
  SETTLEMENT_DOMAIN_NAME: `${CHAIN}, or unset it`,
  SETTLEMENT_ADDRESS: `${CHAIN}, or unset it`,
  MAX_QUEUED_ORDERS: `it is 10000: ${FIXED}`,
  METRICS_HOST: 'give METRICS_PORT=HOST:PORT',
  RATE_LIMIT_WINDOW_S: `it is 60: convert RATE_LIMIT_ORDERS and RATE_LIMIT_READS to requests per minute, and ${FIXED}`,
  MAX_PRICE_STREAMS: 'it is half of MAX_CONNECTIONS: set that, and unset this',
  PYTH_URL: prices('pyth'),
  COINBASE_URL: prices('coinbase'),
  COINBASE_STREAM_URL: prices('coinbase-stream'),
  BINANCE_URL: prices('binance'),
  BINANCE_STREAM_URL: prices('binance-stream'),
  KEEPER_GRACE_S: `it is 60: ${FIXED}`,
  QUICK_AHEAD: `markets are made two minutes ahead, and at least two: ${FIXED}`,
  REQUEST_TIMEOUT_MS: `it is 10000: ${FIXED}, and set another limit at the proxy`,
  KEEP_ALIVE_TIMEOUT_MS: `it is 65000: ${FIXED}, and let the proxy close its idle connections earlier`,
  STOP_TIMEOUT_MS: `it is 10000: ${FIXED}`,
  CLOCK_ACCEPT_AFTER_S: `it is 600: ${FIXED}`,
  READY_MAX_LAG: `it is 10000: ${FIXED}`,
};

/** A fault per removed setting that is given. */
export function removedSettings(isGiven: (name: string) => boolean): string[] {
  return Object.entries(REMOVED).filter(([name]) => isGiven(name)).map(([name, instead]) => `${name}: is no longer a setting: ${instead}`);
}
