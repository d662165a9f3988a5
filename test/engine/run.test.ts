/** The run loop: outcomes in their places, restarts, a second engine, altered histories, and the clock. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runClock } from '../../engine/run/clock.js';
import { decodeOutcome, encodeCommand, recordId } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { LogUnavailable, type Log, type NewRecord } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { createOutcomes, type Outcomes } from '../../engine/run/outcomes.js';
import { startEngine, type EngineOptions, type EngineRun } from '../../engine/run/run.js';
import { appendAll } from '../support/log-records.js';
import { createRandomCommands, crowd, marketId, START_MS, traderAddress } from '../support/random-commands.js';

interface Running {
  readonly run: EngineRun;
  readonly outcomes: Outcomes;
  readonly reports: string[];
  stop(): Promise<void>;
}

async function start(log: Log, options: Partial<EngineOptions> = {}): Promise<Running> {
  const stop = new AbortController();
  const outcomes = createOutcomes(log);
  const reports: string[] = [];
  const run = await startEngine({
    log, outcomes, signal: stop.signal, writerId: randomUUID(), report: (message) => { reports.push(message); }, ...options,
  });
  return {
    run, outcomes, reports,
    stop: () => {
      stop.abort();
      return run.done;
    },
  };
}

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let turns = 0; !await condition(); turns++) {
    if (turns > 20_000) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Records of a random history, and the digests that a plain replay gives. */
function history(seed: number, length: number): { records: NewRecord[]; digests: string[] } {
  const generator = createRandomCommands(seed, crowd);
  const engine = createEngine();
  const digests: string[] = [];
  const records = Array.from({ length }, (_, i) => {
    const data = encodeCommand(generator.next());
    const { outcome, digest } = engine.step(data);
    generator.learn(outcome);
    digests.push(digest);
    return { id: recordId(`test:${seed}:${i}`), data };
  });
  return { records, digests };
}

async function recordedDigests(log: Log): Promise<string[]> {
  const digests: string[] = [];
  for (;;) {
    const page = await log.read('outcomes', digests.length, 1_000);
    if (page.length === 0) return digests;
    digests.push(...page.map(({ data }) => decodeOutcome(data).digest));
  }
}

