/** The example of a market maker, as a program of its own, through kills of the service: it goes on quoting, and knows what it holds. */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Wallet, id } from 'ethers';
import { connect, Outcome, Side, type Client, type Hex } from '../../client/src/client.js';
import { decimalOf } from '../../client/src/arguments.js';
import { extent } from '../support/extent.js';
import { freePort } from '../support/free-port.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { until, within } from '../support/until.js';

const KILLS = extent({ push: 4, long: 30 });
/** Trades with the market maker in each life of the service. */
const TRADES = extent({ push: 4, long: 20 });
const EXAMPLE = fileURLToPath(new URL('../../client/examples/market-maker.js', import.meta.url));
const SIZE = 3_000_000n;

describe('client: the market maker of the examples, through kills of the service', function () {
  this.timeout(extent({ push: 300_000, long: 1_800_000 }));
  const maker = new Wallet(id('example: market maker'));
  let directory: string;
  let database: TestDatabase;
  let url: string;
  let environment: Readonly<Record<string, string>>;
  let service: ServiceProcess;
  let market: Hex;
  let taker: Client;
  let example: ChildProcess;
  let output = '';
  const stopping = new AbortController();
  let trades = 0;
  /** What the taker has bought, less what it has sold. */
  let bought = 0n;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-maker-'));
    database = await testDatabase();
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    await writeFile(join(directory, 'catalogue.json'), JSON.stringify({ markets: [
      { slug: 'rain', question: 'Will it rain?', description: '', category: 'general', expiresInDays: 30, maker: `0x${'5a'.repeat(20)}` },
    ] }));
    environment = {
      DATABASE_URL: database.url, DATA_DIR: join(directory, 'data'), CATALOGUE: join(directory, 'catalogue.json'), PORT: String(port), SNAPSHOT_EVERY: '1000',
    };
    taker = connect({ url, signer: new Wallet(id('example: taker')), timeoutMs: 120_000 });
    service = await startService(environment);
    [market] = (await taker.read.markets().take(1)).map((each) => each.id) as [Hex];
    example = fork(EXAMPLE, {
      env: { PATH: process.env['PATH'], EXCHANGE_URL: url, MARKET: market, PRIVATE_KEY: maker.privateKey, NONCES: join(directory, 'nonces.json') },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [example.stdout!, example.stderr!]) stream.on('data', (piece: Buffer) => { output += piece.toString(); });
  });
  after(async () => {
    stopping.abort();
    example.kill('SIGKILL');
    await service.kill();
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Takes what is quoted, by turns on each side. */
  async function trade(signal: AbortSignal): Promise<void> {
    for (let i = 0; !signal.aborted; i++) {
      const side = i % 3 === 0 ? Side.Sell : Side.Buy;
      const order = { market, side, outcome: Outcome.Yes, price: side === Side.Buy ? '0.9' : '0.1', size: SIZE, timeInForce: 'FAK' } as const;
      const { matches, remainingSize = 0n } = await taker.place(order);
      trades += matches;
      bought += (side === Side.Buy ? 1n : -1n) * (SIZE - remainingSize);
      // The next quote comes in a moment.
      if (matches === 0) await until('there is a quote', async () => {
        const { yes } = await taker.read.ticker(market);
        return yes.bestBid > 0n && yes.bestAsk > 0n;
      }, 120);
    }
  }

  it('quotes in every life of the service, and holds what it has traded', async () => {
    const trading = trade(stopping.signal);
    trading.catch(() => undefined);
    const failed = Promise.race([trading, once(example, 'exit')]).then(() => { throw new Error(`the market maker or the taker has ended:\n${output}`); });
    failed.catch(() => undefined);
    for (let life = 0; life <= KILLS; life++) {
      const before = trades;
      await Promise.race([until(`${TRADES} trades in life ${life} of the service`, () => trades >= before + TRADES, 120), failed]);
      if (life === KILLS) break;
      await service.kill();
      service = await startService(environment);
    }
    stopping.abort();
    await within('the taker has its last answer', trading, 120);
    const middle = 500_000n + 5_000n * bought / 10_000_000n;
    await until(() => `it quotes both sides by what it holds: ${output}`, async () => {
      const { yes } = await taker.read.ticker(market);
      return yes.bestBid === middle - 20_000n && yes.bestAsk === middle + 20_000n;
    });
    const exited = once(example, 'exit');
    example.kill('SIGTERM');
    assert.deepEqual(await within('the market maker stops', exited), [0, null], output);
    const { held } = JSON.parse(output.trim().split('\n').at(-1)!) as { held: string };
    assert.equal(held, decimalOf(-bought), output);
    // Its own answer is the newest of the history.
    const user = maker.address.toLowerCase() as Hex;
    await taker.cancelAll();
    assert.deepEqual(await taker.read.openOrders({ user }).take(1), [], 'nothing of it is left');
    let made = 0n;
    for await (const { userRole, size } of taker.read.userTrades({ user })) made += userRole === 'buyer' ? size : -size;
    assert.equal(decimalOf(made), held, 'the exchange says the same');
  });
});
