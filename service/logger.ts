/**
 * The logger: JSON log lines by pino, each with a time (`at`), without signatures, permits, keys, passwords and bearer
 * tokens.
 */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { Report } from '../engine/report.js';
import { withoutTokens } from './access/token.js';
import type { Config } from './config.js';

export type { Logger };
export type ReportLogger = Pick<Logger, 'info' | 'warn' | 'error'>;

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
 * Reports of workers as log lines, an alert as one of level `error`. A warning is logged at once, then at growing
 * intervals with how often it came in between, until an info ends it: also two warnings in turns, as of connections
 * that are cut at different moments.
 */
export function reportTo(logger: ReportLogger, now: () => number = () => performance.now()): Report {
  const gate = createGate(now);
  return (level, text) => {
    switch (level) {
      case 'info':
        gate.open();
        logger.info(text);
        return;
      case 'warn':
        gate.pass(
          text, (times) => { if (times === 0) logger.warn(text); else logger.warn({ times: times + 1 }, text); },
        );
        return;
      case 'alert': logger.error(text);
    }
  };
}

const FIRST_INTERVAL_MS = 10_000;
const LONGEST_INTERVAL_MS = 600_000;
/**
 * Different texts that are remembered, each until it has not come for the longest interval. More, such as with an id in
 * each, count as one.
 */
const MAX_TEXTS = 20;
const OTHERS = 'others';

interface LoggedText {
  readonly atMs: number;
  readonly nextMs: number;
  latestMs: number;
  times: number;
}

/** Which texts may be logged now. */
function createGate(now: () => number) {
  const logged = new Map<string, LoggedText>();
  return {
    /** What comes next is logged, whatever it is. */
    open() { logged.clear(); },
    /** Calls `log`, when the text is due, with how often it came since it was logged last, this time not counted. */
    pass(text: string, log: (times: number) => void): void {
      const nowMs = now();
      if (logged.size >= MAX_TEXTS && !logged.has(text)) forgetQuiet(logged, nowMs);
      const key = logged.has(text) || logged.size < MAX_TEXTS ? text : OTHERS;
      const known = logged.get(key);
      if (known !== undefined && nowMs - known.atMs < known.nextMs) {
        known.latestMs = nowMs;
        known.times += 1;
        return;
      }
      const nextMs = known === undefined ? FIRST_INTERVAL_MS : Math.min(known.nextMs * 2, LONGEST_INTERVAL_MS);
      logged.set(key, { atMs: nowMs, latestMs: nowMs, nextMs, times: 0 });
      log(known?.times ?? 0);
    },
  };
}

function forgetQuiet(logged: Map<string, LoggedText>, nowMs: number): void {
  for (const [text, { latestMs }] of logged) if (nowMs - latestMs >= LONGEST_INTERVAL_MS) logged.delete(text);
}