describe('the engine\'s run loop', () => {
  let directory: string;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'run-')); });
  after(() => rm(directory, { recursive: true }));

  it('answers command n with outcome n, live', async () => {
    const { records, digests } = history(1, 1_500);
    const log = createMemoryLog();
    const engine = await start(log);
    for (let from = 0; from < records.length; from += 50) await log.append('commands', records.slice(from, from + 50));
    await until('the last outcome', async () => await log.length('outcomes') === records.length);
    await engine.stop();
    deepEqual(await recordedDigests(log), digests);
  });

  it('stopped and started anywhere, with and without snapshots, it writes the same history', async () => {
    const { records, digests } = history(2, 1_200);
    for (const snapshotDirectory of [undefined, join(directory, 'restarts')]) {
      const log = createMemoryLog();
      for (let from = 0; from < records.length; from += 300) {
        const engine = await start(log, { snapshotEvery: 100, ...snapshotDirectory === undefined ? {} : { snapshotDirectory } });
        await log.append('commands', records.slice(from, from + 300));
        await until('some outcomes', async () => await log.length('outcomes') > from + 100);
        await engine.stop();
      }
      const last = await start(log, snapshotDirectory === undefined ? {} : { snapshotDirectory });
      await until('all outcomes', async () => await log.length('outcomes') === records.length);
      await last.stop();
      deepEqual(await recordedDigests(log), digests);
    }
  });

  it('outcomes can be waited for before, while and long after they are computed', async () => {
    const { records } = history(3, 6_000);
    const log = createMemoryLog();
    const engine = await start(log);
    const early = engine.outcomes.outcomeOf(5_999);
    await appendAll(log, 'commands', records);
    const { at } = await early;
    await until('all outcomes', () => engine.run.written === records.length);
    equal((await engine.outcomes.outcomeOf(5_999)).at, at);
    deepEqual(await engine.outcomes.outcomeOf(0), decodedOf(await log.read('outcomes', 0, 1)));
    const never = engine.outcomes.outcomeOf(6_000);
    await Promise.all([rejects(never, /has stopped/), engine.stop()]);
  });

  it('refuses a history that its commands do not give', async () => {
    const { records } = history(4, 200);
    const honest = createMemoryLog();
    const engine = await start(honest);
    await honest.append('commands', records);
    await until('all outcomes', () => engine.run.written === records.length);
    await engine.stop();
    const outcomes = await honest.read('outcomes', 0, 1_000);
    const altered = createMemoryLog();
    const [first, second] = [records[120]!, records[121]!];
    await altered.append('commands', [...records.slice(0, 120), second, first, ...records.slice(122)]);
    await altered.append('outcomes', outcomes.map(({ id, data }) => ({ id, data })));
    const deceived = await start(altered);
    await rejects(deceived.run.done, /at position 199 the history has digest 0x[0-9a-f]{64}, but its commands give 0x/);
  });

  it('stops at a command that it cannot read, and writes no outcome for it or after it', async () => {
    const { records } = history(5, 10);
    const log = createMemoryLog();
    await log.append('commands', [...records.slice(0, 4), { id: recordId('bad'), data: Buffer.from('{"kind":"PlaceOrder","v":9}') }, ...records.slice(4)]);
    const engine = await start(log);
    await rejects(engine.run.done, /PlaceOrder has version 9; this program knows up to 1/);
    ok(await log.length('outcomes') <= 4);
    await rejects(engine.outcomes.outcomeOf(7), /version 9/);
  });

  it('a second engine stands by, agrees with the first, and takes over when it falls silent', async () => {
    const { records, digests } = history(6, 900);
    const store = createMemoryStore();
    const [left, right] = [createMemoryLog(store), createMemoryLog(store)];
    const engines = [await start(left, { takeoverMs: 500 }), await start(right, { takeoverMs: 500 })];
    for (let from = 0; from < 600; from += 10) await left.append('commands', records.slice(from, from + 10));
    await until('one stands by', () => engines.some(({ run }) => run.standby));
    await until('600 outcomes', async () => await left.length('outcomes') === 600);
    const leader = engines.findIndex(({ run }) => !run.standby);
    await engines[leader]!.stop();
    await left.append('commands', records.slice(600));
    await until('the other one takes over', async () => await left.length('outcomes') === 900);
    ok(!engines[1 - leader]!.run.standby);
    await engines[1 - leader]!.stop();
    deepEqual(await recordedDigests(left), digests);
  });

  it('the clock waits for a log that cannot be reached, and ticks when it is back', async () => {
    const store = createMemoryLog();
    let down = true;
    const log: Log = { ...store, append: (...args) => down ? Promise.reject(new LogUnavailable(false)) : store.append(...args) };
    await store.append('commands', [marketExpiringAt(START_MS / 1_000 + 10)]);
    const engine = await start(store);
    await until('the market is open', () => engine.run.engine.state.position === 1);
    const stop = new AbortController();
    const waits: string[] = [];
    const clock = runClock({
      log, run: engine.run, outcomes: engine.outcomes, now: () => START_MS + 10_000, signal: stop.signal, tickMs: 1,
      report: (message) => { waits.push(message); },
    });
    await until('the clock has waited', () => waits.length > 3);
    down = false;
    deepEqual((await engine.outcomes.outcomeOf(1)).events, [{ type: 'MarketClosed', v: 1, marketId: marketId(1) }]);
    stop.abort();
    await clock;
    await engine.stop();
  });

  it('carries time into a quiet market: an order expires without anybody\'s doing', async () => {
    const log = createMemoryLog();
    const engine = await start(log);
    let now = START_MS;
    const stopClock = new AbortController();
    const clock = runClock({ log, run: engine.run, outcomes: engine.outcomes, now: () => now, signal: stopClock.signal, tickMs: 1 });
    const expiration = START_MS / 1_000 + 100;
    await log.append('commands', [
      marketExpiringAt(START_MS / 1_000 + 1_000),
      { id: recordId('order'), data: encodeCommand({
        kind: 'PlaceOrder', v: 1, at: START_MS, orderHash: marketId(2), marketId: marketId(1), trader: traderAddress(1), side: 0, outcome: 0, price: 5,
        size: '7', nonce: '0', expiration: String(expiration), signature: `0x${'00'.repeat(65)}`,
      }) },
    ]);
    await until('both decided', () => engine.run.engine.state.position === 2);
    now = expiration * 1_000 - 20_001;
    await new Promise((resolve) => setTimeout(resolve, 20));
    equal(await log.length('commands'), 2, 'nothing was due yet, so nothing was written');
    now += 1;
    const outcome = await engine.outcomes.outcomeOf(2);
    equal(outcome.events.length, 1);
    match(JSON.stringify(outcome.events[0]), /"type":"OrderCancelled".*"rested":"7","reason":"expired"/);
    stopClock.abort();
    await clock;
    await engine.stop();
  });
});

function marketExpiringAt(expiration: number): NewRecord {
  return {
    id: recordId('market'),
    data: encodeCommand({
      kind: 'OpenMarket', v: 1, at: START_MS, marketId: marketId(1), question: 'q', description: '', category: 'general', contractAddress: traderAddress(8),
      maker: traderAddress(9), expiration, chainId: 1, marketKind: 'standard',
    }),
  };
}

function decodedOf([record]: readonly { data: Uint8Array }[]) {
  const { at, events } = decodeOutcome(record!.data);
  return { at, events };
}
