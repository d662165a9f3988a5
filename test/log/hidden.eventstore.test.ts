/** A log in EventStoreDB that hides or has lost records, or has others' events, is found by checks, starts and replicas. */
import assert from 'node:assert/strict';
import { openEventStoreLog } from '../../engine/log/eventstore/eventstore-log.js';
import { UnusableLog, type Log, type Stream } from '../../engine/log/log.js';
import { startReplica } from '../../engine/run/replica.js';
import { isBadConfiguration } from '../../service/exit-codes.js';
import { onFreshStreams, testEventStore, administer, startOn, type EventStoreAdmin } from '../support/eventstore-process.js';
import { startEventStoreServer } from '../support/eventstore-server.js';
import { newRecord, newRecords, placed, readAll } from '../support/log-records.js';
import { crowd } from '../support/random-commands.js';
import { history } from '../support/watched-histories.js';

const WRITES: readonly Stream[] = ['commands', 'outcomes'];
const check = (log: Log, writes = WRITES): Promise<void> => log.check!({ writes, timeoutMs: 5_000 });
const says = (message: RegExp) => (error: unknown): boolean => {
  assert.ok(error instanceof UnusableLog, String(error));
  assert.match(error.message, message);
  assert.ok(isBadConfiguration(error), 'the process ends with the exit code that starting again does not help');
  return true;
};

let closing: (() => Promise<void>)[];
beforeEach(() => { closing = []; });
afterEach(async () => { for (const close of closing.reverse()) await close(); });

async function open(url: string): Promise<Log> {
  const log = await openEventStoreLog({ url });
  closing.push(() => log.close());
  return log;
}

/** What an operator may do to a stream of four records, and what is said about it. */
const CASES: readonly (readonly [what: string, act: (admin: EventStoreAdmin) => Promise<void>, message: RegExp])[] = [
  ['$tb', ({ setMetadata }) => setMetadata('commands', { $tb: 2 }), /-commands has \$tb = 2 in its metadata, .*write metadata with \$tb = 0/],
  ['$maxCount', ({ setMetadata }) => setMetadata('outcomes', { $maxCount: 3 }), /-outcomes has \$maxCount = 3 in its metadata, .*write metadata with \$tb = 0/],
  ['$maxAge that hides nothing yet', ({ setMetadata }) => setMetadata('commands', { $maxAge: 86_400 }), /-commands has \$maxAge = 86400 in its metadata/],
  ['deletion', ({ remove }) => remove('commands'), /-commands was deleted: its metadata hides all its records: write metadata with \$tb = 0/],
  ['deletion for good', ({ tombstone }) => tombstone('outcomes'), /-outcomes was deleted for good \(tombstone\): restore the server from a backup/],
];

