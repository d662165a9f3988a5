/** The log in EventStoreDB, beside the log's contract: a server that is killed, stopped or silent; what it refuses; lost subscriptions; secrets. */
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import { connectEventStore } from '../../engine/log/eventstore/client.js';
import { openEventStoreLog, type EventStoreLogOptions } from '../../engine/log/eventstore/eventstore-log.js';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import { LogUnavailable, UnusableLog, type Log, type LogRecord, type NewRecord } from '../../engine/log/log.js';
import { throughPort, startEventStoreProcess, startTestServer, type EventStoreProcess } from '../support/eventstore-process.js';
import { startEventStoreServer, type EventStoreServer } from '../support/eventstore-server.js';
import type { ServerFault } from '../support/eventstore-faults.js';
import { newRecord, newRecords, placed, readAll, take, untilAnswered } from '../support/log-records.js';
import { startTcpProxy } from '../support/proxies.js';
import { until } from '../support/until.js';

let handles: Log[];
let abort: AbortController;
beforeEach(() => {
  handles = [];
  abort = new AbortController();
});
afterEach(async () => {
  abort.abort();
  await Promise.all(handles.map((handle) => handle.close()));
});

async function open(options: EventStoreLogOptions): Promise<Log> {
  const handle = await openEventStoreLog(options);
  handles.push(handle);
  return handle;
}

describe('log: EventStoreDB killed and silent', () => {
  let server: EventStoreProcess;
  beforeEach(async () => { server = await startEventStoreProcess(); });
  afterEach(() => server.close());

  /** Each writer appends batches until it is told to stop, each until it is acknowledged. Returns where they are. */
  async function writeAll(writers: readonly Log[], stop: AbortSignal): Promise<Map<number, readonly NewRecord[]>> {
    const acknowledged = new Map<number, readonly NewRecord[]>();
    await Promise.all(writers.map(async (log) => {
      for (let i = 0; !stop.aborted; i++) {
        const batch = newRecords(1 + i % 3);
        acknowledged.set(await untilAnswered('the acknowledgement of a batch', () => log.append('commands', batch)), batch);
      }
    }));
    return acknowledged;
  }

  async function assertOnce(acknowledged: Map<number, readonly NewRecord[]>): Promise<LogRecord[]> {
    const stored = await readAll(await open({ url: server.url }), 'commands');
    for (const [first, batch] of acknowledged) assert.deepEqual(stored.slice(first, first + batch.length), placed(first, batch));
    assert.equal(stored.length, [...acknowledged.values()].reduce((sum, { length }) => sum + length, 0));
    return stored;
  }

  it('kill -9 in mid-append, three times: nothing acknowledged is lost, nothing is there twice, followers miss nothing', async () => {
    const options = { url: server.url, attemptTimeoutMs: 2_000, unknownAfterMs: 3_000 };
    const writers = [await open(options), await open(options)];
    const follower = await open({ url: server.url });
    const seen: LogRecord[] = [];
    const following = (async () => {
      for await (const batch of follower.follow('commands', 0, abort.signal)) seen.push(...batch);
    })();
    const killed = new AbortController();
    const written = writeAll(writers, AbortSignal.any([killed.signal, abort.signal]));
    for (let kills = 0; kills < 3; kills++) {
      const length = seen.length;
      await until(`15 records since kill ${kills}`, () => seen.length < length + 15 ? undefined : true);
      await server.kill();
      await server.start();
    }
    killed.abort();
    const stored = await assertOnce(await written);
    await until(`all ${stored.length} records at the follower`, () => seen.length < stored.length ? undefined : true);
    abort.abort();
    await following;
    assert.deepEqual(seen, stored);
  });

  it('an unfinished last line of the test server\'s file was never answered, and is cut off', async () => {
    const own = await startTestServer();
    const log = await open({ url: own.url });
    const records = newRecords(3);
    await log.append('commands', records.slice(0, 2));
    await own.kill();
    await appendFile(own.file, '{"stream":"exchange-commands","created":"1","events":[{"id":"');
    await own.start();
    assert.equal(await log.append('commands', records.slice(2)), 2);
    await own.kill();
    await own.start();
    assert.deepEqual(await readAll(log, 'commands'), placed(0, records));
    await log.close();
    await own.close();
  });

  it('a server that is stopped in the middle: appends wait or are told that the outcome is unknown, and are written once', async () => {
    const log = await open({ url: server.url, attemptTimeoutMs: 500, unknownAfterMs: 1_500 });
    const [first, second, third] = newRecords(3);
    const followed = take(log.follow('commands', 0, abort.signal), 3);
    await log.append('commands', [first!]);
    server.freeze();
    await assert.rejects(log.append('commands', [second!]), (error: unknown) => error instanceof LogUnavailable && error.outcomeUnknown);
    await assert.rejects(log.length('commands'), (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown);
    server.thaw();
    assert.equal(await log.append('commands', [second!]), 1);
    assert.equal(await log.append('commands', [third!]), 2);
    assert.deepEqual(await followed, placed(0, [first!, second!, third!]));
  });

  it('a batch on its way through a server that is stopped: given up and repeated, it is never taken for its first half', async () => {
    const log = await open({ url: server.url, attemptTimeoutMs: 500 });
    const batch = newRecords(900, 1_000);
    await log.append('commands', newRecords(1));
    server.freeze();
    const appended = log.append('commands', batch);
    // Two attempts to read, one after the other: the first attempt to append is over, too.
    await assert.rejects(log.length('commands'), LogUnavailable);
    server.thaw();
    assert.equal(await appended, 1);
    assert.deepEqual(await readAll(await open({ url: server.url }), 'commands', 1), placed(1, batch));
  });

  it('a half-open link: a new connection is made when the old one is silent', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: server.port });
    try {
      // The client itself would notice after 20 s.
      const log = await open({ url: throughPort(server.url, proxy.port), attemptTimeoutMs: 500, unknownAfterMs: 15_000, pollMs: 200 });
      const records = newRecords(4);
      const followed = take(log.follow('commands', 0, abort.signal), 4);
      await log.append('commands', records.slice(0, 2));
      proxy.fate = () => 'withhold';
      const appended = log.append('commands', records.slice(2));
      await assert.rejects(log.length('commands'), LogUnavailable);
      proxy.fate = () => 'pass';
      assert.equal(await appended, 2);
      assert.deepEqual(await followed, placed(0, records));
    } finally {
      await proxy.close();
    }
  });
});

