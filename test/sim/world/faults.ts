/** The faults that are in force, and how often each kind has really struck: a fault that never strikes checks nothing. */

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
