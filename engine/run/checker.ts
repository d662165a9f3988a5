/**
 * Compares the digests of a replica's steps with the outcomes that another process records, and reports a difference.
 */
import { LogUnavailable, type Log } from '../log/log.js';
import { decodeOutcome } from '../records/codec.js';
import { startRounds } from '../reactor.js';
import type { Report } from '../report.js';
import { pause, steady } from '../waiting.js';
import { HistoryDiffers } from './history-differs.js';
import type { StepSink } from './step-sink.js';

export interface CheckerOptions {
  readonly log: Pick<Log, 'length' | 'read'>;
  readonly signal: AbortSignal;
  /** Called once, with a difference or another error that ends the checks. */
  readonly failed: (error: Error) => void;
  /** Time between two comparisons. Default 250 ms. */
  readonly everyMs?: number;
  readonly report: Report;
}

/**
 * A digest covers the whole history before it. So the checker compares only the newest step that has a recorded
 * outcome, a few times per second, and that checks every step.
 */
export function createChecker({ log, signal, failed, everyMs = 250, report }: CheckerOptions): StepSink {
  const trail = createDigestTrail();
  const { done } = startRounds({
    round: () => compareNewest(log, trail), rest: () => pause(everyMs, signal),
    canPass: (error) => error instanceof LogUnavailable,
    backoff: steady(everyMs), who: 'the comparison with recorded outcomes', report, signal,
  });
  const checked = done.catch((error: unknown) => { failed(error as Error); });
  return {
    take: ({ position, digest }) => { trail.add(position, digest); },
    room: () => Promise.resolve(),
    finish: () => checked,
  };
}

async function compareNewest(log: CheckerOptions['log'], trail: DigestTrail): Promise<void> {
  if (trail.size() === 0) return;
  const newest = trail.newestBelow(await log.length('outcomes'));
  if (newest === undefined) return;
  const [record] = await log.read('outcomes', newest.position, 1);
  if (record === undefined) return;
  const { digest: recorded } = decodeOutcome(record.data);
  if (recorded !== newest.digest) {
    throw new HistoryDiffers({ position: newest.position, recorded, computed: newest.digest });
  }
  trail.dropUpTo(newest.position);
}

interface PlacedDigest {
  readonly position: number;
  readonly digest: string;
}

export interface DigestTrail {
  /** Positions ascend. */
  add(position: number, digest: string): void;
  /** The kept digest with the highest position below `length`. */
  newestBelow(length: number): PlacedDigest | undefined;
  dropUpTo(position: number): void;
  size(): number;
}

/**
 * Digests that have not been compared yet, at most `most`. Beyond `most`, every second digest is dropped, but never the
 * newest. A replica may run for a long time while no engine records outcomes, and any later digest covers the dropped
 * ones.
 */
export function createDigestTrail(most = 65_536): DigestTrail {
  let kept: PlacedDigest[] = [];
  return {
    add(position, digest) {
      kept.push({ position, digest });
      if (kept.length > most) kept = kept.filter((_, i) => (kept.length - 1 - i) % 2 === 0);
    },
    newestBelow: (length) => kept.findLast(({ position }) => position < length),
    dropUpTo(position) { kept = kept.slice(kept.findLastIndex((each) => each.position <= position) + 1); },
    size: () => kept.length,
  };
}
