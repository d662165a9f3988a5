/** From two readings of a meter to figures per order or fill, and from figures of two builds to what has changed. */
import type { Usage } from './usage.js';

/** Figures by what they say, with their unit: `main thread, µs`. */
export type Figures = Readonly<Record<string, number>>;

/** Threads beside the main one that are told one by one: the busiest ones. */
const THREADS = 3;

/** What was used between two readings, for each of `units` orders or fills. */
export function perUnit(before: Usage, after: Usage, units: number): Figures {
  const us = (ns: number) => ns / 1_000 / units;
  const times = Object.entries(after.threads).map(([thread, ns]) => [thread, ns - (before.threads[thread] ?? 0)] as const);
  const { main = 0, ...others } = Object.fromEntries(times);
  const busiest = Object.values(others).sort((a, b) => b - a);
  const each = (name: 'reads' | 'writes' | 'statements' | 'walBytes') => (after[name] - before[name]) / units;
  return {
    'main thread, µs': us(main),
    ...Object.fromEntries(busiest.slice(0, THREADS).map((ns, i) => [`thread ${i + 2}, µs`, us(ns)])),
    'other threads, µs': us(busiest.slice(THREADS).reduce((sum, ns) => sum + ns, 0)),
    'Postgres, µs': us(after.postgresNs - before.postgresNs),
    'main thread waits, µs': us(after.waits.main - before.waits.main), 'Postgres waits, µs': us(after.waits.postgres - before.waits.postgres),
    'statements': each('statements'), 'WAL, bytes': each('walBytes'), 'read calls': each('reads'), 'write calls': each('writes'),
  };
}

/** What an order or a fill causes exactly, whatever the machine. */
export const COUNTS = ['statements', 'rows', 'walBytes', 'reads', 'writes'] as const;

export type Counts = Readonly<Record<typeof COUNTS[number], number>>;

export interface Reading {
  readonly usage: Usage;
  /** By a monotonic clock. */
  readonly ms: number;
}

/** The counts per order or fill between two readings, without what the service does in as much time anyway: the idle time after them tells that. */
export function countsPerUnit({ before, after, idle }: Readonly<Record<'before' | 'after' | 'idle', Reading>>, units: number): Counts {
  const idleTimes = (after.ms - before.ms) / (idle.ms - after.ms);
  const each = (name: keyof Counts): number => {
    const [first, second, third] = [before, after, idle].map(({ usage }) => usage[name]) as [number, number, number];
    return Number(((second - first - (third - second) * idleTimes) / units).toPrecision(4));
  };
  return Object.fromEntries(COUNTS.map((name) => [name, each(name)])) as Counts;
}

export interface Change {
  readonly name: string;
  /** Medians. */
  readonly before: number;
  readonly after: number;
  /** Of the paired differences, as parts of the figure before: the median, and the quartiles around it. */
  readonly median: number;
  readonly from: number;
  readonly to: number;
}

/** What has changed from one build to another; `pairs` were measured next to each other. Figures that only one of them has are left out. */
export function changes(pairs: readonly (readonly [before: Figures, after: Figures])[]): Change[] {
  return Object.keys(pairs[0]![0]).filter((name) => pairs.every((pair) => pair.every((figures) => name in figures))).map((name) => {
    const values = pairs.map(([before, after]) => [before[name]!, after[name]!] as const);
    const differences = values.map(([before, after]) => before === after ? 0 : after / before - 1);
    return {
      name, before: quantile(values.map(([before]) => before), 0.5), after: quantile(values.map(([, after]) => after), 0.5),
      median: quantile(differences, 0.5), from: quantile(differences, 0.25), to: quantile(differences, 0.75),
    };
  });
}

/** Between two values, the straight line. */
function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  return low === high ? low : low + (high - low) * (place - Math.floor(place));
}
