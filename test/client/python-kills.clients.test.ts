/**
 * The Python client on a development stack that is killed: its quick start, every operation once, an order whose answer
 * is lost, a market maker, and a market's whole life, which goes on behind all of these and through their kills.
 */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import { creatorWallet, developmentAccounts } from '../../stack/chain/dev-contracts.js';
import { createMarket } from '../../tools/market/chain.js';
import type { ApiChain, ApiConfig } from '../../tools/demo/api.js';
import { eventsOf, readHistory } from '../support/crash-checks.js';
import { startTcpProxy, type TcpProxy } from '../support/proxies.js';
import { extent, isLong } from '../support/extent.js';
import { PYTHON_CLIENT, runPython, startPython, type PythonProgram } from '../support/python-client.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const DISPUTE_WINDOW_S = 5;
/** How long the market of the whole life is open: for its trade, with a start of the service. Meanwhile, the other tests are made. */
const OPEN_S = 60;
/** Of the service under the market maker. */
const KILLS = extent({ push: 1, long: 6 });

/** Places an order, and asks for its outcome until it is known. Arguments: address, seconds of patience, market. */
const PLACING = `
import os, sys
from prediction_exchange import Exchange, Order, Outcome, OutcomeUnknown, Patience, Side
with Exchange(sys.argv[1], signer=os.environ["KEY"], patience=Patience(resend_for=120)) as exchange:
    signed = exchange.sign(Order(sys.argv[3], Side.BUY, Outcome.YES, "0.02", "3"))
    hasty = Exchange(sys.argv[1], patience=Patience(resend_for=float(sys.argv[2])))
    try:
        placed = hasty.place_signed(signed)
        exchange.place_signed(signed)
    except OutcomeUnknown as unknown:
        print("unknown", unknown.order_hash == signed.order_hash, flush=True)
        placed = exchange.resend(unknown)
    print("placed", placed["orderHash"], placed.get("orderStatus"), flush=True)
    print("open", sum(order["orderHash"] == placed["orderHash"] for order in exchange.open_orders()), flush=True)
`;

/** Sells five shares at once, at whatever is bid. Arguments: address, market. */
const TAKING = `
import os, sys
from prediction_exchange import Exchange, Order, Outcome, Side
with Exchange(sys.argv[1], signer=os.environ["KEY"]) as exchange:
    order = Order(sys.argv[2], Side.SELL, Outcome.YES, "0.1", "5", time_in_force="FOK")
    print(exchange.place(order)["matches"])
`;

/** Gives the wallet shares and allowances, so that its fills are paid. Arguments: address, market. */
const FUNDING = `
import os, sys
from prediction_exchange import Exchange
with Exchange(sys.argv[1], signer=os.environ["KEY"], token=os.environ["TOKEN"]) as exchange:
    exchange.permit("100", spender="conditionalTokens")
    exchange.split(sys.argv[2], "100")
    exchange.permit()
    exchange.approve()
`;

