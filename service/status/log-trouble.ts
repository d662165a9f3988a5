/** Why requests are refused for the sake of the log: it refuses what this process must do, or has been silent for a while. */
import { LogRefused } from '../../engine/log/log.js';
import type { DatabaseName } from '../process/roles.js';
import type { Found, Probe } from './probe.js';

type Away = Extract<Found<unknown>, { answers: false }>;

type Report = (level: 'info' | 'error', fields: object, message: string) => void;

/** Until then a request may wait for a log that does not answer; afterwards it is refused at once. */
const SILENT_AFTER_MS = 3_000;

const SILENT: Readonly<Record<DatabaseName, string>> = {
  'log': 'the log does not answer', 'read models': 'the read models do not answer', 'outbox': 'the outbox does not answer',
};

/** Why a database cannot be used, with what it says. */
export function awayText(name: DatabaseName, away: Away): string {
  return isRefusal(away) ? `the log cannot be used: ${away.error}` : `${SILENT[name]} (${away.error})`;
}

/** Why no request may be taken; undefined while requests may be taken or may wait. */
export function troubleWith(log: Probe<unknown>): string | undefined {
  const away = troubling(log);
  return away && awayText('log', away);
}

/** Returns what to call after each look: it tells once that the trouble has begun or is another one, and once that it is over. */
export function tellsTrouble(log: Probe<unknown>, report: Report): () => void {
  let told: string | undefined;
  return () => {
    const away = troubling(log);
    const kind = away && (isRefusal(away) ? away.error : 'silent');
    if (kind === told) return;
    told = kind;
    if (away === undefined) report('info', {}, 'the log answers again');
    else if (isRefusal(away)) report('error', { refusal: away.error }, 'the log refuses what this process must do: no order is taken until somebody changes the server');
    else report('error', { error: away.error }, 'the log does not answer: orders are refused');
  };
}

/** A refusal counts at once: waiting does not help. */
function troubling(log: Probe<unknown>): Away | undefined {
  const latest = log.latest();
  if (latest === undefined || latest.answers) return undefined;
  return isRefusal(latest) || log.sinceSuccessMs() > SILENT_AFTER_MS ? latest : undefined;
}

/** Only the log refuses. */
function isRefusal({ cause }: Away): boolean {
  return cause instanceof LogRefused;
}
