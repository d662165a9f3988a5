/** The client's terminal program, as somebody types it: markets, books, orders, cancels and streams, and what it says when something is wrong. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Wallet, id } from 'ethers';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';

const CLI = fileURLToPath(new URL('../../client/src/cli/main.js', import.meta.url));
const trader = new Wallet(id('client: terminal'));

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

describe('client: the terminal program', function () {
  this.timeout(60_000);
  let exchange: ExchangeStack;
  let market: string;
  before(async () => {
    exchange = await exchangeStack();
    market = exchange.rain.id.slice(0, 10);
  });
  after(() => exchange.close());

  const environment = () => ({ PATH: process.env['PATH'], EXCHANGE_URL: exchange.url, PRIVATE_KEY: trader.privateKey });

  async function run(args: readonly string[], changes: Record<string, string> = {}): Promise<Ended> {
    return await new Promise((resolve) => {
      execFile(process.execPath, [CLI, ...args], { env: { ...environment(), ...changes } }, (error, out, text) => {
        resolve({ code: error === null ? 0 : error.code as number, out: out.trim(), error: text.trim() });
      });
    });
  }

  async function done(...args: string[]): Promise<string> {
    const { code, out, error } = await run(args);
    assert.equal(code, 0, error);
    return out;
  }

  it('shows markets, and those with the words', async () => {
    assert.deepEqual((await done('markets')).split('\n').map((line) => line.split('  ').at(-1)).sort(), ['Will it rain?', 'Will the sun shine?']);
    assert.match(await done('markets', 'sun'), /^0x[0-9a-f]{64} .* Will the sun shine\?$/);
    const [line] = (await done('markets', 'rain', '--json')).split('\n');
    assert.equal((JSON.parse(line!) as { id: string }).id, exchange.rain.id);
  });

  it('buys, sells, shows the book and cancels', async () => {
    const bought = await done('buy', market, 'yes', '10', '0.4');
    const [, hash] = /^(0x[0-9a-f]{64}) {2}accepted, 0 matches$/.exec(bought) ?? [];
    assert.ok(hash, bought);
    assert.match(await done('sell', market, 'no', '2.5', '0.7', '--post-only', '--expires', '600'), /accepted, 0 matches$/);
    assert.equal(await done('book', market), ['YES'.padEnd(40) + 'NO', 'bid 0.4      10'.padEnd(40) + 'ask 0.7      2.5'].join('\n'));
    assert.match(await done('sell', market, 'yes', '5', '0.5', '--now'), /accepted, 0 matches, 5 not filled and cancelled$/);
    assert.equal(await done('cancel', hash), `${hash}  cancelled, 0 were filled, 10 were not`);
    assert.equal(await done('cancel', 'all'), `1 order cancelled on chain ${Number(exchange.signing.domain.chainId)}`);
    assert.equal(await done('book', market), 'YES'.padEnd(40) + 'NO');
  });

  it('watches from a position on, until it is interrupted', async () => {
    const placed = JSON.parse(await done('buy', market, 'yes', '1', '0.1', '--json')) as { position: number };
    const watching = spawn(process.execPath, [CLI, 'watch', `orders:${trader.address}`, '--from', String(placed.position - 1)], { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = new Promise((resolve) => { watching.once('exit', resolve); });
    const lines: string[] = [];
    for await (const line of createInterface(watching.stdout)) {
      lines.push(line);
      if (lines.length === 1) await done('cancel', 'all');
      else watching.kill('SIGINT');
    }
    assert.deepEqual(lines.map((line) => line.split('  ')[3]), ['accepted', 'cancelled']);
    assert.equal(await exited, 0);
  });

  it('watches the whole history of a market that is named by the beginning of its id, until nobody reads on', async () => {
    await done('buy', market, 'yes', '1', '0.1');
    const watching = spawn(process.execPath, [CLI, 'watch', `book:${market}`, '--from', '-1'], { env: environment() });
    let errors = '';
    watching.stderr.on('data', (piece: Buffer) => { errors += piece.toString(); });
    const exited = once(watching, 'exit');
    const [first] = await once(watching.stdout, 'data') as [Buffer];
    assert.match(first.toString(), / {2}change {2}levels=/);
    // As `head` does.
    watching.stdout.destroy();
    await done('cancel', 'all');
    assert.deepEqual([await exited, errors], [[0, null], '']);
  });

  it('says what is wrong, with a code that says whose fault it is', async () => {
    const fails = async (args: string[], code: number, error: RegExp, changes?: Record<string, string>) => {
      const ended = await run(args, changes);
      assert.match(ended.error, error);
      assert.equal(ended.code, code, ended.error);
    };
    await fails(['sell', market, 'yes', '1', '0.1', '--post-only', 'more'], 2, /a market, yes or no, a size and a price/);
    await fails(['buy', market, 'maybe', '1', '0.1'], 2, /yes or no, not maybe/);
    await fails(['buy', '0x', 'yes', '1', '0.1'], 2, /2 markets begin with 0x/);
    await fails(['buy', '0xffffffffff', 'yes', '1', '0.1'], 2, /no market begins with/);
    await fails(['buy', market, 'yes', '1', '1.5'], 1, /price is 0\.000001 to 0\.999999, not 1\.5/);
    await fails(['buy', market, 'yes', '1', '0.1'], 1, /^signer is missing: .*\. Set PRIVATE_KEY in the environment$/, { PRIVATE_KEY: '' });
    await fails(['buy', market, 'yes', '1', '0.1'], 2, /^PRIVATE_KEY is no private key: it is 0x and 64 hex digits$/, { PRIVATE_KEY: '0x1234567' });
    await fails(['cancel', `0x${'77'.repeat(32)}`], 1, /^unknown_order: /);
    await fails(['funds'], 1, /^not_found: /);
    await fails(['dance'], 2, /there is no command dance/);
    await fails(['markets', '--fast'], 2, /--fast/);
    const { code, out } = await run(['--help']);
    assert.deepEqual([code, out.startsWith('prediction-exchange COMMAND')], [0, true]);
    assert.equal((await run([])).code, 2);
  });

  it('has nothing to claim where nothing is resolved', async () => {
    assert.equal(await done('claim'), `nothing to claim on chain ${Number(exchange.signing.domain.chainId)}`);
  });
});