describe('log: EventStoreDB hides records', () => {
  let url: string;
  beforeEach(async () => {
    const store = await testEventStore();
    closing.push(() => store.close());
    ({ url } = store);
  });

  it('a log that is whole or empty passes every check, and no check writes anything', async () => {
    const log = await open(url);
    await check(log);
    await log.append('commands', newRecords(2));
    for (let i = 0; i < 3; i++) await check(log);
    assert.deepEqual([await log.length('commands'), await log.length('outcomes')], [2, 0]);
    assert.equal(await startOn(url).said(), 'it can start');
  });

  for (const [what, act, message] of CASES) {
    it(`${what}: a running process, a start and a reader learn which stream, why, and what to do`, async () => {
      const log = await open(url);
      for (const stream of WRITES) await log.append(stream, newRecords(4));
      await act(administer(url));
      await assert.rejects(check(log), says(message));
      await assert.rejects(check(log, []), says(message));
      const start = startOn(url);
      await assert.rejects(start.reached, isBadConfiguration);
      assert.match(await start.said(), new RegExp(`^the EventStoreDB of LOG_URL \\(.+\\) cannot be used: the stream test-\\w+${message.source}`));
    });
  }

  it('$tb = 0 brings a deleted log back, with what was appended behind the hidden part', async () => {
    const log = await open(url);
    const records = newRecords(5);
    await log.append('commands', records.slice(0, 4));
    const { remove, setMetadata } = administer(url);
    await remove('commands');
    assert.equal(await log.append('commands', records.slice(4)), 4);
    await assert.rejects(check(log), says(/has \$tb = 4 in its metadata/));
    await setMetadata('commands', { $tb: 0 });
    await assert.rejects(check(log), says(/has \$tb = 4 in its metadata/), 'a handle that has noticed stays unusable');
    const restarted = await open(url);
    await check(restarted);
    assert.deepEqual(await readAll(restarted, 'commands'), placed(0, records));
  });

  it('an append to a deleted log that ends up behind the hidden part is not acknowledged', async () => {
    const log = await open(url);
    await log.append('commands', newRecords(4));
    await administer(url).remove('commands');
    const late = await open(url);
    const error = await late.append('commands', newRecords(1)).then(() => assert.fail('it was acknowledged'), (reason: unknown) => reason as Error);
    assert.match((error instanceof UnusableLog ? error : error.cause as Error).message, /-commands has \$tb = 4 in its metadata/);
  });

  it('an id of a hidden record is found where the record is', async () => {
    const log = await open(url);
    const records = newRecords(4);
    await log.append('commands', records);
    await administer(url).remove('commands');
    assert.equal(await log.append('commands', records, 0), 0);
  });

  it('an event of somebody else ends the start and every reader, with its place', async () => {
    const log = await open(url);
    await log.append('commands', newRecords(2));
    await administer(url).appendForeign('commands');
    const foreign = /-commands has an event at position 2 that is not a record of the exchange \(its type is of others\)/;
    await assert.rejects(check(log), says(foreign));
    await assert.rejects(log.read('commands', 0, 10), says(foreign));
    assert.match(await startOn(url).said(), foreign);
  });
});

describe('log: EventStoreDB has an event of somebody else in the middle', () => {
  it('ends the replica of a start that looked at both ends only, with the event\'s place', async () => {
    const store = await testEventStore();
    closing.push(() => store.close());
    const log = await open(store.url);
    const [first, last] = history(7, crowd, 2).map(newRecord);
    await log.append('commands', [first!]);
    await administer(store.url).appendForeign('commands');
    await log.append('commands', [last!]);
    assert.equal(await startOn(store.url).said(), 'it can start');
    const ending = new AbortController();
    closing.push(async () => { ending.abort(); });
    const replica = await startReplica({ log, signal: ending.signal });
    const foreign = says(/-commands has an event at position 1 that is not a record .* \(its type is of others\)/);
    await assert.rejects(replica.caughtUp, foreign);
    await assert.rejects(replica.done, foreign);
  });
});

describe('log: EventStoreDB hides records, and the user may not read the metadata', () => {
  let log: Log;
  let url: string;
  let admin: EventStoreAdmin;
  beforeEach(async () => {
    const server = await startEventStoreServer();
    closing.push(() => server.close());
    server.fault = ({ method, stream }) => method === 'read' && stream.startsWith('$$') ? 'access-denied' : 'none';
    url = onFreshStreams(server.url);
    admin = administer(url);
    log = await open(url);
    await log.append('commands', newRecords(4));
  });

  it('the first record\'s position tells', async () => {
    await check(log);
    await admin.setMetadata('commands', { $maxCount: 1 });
    const message = /-commands begins with position 3 instead of 0: it was deleted, or its metadata has \$tb, \$maxCount or \$maxAge/;
    await assert.rejects(check(log), says(message));
  });

  it('a deleted stream is told from an empty one: by what a process knows of it, else by the server\'s refusal of an impossible append', async () => {
    await admin.remove('commands');
    await assert.rejects(check(log, []), says(/-commands has no records any more, and had 4: it was deleted, or/));
    await assert.rejects(check(await open(url)), says(/-commands was deleted and still has its 4 records: write metadata with \$tb = 0/));
    assert.match(await startOn(url).said(), /was deleted and still has its 4 records/);
  });
});
