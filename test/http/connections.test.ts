/** The limits of open connections over real sockets: in total and per client address, what is told of refusals, and the limit of open files. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once as event } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RefusedConnection } from '../../service/http/connections.js';
import { connectionObserver, createMetrics } from '../../service/status/metrics.js';
import { createLogger } from '../../service/logger.js';
import { fitConnections, OWN_DESCRIPTORS } from '../../service/machine/descriptors.js';
import { startShell } from '../support/shell.js';
import { until } from '../support/until.js';
import { Wire } from '../support/wire.js';

const STREAM = '/api/v1/prices/BTC/stream';

/** A stream to which nothing happens. */
async function* silent(): AsyncGenerator<string> {
  yield ':\n\n';
  await new Promise(() => undefined);
}

const isServed = async (wire: Wire): Promise<boolean> => (await wire.request('GET', '/health/live').answer()).status === 200;

describe('service: open connections', () => {
  it('leaves connections to others when one client takes all that it may, and serves it again when it has closed one', async () => {
    const refused: RefusedConnection[] = [];
    const limits = { maxConnections: 10, maxConnectionsPerAddress: 3 };
    const shell = await startShell({ limits, refused: (connection) => { refused.push(connection); } });
    const greedy = await Promise.all([1, 2, 3].map(() => Wire.connect(shell.port, { from: '127.0.0.2' })));
    for (const wire of greedy) assert.ok(await isServed(wire));
    await (await Wire.connect(shell.port, { from: '127.0.0.2' })).closed;
    const largest = { address: '127.0.0.2', connections: 3 };
    assert.deepEqual(refused, [{ reason: 'address', address: '127.0.0.2', limit: 3, largest }]);
    const other = await Wire.connect(shell.port, { from: '127.0.0.3' });
    assert.ok(await isServed(other));
    const [closing] = greedy;
    const gone = event([...shell.app.connections].find(({ remotePort }) => remotePort === closing!.socket.localPort)!, 'close');
    closing!.close();
    await gone;
    const again = await Wire.connect(shell.port, { from: '127.0.0.2' });
    assert.ok(await isServed(again));
    for (const wire of [...greedy, other, again]) wire.close();
    await shell.stop();
  });

  it('leaves an address its share for reads, however many price streams it has, and counts a connection again when it carries none', async () => {
    const limits = { maxConnections: 10, maxConnectionsPerAddress: 2 };
    const shell = await startShell({ limits, handlers: { streamPrices: async () => ({ stream: silent() }) } });
    const connect = () => Wire.connect(shell.port, { from: '127.0.0.2' });
    const open = new Set<Wire>();
    const keep = (wire: Wire) => {
      open.add(wire);
      return wire;
    };
    for (let n = 0; n < 4; n++) assert.equal((await keep(await connect()).request('GET', STREAM).answer()).status, 200);
    const [first] = open;
    const readers = [keep(await connect()), keep(await connect())];
    for (const wire of readers) assert.ok(await isServed(wire));
    await (await connect()).closed;
    first!.close();
    await until('the stream has ended', () => shell.app.connections.size === 5 || undefined);
    await (await connect()).closed;
    readers[0]!.close();
    await until('the reader is gone', () => shell.app.connections.size === 4 || undefined);
    const head = keep(await connect());
    assert.equal((await head.request('HEAD', STREAM).answer({ bodiless: true })).status, 200);
    await (await connect()).closed;
    for (const wire of open) wire.close();
    await shell.stop();
  });

  it('counts a connection once, however many streams a client pipelines on it', async () => {
    let streams = 0;
    const limits = { maxConnections: 10, maxConnectionsPerAddress: 2 };
    const refused: RefusedConnection[] = [];
    const note = (connection: RefusedConnection): void => { refused.push(connection); };
    const shell = await startShell({ limits, refused: note, handlers: { streamPrices: async () => {
      streams++;
      return { stream: silent() };
    } } });
    const connect = () => Wire.connect(shell.port, { from: '127.0.0.2' });
    const greedy = await connect();
    for (let n = 0; n < 3; n++) greedy.request('GET', STREAM);
    await until('all its streams are open', () => streams === 3);
    const readers = [await connect(), await connect()];
    for (const wire of readers) assert.ok(await isServed(wire));
    await (await connect()).closed;
    // Not by its silence: it was refused.
    assert.deepEqual(refused.map(({ reason, limit }) => [reason, limit]), [['address', 2]]);
    for (const wire of [greedy, ...readers]) wire.close();
    await shell.stop();
  });

  it('closes what is beyond the total, and names the client with the most connections', async () => {
    const refused: RefusedConnection[] = [];
    const limits = { maxConnections: 3, maxConnectionsPerAddress: 0 };
    const shell = await startShell({ limits, refused: (connection) => { refused.push(connection); } });
    const open = [await Wire.connect(shell.port, { from: '127.0.0.2' }), await Wire.connect(shell.port, { from: '127.0.0.2' }), await Wire.connect(shell.port, { from: '127.0.0.3' })];
    for (const wire of open) assert.ok(await isServed(wire));
    await (await Wire.connect(shell.port, { from: '127.0.0.4' })).closed;
    assert.deepEqual(refused, [{ reason: 'total', address: '127.0.0.4', limit: 3, largest: { address: '127.0.0.2', connections: 2 } }]);
    for (const wire of open) wire.close();
    await shell.stop();
  });

  it('counts every refusal by its reason, and warns at most once per minute, with the address', async () => {
    const lines: { level: string; msg: string; address: string; refusals: number }[] = [];
    const metrics = createMetrics();
    let nowMs = 5_000;
    const logger = createLogger({ logLevel: 'warn' }, { write: (line) => { lines.push(JSON.parse(line) as typeof lines[number]); } });
    const observe = connectionObserver(metrics, logger, () => nowMs);
    assert.match((await metrics.scrape()).body, /^exchange_http_connections_refused_total\{reason="address"\} 0$/m);
    const byAddress = { reason: 'address', address: '203.0.113.9', limit: 64, largest: undefined } as const;
    observe(byAddress);
    nowMs += 59_999;
    observe({ ...byAddress, address: '203.0.113.8' });
    assert.deepEqual(lines.map(({ level, address, refusals }) => [level, address, refusals]), [['warn', '203.0.113.9', 1]]);
    assert.equal(lines[0]?.msg, 'closed a connection of 203.0.113.9, which has 64 open: raise MAX_CONNECTIONS_PER_ADDRESS if many clients share this address');
    nowMs += 1;
    observe({ reason: 'total', address: '203.0.113.7', limit: 100, largest: { address: '203.0.113.9', connections: 64 } });
    assert.equal(lines.length, 2);
    assert.deepEqual([lines[1]?.refusals, lines[1]?.msg], [2, 'closed a connection of 203.0.113.7, since 100 are open, 64 of them by 203.0.113.9: '
    + 'raise MAX_CONNECTIONS, or lower MAX_CONNECTIONS_PER_ADDRESS']);
    const { body } = await metrics.scrape();
    for (const line of ['{reason="address"} 2', '{reason="total"} 1']) assert.ok(body.includes(`exchange_http_connections_refused_total${line}\n`), line);
  });
});

