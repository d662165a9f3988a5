/**
 * What markets and orders cost the engine: the time of a step, how long it stands still while a snapshot is taken, by a thread and by itself, and how
 * long restoring that takes.
 */
import { fork } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_ARGUMENTS } from '../../service/process/node-arguments.js';
import type { Curve } from './curve.js';
import type { Grown, GrowthTask, Measured } from './growth-process.js';
import type { BenchLine } from './line.js';

/** More than 2^22 orders: an array that doubles there has done so. */
const ORDERS = [100_000, 1_000_000, 4_200_000];
const FEW_ORDERS = 10_000;
const MANY_MARKETS = 100_000;
const MARKETS = [10, 1_000, MANY_MARKETS];
const [MOST_STOP_MS, MOST_RESTORE_MS] = [20, 2_000];

interface Size {
  readonly markets: number;
  readonly orders: number;
}

interface Point extends Size, Measured, Grown {}

export async function engineGrowth(url: string): Promise<{ lines: BenchLine[]; curves: Curve[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  try {
    const points: Point[] = [];
    for (const markets of MARKETS) points.push(...await pointsOf(markets, { folder, url }));
    return { lines: linesOf(points), curves: curvesOf(points) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One process makes the states of so many markets, each from the one before; then each is measured in a process of its own. */
async function pointsOf(markets: number, { folder, url }: { readonly folder: string; readonly url: string }): Promise<Point[]> {
  const sizes = [FEW_ORDERS, ...markets === MANY_MARKETS ? ORDERS : []].map((orders) => ({ markets, orders, folder: join(folder, String(orders)) }));
  for (const size of sizes) await mkdir(size.folder);
  const grown = await inProcess<Grown[]>({ kind: 'grow', markets, sizes });
  const points: Point[] = [];
  for (const [n, size] of sizes.entries()) {
    points.push({ ...size, ...grown[n]!, ...await inProcess<Measured>({ kind: 'measure', size, url }) });
    await rm(size.folder, { recursive: true });
  }
  return points;
}

/** As `npm start` runs: a young generation of 32 MB from the start. The heap has its default limit. */
const EXEC_ARGV = [...NODE_ARGUMENTS, '--expose-gc'];

function inProcess<Result>(task: GrowthTask): Promise<Result> {
  const child = fork(fileURLToPath(new URL('./growth-process.js', import.meta.url)), { serialization: 'advanced', execArgv: EXEC_ARGV });
  return new Promise((resolve, reject) => {
    child.once('message', (message: { result: Result } | { error: string }) => {
      if ('result' in message) resolve(message.result); else reject(new Error(message.error));
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => { reject(new Error(`the process of a size ended with ${code ?? signal} before its result`)); });
    child.send(task);
  });
}

function linesOf(points: readonly Point[]): BenchLine[] {
  const largest = points.reduce((a, b) => a.orders > b.orders ? a : b);
  return points.flatMap((point): BenchLine[] => {
    const of = `${point.markets} markets and ${point.orders} orders`;
    const isLargest = point === largest;
    return [
      {
        name: `longest stop while a thread takes a snapshot of ${of}`, figure: point.stopMs.thread, unit: 'ms',
        peer: { name: 'the engine itself', figure: point.stopMs.itself }, target: isLargest ? { atMost: MOST_STOP_MS } : {},
      },
      { name: `the same without a snapshot, ${of}`, figure: point.stopMs.none, unit: 'ms', target: {} },
      { name: `restoring a snapshot of ${of}`, figure: point.restoreMs, unit: 'ms', target: isLargest ? { atMost: MOST_RESTORE_MS } : {} },
      { name: `longest step of all until there are ${of}`, figure: point.longestStepMs, unit: 'ms', target: isLargest ? { atMost: MOST_STOP_MS } : {} },
      ...STEPS.map(([kind, what]): BenchLine => ({ name: `median step of ${what} with ${of}`, figure: point.stepUs[kind], unit: 'µs', target: {} })),
      ...isLargest ? bytesOf(points, largest) : [],
    ];
  });
}

const STEPS = [['rests', 'an order that rests'], ['crosses', 'an order that fills another'], ['cancelled', 'a cancel']] as const;

/** What one more market or order adds to a snapshot. */
function bytesOf(points: readonly Point[], largest: Point): BenchLine[] {
  const few = points.filter(({ orders }) => orders === FEW_ORDERS);
  const [fewest, most] = [few[0]!, few.at(-1)!];
  const perOne = (of: keyof Size, a: Point, b: Point): number => (b.snapshotBytes - a.snapshotBytes) / (b[of] - a[of]);
  return [
    { name: 'bytes of a snapshot per market', figure: perOne('markets', fewest, most), unit: 'bytes', target: {} },
    { name: 'bytes of a snapshot per order', figure: perOne('orders', most, largest), unit: 'bytes', target: {} },
  ];
}

function curvesOf(points: readonly Point[]): Curve[] {
  const axes = [
    { by: 'orders', points: points.filter(({ markets }) => markets === MANY_MARKETS), rest: '100,000 markets' },
    { by: 'markets', points: points.filter(({ orders }) => orders === FEW_ORDERS), rest: '10,000 orders' },
  ] as const;
  return axes.flatMap(({ by, points: along, rest }): Curve[] => {
    const seriesOf = (name: string, figure: (point: Point) => number): Curve['series'][number] => (
      { name, points: along.map((point) => [point[by], figure(point)]) });
    const x = { label: by, log: true };
    return [
      {
        file: `growth-${by}-step`, title: `Median time of a step, ${rest}`, x, y: { label: 'µs', log: false },
        series: STEPS.map(([kind, what]) => seriesOf(what, ({ stepUs }) => stepUs[kind])),
      },
      {
        file: `growth-${by}-snapshot`, title: `Stops and restoring, ${rest}`, x, y: { label: 'ms', log: true },
        series: [
          seriesOf('longest stop while a thread takes a snapshot', ({ stopMs }) => stopMs.thread),
          seriesOf('longest stop while the engine copies its own state', ({ stopMs }) => stopMs.itself),
          seriesOf('restoring the snapshot', ({ restoreMs }) => restoreMs),
        ],
      },
    ];
  });
}
