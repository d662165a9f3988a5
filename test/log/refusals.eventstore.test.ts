/** A log in EventStoreDB whose server refuses its work says so before an order is lost, and a silent server costs no more than a question's limit. */
import assert from 'node:assert/strict';
import { openEventStoreLog, type EventStoreLogOptions } from '../../engine/log/eventstore/eventstore-log.js';
import { LogRefused, LogUnavailable, type Log, type Stream } from '../../engine/log/log.js';
import { startEventStoreProcess, startOn } from '../support/eventstore-process.js';
import { startEventStoreServer, type EventStoreServer, type EventStoreServerOptions } from '../support/eventstore-server.js';
import { newRecords, placed, take } from '../support/log-records.js';
import { startTcpProxy } from '../support/proxies.js';
import { until, within } from '../support/until.js';

const WRITES: readonly Stream[] = ['commands', 'outcomes'];
const check = (log: Log, { writes = WRITES, timeoutMs = 5_000 } = {}): Promise<void> => log.check!({ writes, timeoutMs });
const says = (message: RegExp) => (error: unknown): boolean => {
  assert.ok(error instanceof LogRefused, String(error));
  assert.match(error.message, message);
  return true;
};

let closing: (() => Promise<void>)[];
beforeEach(() => { closing = []; });
afterEach(async () => { for (const close of closing.reverse()) await close(); });

async function open(options: EventStoreLogOptions): Promise<Log> {
  const log = await openEventStoreLog(options);
  closing.push(() => log.close());
  return log;
}

async function serve(options: EventStoreServerOptions = {}): Promise<EventStoreServer> {
  const server = await startEventStoreServer(options);
  closing.push(() => server.close());
  return server;
}

describe('log: EventStoreDB refuses', () => {
  it('appends of a user who may only read: for those who must append, at every check and at the start', async () => {
    const server = await serve();
    const log = await open({ url: server.url });
    await log.append('commands', newRecords(2));
    const denied: Stream[] = [];
    server.fault = ({ method, stream }) => method === 'append' && denied.some((each) => stream.endsWith(each)) ? 'access-denied' : 'none';
    await check(log);
    denied.push('outcomes');
    const message = /the user may not append to the stream exchange-outcomes: give it the right \$w in the stream's \$acl/;
    await assert.rejects(check(log), says(message));
    await check(log, { writes: ['commands'] });
    await check(log, { writes: [] });
    assert.match(await startOn(server.url).said(), new RegExp(`^the EventStoreDB of LOG_URL .* cannot be used: ${message.source}`));
    denied.length = 0;
    await check(log);
  });

  it('appends of the largest size that the log makes, though small ones pass', async () => {
    const server = await serve({ maxAppendBytes: 1_000_000 });
    const log = await open({ url: server.url });
    const message = /the server does not take 1000000 bytes in one append to the stream exchange-commands: set MaxAppendSize, .*to 1048576 or more$/;
    await assert.rejects(check(log), says(message));
    assert.match(await startOn(server.url).said(), message);
    await log.append('commands', newRecords(1));
    assert.equal(await log.length('commands'), 1);
  });

  it('events of that size: a server since 25.1 has a limit for them, too', async () => {
    const server = await serve();
    const log = await open({ url: server.url });
    server.fault = ({ method }) => method === 'append' ? 'event-too-large' : 'none';
    const message = /the server does not take 1000000 bytes in one append .*: set MaxAppendSize, and MaxAppendEventSize/;
    await assert.rejects(check(log), says(message));
    assert.match(await startOn(server.url).said(), message);
    const isKnown = (error: unknown): boolean => error instanceof LogUnavailable && !error.outcomeUnknown;
    await assert.rejects(log.append('commands', newRecords(1)), isKnown);
  });

  it('takes the largest append that the log makes at a server with the default limit', async () => {
    const log = await open({ url: (await serve()).url });
    await check(log);
    await log.append('commands', newRecords(1_000, 1_000));
  });

  it('a single append for good, whatever its reason: the next checks tell it', async () => {
    const server = await serve();
    const log = await open({ url: server.url });
    let isRefused = true;
    server.fault = ({ method }) => method === 'append' && isRefused ? 'access-denied' : 'none';
    await assert.rejects(log.append('commands', newRecords(1)));
    isRefused = false;
    await assert.rejects(check(log), says(/the user may not append to the stream exchange-commands/));
    await log.append('commands', newRecords(1));
    await check(log);
  });

  it('a single append to one stream, while the other one goes on: the next checks tell it, too', async () => {
    const server = await serve();
    const log = await open({ url: server.url });
    let isRefused = true;
    server.fault = ({ method, stream }) => (
      method === 'append' && isRefused && stream.endsWith('outcomes') ? 'access-denied' : 'none');
    await assert.rejects(log.append('outcomes', newRecords(1)));
    isRefused = false;
    await log.append('commands', newRecords(1));
    await assert.rejects(check(log), says(/the user may not append to the stream exchange-outcomes/));
  });

  it('reads of a user who may not read', async () => {
    const server = await serve();
    server.fault = ({ method }) => method === 'read' ? 'access-denied' : 'none';
    assert.match(await startOn(server.url).said(), /the user may not read the stream exchange-\w+: give it the right \$r/);
  });
});

