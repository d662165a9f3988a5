/** Latencies in constant memory: a histogram with buckets of 0.2 % width, so that percentiles cost no sorting of millions. */

export interface LatencySummary {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

const LINEAR = 1_024;
const PER_DOUBLING = 512;

/** Collects values in milliseconds, kept to a microsecond below a millisecond and to 0.2 % above. */
export class Latencies {
  private readonly counts = new Uint32Array(LINEAR + PER_DOUBLING * 22);
  private count = 0;
  private maxUs = 0;

  add(ms: number): void {
    const us = Math.min(Math.max(0, Math.round(ms * 1_000)), 0x7fffffff);
    this.counts[bucketOf(us)]!++;
    this.count++;
    if (us > this.maxUs) this.maxUs = us;
  }

  /** The value that `share` of all are at or below, in milliseconds; 0 when there are none. */
  percentile(share: number): number {
    let left = Math.max(1, Math.ceil(this.count * share));
    for (let i = 0; i < this.counts.length; i++) {
      left -= this.counts[i]!;
      if (left <= 0) return Math.min(valueOf(i), this.maxUs) / 1_000;
    }
    return 0;
  }

  summary(): LatencySummary {
    return { p50: this.percentile(0.5), p99: this.percentile(0.99), p999: this.percentile(0.999), max: this.maxUs / 1_000 };
  }
}

function bucketOf(us: number): number {
  if (us < LINEAR) return us;
  const shift = 22 - Math.clz32(us);
  return LINEAR + (shift - 1) * PER_DOUBLING + (us >> shift) - PER_DOUBLING;
}

/** The highest value of a bucket, in microseconds. */
function valueOf(bucket: number): number {
  if (bucket < LINEAR) return bucket;
  const shift = Math.floor((bucket - LINEAR) / PER_DOUBLING) + 1;
  return (((bucket - LINEAR) % PER_DOUBLING + PER_DOUBLING + 1) * 2 ** shift) - 1;
}
