/** A process of `npm run bench -- growth`: takes one task as a message, answers with its result, and ends. No heap remembers another size's. */
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openLog } from '../../engine/log/open-log.js';
import type { Log } from '../../engine/log/log.js';
import { formatDigest } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { createEngine } from '../../engine/run/engine.js';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { startReplica } from '../../engine/run/replica.js';
import { encodeSnapshot } from '../../engine/run/snapshot.js';
import { loadSnapshot, newestSnapshot, saveSnapshot } from '../../engine/run/snapshot-files.js';
import { snapshotThreads } from '../../engine/run/snapshot-thread.js';
import type { Engine } from '../../engine/run/stepping.js';
import { runSql } from '../support/sql.js';
import { until } from '../support/until.js';
import { cancelOf, crossingOrder, marketCommands, restingOrder } from './growth-commands.js';
import { median } from './median.js';

export interface SizeTask {
  readonly markets: number;
  readonly orders: number;
  /** Where its snapshot is. */
  readonly folder: string;
}

export type GrowthTask
  = | { readonly kind: 'grow'; readonly markets: number; readonly sizes: readonly SizeTask[] }
    | { readonly kind: 'measure'; readonly size: SizeTask; readonly url: string };

/** Of a state that was made. */
export interface Grown {
  /** The longest of all steps so far; at most a millisecond more, and not what it waited for a processor. */
  readonly longestStepMs: number;
}

export interface Measured {
  readonly snapshotBytes: number;
  /** From the file to the state. */
  readonly restoreMs: number;
  /** Medians. */
  readonly stepUs: Readonly<Record<StepKind, number>>;
  /** How long the event loop stood still at most while a thread took a snapshot (the median of a few), the engine took one, and nobody did. */
  readonly stopMs: Readonly<Record<'thread' | 'itself' | 'none', number>>;
}

type StepKind = 'rests' | 'crosses' | 'cancelled';

/** Commands between two snapshots; the service has 200,000. */
const EVERY = 4_000;
const SNAPSHOTS = 3;
/** Commands per append. */
const BATCH = 16;
const ROUNDS = 2_000;
/** Steps between two looks at the processor time. */
const LOOK = 64;

process.once('message', (task: GrowthTask) => {
  (task.kind === 'grow' ? grow(task.markets, task.sizes) : measure(task.size, task.url))
    .then((result) => ({ result }), (error: unknown) => ({ error: String(error) }))
    .then((message) => { process.send!(message, () => { process.disconnect(); }); })
    .catch(() => { process.exit(1); });
});

/** Makes the states one from the other, and leaves each one's snapshot. */
async function grow(markets: number, sizes: readonly SizeTask[]): Promise<Grown[]> {
  const engine = createEngine();
  const processorMs = processorTimes();
  let longestStepMs = 0;
  const step = (command: Command): void => {
    const data = encodeCommand(command);
    const begun = performance.now();
    const { position } = engine.step(data, command);
    const ms = performance.now() - begun;
    if (ms > longestStepMs) longestStepMs = Math.max(longestStepMs, Math.min(ms, processorMs()));
    if (position % LOOK === 0) processorMs();
  };
  const grown: Grown[] = [];
  for (const command of marketCommands(markets)) step(command);
  let n = 0;
  for (const { orders, folder } of sizes) {
    for (; n < orders; n++) step(restingOrder(n, markets));
    await saveSnapshot(folder, engine.state.position, encodeSnapshot(engine));
    grown.push({ longestStepMs });
  }
  return grown;
}

/** Gives the processor time of this process since it was called before. */
function processorTimes(): () => number {
  let before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    return (user + system) / 1_000;
  };
}

async function measure({ markets, orders, folder }: SizeTask, url: string): Promise<Measured> {
  const [name = ''] = await readdir(folder);
  const { size: snapshotBytes } = await stat(join(folder, name));
  const { engine, restoreMs } = await restoredFrom(folder);
  const history = { position: engine.state.position, digest: formatDigest(engine.digest) };
  const stepUs = stepTimes(engine, { markets, orders });
  const log = await logOf(url, history);
  try {
    let n = orders;
    const next = (): Command => restingOrder(n++, markets);
    const [none, ...thread] = await longestStopsMs(log, { folder, next, snapshots: SNAPSHOTS, url });
    const [, itself] = await longestStopsMs(log, { folder, next, snapshots: 1 });
    return { snapshotBytes, restoreMs, stepUs, stopMs: { none: none!, thread: median(thread), itself: itself! } };
  } finally {
    await log.close();
  }
}