describe('log: EventStoreDB with faults of its own', () => {
  let server: EventStoreServer;
  beforeEach(async () => { server = await startEventStoreServer(); });
  afterEach(() => server.close());

  /** The next appends meet these, in this order; other calls pass. */
  function appendsMeet(...faults: ServerFault[]): void {
    server.fault = ({ method }) => method === 'append' ? faults.shift() ?? 'none' : 'none';
  }

  /** Works with a log, closes it, and waits until it has no connection any more. */
  async function closesAll(work: (log: Log, connections: () => number) => Promise<void>): Promise<void> {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: server.port });
    try {
      const log = await open({ url: `esdb://127.0.0.1:${proxy.port}?tls=false` });
      await work(log, () => proxy.connections());
      await log.close();
      await until('the end of the log\'s connections', () => proxy.connections() > 0 ? undefined : true);
    } finally {
      await proxy.close();
    }
  }

  it('a lost reply, silence before and after the work, a server that starts, slowness: written once', async () => {
    const log = await open({ url: server.url, attemptTimeoutMs: 400 });
    const records = newRecords(6);
    appendsMeet('lose-reply', 'none', 'silence', 'none', 'silence-after', 'none', 'starting', 'none', 'slow');
    for (const [i, record] of records.entries()) assert.equal(await log.append('commands', [record]), i);
    assert.deepEqual(await readAll(await open({ url: server.url }), 'commands'), placed(0, records));
  });

  for (const fault of ['too-large', 'access-denied'] as const) {
    it(`an append that the server refuses for good (${fault}) rejects at once, and nothing was written`, async () => {
      const log = await open({ url: server.url });
      appendsMeet(fault);
      await assert.rejects(log.append('commands', newRecords(1)), (error: unknown) => error instanceof LogUnavailable && !error.outcomeUnknown);
      assert.equal(await log.append('commands', newRecords(1)), 0);
    });
  }

  it('a subscription that breaks is made again from where it was, and gives each record once without polling', async () => {
    const log = await open({ url: server.url, pollMs: 3_600_000 });
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: server.port });
    try {
      const follower = await open({ url: `esdb://127.0.0.1:${proxy.port}?tls=false`, pollMs: 3_600_000 });
      const records = newRecords(8);
      const seen: LogRecord[] = [];
      const batches = follower.follow('commands', 0, abort.signal)[Symbol.asyncIterator]();
      for (const [i, record] of records.entries()) {
        await log.append('commands', [record]);
        while (seen.length <= i) seen.push(...(await batches.next()).value as LogRecord[]);
        if (i % 2 === 1) proxy.cut();
      }
      assert.deepEqual(seen, placed(0, records));
    } finally {
      await proxy.close();
    }
  });

  it('a page that is full ends early, and leaves no connection behind', async () => {
    const log = await open({ url: server.url });
    for (let i = 0; i < 12; i++) await log.append('commands', [newRecord(Buffer.alloc(900_000, i))]);
    assert.equal((await readAll(log, 'commands')).length, 12);
    await closesAll(async (reader) => { assert.equal((await reader.read('commands', 0, 100)).length, 5); });
  });

  it('a history whose beginning the server has taken away is refused', async () => {
    const log = await open({ url: server.url });
    await log.append('commands', newRecords(4));
    await server.streams.setMetadata('exchange-commands', '{"$tb":2}');
    const reader = await open({ url: server.url });
    const named = (error: unknown): boolean => error instanceof UnusableLog && error.message.startsWith('the stream exchange-commands has $tb = 2 in its metadata');
    await assert.rejects(reader.read('commands', 0, 10), named);
    await assert.rejects(take(reader.follow('commands', 1, abort.signal), 1), named);
    assert.equal((await reader.read('commands', 2, 10)).length, 2);
  });

  it('a subscription gives what came together in one batch', async () => {
    const log = await open({ url: server.url });
    await log.append('commands', newRecords(1_000));
    const store = connectEventStore(parseEventStoreUrl(server.url), { timeoutMs: 10_000 });
    const sizes: number[] = [];
    for await (const batch of store.subscribe('commands', 0, abort.signal)) {
      sizes.push(batch.length);
      if (sizes.reduce((sum, size) => sum + size, 0) === 1_000) break;
    }
    assert.ok(sizes.length <= 250, `${sizes.length} batches`);
    await store.close();
  });

  it('a subscription that is left ends at the server, too', async () => {
    const log = await open({ url: server.url });
    await log.append('commands', newRecords(1));
    const store = connectEventStore(parseEventStoreUrl(server.url), { timeoutMs: 10_000 });
    for await (const batch of store.subscribe('commands', 0, abort.signal)) {
      assert.equal(batch.length, 1);
      assert.equal(server.streams.watching('exchange-commands'), 1);
      break;
    }
    await until('the end of the subscription at the server', () => server.streams.watching('exchange-commands') > 0 ? undefined : true);
    await store.close();
  });

  it('a log has a connection for appends and one for the rest, and leaves none behind', async () => {
    await closesAll(async (log, connections) => {
      const followed = take(log.follow('commands', 0, abort.signal), 1);
      await log.append('commands', newRecords(1));
      await followed;
      assert.equal(connections(), 2);
    });
  });

  it('prefixes keep logs on one server apart', async () => {
    const [a, b] = [await open({ url: `${server.url}&streamPrefix=a` }), await open({ url: `${server.url}&streamPrefix=b` })];
    await a.append('commands', newRecords(2));
    assert.deepEqual([await a.length('commands'), await b.length('commands')], [2, 0]);
  });

  it('no error shows the password', async () => {
    const url = server.url.replace('esdb://', 'esdb://me:passw0rd@');
    const log = await open({ url, attemptTimeoutMs: 300, unknownAfterMs: 300 });
    const errors: unknown[] = [];
    for (const fault of ['silence', 'access-denied', 'starting', 'lose-reply'] as const) {
      server.fault = () => fault;
      await log.append('commands', newRecords(1)).catch((error: unknown) => errors.push(error));
      await log.read('commands', 0, 1).catch((error: unknown) => errors.push(error));
    }
    await openEventStoreLog({ url: 'esdb://me:passw0rd@127.0.0.1:1?tls=false', attemptTimeoutMs: 300 }).catch((error: unknown) => errors.push(error));
    assert.equal(errors.length, 9);
    for (const error of errors) assert.equal(inspect(error, { depth: 20, showHidden: true }).includes('passw0rd'), false, inspect(error));
  });
});
