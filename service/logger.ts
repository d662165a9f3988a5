/** The logger: JSON log lines by pino, each with a time (`at`), without signatures, permits, keys, passwords and bearer tokens. */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { Report } from '../engine/report.js';
import { withoutTokens } from './access/token.js';
import type { Config } from './config.js';
import { createGate } from './repeats.js';

export type { Logger };

/** Fields that are masked in every log line, at the top level and one level below. */
const SECRETS = ['authorization', 'signature', 'permit', 'permitSignature', 'password', 'token', 'privateKey', 'databaseUrl', 'x-cancel-signature'];

/** A logger that writes to `destination` (standard output when absent). `at` is ISO 8601 in UTC. */
export function createLogger(config: Pick<Config, 'logLevel'>, destination?: DestinationStream): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: () => `,"at":"${new Date().toISOString()}"`,
    formatters: { level: (level: string) => ({ level }) },
    redact: { paths: SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]), censor: '(secret)' },
    // Also within texts, such as a path that a client has put its token into.
    hooks: { streamWrite: withoutTokens },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * Reports of workers as log lines. A worker tells a trouble when it changes, and a note when it goes on; two troubles in turns, as of connections
 * that are cut at different moments, are told as seldom as one that recurs.
 */
export function reportTo(logger: Logger, now: () => number = () => performance.now()): Report {
  const gate = createGate(now);
  return (level, text) => {
    switch (level) {
      case 'note':
        gate.open();
        logger.info(text);
        return;
      case 'trouble':
        if (gate.pass(text) !== undefined) logger.warn(text);
        return;
      case 'alarm': logger.error(text);
    }
  };
}
