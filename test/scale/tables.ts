/** The tables of docs/scale.md, as Markdown. */
import { BUSY, COSTS, DIVISIBLE, ONE, SINGLE, fullAt, orderLatency, times } from './model.js';

const MULTIPLES = [1, 10, 100, 10_000] as const;
/** Orders per second, and api processes. */
const SIMULATED: readonly (readonly [number, number])[] = [
  [100, 1], [1_000, 1], [1_000, 2], [3_000, 2], [10_000, 3], [10_000, 6], [20_000, 8], [30_000, 19], [40_000, 40],
];

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => (
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n'));

const whole = (n: number): string => n.toLocaleString('en-US', { maximumFractionDigits: 0 });
const short = (n: number): string => n.toLocaleString('en-US', { maximumSignificantDigits: 2 });

/** What each part needs at each multiple of the load. */
export function needs(): string {
  const loads = MULTIPLES.map((n) => times(ONE, n));
  const rows = [
    ['orders/s', ...loads.map(({ ordersPerS }) => whole(ordersPerS))],
    ['fills/s', ...loads.map(({ fillsPerS }) => whole(fillsPerS))],
    ['log, GB per day', ...loads.map(({ ordersPerS }) => short(ordersPerS * COSTS.commandBytes * 86_400 / 1e9))],
    ...DIVISIBLE.map(({ part, processes }) => [`${part}: processes`, ...loads.map((load) => {
      const n = processes(load);
      return n === undefined ? '**no number is enough**' : whole(n);
    })]),
    ...SINGLE.map(({ part, busy }) => [`${part}: share of one`, ...loads.map((load) => busy(load) > BUSY ? `**${short(busy(load))}**` : short(busy(load)))]),
  ];
  return table(['', ...MULTIPLES.map((n) => `${whole(n)} ×`)], rows);
}

/** The parts of which there is one, the first to be full first. */
export function walls(): string {
  const sorted = [...SINGLE].sort((a, b) => fullAt(a) - fullAt(b));
  return table(['part', `${100 * BUSY} % busy at`, 'which is'], sorted.map((each) => {
    const full = fullAt(each);
    const { ordersPerS, fillsPerS } = times(ONE, full);
    return [each.part, `${short(full)} ×`, `${short(ordersPerS)} orders/s, ${short(fillsPerS)} fills/s`];
  }));
}

/** What an order waits, by simulation: a second of work for each load. */
export function waits(simulated = SIMULATED): string {
  return table(['orders/s', 'api processes', 'api busy', 'log busy', 'orders per append', 'p50', 'p99', 'p99.9'], simulated.map(([ordersPerS, apis]) => {
    const { latencyMs: { p50, p99, p999 }, stations: [, log, ...api] } = orderLatency(ordersPerS, apis);
    const left = 1 - ordersPerS * (1 - 1 / apis) * COSTS.replicaUs / 1e6;
    const busy = 1 - left + left * api[0]!.busy;
    return [whole(ordersPerS), whole(apis), `${whole(100 * busy)} %`, `${whole(100 * log!.busy)} %`, short(log!.jobsPerService), ...[p50, p99, p999].map((ms) => `${short(ms)} ms`)];
  }));
}
