/**
 * What a snapshot costs those who wait for the engine: how long it stands still while one of many markets and orders is
 * taken, by a thread and by itself, and how long restoring that takes.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openLog } from '../../engine/log/open-log.js';
import type { Log, NewRecord } from '../../engine/log/log.js';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import { startReplica } from '../../engine/run/replica.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { snapshotThreads } from '../../engine/run/snapshot-thread.js';
import { newCommand } from '../support/commands.js';
import { appendAll } from '../support/log-records.js';
import { until } from '../support/until.js';
import { T0 } from './engine.js';
import type { BenchLine } from './line.js';

const MARKETS = Number(process.env['GROWTH_MARKETS'] ?? 100_000);
const ORDERS = Number(process.env['GROWTH_ORDERS'] ?? 300_000);
/** Markets that take orders; the rest are over. */
const OPEN_MARKETS = 16;
const TRADERS = 5_000;
const PAGE = 2_000;
/** Commands between two snapshots; the service has 200,000. */
const EVERY = 5_000;

const word = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`;
const address = (n: number): string => `0x${(n + 1).toString(16).padStart(40, '0')}`;
const signature = `0x${'5a'.repeat(65)}`;
const marketOf = (n: number): string => word(`market ${n}`);

/** Markets, of which all but a few are resolved, and orders that rest. */
function* grown(orders: number, from = 0): Generator<Buffer> {
  const at = T0;
  for (let n = 0; from === 0 && n < MARKETS; n++) {
    yield encodeCommand(newCommand('OpenMarket', {
      at, marketId: marketOf(n), question: 'q', contractAddress: address(n), maker: address(0), expiration: 2_000_000_000, chainId: 31_337,
      tokens: { yes: word(`yes ${n}`), no: word(`no ${n}`) },
    }));
    if (n >= OPEN_MARKETS) yield encodeCommand(newCommand('ResolveMarket', { at, marketId: marketOf(n), winningOutcome: 0 }));
  }
  for (let n = from; n < from + orders; n++) {
    const side = n % 2 === 0 ? 0 : 1;
    yield encodeCommand(newCommand('PlaceOrder', {
      at, orderHash: word(`order ${n}`), marketId: marketOf(n % OPEN_MARKETS), trader: address(n % TRADERS), side, outcome: 0,
      price: 500_000 + (side === 0 ? -1 : 1) * (1 + (n * 7_919) % 100_000), size: '1000000', nonce: String(n), expiration: '1900000000', signature,
    }));
  }
}

export async function growthBench(url: string): Promise<BenchLine[]> {
  const folder = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  const log = await openLog(url);
  try {
    await fill(log, folder);
    const own = await longestStopMs(log, folder, { orders: 2 * EVERY, from: ORDERS });
    const beside = await longestStopMs(log, folder, { orders: 2 * EVERY, from: ORDERS + 2 * EVERY, url });
    const restoreMs = await restoredMs(folder);
    const of = `${MARKETS} markets and ${ORDERS} orders`;
    return [
      { name: `longest stop while a thread takes a snapshot of ${of}`, figure: beside, unit: 'ms', peer: { name: 'the engine itself', figure: own }, target: { atMost: 20 } },
      { name: `restoring a snapshot of ${of}`, figure: restoreMs, unit: 'ms', target: { atMost: 2_000 } },
    ];
  } finally {
    await log.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function fill(log: Log, folder: string): Promise<void> {
  const engine = createEngine();
  let [commands, outcomes]: [NewRecord[], NewRecord[]] = [[], []];
  const flush = async (): Promise<void> => {
    await appendAll(log, 'commands', commands);
    await appendAll(log, 'outcomes', outcomes);
    [commands, outcomes] = [[], []];
  };
  for (const data of grown(ORDERS)) {
    const { position, text, digest } = engine.step(data);
    commands.push({ id: recordId(`bench:${position}`), data });
    outcomes.push({ id: recordId(`outcome:${position}`), data: encodeOutcome(text, digest) });
    if (commands.length === PAGE) await flush();
  }
  await flush();
  await saveSnapshot(folder, engine.state.position, encodeSnapshot(engine));
}

/** How long the event loop of a replica stood still at most while orders came in and a snapshot was taken. */
async function longestStopMs(
  log: Log, folder: string, { orders, from, url }: { readonly orders: number; readonly from: number; readonly url?: string },
): Promise<number> {
  const stop = new AbortController();
  const before = (await readdir(folder)).sort().at(-1);
  const replica = await startReplica({
    log, record: { writerId: 'bench' }, signal: stop.signal, snapshotDirectory: folder, snapshotEvery: EVERY,
    ...url === undefined ? {} : { snapshotWriter: snapshotThreads(url) },
  });
  await replica.caughtUp;
  globalThis.gc?.();
  const stops = monitorEventLoopDelay({ resolution: 1 });
  stops.enable();
  let n = 0;
  for (const data of grown(orders, from)) {
    await log.append('commands', [{ id: recordId(`more:${from + n++}`), data }]);
  }
  await until('the snapshot', async () => (await readdir(folder)).filter((name) => name.endsWith('.bin')).sort().at(-1) !== before, 600);
  stops.disable();
  stop.abort();
  await replica.done;
  return stops.max / 1e6;
}

async function restoredMs(folder: string): Promise<number> {
  const data = await readFile(join(folder, (await readdir(folder)).sort().at(-1)!));
  globalThis.gc?.();
  const start = performance.now();
  decodeSnapshot(data);
  return performance.now() - start;
}
