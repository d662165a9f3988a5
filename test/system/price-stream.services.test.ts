/** The price stream for those who read it: a browser on another origin, and curl; through cuts, restarts, refusals, and from several processes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import { pause } from '../../engine/waiting.js';
import { openPage } from '../support/chromium.js';
import { newCommand } from '../support/commands.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { startTcpProxy, type TcpProxy } from '../support/proxies.js';
import { until, createWatch, type Watch } from '../support/until.js';

const PATH = '/api/v1/prices/BTC/stream';
const HOST = '127.0.0.1';
const RETRY = 'retry: 2000\n';

interface Got { readonly id: number; readonly data: string }

/** Reads the stream at an address for as long as it lives, and connects again whenever that ends. */
interface Reader {
  readonly got: readonly Got[];
  readonly watch: Watch;
  /** How often it was refused with an answer that is an error. */
  refusals(): number;
  close(): Promise<void>;
}

describe('the price stream, read by', function () {
  this.timeout(120_000);
  let directory: string;
  let exchange: ExchangeStack;
  let proxy: TcpProxy;
  const target = { host: HOST, port: 0 };
  const processes = new Set<ExchangeProcess>();
  const expected: Got[] = [];
  let seconds = 1_700_000_000;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-stream-'));
    exchange = await exchangeStack();
    proxy = await startTcpProxy(target);
    proxy.answer = soonAgain;
  });
  beforeEach(() => { expected.length = 0; });
  after(async () => {
    await proxy.close();
    for (const each of processes) await stop(each);
    await exchange.close();
    await rm(directory, { recursive: true });
  });

  const startQuery = async (settings: Record<string, string> = {}): Promise<ExchangeProcess> => {
    const { databaseUrl: url } = exchange;
    const config = parseConfig({ ROLES: 'query', PORT: '0', DATABASE_URL: url, DATA_DIR: join(directory, 'query'), LOG_LEVEL: 'silent', ...settings });
    const started = await startProcess(config, { urls: { log: url, readModels: url, outbox: url }, chains: [] }, createLogger(config));
    processes.add(started);
    return started;
  };
  const stop = async (started: ExchangeProcess): Promise<void> => {
    processes.delete(started);
    for (const { run } of started.stopSteps) await run();
  };
  const go = (to: ExchangeProcess): void => { target.port = Number(new URL(to.url).port); };
  const record = async (): Promise<void> => {
    const publishedAt = ++seconds * 1_000;
    const price = 6_140_993_501_000 + seconds;
    const id = await exchange.record(newCommand('RecordPrice', {
      at: Date.now(), asset: 'BTC', source: 'pyth', rank: 0, price: String(price), publishedAt,
    }));
    expected.push({ id, data: `{"asset":"BTC","price":${price},"priceUSD":${price / 1e8},"timestamp":${publishedAt},"source":"pyth"}` });
  };
  const streamsOf = async ({ url }: ExchangeProcess): Promise<number> =>
    Number(/^exchange_price_streams (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);
  const untilStreams = async (of: ExchangeProcess, count: number): Promise<unknown> => (
    await until(`${count} streams at ${of.url}`, async () => await streamsOf(of) === count || undefined));

  /** The reader has all that was recorded since the first event that it got, each once and in order. */
  const hasAll = async ({ got, watch }: Reader): Promise<void> => {
    await watch.until(`event ${expected.at(-1)!.id} of ${JSON.stringify(expected)}`, () => got.at(-1)?.id === expected.at(-1)!.id);
    assert.deepEqual(got, expected);
  };

  it('a browser and curl: the newest price at once, and through cuts, restarts and refusals every price once, in order, from any process', async () => {
    const [first, second] = [await startQuery(), await startQuery()];
    await record();
    expected.length = 0;
    await record();
    go(first);
    // The newest price is that of the read models.
    await fetch(`${first.url}/api/v1/prices/BTC`, { headers: { 'X-Min-Log-Position': String(expected[0]!.id) } });
    const address = `http://${HOST}:${proxy.port}${PATH}`;
    const readers: readonly Reader[] = await Promise.all([openBrowser(address), openCurl(address)]);
    const haveAll = () => Promise.all(readers.map(hasAll));
    try {
      await haveAll();
      await record();
      await haveAll();

      proxy.refuse();
      await record();
      await record();
      go(second);
      proxy.accept();
      await haveAll();

      await stop(second);
      await record();
      const third = await startQuery();
      go(third);
      await record();
      await haveAll();

      // They have missed nothing.
      proxy.refuse();
      await untilStreams(third, 0);
      go(first);
      proxy.accept();
      await untilStreams(first, readers.length);
      await record();
      await haveAll();

      const full = await startQuery({ MAX_CONNECTIONS: '40' });
      const taken = await Promise.all(Array.from({ length: 20 }, () => fetch(`${full.url}${PATH}`)));
      const before = readers.map((reader) => reader.refusals());
      go(full);
      proxy.refuse();
      proxy.accept();
      await Promise.all(readers.map((reader, i) => reader.watch.until('a refusal', () => reader.refusals() > before[i]!)));
      await record();
      await record();
      go(third);
      // Browsers keep the connection of a refusal.
      proxy.refuse();
      proxy.accept();
      await haveAll();
      for (const stream of taken) await stream.body!.cancel();
      // The last reconnect may be behind all that was sent.
      await record();
      await haveAll();
    } finally {
      for (const reader of readers) await reader.close();
    }
    for (const each of [...processes]) await stop(each);
  });

  it('a page of any site: answers with their headers, preflights, refusals', async () => {
    await record();
    const told: Record<string, unknown>[] = [];
    const watch = createWatch();
    const page = await openPage(`
      const ask = async (path, options) => {
        const answer = await fetch('${exchange.url}' + path, options);
        const { headers } = answer;
        return { status: answer.status, position: headers.has('X-Log-Position'), retry: headers.get('Retry-After'), code: (await answer.json()).code };
      };
      const json = { 'Content-Type': 'application/json' };
      tell({
        read: await ask('/api/v1/prices/btc', { headers: { 'X-Min-Log-Position': '0' } }),
        order: await ask('/api/v1/orders', { method: 'POST', headers: json, body: '{}' }),
        cancel: await ask('/api/v1/orders/0x${'ab'.repeat(32)}', { method: 'DELETE', headers: { 'X-Cancel-Signature': '0x', 'X-Cancel-Deadline': '1' } }),
        relay: await ask('/api/v1/relayer/ctf-approval', { method: 'POST', headers: { ...json, Authorization: 'Bearer x' }, body: '{}' }),
        stream: await ask('/api/v1/prices/DOGE/stream', { headers: { 'Last-Event-ID': '1' } }),
        events: await ask('/api/v1/prices/BTC/stream', { headers: { 'Last-Event-ID': 'x' } }),
      });`, (what) => {
      told.push(what as Record<string, unknown>);
      watch.ring();
    });
    try {
      await watch.until('the page\'s answers', () => told.length > 0);
    } finally {
      await page.close();
    }
    const { read, ...others } = told[0] as Record<string, { status: number; position: boolean; code?: string }>;
    assert.deepEqual(told[0], { read: { status: 200, position: true, retry: null }, ...others });
    assert.deepEqual(read, { status: 200, position: true, retry: null });
    assert.deepEqual(Object.entries(others).map(([what, { status, code }]) => [what, status, code]), [
      ['order', 400, 'invalid_request'], ['cancel', 400, 'invalid_market_id'], ['relay', 401, undefined],
      ['stream', 404, 'unknown_asset'], ['events', 400, 'invalid_request'],
    ]);
  });
});