describe('service: connections and the limit of open files', () => {
  const limits = { maxConnections: 10_000, maxConnectionsPerAddress: 2_500 };

  it('keeps the limits when they fit, and where the system does not tell', () => {
    for (const available of [10_000 + OWN_DESCRIPTORS, 1_048_576, undefined]) {
      assert.deepEqual(fitConnections(limits, available), { limits, warning: undefined });
    }
  });

  it('lowers both in proportion when they do not, and says what to do', () => {
    const { limits: lowered, warning } = fitConnections(limits, 4_096);
    assert.deepEqual(lowered, { maxConnections: 3_840, maxConnectionsPerAddress: 960 });
    assert.equal(warning, 'MAX_CONNECTIONS=10000 needs 10256 open files, and this process may have 4096: taking at most 3840 connections; '
    + 'raise the limit (`ulimit -n 10256`, or LimitNOFILE of a systemd unit) or lower MAX_CONNECTIONS');
    const { limits: shared } = fitConnections({ ...limits, maxConnectionsPerAddress: 0 }, 4_096);
    assert.deepEqual(shared, { maxConnections: 3_840, maxConnectionsPerAddress: 0 });
    const { limits: oneLess } = fitConnections({ maxConnections: 10_255, maxConnectionsPerAddress: 0 }, 10_510);
    assert.equal(oneLess.maxConnections, 10_254);
  });

  it('refuses to start when none is left', () => {
    assert.throws(() => fitConnections(limits, OWN_DESCRIPTORS),
      /may have 256, of which the service itself needs 256: raise the limit/);
  });

  it('reads the limit of its own process where the system tells it', async () => {
    const module = JSON.stringify(fileURLToPath(new URL('../../service/machine/descriptors.js', import.meta.url)));
    const program = `import { openFilesLimit } from ${module}; console.log(await openFilesLimit(), await openFilesLimit('/nowhere'));`;
    const { stdout } = await promisify(execFile)('bash', ['-c', 'ulimit -n 777 && exec "$0" --input-type=module -e "$1"', process.execPath, program]);
    assert.equal(stdout, process.platform === 'linux' ? '777 undefined\n' : 'undefined undefined\n');
  });
});