describe('the client in Python, on a stack that is killed', function () {
  this.timeout(300_000);
  let directory: string;
  let service: ServiceProcess;
  /** The service's address stays while the service does not. The whole life has a proxy of its own: no answer to its orders is lost. */
  let proxy: TcpProxy;
  let lifeProxy: TcpProxy;
  let url: string;
  /** One that is open for longer than all tests take. */
  let market: string;
  const target = { host: '127.0.0.1', port: 0 };
  const [, trader, taker, maker] = developmentAccounts();
  /** A market's whole life, from the first kill to the last. */
  let life: PythonProgram | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-python-'));
    await chmod(directory, 0o755);
    await start();
    [proxy, lifeProxy] = [await startTcpProxy(target), await startTcpProxy(target)];
    url = `http://127.0.0.1:${proxy.port}`;
    const { markets: [first] } = await get('/api/v1/markets?state=open&limit=1') as { markets: { id: string }[] };
    market = first!.id;
  });
  after(async () => {
    life?.child.kill('SIGKILL');
    await Promise.all([proxy.close(), lifeProxy.close()]);
    await service.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  async function start(): Promise<void> {
    const settings = { CHAIN_PORT: '0', DEV_DISPUTE_WINDOW_S: String(DISPUTE_WINDOW_S) };
    service = await startService({ DATA_DIR: join(directory, 'data'), ...settings });
    target.port = service.port;
  }

  async function killAndStart(): Promise<void> {
    await service.kill();
    await start();
  }

  const token = async () => (await readFile(join(directory, 'data', 'token'), 'utf8')).trim();
  const get = async (path: string): Promise<unknown> => (await fetch(service.url + path)).json();

  /** Creates a market on the stack's chain; returns its id once the exchange lists it. */
  async function openedMarket(question: string, openS: number): Promise<string> {
    const { serverTime, chains: [chain] } = await get('/api/v1/config') as ApiConfig;
    const { chainId, rpcUrl, contracts } = chain as ApiChain;
    const terms = { question, description: 'A market of a test.', category: 'general', bond: 10_000_000n } as const;
    const key = creatorWallet().privateKey;
    const { id } = await createMarket(
      { chainId, rpcUrl: rpcUrl!, contracts }, key, { ...terms, expiration: serverTime + openS },
    );
    await until('the exchange lists the market', async () => {
      const { markets } = await get('/api/v1/markets') as { markets: { id: string }[] };
      return markets.some((market) => market.id === id);
    });
    return id;
  }

  it('does what its quick start says', async () => {
    const text = await readFile(join(PYTHON_CLIENT, 'README.md'), 'utf8');
    const blocks = [...text.matchAll(/^```python\n([^]*?)^```$/mg)].map(([, code]) => code!);
    assert.equal(blocks.length, 3);
    const { code, output } = await runPython(
      ['-W', 'error', '-'], { input: blocks.join('\n'), environment: { EXCHANGE_URL: url } },
    );
    assert.equal(code, 0, output);
    assert.match(output, /^.+\?\nTrue\naccepted 0\n\[10000\]\nTrue\ncancelled\n\d+\nsnapshot\n$/);
  });

  it('begins a market\'s whole life', async () => {
    const marketId = await openedMarket('Will it rain in Python?', OPEN_S);
    life = startPython(['examples/whole_life.py', `http://127.0.0.1:${lifeProxy.port}`, marketId], { environment: {
      SELLER_KEY: Wallet.createRandom().privateKey, BUYER_KEY: Wallet.createRandom().privateKey, TOKEN: await token(),
    } });
    await life!.said(/^the seller has 10 YES and 10 NO$/);
  });

  // The first kill is in the middle of that life's trade, the second one after it.
  const patiences = [['patience', 120, '', /^the seller has 10/], ['little patience', 0.5, 'unknown True\n', /^the fill is confirmed$/]] as const;
  for (const [patience, resendForS, first, moment] of patiences) {
    it(`has an order accepted once whose answer is lost in a kill, with the same bytes and ${patience}`, async () => {
      await life!.said(moment);
      let started: Promise<void> | undefined;
      const isOrder = (request: Buffer) => request.toString('latin1').startsWith('POST /api/v1/orders ');
      proxy.fate = (request) => started === undefined && isOrder(request) ? 'lose-reply' : 'pass';
      proxy.replied = async () => {
        await service.kill();
        started = start();
      };
      const { code, output } = await runPython(
        ['-c', PLACING, url, String(resendForS), market], { environment: { KEY: trader!.privateKey } },
      );
      await started;
      assert.ok(started !== undefined, 'no order came');
      const [, orderHash = ''] = /^placed (0x\w+) /m.exec(output) ?? [];
      assert.equal(output, `${first}placed ${orderHash} open\nopen 1\n`);
      assert.equal(code, 0);
      const accepted = eventsOf(await readHistory(service.url), 'OrderAccepted');
      assert.equal(accepted.filter((event) => event.orderHash === orderHash).length, 1);
    });
  }

  it('has every operation taken by the exchange', async () => {
    proxy.fate = () => 'pass';
    const marketId = await openedMarket('Does Python say it as the exchange hears it?', 3_600);
    const environment = { KEY: Wallet.createRandom().privateKey, TOKEN: await token() };
    const { code, output } = await runPython(['tests/everything.py', url, marketId], { environment });
    assert.match(output, /^\d{2} operations\n$/, output);
    assert.equal(code, 0);
  });

  it(`makes a market, and goes on after ${KILLS === 1 ? 'a kill' : `each of ${KILLS} kills`}`, async () => {
    const marketId = await openedMarket('Will somebody make a market in Python?', 3_600);
    // A single fill need not be paid for: the next quote comes before it fails.
    for (const { privateKey } of isLong ? [maker!, taker!] : []) {
      const environment = { KEY: privateKey, TOKEN: await token() };
      const { code, output } = await runPython(['-c', FUNDING, url, marketId], { environment });
      assert.equal(code, 0, output);
    }
    const program = startPython(['examples/market_maker.py', url, marketId], {
      environment: { PRIVATE_KEY: maker!.privateKey, NONCES: join(directory, 'nonces') },
    });
    await Promise.all([program.said(/^BUY 5000000 at 490000: /), program.said(/^SELL 5000000 at 510000: /)]);
    let bid = 490_000;
    // Where the market of the whole life is, too, when the service dies.
    await life!.said(/^YES is proposed$/);
    for (let kill = 1; kill <= KILLS; kill++) {
      await killAndStart();
      await until('its bid is there', async () => {
        const { yes } = await get(`/api/v1/ticker/${marketId}`) as { yes: { bestBid: number } };
        return yes.bestBid === bid;
      });
      const { output } = await runPython(['-c', TAKING, url, marketId], { environment: { KEY: taker!.privateKey } });
      assert.equal(output, '1\n');
      // Its bid is filled: it quotes around that price, less what it leans for five shares more.
      bid -= 10_000 + 1_000 * kill;
      await program.said(new RegExp(`^BUY 5000000 at ${bid}: `));
    }
    program.child.kill('SIGINT');
    const { code, output } = await program.ended;
    assert.equal(code, 0, output);
    await until('it has left the book', async () => {
      const { orders } = await get(`/api/v1/orders?trader=${maker!.address}`) as { orders: unknown[] };
      return orders.length === 0;
    });
  });

  it('has taken a market from its opening to the payout', async () => {
    const { code, output } = await life!.ended;
    const lines = [
      /the seller has 10000\.000000, the buyer 10000\.000000/, /the seller has 10 YES and 10 NO/,
      /the seller asks 0\.62: 0x[0-9a-f]{64}/, /the buyer has bought 4 with 1 match/, /the fill is confirmed/,
      /the market has expired/, /YES is proposed/, /YES has won/, /the seller is paid 6\.000000/,
      /the buyer is paid 4\.000000/,
    ];
    assert.match(output, new RegExp(`^${lines.map(({ source }) => `${source}\\n`).join('')}$`), output);
    assert.equal(code, 0);
  });
});