/** A browser obeys the pause that a stream begins with: it is as long here as text, and shorter as time. */
function soonAgain(answer: Buffer): Buffer {
  const at = answer.indexOf(RETRY);
  if (at >= 0) answer.write(RETRY.replace('2000', '0100'), at);
  return answer;
}

/** EventSource as docs/prices.md says to use it: a new one, with the last id, when it has given up. */
async function openBrowser(url: string): Promise<Reader> {
  const got: Got[] = [];
  const watch = createWatch();
  let refusals = 0;
  const page = await openPage(`
    let last;
    const open = () => {
      const source = new EventSource('${url}' + (last === undefined ? '' : '?last_event_id=' + last));
      source.onmessage = ({ lastEventId, data }) => {
        last = lastEventId;
        tell({ id: Number(lastEventId), data });
      };
      source.onerror = () => {
        if (source.readyState !== EventSource.CLOSED) return;
        tell('refused');
        setTimeout(open, 200);
      };
    };
    open();`, (what) => {
    if (what === 'refused') refusals += 1; else got.push(what as Got);
    watch.ring();
  });
  return { got, watch, refusals: () => refusals, close: () => page.close() };
}

/** Curl, which is started again with the last id whenever it has ended. */
function openCurl(url: string): Promise<Reader> {
  const got: Got[] = [];
  const watch = createWatch();
  const REFUSED = 22;
  let refusals = 0;
  let end: () => void = () => undefined;
  let over = false;
  const read = (): Promise<number | null> => {
    const last = got.at(-1);
    const child = spawn('curl', ['-sN', '--fail', ...last === undefined ? [] : ['-H', `Last-Event-ID: ${last.id}`], url], { stdio: ['ignore', 'pipe', 'ignore'] });
    end = () => { child.kill('SIGKILL'); };
    let [id, data] = [NaN, ''];
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('id: ')) id = Number(line.slice(4));
      if (line.startsWith('data: ')) data = line.slice(6);
      // Only a blank line ends an event: what is cut off before it is none.
      if (line !== '' || data === '') return;
      got.push({ id, data });
      data = '';
      watch.ring();
    });
    return new Promise((resolve, reject) => { child.once('error', reject).once('close', resolve); });
  };
  const reading = (async () => {
    while (!over) {
      if (await read() === REFUSED) refusals += 1;
      watch.ring();
      await pause(50);
    }
  })();
  return Promise.resolve({
    got, watch, refusals: () => refusals,
    async close() {
      over = true;
      end();
      await reading;
    },
  });
}
