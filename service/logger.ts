/** The log: JSON lines by pino, each with `at`, never with what could be replayed or spent. */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { Config } from './config.js';

export type { Logger };

/** Fields that are masked wherever they are logged, at the top or one level down. */
const SECRETS = ['authorization', 'signature', 'permit', 'permitSignature', 'password', 'token', 'privateKey', 'databaseUrl', 'x-cancel-signature'];

/** A logger that writes to `destination` (standard output when absent). `at` is in ISO 8601 UTC. */
export function createLogger(config: Pick<Config, 'logLevel'>, destination?: DestinationStream): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: () => `,"at":"${new Date().toISOString()}"`,
    formatters: { level: (level: string) => ({ level }) },
    redact: { paths: SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]), censor: '(secret)' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
