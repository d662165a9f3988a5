/** `npm run bench -- NAME --compare REVISION`: the working tree and another revision in turns, on the same work. */
import { changes, perUnit, type Change, type Figures } from './figures.js';
import { startMeasured } from './measured-service.js';
import { buildRevision, HERE, type Build } from './revision.js';
import { WORKLOADS, type Workload } from './workloads.js';

/** How often both are started anew, and how often they are measured then, next to each other: what else the machine does meets both alike. */
const ROUNDS = 4;
const PAIRS = 4;
/** Per measurement, and to warm up after a start. */
const UNITS = { order: { warmUp: 15_000, measured: 12_000 }, fill: { warmUp: 300, measured: 500 } } as const;

/**
 * Prints as it goes. False where the working tree is slower: three quarters of the differences in rate are below zero. Throws Error for a name that
 * compares nothing.
 */
export async function compare(name: string, revision: string, print: (line: string) => void): Promise<boolean> {
  const workload = WORKLOADS[name];
  if (workload === undefined) throw new Error(`${JSON.stringify(name)} compares no revisions; these do: ${Object.keys(WORKLOADS).join(', ')}`);
  const before = await buildRevision(revision);
  const { unit } = workload;
  print(`${name}: ${before.name}, then ${HERE.name}; ${ROUNDS} starts of both, ${PAIRS} pairs of ${UNITS[unit].measured} ${unit}s each`);
  const pairs: Pair[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const measured = await measureRound([before, HERE], workload, round);
    for (const figures of measured) print(`  ${figures.map((each) => `${shown(each[rate(unit)]!)} ${unit}s/s`).join(', ')}`);
    pairs.push(...measured);
  }
  const all = changes(pairs);
  for (const change of all) print(`  ${lineOf(change, unit)}`);
  const slower = all.find((change) => change.name === rate(unit))!.to < 0;
  print(slower ? `  slower than ${before.name}` : `  not slower than ${before.name}`);
  return !slower;
}

type Pair = readonly [before: Figures, after: Figures];

const rate = (unit: string) => `${unit}s per second`;

async function measureRound(builds: readonly [Build, Build], workload: Workload, round: number): Promise<Pair[]> {
  const running = new Map<Build, Turn>();
  try {
    // Which one starts first makes some percent: each does in half of the rounds.
    for (const build of round % 2 === 0 ? builds : builds.toReversed()) running.set(build, await startTurns(build, workload));
    const [before, after] = builds.map((build) => running.get(build)) as [Turn, Turn];
    const pairs: Pair[] = [];
    for (let i = 0; i < PAIRS; i++) {
      const isSwapped = i % 2 === 1;
      const first = await (isSwapped ? after : before).measure(i + 1);
      const second = await (isSwapped ? before : after).measure(i + 1);
      pairs.push(isSwapped ? [second, first] : [first, second]);
    }
    return pairs;
  } finally {
    for (const { remove } of running.values()) await remove();
  }
}

/** A service that runs while it is measured only. */
interface Turn {
  measure(number: number): Promise<Figures>;
  remove(): Promise<void>;
}

async function startTurns(build: Build, { unit, environment, prepare }: Workload): Promise<Turn> {
  const service = await startMeasured(build, { environment });
  const { warmUp, measured } = UNITS[unit];
  await (await prepare(service, warmUp, 0))();
  const go = (on: boolean) => service.child.kill(on ? 'SIGCONT' : 'SIGSTOP');
  go(false);
  return {
    async measure(number) {
      go(true);
      const send = await prepare(service, measured, number);
      const before = await service.usage();
      const seconds = await send();
      const figures = { [rate(unit)]: measured / seconds, ...perUnit(before, await service.usage(), measured) };
      go(false);
      return figures;
    },
    async remove() {
      go(true);
      await service.remove();
    },
  };
}

function lineOf({ name, before, after, median, from, to }: Change, unit: string): string {
  const label = name === rate(unit) ? name : `${name} per ${unit}`;
  return `${label.padEnd(32)} ${shown(before).padStart(8)} → ${shown(after).padStart(8)}  ${percent(median)} (${percent(from)} to ${percent(to)})`;
}

function shown(figure: number): string {
  return figure >= 1_000 ? Math.round(figure).toLocaleString('en-US') : figure.toPrecision(3);
}

function percent(part: number): string {
  return `${part < 0 ? '−' : '+'}${Math.abs(part * 100).toFixed(1)} %`;
}
