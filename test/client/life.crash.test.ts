/** A market from its creation to the payout, traded by the client alone while the service is killed again and again: it only takes longer. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Wallet, id } from 'ethers';
import { connect, Outcome, Refusal, Side, UNLIMITED, type Client, type Hex, type Message, type Placed } from '../../client/src/client.js';
import { mortalService, type Death, type MortalService } from '../harness/mortal-processes.js';
import { crashChain, type CrashChain } from '../support/crash-chain.js';
import { extent, SEED } from '../support/extent.js';
import { freePort } from '../support/free-port.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { createRandom } from '../support/random-commands.js';
import { until, within } from '../support/until.js';

const USDC = 1_000_000n;
const BOND = 10n * USDC;
/** How long the market is open, in which the service dies several times. */
const OPEN_S = extent({ push: 60, long: 300 });
/** Orders of each trader. */
const ORDERS = extent({ push: 12, long: 120 });
/** How long a life lasts once the service works. */
const LIFE_MS = 3_000;
const CLI = fileURLToPath(new URL('../../client/src/cli/main.js', import.meta.url));

describe(`client: a market's life through kills of the service (SEED=${SEED})`, function () {
  this.timeout(extent({ push: 400_000, long: 1_200_000 }));
  const random = createRandom(SEED);
  const wallets = { ann: new Wallet(id('client life: ann')), ben: new Wallet(id('client life: ben')) };
  const deaths: Death[] = [];
  const leaving = new AbortController();
  let directory: string;
  let database: TestDatabase;
  let chain: CrashChain;
  let service: MortalService;
  let url: string;
  let token: string;
  let clients: Readonly<Record<keyof typeof wallets, Client>>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-client-life-'));
    database = await testDatabase();
    chain = await crashChain(random, { means: [] });
    await chain.enter({ confirmations: 1, exposureCheck: true, blockMs: 200 });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    service = await mortalService({
      databaseUrl: database.url, chainUrl: chain.url, environment: async ({ databaseUrl, chainUrl }) => {
        await writeFile(join(directory, 'chains.json'), chain.file(chainUrl));
        return {
          DATABASE_URL: databaseUrl, DATA_DIR: join(directory, 'data'), SNAPSHOT_EVERY: '1000', CHAINS: join(directory, 'chains.json'), PORT: String(port), ...chain.keys,
        };
      },
    });
    token = await bearerToken(database.url);
    const of = (signer: Wallet) => connect({ url, signer, token, timeoutMs: 120_000 });
    clients = { ann: of(wallets.ann), ben: of(wallets.ben) };
  });
  after(async () => {
    leaving.abort(new Error('over'));
    await service.close();
    await chain.stop();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  it('is traded, settled, resolved and paid', async () => {
    const mining = new AbortController();
    const mined = chain.mine(mining.signal);
    const over = new AbortController();
    const dying = dieUntil(over.signal);
    dying.catch(() => undefined);
    try {
      await Promise.race([life(), dying.then(() => { throw new Error('the service is not killed any more'); }), mined, service.failed]);
    } finally {
      over.abort();
      await within('the last life has ended', dying, 120).catch(() => undefined);
      mining.abort();
      await mined.catch(() => undefined);
    }
    assert.ok(deaths.filter(({ listened }) => listened).length >= 5, `the service has died ${deaths.length} times`);
  });

  async function dieUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) deaths.push(await service.live({ at: 'work', afterMs: LIFE_MS + random() % 2_000 }));
    await service.start();
  }

  async function life(): Promise<void> {
    const { ann, ben } = clients;
    for (const wallet of Object.values(wallets)) {
      await chain.mint(wallet, 100n * USDC);
      await chain.rpc('anvil_setBalance', [wallet.address, '0x0']);
    }
    await Promise.all([
      ann.relay.permit({ spender: 'conditionalTokens', value: UNLIMITED }), ann.relay.approve(), ben.relay.permit({ value: '50' }),
    ]);
    await until('the permit is on the chain', async () => await chain.read('collateral', 'allowance', [wallets.ann.address, chain.chain.contracts.conditionalTokens]) === UNLIMITED);
    const market = await createdMarket();
    const { orders: seen, follow } = ownOrders(ann, market);
    const following = follow(leaving.signal);
    following.catch(() => undefined);
    await ann.relay.split(market, '60');
    await until('the shares are there', async () => (await ann.read.position(market, ann.address)).yesShares === 60n * USDC, 120);
    const { sold, cancelled } = await traded(market);
    await until('every fill is settled', async () => (await ann.read.pendingTrades().take(1)).length === 0 && await yesOf(ben) === sold, 120);
    await resolved(market);
    await ann.relay.redeem(market);
    const environment = { PATH: process.env['PATH'], EXCHANGE_URL: url, PRIVATE_KEY: wallets.ben.privateKey, TOKEN: token };
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'claim'], { env: environment });
    assert.match(stdout, /redeemed by .*\npaid {2}Who is paid\?\n/);
    const paid = sold / 2n;
    await until('everybody is paid', async () => await chain.usdcOf(wallets.ann) === 100n * USDC + paid - sold && await chain.usdcOf(wallets.ben) === 100n * USDC - paid + sold, 120);
    await Promise.race([following, until('the stream has told of every cancel', () => cancelled.every((hash) => seen.get(hash) === 'cancelled'), 120)]);
    leaving.abort(new Error('enough'));
    await assert.rejects(following, /enough/, 'and of no gap');

    async function yesOf(client: Client): Promise<bigint> {
      return (await client.read.position(market, client.address)).yesShares;
    }
  }

  /** The market, once the stream has told of it. */
  async function createdMarket(): Promise<Hex> {
    const expiration = Math.max(await chain.now(), Math.floor(Date.now() / 1_000)) + OPEN_S;
    const created = await chain.createMarket({ question: 'Who is paid?', expiration, bond: BOND });
    for await (const message of clients.ann.watch(['markets'], { from: -1 })) {
      assert.notEqual(message.type, 'gap');
      if (message.type === 'opened' && message.marketId === created.marketId) return message.marketId;
    }
    throw new Error('the stream has ended');
  }

  /** Sells at one half, at most until the market closes: the amount, and the orders that were cancelled. */
  async function traded(market: Hex): Promise<{ sold: bigint; cancelled: Hex[] }> {
    const { ann, ben } = clients;
    let sold = 0n;
    const cancelled: Hex[] = [];
    const trade = async (i: number): Promise<void> => {
      const size = BigInt(1 + random() % 3) * USDC / (ORDERS > 20 ? 10n : 1n);
      const ask: Placed = await ann.place({ market, side: Side.Sell, outcome: Outcome.Yes, price: '0.5', size });
      if (i % 4 === 3) {
        assert.equal((await ann.cancel(ask)).remainingSize, size);
        cancelled.push(ask.orderHash);
        return;
      }
      const bid = await ben.place({ market, side: Side.Buy, outcome: Outcome.Yes, price: '0.5', size });
      assert.equal(bid.matches, 1);
      assert.equal((await ben.read.order(ask.orderHash)).status, 'filled', 'who has written the fill reads it');
      sold += size;
    };
    try {
      for (let i = 0; i < ORDERS; i++) await trade(i);
    } catch (error) {
      // On a slow machine a service that is killed so often does not come to all of them.
      if (!(error instanceof Refusal) || error.code !== 'market_closed') throw error;
    }
    assert.ok(sold > 0n && cancelled.length > 0, `${sold} sold and ${cancelled.length} cancelled in ${OPEN_S} s`);
    return { sold, cancelled };
  }

  /** Ann proposes YES, and Ben settles. What the chain does not take yet is tried again. */
  async function resolved(market: Hex): Promise<void> {
    const { ann, ben } = clients;
    const isEarly = (error: unknown) => /MarketNotExpired|DisputeWindowOpen/.test(String(error)) ? undefined : Promise.reject(error as Error);
    await until('the market has expired', async () => (await ann.read.resolution(market)).expired, OPEN_S + 60);
    await until('YES is proposed', () => ann.relay.propose(market, Outcome.Yes).catch(isEarly), 120);
    await until('the exchange knows it', async () => {
      const { assertion, resolved: isOver } = await ben.read.resolution(market);
      return assertion !== undefined || isOver;
    }, 120);
    await until('the market is resolved', async () => {
      if (!(await ben.read.resolution(market)).resolved) await ben.relay.settle(market, { winningOutcome: Outcome.Yes }).catch(isEarly);
      return (await ben.read.resolution(market)).resolved;
    }, 120);
  }
});

/** What the stream tells of a trader's orders from the beginning of the history on. */
function ownOrders(client: Client, market: Hex) {
  const orders = new Map<Hex, Message['type']>();
  return {
    orders,
    async follow(signal: AbortSignal): Promise<void> {
      for await (const message of client.watch([`orders:${client.address}`, `trades:${market}`], { from: -1, signal })) {
        if (message.type === 'gap') throw new Error(`a gap in ${message.channel}`);
        if ('orderHash' in message) orders.set(message.orderHash, message.type);
      }
    },
  };
}