describe('log: EventStoreDB that is silent or was away', () => {
  it('a check that gets no answer has the append on its way repeated over a new connection, long before its own limit', async () => {
    const server = await serve();
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: server.port });
    closing.push(() => proxy.close());
    const log = await open({ url: `esdb://127.0.0.1:${proxy.port}?tls=false`, attemptTimeoutMs: 600_000, unknownAfterMs: 600_000 });
    const records = newRecords(2);
    const followed = take(log.follow('commands', 0, new AbortController().signal), 2);
    await log.append('commands', records.slice(0, 1));
    await check(log);
    proxy.fate = () => 'withhold';
    const appended = log.append('commands', records.slice(1));
    await assert.rejects(check(log, { timeoutMs: 200 }), /no answer within 200 ms/);
    proxy.fate = () => 'pass';
    // The client itself would notice after 20 s.
    assert.equal(await within('the append over a new connection', appended, 15), 1);
    assert.deepEqual(await within('the records at the follower', followed), placed(0, records));
  });

  it('a leader that is frozen is left for the next one by all that waits for it, once a check has noticed', async () => {
    const old = await serve();
    const next = await serve({ streams: old.streams });
    const frozen = new Set<EventStoreServer>();
    const lead = (leader: EventStoreServer): void => {
      for (const server of [old, next]) {
        server.leader = { host: '127.0.0.1', port: leader.port };
        server.fault = () => frozen.has(server) ? 'silence' : server === leader ? 'none' : 'not-leader';
      }
    };
    lead(old);
    const log = await open({ url: `esdb://127.0.0.1:${old.port},127.0.0.1:${next.port}?tls=false`, attemptTimeoutMs: 600_000, unknownAfterMs: 600_000 });
    const records = newRecords(2);
    const followed = take(log.follow('commands', 0, new AbortController().signal), 2);
    await log.append('commands', records.slice(0, 1));
    await check(log);
    frozen.add(old);
    const appended = log.append('commands', records.slice(1));
    await assert.rejects(check(log, { timeoutMs: 200 }), /no answer within 200 ms/);
    lead(next);
    await until('a check that passes', () => check(log, { timeoutMs: 2_000 }).then(() => true, () => false));
    assert.equal(await within('the append at the next leader', appended, 15), 1);
    assert.deepEqual(await within('the records at the follower', followed, 15), placed(0, records));
  });

  it('a check says no while appends are not answered, though reads are', async () => {
    const server = await serve();
    const log = await open({ url: server.url, attemptTimeoutMs: 1_000 });
    await check(log);
    server.fault = ({ method }) => method === 'append' ? 'silence' : 'none';
    await assert.rejects(check(log, { timeoutMs: 200 }), /no answer within 200 ms/);
    await check(log, { writes: [], timeoutMs: 5_000 });
    server.fault = () => 'none';
    await until('a check that passes', () => check(log).then(() => true, () => false));
  });

  it('an append that waits for a server that was away is made when the server is back, and followed', async () => {
    const server = await startEventStoreProcess();
    closing.push(() => server.close());
    const log = await open({ url: server.url, pollMs: 3_600_000 });
    const records = newRecords(2);
    const followed = take(log.follow('commands', 0, new AbortController().signal), 2);
    await log.append('commands', records.slice(0, 1));
    await server.kill();
    const appended = log.append('commands', records.slice(1));
    await assert.rejects(check(log));
    await server.start();
    assert.equal(await within('the append', appended), 1);
    assert.deepEqual(await within('the records at the follower', followed), placed(0, records));
  });

  it('a subscription whose records wait too long is ended by the server, and made again without a gap', async () => {
    const server = await serve();
    const log = await open({ url: server.url, pollMs: 3_600_000 });
    const follower = await open({ url: server.url, pollMs: 3_600_000 });
    const followed = take(follower.follow('commands', 0, new AbortController().signal), 2_001, { exactly: false });
    await log.append('commands', newRecords(1));
    for (let i = 0; i < 2; i++) await log.append('commands', newRecords(1_000, 900));
    const records = await within('all records at the follower', followed);
    assert.deepEqual(records.map(({ position }) => position), records.map((_, i) => i));
    assert.equal(records.length, 2_001);
  });
});
