/** A million fills that wait for a chain: what the intake takes to start with them, to read the next ones beside those that end, and in memory. */
import type { FillFeed } from '../../command/feed/fill-feed.js';
import { partitionOf, type SequencedMessage } from '../../command/feed/messages.js';
import { runIntake, type IntakeOptions } from '../../command/settlement/intake.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import { encodeOutcome } from '../../engine/run/new-record.js';
import { digestAt, marketIn } from '../support/feed-history.js';
import { newRecord } from '../support/log-records.js';
import { runSql } from '../support/sql.js';
import { address, bytes32 } from '../support/scenario.js';
import type { BenchLine } from './line.js';

const FILLS = 1_000_000;
/** The peer has so many. */
const FEW = 20_000;
/** How many of them end. */
const ENDING = 100_000;
const BATCH = 1_000;
/** Memory is looked at after so many batches, when the collector has run. */
const LOOK_BATCHES = 5;

const market = marketIn(3, 31_337);
const silent = (): void => undefined;

interface Figures {
  readonly startMs: number;
  readonly settledPerSecond: number;
  /** The most that was reachable more than before the start. */
  readonly mostMiB: number;
}

/** `url` names a Postgres database of its own, with fsync on. Needs `node --expose-gc`. */
export async function waitingBench(url: string): Promise<BenchLine[]> {
  const few = await measure(url, FEW);
  const many = await measure(url, FILLS);
  const peer = (figure: number) => ({ name: `with ${FEW}`, figure });
  const of = `${FILLS} fills that wait`;
  return [
    { name: `start of the intake with ${of}`, figure: many.startMs, unit: 'ms', peer: peer(few.startMs), target: {} },
    { name: `memory of the intake with ${of}, at most`, figure: many.mostMiB, unit: 'MiB', peer: peer(few.mostMiB), target: { atMost: 100 } },
    { name: `taking in the end of the first ${ENDING} of ${of}`, figure: many.settledPerSecond, unit: 'fills/s', peer: peer(few.settledPerSecond), target: {} },
  ];
}

async function measure(url: string, fills: number): Promise<Figures> {
  await letWait(url, fills);
  const ending = Math.min(fills, ENDING);
  const before = reachableMiB();
  let mostMiB = 0;
  const look = (): void => { mostMiB = Math.max(mostMiB, reachableMiB() - before); };
  const stop = new AbortController();
  const start = performance.now();
  let end: () => void = silent;
  const ended = new Promise<void>((resolve) => { end = resolve; });
  const feed: FillFeed = { async* follow(_from, signal) {
    for (let fill = 0; fill < ending && !signal.aborted; fill += BATCH) {
      const store = await intake.held(stop.signal);
      const [first] = await store.due(market.chainId, { nowMs: Date.now(), maxPauseMs: 600_000, withNew: true, limit: 200 });
      if (first?.fill !== fill) throw new Error(`fill ${first?.fill} is shown first, expected ${fill}`);
      if (fill % (LOOK_BATCHES * BATCH) === 0) look();
      yield { messages: Array.from({ length: BATCH }, (_, i) => settled(fill + i, fills)) };
    }
    end();
    await new Promise<void>((resolve) => { signal.addEventListener('abort', () => { resolve(); }); });
  } };
  const intake = runIntake({
    openStore: (session) => openStore({ url, ...session }), feed, log: anyLog, now: Date.now,
    checkChains: silent, signal: stop.signal, report: silent,
  });
  await intake.held(stop.signal);
  const startMs = performance.now() - start;
  await Promise.race([ended, intake.done]);
  const settledPerSecond = ending / (performance.now() - start - startMs) * 1_000;
  stop.abort(new Error('the bench is over'));
  await intake.done;
  return { startMs, settledPerSecond, mostMiB };
}

/** A log that has whatever has been taken in, and nothing that is to be waited for. */
const anyLog: IntakeOptions['log'] = {
  length: () => Promise.resolve(0),
  read: (_stream, position) => Promise.resolve([{ position, ...newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(position))) }]),
};

function settled(fill: number, fills: number): SequencedMessage {
  const position = 1 + fills + fill;
  const message = {
    type: 'FillSettled', v: 1, position, at: 1_700_000_000_000, fill, ...market, outcome: 0, price: 500_000, size: '1000000', cost: '500000', takerSide: 0,
    makerNumber: 2 * fill, takerNumber: 2 * fill + 1, buyer: address('b'), seller: address('s'), txHash: bytes32('tx'),
  } as const;
  return { partition: partitionOf(market.marketId), seq: position, message, digest: digestAt(position) };
}

/** Fills their tables as an intake leaves them that has had a market and its fills, of which none has ended. */
async function letWait(url: string, fills: number): Promise<void> {
  await runSql(url, 'drop schema if exists settlement cascade');
  await (await openStore({ url, signal: AbortSignal.timeout(60_000), standingBy: silent })).close();
  await runSql(url, 'insert into settlement.markets values ($1, $2)', [market.marketId, market.chainId]);
  await runSql(url, `
insert into settlement.fills (fill, chain_id, price, size, buy_number, sell_number, state, since_ms)
select n, $1, 500000, 1000000 + n, 2 * n, 2 * n + 1, 'waiting', 0 from generate_series(0, $2::bigint - 1) as n`,
  [market.chainId, fills]);
  await runSql(url, 'update settlement.partitions set next_seq = $1, position = $2 where partition = $3', [fills + 1, fills + 1, partitionOf(market.marketId)]);
  await runSql(url, 'update settlement.intake set watermark = $1, position = $2, digest = $3', [fills, fills, digestAt(fills)]);
}

function reachableMiB(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
