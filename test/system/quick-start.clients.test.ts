/** The quick start of the documentation page, run as it is served, and the commands of docs/laptop.md, against the whole exchange. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Wallet, id } from 'ethers';
import ts from 'typescript';
import { docsPage } from '../../service/http/docs.js';
import { developmentAccounts } from '../../stack/chain/dev-contracts.js';
import { newCommand } from '../support/commands.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { startShell } from '../support/shell.js';
import { runPython } from '../support/python-client.js';
import { until } from '../support/until.js';
import { once } from '../support/wire.js';

const run = promisify(execFile);
const PACKAGES = fileURLToPath(new URL('../../../node_modules', import.meta.url));
/** What stands between the outputs of two blocks. */
const NEXT = '--- next block ---';
const LANGUAGES = ['bash', 'typescript', 'python'];
const trader = new Wallet(id('exchange: quick start'));

interface Order { readonly orderHash: string; readonly price: number; readonly remainingSize: number }

describe('exchange: the quick start', function () {
  this.timeout(120_000);
  let exchange: ExchangeStack;
  let directory: string;
  let page: string;
  let settings: Record<string, string>;
  before(async () => {
    exchange = await exchangeStack({ PRICE_SOURCES: 'simulated' });
    await expiredMarket();
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-quick-start-'));
    await symlink(PACKAGES, join(directory, 'node_modules'));
    page = await (await fetch(`${exchange.url}/docs/`)).text();
    settings = { PATH: process.env['PATH'] ?? '', HOME: directory, PRIVATE_KEY: trader.privateKey };
  });
  after(async () => {
    await exchange.close();
    await rm(directory, { recursive: true });
  });

  /** Opens a market that expires at once: it is the first of the list until it is resolved. */
  async function expiredMarket(): Promise<void> {
    const { chainId } = exchange.signing.domain;
    const marketId = id('quick start: expired');
    const at = Date.now();
    const position = await exchange.record(newCommand('OpenMarket', {
      at, marketId, question: 'Has it rained?', contractAddress: `0x${'e1'.repeat(20)}`, maker: trader.address.toLowerCase(),
      expiration: Math.floor(at / 1_000) + 2, chainId: Number(chainId),
    }));
    await until('the market expires', async () => (await exchange.get(`/api/v1/resolution/${marketId}`, position))['expired'] === true || undefined);
    const { markets: [first] } = await exchange.get('/api/v1/markets') as { markets: { id: string }[] };
    assert.equal(first!.id, marketId);
  }

  const blocksOf = (language: string): string[] =>
    [...page.matchAll(new RegExp(`<code class="language-${language}">([^<]*)</code>`, 'g'))].map(([, code]) => unescaped(code!));

  /** The order as the exchange knows it when everything decided so far is in the read models. */
  const orderOf = async (orderHash: string) => {
    const { engine: { position } } = await exchange.get('/health/ready') as { engine: { position: number } };
    return exchange.get(`/api/v1/orders/${orderHash}`, position - 1);
  };

  it('opens the page, before the endpoints, with every step in each language', () => {
    assert.ok(page.indexOf('Quick start') < page.indexOf('id="swagger-ui"'));
    assert.deepEqual([...page.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title), [
      '1. Get the configuration', '2. Sign an order', '3. Place it', '4. Read your own write', '5. Cancel it with a signature',
    ]);
    assert.deepEqual(LANGUAGES.map((language) => blocksOf(language).length), [5, 5, 5]);
  });

  it('uses the address at which it is served, unless that is not one', async () => {
    for (const language of LANGUAGES) {
      assert.ok(blocksOf(language)[0]!.includes(exchange.url), language);
      assert.ok(!blocksOf(language).join('').includes('127.0.0.1:8080'), language);
    }
    const { port } = new URL(exchange.url);
    const as = async (host: string, headers = {}) => (await once(Number(port), 'GET', '/docs/', { headers: { Host: host, ...headers } })).body;
    assert.match(await as('exchange.example', { 'X-Forwarded-Proto': 'https' }), /:-http:\/\/exchange\.example}/, 'a client\'s word is no proxy\'s');
    for (const host of ['a"b', '$(id)', 'a/b', '<b>', '`id`', '\'', '127.0.0.1:123456']) assert.match(await as(host), /:-http:\/\/127\.0\.0\.1:8080}/, host);
    const shell = await startShell({ app: { pages: { '/docs': docsPage('/openapi.json', 1) } } });
    const proxied = await once(shell.port, 'GET', '/docs/', { headers: { 'Host': 'exchange.example', 'X-Forwarded-Proto': 'https' } });
    await shell.stop();
    assert.match(proxied.body, /:-https:\/\/exchange\.example}/);
  });

  it('signs, without a key of one\'s own, with one that the development stack has funded', () => {
    const keys = LANGUAGES.flatMap((language) => blocksOf(language)[1]!.match(/0x[0-9a-f]{64}/g) ?? []);
    assert.deepEqual(keys, LANGUAGES.map(() => developmentAccounts()[0]!.privateKey));
  });

  it('works in bash with curl, block by block', async () => {
    const script = ['set -euo pipefail', ...blocksOf('bash').flatMap((code) => [code, `echo; echo '${NEXT}'`])].join('\n');
    const { stdout } = await run('bash', ['-c', script], { cwd: directory, env: settings });
    const outputs = stdout.split(NEXT).map((each) => each.trim());
    assert.deepEqual(outputs.slice(0, 2), ['', '']);
    const [placed, read, cancelled] = outputs.slice(2, 5).map((text) => JSON.parse(text) as unknown) as [Order, { orders: Order[] }, object];
    const { orderHash } = placed;
    assert.deepEqual(read.orders.map((order) => [order.orderHash, order.price, order.remainingSize]), [[orderHash, 10_000, 1_000_000]]);
    assert.deepEqual(cancelled, { status: 'cancelled', orderHash, filledSize: 0, remainingSize: 1_000_000 });
    assert.equal((await orderOf(orderHash))['trader'], trader.address.toLowerCase());
  });

  it('works in TypeScript, block by block, and its types are right', async () => {
    const source = blocksOf('typescript').map((code) => `${code}\nconsole.log('${NEXT}');\n`).join('');
    const file = join(directory, 'quick-start.mts');
    await writeFile(file, source);
    assert.deepEqual(faultsOf(file), []);
    await writeFile(join(directory, 'quick-start.mjs'), ts.transpileModule(source, { compilerOptions, fileName: 'quick-start.mts' }).outputText);
    const { stdout } = await run(process.execPath, ['quick-start.mjs'], { cwd: directory, env: settings });
    const [, , placed, read, cancelled] = stdout.split(NEXT).map((each) => each.trim());
    assert.match(placed!, /^0x[0-9a-f]{64}$/);
    assert.match(read!, new RegExp(`orderHash: '${placed}'`));
    assert.match(cancelled!, /status: 'cancelled'/);
    const { status, cancelReason } = await orderOf(placed!);
    assert.deepEqual([status, cancelReason], ['cancelled', 'user']);
  });

  it('works in Python with the client, block by block', async () => {
    const source = blocksOf('python').map((code) => `${code}\nprint("${NEXT}")\n`).join('');
    const { code, output } = await runPython(['-W', 'error::DeprecationWarning', '-'], { input: source, environment: settings });
    assert.equal(code, 0, output);
    const [, , placed, read, cancelled] = output.split(NEXT).map((each) => each.trim());
    assert.match(placed!, /^0x[0-9a-f]{64}$/);
    assert.match(read!, new RegExp(`'orderHash': '${placed}'`));
    assert.match(cancelled!, /'status': 'cancelled'/);
    assert.equal((await orderOf(placed!))['trader'], trader.address.toLowerCase());
  });

  describe('the commands of docs/laptop.md about prices and quick markets', () => {
    const marketId = id('quick start: higher');
    const commandFor = async (path: string): Promise<string> => {
      const [, block] = /^## Prices and quick markets$[^]*?```sh\n([^]*?)```/m.exec(await readFile('docs/laptop.md', 'utf8'))!;
      const commands = block!.split('\n').map((line) => line.split('#')[0]!.trim()).filter((line) => line.endsWith(`8080${path}`));
      assert.equal(commands.length, 1, path);
      return commands[0]!.replace('http://127.0.0.1:8080', exchange.url);
    };
    const told = async (path: string) => JSON.parse((await run('bash', ['-c', await commandFor(path)])).stdout) as Record<string, unknown>;
    before(async () => {
      const startTime = Math.floor(Date.now() / 1_000) - 5;
      const address = `0x${'e2'.repeat(20)}`;
      await exchange.record(newCommand('OpenMarket', {
        at: Date.now(), marketId, question: 'Higher?', contractAddress: address, maker: address, expiration: startTime + 900,
        chainId: Number(exchange.signing.domain.chainId), marketKind: 'quick', quick: { asset: 'BTC', startTime },
      }));
      const strike = async () => ((await exchange.get('/api/v1/quick-markets/BTC'))['quickMarket'] as { startPrice: number | null } | null)?.startPrice ?? null;
      await until('the market has its strike', async () => await strike() ?? undefined);
    });

    it('show the quick market that runs, and those before', async () => {
      const { active, quickMarket, bestAskPrice } = await told('/api/v1/quick-markets/BTC');
      const { marketId: running, startPrice, priceSource } = quickMarket as { marketId: string; startPrice: number; priceSource: string };
      assert.deepEqual([active, bestAskPrice, running, priceSource], [true, 0, marketId, 'simulated']);
      const { history: [latest] } = await told('/api/v1/quick-markets/BTC/history') as { history: [Record<string, unknown>] };
      assert.deepEqual([latest['startPrice'], latest['endPrice'], latest['outcome'], latest['payment']], [startPrice, null, null, 'none']);
    });

    it('show the price now, before, and as it comes', async () => {
      assert.equal((await told('/api/v1/prices/BTC'))['source'], 'simulated:');
      const { history } = await told('/api/v1/prices/BTC/history') as { history: { timestamp: number }[] };
      assert.ok(history.length > 0);
      const stream = spawn('bash', ['-c', `exec ${await commandFor('/api/v1/prices/BTC/stream')}`], { stdio: ['ignore', 'pipe', 'ignore'] });
      const timestamps: number[] = [];
      for await (const line of createInterface(stream.stdout)) {
        if (line.startsWith('data: ')) timestamps.push((JSON.parse(line.slice('data: '.length)) as { timestamp: number }).timestamp);
        if (timestamps.length === 2) break;
      }
      stream.kill();
      assert.ok(timestamps[1]! > timestamps[0]!, 'a second one comes');
    });
  });
});

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true, noEmit: true,
  skipLibCheck: true, types: ['node'], typeRoots: [join(PACKAGES, '@types')],
};

/** What the compiler has to say of a file. */
function faultsOf(file: string): string[] {
  return ts.getPreEmitDiagnostics(ts.createProgram([file], compilerOptions)).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

function unescaped(html: string): string {
  return html.replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}
