/** The history as a stream over HTTP: whole, no faster than it is read, fairly shared, and never taken for whole when it has broken off. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once as event } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { LogUnavailable, type Log } from '../../engine/log/log.js';
import { closeServer } from '../../service/http/server.js';
import { createHistory, type History, type HistoryOptions } from '../../query/history/list-events.js';
import { recordedHistory, type RecordedHistory } from '../support/feed-history.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';
import { until } from '../support/until.js';

const PATH = '/api/v1/events';
const NDJSON = { Accept: 'application/x-ndjson' };
/** Few long entries: what counts is that they are more bytes than the buffers take, and many short ones take seconds to make and to read. */
const [LENGTH, PADDING] = [5_000, 3_000];
/** What fits into the buffers between a service and its reader is less than this many entries. */
const MOST_UNREAD = 3_500;

describe('service: the stream of the history', () => {
  let whole: RecordedHistory;
  let history: History;
  let shell: RunningShell;
  /** How far the log has been read. */
  let reached: number;
  const responses: IncomingMessage[] = [];
  before(() => { whole = recordedHistory(LENGTH, LENGTH, PADDING); });
  afterEach(async () => {
    for (const response of responses.splice(0)) response.destroy();
    await shell.stop();
  });

  const start = async (options: Partial<HistoryOptions> = {}, change: (log: Log) => Partial<Log> = () => ({})) => {
    reached = 0;
    const counted: Log = {
      ...whole,
      read: (stream, from, limit) => {
        reached = Math.max(reached, from + limit);
        return whole.read(stream, from, limit);
      },
    };
    const db = { rows: () => assert.fail('nobody asks for a trader'), waitForPosition: () => assert.fail('nobody asks for a trader') };
    history = createHistory({ log: { ...counted, ...change(counted) }, db, now: () => performance.now(), ...options });
    shell = await startShell({ handlers: { listEvents: history.list } });
  };
  const open = async (query = '', localAddress = '127.0.0.1'): Promise<IncomingMessage> => {
    const request = get({ host: '127.0.0.1', port: shell.port, path: `${PATH}${query}`, headers: NDJSON, localAddress, agent: false });
    const [response] = await event(request, 'response') as [IncomingMessage];
    response.on('error', () => undefined);
    responses.push(response);
    return response;
  };
  const textOf = async (response: IncomingMessage): Promise<string> => {
    const pieces: Buffer[] = [];
    response.on('data', (piece: Buffer) => { pieces.push(piece); });
    // Not `event`: it rejects with the error of an answer that breaks off.
    await new Promise<void>((resolve) => { if (response.closed) resolve(); else response.once('close', resolve); });
    return Buffer.concat(pieces).toString();
  };
  const openStreams = () => history.open();
  /** Waits until the log is not read any more. */
  const atRest = async (): Promise<number> => {
    for (let before = -1; before !== reached;) {
      before = reached;
      for (let i = 0; i < 200; i++) await turn();
    }
    return reached;
  };

  it('has every entry, chained, and tells the newest position', async () => {
    await start();
    const response = await open();
    const lines = (await textOf(response)).split('\n');
    assert.equal(response.complete, true);
    assert.deepEqual([response.statusCode, response.headers['x-log-position'], response.headers['x-accel-buffering']], [200, String(LENGTH - 1), 'no']);
    assert.equal(response.headers['content-type'], 'application/x-ndjson; charset=utf-8');
    assert.equal(lines.pop(), '');
    assert.equal(lines.length, LENGTH);
    let digest = Buffer.alloc(32);
    for (const line of lines) {
      const [, command, outcome, claimed] = /"command":(.*),"outcome":(\{"at":.*\}),"digest":"0x([0-9a-f]{64})"\}$/.exec(line)!;
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(command!));
      digest = createHash('sha256').update(digest).update(length).update(command!).update(outcome!).digest();
      assert.equal(claimed, digest.toString('hex'));
    }
    assert.equal(openStreams(), 0);
  });

  it('is read from the log no faster than its reader takes it, and others are answered meanwhile', async () => {
    await start();
    const response = await open();
    await event(response, 'readable');
    const before = await atRest();
    assert.ok(before < MOST_UNREAD, `${before} entries were read for a reader that takes nothing`);
    assert.equal((await once(shell.port, 'GET', `${PATH}?limit=3`)).status, 200);
    assert.equal(await atRest(), before);
    assert.equal((await textOf(response)).split('\n').length, LENGTH + 1);
    assert.equal(response.complete, true);
  });

  it('ends for a reader that leaves, and its place is free again', async () => {
    await start({ most: { streams: 1, perAddress: 1 } });
    const response = await open();
    assert.equal(openStreams(), 1);
    response.destroy();
    await until('the place is free', () => openStreams() === 0);
    assert.ok(await atRest() < MOST_UNREAD);
    assert.equal((await textOf(await open('?limit=5'))).split('\n').length, 6);
  });

  it('has places per address and in all; pages have none', async () => {
    await start({ most: { streams: 3, perAddress: 2 } });
    const refused = async (localAddress: string) => {
      const response = await open('', localAddress);
      return [response.statusCode, response.headers['retry-after'], (JSON.parse(await textOf(response)) as { code: string }).code];
    };
    await open();
    await open();
    assert.deepEqual(await refused('127.0.0.1'), [429, '5', 'too_many_streams']);
    await open('', '127.0.0.2');
    assert.deepEqual(await refused('127.0.0.3'), [503, '5', 'overloaded']);
    assert.equal((await once(shell.port, 'GET', PATH)).status, 200);
  });

  it('gives HEAD the headers, and no place', async () => {
    await start({ most: { streams: 1, perAddress: 1 } });
    for (let i = 0; i < 3; i++) {
      const { status, headers, body } = await once(shell.port, 'HEAD', PATH, { headers: NDJSON });
      assert.deepEqual([status, headers['x-log-position'], body], [200, String(LENGTH - 1), '']);
    }
    await until('the place is free', () => openStreams() === 0);
  });

  it('breaks off visibly when the log goes away in the middle', async () => {
    const dying = (log: Log): Partial<Log> => ({
      read: (stream, from, limit) => from >= 4_000 ? Promise.reject(new LogUnavailable(false)) : log.read(stream, from, limit),
    });
    await start({}, dying);
    const response = await open();
    const text = await textOf(response);
    assert.equal(response.complete, false);
    assert.ok(text.split('\n').length <= 4_501);
    assert.deepEqual(shell.answered, [{ route: 'listEvents', status: 503 }]);
    assert.deepEqual(shell.failures, []);
    assert.equal(openStreams(), 0);
    // HTTP/1.0 has no chunks: only a reset tells.
    const socket = connect(shell.port, '127.0.0.1');
    socket.write(`GET ${PATH} HTTP/1.0\r\nHost: x\r\nAccept: application/x-ndjson\r\n\r\n`);
    socket.resume();
    const ending = await new Promise((resolve) => {
      socket.once('error', ({ code }: NodeJS.ErrnoException) => { resolve(code); }).once('close', () => { resolve('an end as of a whole answer'); });
    });
    assert.equal(ending, 'ECONNRESET');
  });

  it('is refused when the log cannot be reached at its beginning, and so is a page', async () => {
    await start({}, () => ({ length: () => Promise.reject(new LogUnavailable(false)) }));
    for (const headers of [NDJSON, {}]) {
      const { status, body } = await once(shell.port, 'GET', PATH, { headers });
      assert.deepEqual([status, (JSON.parse(body) as { code: string }).code], [503, 'unavailable']);
    }
    assert.deepEqual([openStreams(), shell.failures], [0, []]);
  });

  it('is cut off for a reader that takes nothing', async () => {
    await start({ stallMs: 50 });
    const response = await open();
    await until('the place is free', () => openStreams() === 0);
    await textOf(response);
    assert.equal(response.complete, false);
  });

  it('goes on while the service stops', async () => {
    await start();
    const response = await open();
    const text = textOf(response);
    assert.equal(await closeServer(shell.app, shell.server, 60_000), 0);
    assert.equal((await text).split('\n').length, LENGTH + 1);
    assert.equal(response.complete, true);
  });

  it('breaks off visibly when the service cannot wait for its reader', async () => {
    await start();
    const response = await open();
    assert.equal(await closeServer(shell.app, shell.server, 100), 1);
    await textOf(response);
    assert.equal(response.complete, false);
    await until('the place is free', () => openStreams() === 0);
  });

  const empty: [query: string, position: string][] = [[`?from=${LENGTH}`, 'at the end'], [`?from=${Number.MAX_SAFE_INTEGER}`, 'far beyond the end']];
  for (const [query, where] of empty) {
    it(`is empty and complete ${where}`, async () => {
      await start();
      const response = await open(query);
      assert.deepEqual([response.statusCode, await textOf(response), response.complete], [200, '', true]);
    });
  }

  it('takes a limit of 1 to 1000, and without one gives all', async () => {
    await start();
    const lines = async (query: string) => (await textOf(await open(query))).split('\n').length - 1;
    assert.deepEqual([await lines('?limit=1'), await lines('?from=7&limit=1000'), await lines(`?from=${LENGTH - 10}&limit=1000`)], [1, 1_000, 10]);
    assert.equal(await lines('?from=5'), LENGTH - 5);
    const { status, body } = await once(shell.port, 'GET', `${PATH}?limit=1001`);
    assert.deepEqual([status, (JSON.parse(body) as { errors: unknown }).errors], [400, [{ field: '/limit', message: 'is an integer of 1 to 1000' }]]);
  });

  const refused: [query: string, field: string, code?: string][] = [
    ['?from=-1', '/from'], ['?from=1.5', '/from'], ['?from=9007199254740992', '/from'], ['?from=', '/from'], ['?from=1&from=2', '/from'],
    ['?limit=0', '/limit'], ['?limit=1001', '/limit'], ['?limit=99999999999999999999', '/limit'], ['?limit=1&limit=1', '/limit'], ['?event=fillmatched', '/event'], ['?event=', '/event'],
    ['?market=0x12', '/market', 'invalid_market_id'], ['?trader=bob', '/trader', 'invalid_address'], ['?trader=', '/trader', 'invalid_address'],
    ['?event=FillMatched&event=FillFailed', '/event'],
  ];
  for (const [query, field, code = 'invalid_request'] of refused) {
    it(`refuses ${query}`, async () => {
      await start();
      const { status, body } = await once(shell.port, 'GET', `${PATH}${query}`, { headers: NDJSON });
      const problem = JSON.parse(body) as { code: string; errors: { field: string }[] };
      assert.deepEqual([status, problem.code, problem.errors[0]?.field], [400, code, field]);
    });
  }
});