async function restoredFrom(folder: string): Promise<{ readonly engine: Engine; readonly restoreMs: number }> {
  const begun = performance.now();
  const restored = await loadSnapshot(folder, () => Promise.resolve(true));
  const restoreMs = performance.now() - begun;
  if (restored === undefined) throw new Error(`${folder} has no snapshot that can be read`);
  return { engine: createEngine(restored.state, restored.digest), restoreMs };
}

/** The median of each kind of step, from recorded bytes. As many orders rest afterwards as before. */
function stepTimes(engine: Engine, { markets, orders }: { readonly markets: number; readonly orders: number }): Record<StepKind, number> {
  const times: Record<StepKind, number[]> = { rests: [], crosses: [], cancelled: [] };
  const step = (kind: StepKind, command: Command): void => {
    const data = encodeCommand(command);
    const begun = performance.now();
    engine.step(data);
    times[kind].push(1_000 * (performance.now() - begun));
  };
  for (let round = 0, n = orders; round < 2 * ROUNDS; round++, n += 3) {
    step('rests', restingOrder(n, markets));
    step('rests', restingOrder(n + 1, markets));
    step('cancelled', cancelOf(n, markets));
    step('crosses', crossingOrder(n + 2, markets));
  }
  const warm = (of: readonly number[]): number => median(of.slice(of.length / 2));
  return { rests: warm(times.rests), crosses: warm(times.crosses), cancelled: warm(times.cancelled) };
}

/** A log as long as the history. It has the last command and the last outcome alone: nobody reads those before, since a snapshot includes them. */
async function logOf(url: string, { position, digest }: { readonly position: number; readonly digest: string }): Promise<Log> {
  await runSql(url, 'drop schema if exists log cascade');
  await (await openLog(url)).close();
  const outcome = encodeOutcome('{"at":0,"events":[]}', digest);
  await runSql(url, 'insert into log.records (stream, position, id, data) values (0, $1, $2, $3), (1, $1, $4, $5)', [
    position - 1, recordId('last command'), Buffer.from('{}'), recordId('last outcome'), outcome,
  ]);
  await runSql(url, 'update log.streams set length = $1', [position]);
  return await openLog(url);
}

interface Stops {
  readonly folder: string;
  readonly next: () => Command;
  /** How many snapshots are taken. */
  readonly snapshots: number;
  /** The log's, for snapshots that a thread takes; without it the engine takes them. */
  readonly url?: string;
}

/** How long the event loop of a replica stood still at most while orders came in: before the first snapshot, and during each. */
async function longestStopsMs(log: Log, { folder, next, snapshots, url }: Stops): Promise<number[]> {
  const stop = new AbortController();
  const replica = await startReplica({
    log, record: { writerId: `growth ${url === undefined ? 'itself' : 'thread'}` }, signal: stop.signal, snapshotDirectory: folder, snapshotEvery: EVERY,
    ...url === undefined ? {} : { snapshotWriter: snapshotThreads(url) },
  });
  await replica.caughtUp;
  globalThis.gc?.();
  const stops = monitorEventLoopDelay({ resolution: 1 });
  const append = (): Promise<number> => (
    log.append('commands', Array.from({ length: BATCH }, () => ({ id: randomUUID(), data: encodeCommand(next()) }))));
  const longest: number[] = [];
  stops.enable();
  for (let commands = BATCH; commands < EVERY; commands += BATCH) await append();
  longest.push(stops.max / 1e6);
  for (let n = 0; n < snapshots; n++) {
    stops.reset();
    const before = await newestSnapshot(folder);
    let isThere = false;
    const there = until('the snapshot', async () => await newestSnapshot(folder) > before, 600).finally(() => { isThere = true; });
    while (!isThere) await append();
    await there;
    longest.push(stops.max / 1e6);
  }
  stops.disable();
  // The next start takes no snapshot that includes more than what is recorded.
  const length = await log.length('commands');
  await until('the outcomes', () => replica.recording!.written >= length);
  stop.abort();
  await replica.done;
  return longest;
}
