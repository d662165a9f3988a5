/** The replica: outcomes in their places, restarts, a second engine, replicas without a recorder, altered histories, and the clock. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runClock } from '../../engine/run/clock.js';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { createDigestTrail } from '../../engine/run/checker.js';
import { createEngine } from '../../engine/run/engine.js';
import { LogUnavailable, type Log, type NewRecord } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { startReplica, type Replica, type ReplicaOptions } from '../../engine/run/replica.js';
import { newCommand } from '../support/commands.js';
import { appendAll } from '../support/log-records.js';
import { createRandomCommands, crowd, marketId, START_MS, traderAddress } from '../support/random-commands.js';
import { until } from '../support/until.js';

interface Running {
  readonly replica: Replica;
  readonly reports: string[];
  stop(): Promise<void>;
}

/** A replica that records, as the engine role has it. */
function start(log: Log, options: Partial<ReplicaOptions> = {}): Promise<Running> {
  return startPlain(log, { record: { writerId: randomUUID() }, ...options });
}

/** A replica that only follows and checks. */
async function startPlain(log: Log, options: Partial<ReplicaOptions> = {}): Promise<Running> {
  const stop = new AbortController();
  const reports: string[] = [];
  const replica = await startReplica({ log, signal: stop.signal, report: (message) => { reports.push(message); }, ...options });
  return {
    replica, reports,
    stop: () => {
      stop.abort();
      return replica.done;
    },
  };
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

describe('replica', () => {
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
    const early = engine.replica.outcomeOf(5_999);
    await appendAll(log, 'commands', records);
    const { at } = await early;
    await until('all outcomes', () => engine.replica.recording!.written === records.length);
    equal((await engine.replica.outcomeOf(5_999)).at, at);
    deepEqual(await engine.replica.outcomeOf(0), decodedOf(await log.read('outcomes', 0, 1)));
    const never = engine.replica.outcomeOf(6_000);
    await Promise.all([rejects(never, /has stopped/), engine.stop()]);
  });

  it('refuses a history that its commands do not give', async () => {
    const { records } = history(4, 200);
    const honest = createMemoryLog();
    const engine = await start(honest);
    await honest.append('commands', records);
    await until('all outcomes', () => engine.replica.recording!.written === records.length);
    await engine.stop();
    const outcomes = await honest.read('outcomes', 0, 1_000);
    const altered = createMemoryLog();
    const [first, second] = [records[120]!, records[121]!];
    await altered.append('commands', [...records.slice(0, 120), second, first, ...records.slice(122)]);
    await altered.append('outcomes', outcomes.map(({ id, data }) => ({ id, data })));
    const deceived = await start(altered);
    await rejects(deceived.replica.done, /at position 199 the log has digest 0x[0-9a-f]{64}, but this program computes 0x/);
  });

  it('stops at a command that it cannot read, and writes no outcome for it or after it', async () => {
    const { records } = history(5, 10);
    const log = createMemoryLog();
    await log.append('commands', [...records.slice(0, 4), { id: recordId('bad'), data: Buffer.from('{"kind":"PlaceOrder","v":9}') }, ...records.slice(4)]);
    const engine = await start(log);
    await rejects(engine.replica.done, /PlaceOrder has version 9; this program knows up to 2/);
    ok(await log.length('outcomes') <= 4);
    await rejects(engine.replica.outcomeOf(7), /version 9/);
  });

  it('a second engine stands by, agrees with the first, and takes over when it falls silent', async () => {
    const { records, digests } = history(6, 900);
    const store = createMemoryStore();
    const [left, right] = [createMemoryLog(store), createMemoryLog(store)];
    const impatient = () => ({ record: { writerId: randomUUID(), takeoverMs: 500 } });
    const engines = [await start(left, impatient()), await start(right, impatient())];
    for (let from = 0; from < 600; from += 10) await left.append('commands', records.slice(from, from + 10));
    await until('one stands by', () => engines.some(({ replica }) => replica.recording!.standby));
    await until('600 outcomes', async () => await left.length('outcomes') === 600);
    const leader = engines.findIndex(({ replica }) => !replica.recording!.standby);
    await engines[leader]!.stop();
    await left.append('commands', records.slice(600));
    await until('the other one takes over', async () => await left.length('outcomes') === 900);
    ok(!engines[1 - leader]!.replica.recording!.standby);
    await engines[1 - leader]!.stop();
    deepEqual(await recordedDigests(left), digests);
  });

  it('without a recorder: knows every outcome before it is recorded, writes nothing, and agrees with the engine that does', async () => {
    const { records, digests } = history(7, 300);
    const store = createMemoryStore();
    const api = await startPlain(createMemoryLog(store));
    const log = createMemoryLog(store);
    await log.append('commands', records.slice(0, 200));
    equal((await api.replica.outcomeOf(199)).at > 0, true);
    equal(await log.length('outcomes'), 0);
    const engine = await start(createMemoryLog(store));
    await log.append('commands', records.slice(200));
    await Promise.all([api.replica.outcomeOf(299), until('all outcomes', async () => await log.length('outcomes') === 300)]);
    deepEqual(await recordedDigests(log), digests);
    await Promise.all([engine.stop(), api.stop()]);
  });

  it('without a recorder: stops on a difference, also when no further command comes', async () => {
    const { records } = history(8, 100);
    const log = createMemoryLog();
    const api = await startPlain(log);
    await log.append('commands', records);
    await api.replica.outcomeOf(99);
    const other = history(9, 100);
    const engine = createEngine();
    await log.append('outcomes', other.records.map(({ id, data }) => {
      const { text, digest } = engine.step(data);
      return { id, data: encodeOutcome(text, digest) };
    }));
    await rejects(api.replica.done, /at position 99 the log has digest 0x[0-9a-f]{64}, but this program computes 0x/);
    await rejects(api.replica.outcomeOf(100), /at position 99/);
  });

  /** Outcomes of another history: what an engine with other rules would have recorded. */
  const foreignOutcomes = (seed: number, count: number): NewRecord[] => {
    const engine = createEngine();
    return history(seed, count).records.map(({ id, data }) => {
      const { text, digest } = engine.step(data);
      return { id, data: encodeOutcome(text, digest) };
    });
  };

  it('with a recorder: stops at outcomes that it does not compute, also when no further command comes', async () => {
    const { records } = history(12, 100);
    const log = createMemoryLog();
    const engine = await start(log);
    const foreign = foreignOutcomes(13, 100);
    await log.append('outcomes', foreign);
    await log.append('commands', records);
    await rejects(engine.replica.done, /at position 99 the log has digest 0x[0-9a-f]{64}, but this program computes 0x/);
    await rejects(engine.replica.outcomeOf(100), /at position 99/);
    deepEqual((await log.read('outcomes', 0, 1_000)).map(({ id }) => id), foreign.map(({ id }) => id), 'nothing was added');
  });

  it('with a recorder that has failed: publishes nothing of a batch that was read before', async () => {
    const { records } = history(14, 20);
    const store = createMemoryLog();
    const log: Log = {
      ...store,
      async* follow(stream, from, signal) {
        await store.append('outcomes', foreignOutcomes(15, 10));
        await store.append('commands', records);
        yield await store.read(stream, from, 10);
        await until('the recorder has failed', () => signal.aborted);
        yield await store.read(stream, 10, 10);
      },
    };
    const engine = await start(log);
    const steps: number[] = [];
    engine.replica.onStep(({ position }) => { steps.push(position); });
    await rejects(engine.replica.done, /at position 9 the log has digest/);
    deepEqual(steps, Array.from({ length: 10 }, (_, i) => i));
  });

  it('an outcome that is neither recent nor recorded cannot be told for now', async () => {
    const { records } = history(10, 6_000);
    const log = createMemoryLog();
    const api = await startPlain(log);
    await appendAll(log, 'commands', records);
    await api.replica.outcomeOf(5_999);
    await rejects(api.replica.outcomeOf(0), LogUnavailable);
    await api.stop();
  });

  it('has caught up when everything that was in the log at the start is decided', async () => {
    const { records } = history(11, 50);
    const log = createMemoryLog();
    await log.append('commands', records);
    const api = await startPlain(log);
    await api.replica.caughtUp;
    equal(api.replica.view.position, 50);
    equal(api.replica.ready, true);
    await api.stop();
  });

  it('the clock of an engine that stands by does what the other one has left undone for long', async () => {
    const log = createMemoryLog();
    await log.append('commands', [marketExpiringAt(START_MS / 1_000 + 10)]);
    const api = await startPlain(log);
    await api.replica.caughtUp;
    let now = START_MS + 10_000;
    const stop = new AbortController();
    const standingBy = { ...api.replica, view: api.replica.view, ready: true, recording: { standby: true, written: 0, takeOver: () => undefined } };
    const looks: number[] = [];
    const clock = runClock({
      log, replica: standingBy, signal: stop.signal, tickMs: 1, standbyMs: 5_000, report: () => undefined,
      now: () => {
        looks.push(now);
        return now;
      },
    });
    await until('it has looked a few times', () => looks.length > 5);
    equal(await log.length('commands'), 1);
    now += 5_000;
    deepEqual((await api.replica.outcomeOf(1)).events, [{ type: 'MarketClosed', v: 1, marketId: marketId(1) }]);
    stop.abort();
    await clock;
    await api.stop();
  });

  it('the clock waits for a log that cannot be reached, and ticks when it is back', async () => {
    const store = createMemoryLog();
    let down = true;
    let tries = 0;
    const log: Log = { ...store, append: (...args) => {
      tries += 1;
      return down ? Promise.reject(new LogUnavailable(false)) : store.append(...args);
    } };
    await store.append('commands', [marketExpiringAt(START_MS / 1_000 + 10)]);
    const engine = await start(store);
    await until('the market is open', () => engine.replica.view.position === 1);
    const stop = new AbortController();
    const told: string[] = [];
    const clock = runClock({
      log, replica: engine.replica, now: () => START_MS + 10_000, signal: stop.signal, tickMs: 1,
      report: (level, text) => { told.push(`${level}: ${text}`); },
    });
    await until('the clock has waited', () => tries > 3);
    down = false;
    deepEqual((await engine.replica.outcomeOf(1)).events, [{ type: 'MarketClosed', v: 1, marketId: marketId(1) }]);
    await until('it is told that the clock goes on', () => told.length > 1);
    deepEqual(told, [`warn: the clock waits: ${new LogUnavailable(false).message}`, 'info: the clock goes on'], 'each is told once');
    stop.abort();
    await clock;
    await engine.stop();
  });

  it('the clock waits while time may not pass', async () => {
    const log = createMemoryLog();
    await log.append('commands', [marketExpiringAt(START_MS / 1_000 + 10)]);
    const engine = await start(log);
    await engine.replica.caughtUp;
    const stop = new AbortController();
    const asked: boolean[] = [];
    let trusted = false;
    const clock = runClock({
      log, replica: engine.replica, now: () => START_MS + 10_000, signal: stop.signal, tickMs: 1, report: () => undefined,
      mayPass: () => {
        asked.push(trusted);
        return trusted;
      },
    });
    await until('the clock has asked', () => asked.length > 3);
    equal(await log.length('commands'), 1);
    trusted = true;
    deepEqual((await engine.replica.outcomeOf(1)).events, [{ type: 'MarketClosed', v: 1, marketId: marketId(1) }]);
    stop.abort();
    await clock;
    await engine.stop();
  });

  it('carries time into a quiet market: an order expires without anybody\'s doing', async () => {
    const log = createMemoryLog();
    const engine = await start(log);
    let now = START_MS;
    const stopClock = new AbortController();
    const clock = runClock({ log, replica: engine.replica, now: () => now, signal: stopClock.signal, tickMs: 1, report: () => undefined });
    const expiration = START_MS / 1_000 + 100;
    await log.append('commands', [
      marketExpiringAt(START_MS / 1_000 + 1_000),
      { id: recordId('order'), data: encodeCommand(newCommand('PlaceOrder', {
        at: START_MS, orderHash: marketId(2), marketId: marketId(1), trader: traderAddress(1), side: 0, outcome: 0, price: 5, size: '7',
        nonce: '0', expiration: String(expiration), signature: `0x${'00'.repeat(65)}`,
      })) },
    ]);
    await until('both decided', () => engine.replica.view.position === 2);
    now = expiration * 1_000 - 20_001;
    await new Promise((resolve) => setTimeout(resolve, 20));
    equal(await log.length('commands'), 2, 'nothing was due yet, so nothing was written');
    now += 1;
    const outcome = await engine.replica.outcomeOf(2);
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
    data: encodeCommand(newCommand('OpenMarket', {
      at: START_MS, marketId: marketId(1), question: 'q', contractAddress: traderAddress(8), maker: traderAddress(9), expiration,
      chainId: 1,
    })),
  };
}

function decodedOf([record]: readonly { data: Uint8Array }[]) {
  const { at, events } = decodeOutcome(record!.data);
  return { at, events };
}

describe('replica: digests that wait for their comparison', () => {
  it('gives the newest one below a length, and forgets what is compared', () => {
    const trail = createDigestTrail();
    for (let position = 5; position < 10; position++) trail.add(position, `digest ${position}`);
    equal(trail.newestBelow(5), undefined);
    deepEqual(trail.newestBelow(8), { position: 7, digest: 'digest 7' });
    trail.dropUpTo(7);
    deepEqual([trail.size(), trail.newestBelow(8), trail.newestBelow(100)], [2, undefined, { position: 9, digest: 'digest 9' }]);
  });

  it('keeps a bounded number, the newest always among them', () => {
    const trail = createDigestTrail(8);
    for (let position = 0; position < 1_000; position++) {
      trail.add(position, `digest ${position}`);
      equal(trail.newestBelow(position + 1)?.position, position);
      ok(trail.size() <= 8);
    }
    ok(trail.newestBelow(900) !== undefined, 'older ones are kept too, ever more thinly');
  });
});
