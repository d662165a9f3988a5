/** What is wrong in the world at the moment, how often each fault has really struck, and what happens in a run, line by line. */
import { createHash } from 'node:crypto';

export const FAULTS = [
  'crash', 'crash in the middle of a request', 'log outage', 'log request lost', 'log reply lost', 'log append duplicated', 'log append delayed', 'log disk full', 'log reader delayed',
  'order sent twice', 'order sent again', 'node away', 'node request lost', 'node reply lost', 'node lags', 'node counts wrongly', 'node hides receipts', 'node on a stale branch', 'broadcast swallowed',
  'reorganisation', 'transaction dropped', 'transaction reverted', 'batch stopped', 'fill refused', 'fees rise', 'chain stalls', 'clock jumps', 'outbox cut before a statement', 'outbox cut after a statement', 'outbox cut during a fee bump',
  'outbox restarts', 'wake-up lost', 'engine differs', 'checker differs', 'settings of another exchange',
  'relay request sent twice', 'relay request sent again', 'relay request repeated', 'relay request refused', 'relay answer lost', 'relayed message brought by a stranger', 'relayed message revoked',
  'read models behind', 'proposal disputed', 'proposal settled by somebody else',
  'price source away', 'price late', 'absurd price', 'price source silent', 'boundary without a price',
] as const;

export type Fault = typeof FAULTS[number];

export interface Strikes {
  struck(fault: Fault, detail?: string): void;
  counts(): ReadonlyMap<Fault, number>;
}

export function createStrikes(note: (line: string) => void): Strikes {
  const counts = new Map<Fault, number>(FAULTS.map((fault) => [fault, 0]));
  return {
    struck(fault, detail) {
      counts.set(fault, (counts.get(fault) ?? 0) + 1);
      note(`! ${fault}${detail === undefined ? '' : `: ${detail}`}`);
    },
    counts: () => counts,
  };
}

export interface Trace {
  note(line: string): void;
  /** The latest lines, for a report. */
  latest(): readonly string[];
  lines(): number;
  /** Of all lines. */
  hash(): string;
}

const KEPT = 400;

/** `print` gets every line at once. */
export function createTrace(now: () => number, print?: (line: string) => void): Trace {
  const hash = createHash('sha256');
  let kept: string[] = [];
  let count = 0;
  return {
    note(text) {
      const line = `${now().toFixed(3).padStart(12)}  ${text}`;
      hash.update(`${line}\n`);
      count += 1;
      kept.push(line);
      if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT);
      print?.(line);
    },
    latest: () => kept.slice(-KEPT),
    lines: () => count,
    hash: () => hash.copy().digest('hex'),
  };
}

export type LogFate = 'request lost' | 'reply lost' | 'duplicated' | 'delayed';

/** One node's. Times are virtual. */
export interface NodeWeather {
  awayUntilMs: number;
  /** It shows this many blocks less than there are. */
  lagBlocks: number;
  lagUntilMs: number;
  /** It counts so many transactions of the key more or less. */
  countsBy: number;
  countsUntilMs: number;
  hidesReceiptsUntilMs: number;
  /** It shows the branch that a reorganisation has left. */
  staleUntilMs: number;
  losesRequests: number;
  losesReplies: number;
  swallowsBroadcasts: number;
}

export interface Weather {
  logAwayUntilMs: number;
  diskFullUntilMs: number;
  readersDelayedUntilMs: number;
  /** Of the next appends. */
  readonly logFates: LogFate[];
  readonly nodes: readonly NodeWeather[];
  /** The next statement of this kind, or any, ends its session: before or after it is carried out. */
  readonly outboxCuts: { readonly statement: string | undefined; readonly applied: boolean }[];
  losesWakeUps: number;
}

export function goodWeather(nodes: number): Weather {
  return {
    logAwayUntilMs: 0, diskFullUntilMs: 0, readersDelayedUntilMs: 0, logFates: [], outboxCuts: [], losesWakeUps: 0,
    nodes: Array.from({ length: nodes }, () => ({
      awayUntilMs: 0, lagBlocks: 0, lagUntilMs: 0, countsBy: 0, countsUntilMs: 0, hidesReceiptsUntilMs: 0, staleUntilMs: 0, losesRequests: 0,
      losesReplies: 0, swallowsBroadcasts: 0,
    })),
  };
}

/** Ends every fault that has not struck yet. */
export function clearUp(weather: Weather): void {
  const { nodes, logAwayUntilMs, diskFullUntilMs, readersDelayedUntilMs, losesWakeUps } = goodWeather(weather.nodes.length);
  weather.logFates.length = 0;
  weather.outboxCuts.length = 0;
  Object.assign(weather, { logAwayUntilMs, diskFullUntilMs, readersDelayedUntilMs, losesWakeUps });
  weather.nodes.forEach((node, i) => Object.assign(node, nodes[i]));
}
