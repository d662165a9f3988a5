/** Orders against what their traders have on the chain, at the whole exchange: what is counted, to the unit, and a chain that cannot be asked. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import { ONE, caughtUp, eventsOf, eventually, exchangeBehindProxy, permitOf, settled, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, carol, signedBody, type ExchangeStack, type Fields, type Placed } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import type { TcpProxy } from '../support/proxies.js';

const walletOf = (name: string) => new Wallet(id(`exchange exposure: ${name}`));

describe('the exchange on a chain: exposure', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let proxy: TcpProxy;
  let exchange: ExchangeStack;
  let rain: DeployedMarket, sun: DeployedMarket;
  let nonce = 1_000_000;

  before(async () => { ({ node, proxy, rain, sun, exchange } = await exchangeBehindProxy({ chain: { exposureCheck: true } })); });
  after(async () => {
    await exchange.close();
    await proxy.close();
    await node.stop();
  });

  const place = (wallet: Wallet, fields: Fields, changes: Fields = {}) =>
    exchange.place(wallet, { marketId: rain.marketId, price: 600_000, ...fields }, changes);
  const body = (wallet: Wallet, fields: Fields, changes: Fields = {}) =>
    signedBody(exchange.signing, wallet, { marketId: rain.marketId, price: 600_000, nonce: ++nonce, ...fields }, changes);
  /** The amounts that the order is refused with. */
  const refused = async (code: 'insufficient_balance' | 'insufficient_allowance', wallet: Wallet, fields: Fields, changes: Fields = {}) => {
    const { required, available, reserved } = await exchange.refused(code, 'POST', '/api/v1/orders', { body: await body(wallet, fields, changes) });
    return { required, available, reserved };
  };
  const cancelAll = async (wallet: Wallet) => {
    await node.rpc('anvil_setBalance', [wallet.address, '0xde0b6b3a7640000']);
    await node.send(wallet, 'settlement', 'scheduleCancelAll', [nonce + 1]);
    await caughtUp(exchange, node);
  };

  // A test that fails midway leaves no chain that stands still to the next.
  afterEach(() => node.rpc('evm_setAutomine', [true]));

  describe('collateral', () => {
    let bid: Placed;
    before(() => node.equip(alice, { usdc: BigInt(10 * ONE) }));

    it('must be there, rounded up to the unit', async () => {
      assert.deepEqual(await refused('insufficient_balance', alice, { size: 20 * ONE }), { required: 12 * ONE, available: 10 * ONE, reserved: 0 });
      assert.deepEqual(await refused('insufficient_balance', alice, { price: 999_999, size: 10 * ONE + 11 }), {
        required: 10 * ONE + 1, available: 10 * ONE, reserved: 0,
      });
      assert.deepEqual(await refused('insufficient_balance', alice, { size: 2n ** 64n - 1n }), {
        required: ((2n ** 64n - 1n) * 600_000n + 999_999n) / 1_000_000n, available: 10 * ONE, reserved: 0,
      });
    });

    it('is reserved by open orders in all markets of the chain', async () => {
      bid = await place(alice, { size: 10 * ONE });
      assert.deepEqual(await refused('insufficient_balance', alice, { marketId: sun.marketId, price: 500_000, size: 10 * ONE }), {
        required: 5 * ONE, available: 10 * ONE, reserved: 6 * ONE,
      });
      await place(alice, { marketId: sun.marketId, price: 1, size: ONE });
      assert.deepEqual(await refused('insufficient_balance', alice, { price: 999_999, size: 4 * ONE + 4 }), {
        required: 4 * ONE, available: 10 * ONE, reserved: 6 * ONE + 1,
      });
    });

    it('stays reserved by fills until the chain has settled them, and then is gone', async () => {
      await node.equip(bob, { shares: BigInt(10 * ONE), market: rain });
      await caughtUp(exchange, node);
      await node.rpc('evm_setAutomine', [false]);
      const sale = await place(bob, { side: 1, size: 10 * ONE });
      assert.equal(sale.body['matches'], 1);
      for (const life of ['this one', 'the next']) {
        assert.deepEqual(await refused('insufficient_balance', alice, { price: 500_000, size: 10 * ONE }), {
          required: 5 * ONE, available: 10 * ONE, reserved: 6 * ONE + 1,
        }, life);
        assert.deepEqual(await refused('insufficient_balance', bob, { side: 1, size: 1 }), { required: 1, available: 10 * ONE, reserved: 10 * ONE }, life);
        if (life === 'this one') exchange = await exchange.restart();
      }
      await node.rpc('evm_setAutomine', [true]);
      await node.rpc('evm_mine');
      await settled(exchange, sale.position);
      assert.deepEqual(await refused('insufficient_balance', alice, { price: 500_000, size: 10 * ONE }), {
        required: 5 * ONE, available: 4 * ONE, reserved: 1,
      });
      assert.deepEqual(await refused('insufficient_balance', bob, { side: 1, size: 1 }), { required: 1, available: 0, reserved: 0 });
    });

    it('does not matter to an order that was accepted before: its repeat gets its answer', async () => {
      const again = await exchange.request('POST', '/api/v1/orders', { body: bid.sent });
      assert.deepEqual([again.body, again.position, again.headers.get('Idempotent-Replayed')], [{ ...bid.body, orderStatus: 'filled' }, bid.position, 'true']);
    });

    it('is promised once, however many orders come at the same time', async () => {
      const eve = walletOf('eve');
      await node.equip(eve, { usdc: BigInt(10 * ONE) });
      const bodies = await Promise.all(Array.from({ length: 12 }, () => body(eve, { price: 300_000, size: 10 * ONE })));
      const answers = await Promise.all(bodies.map((each) => exchange.request('POST', '/api/v1/orders', { body: each })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(3).fill(200), ...Array(9).fill(422)]);
      await cancelAll(eve);
      assert.equal((await exchange.request('POST', '/api/v1/orders', { body: await body(eve, { size: 16 * ONE }) })).status, 200);
    });
  });

  describe('allowances', () => {
    it('must be there, or come with the order as a permit that the token would take', async () => {
      await node.mint(carol, BigInt(10 * ONE));
      const amounts = { required: 6 * ONE, available: 0, reserved: 0 };
      assert.deepEqual(await refused('insufficient_allowance', carol, { size: 10 * ONE }), amounts);
      const permit = (value: number, more = {}) => permitOf(exchange, node, { trader: carol, value: BigInt(value), ...more });
      assert.deepEqual(await refused('insufficient_allowance', carol, { size: 10 * ONE }, await permit(6 * ONE - 1)), { ...amounts, available: 6 * ONE - 1 });
      assert.deepEqual(await refused('insufficient_allowance', carol, { size: 10 * ONE }, await permit(6 * ONE, { nonce: 1n })), amounts);
      const forged = await permit(6 * ONE);
      const { errors } = await exchange.refused('invalid_permit', 'POST', '/api/v1/orders', {
        body: await body(carol, { size: 10 * ONE }, { permitSignature: { ...forged.permitSignature, value: String(7 * ONE) } }),
      }) as { errors: { field: string }[] };
      assert.deepEqual(errors.map(({ field }) => field), ['/permitSignature']);
      await place(carol, { size: 10 * ONE }, forged);
      assert.deepEqual(await refused('insufficient_allowance', carol, { size: ONE }), { required: 600_000, available: 0, reserved: 6 * ONE });
    });

    it('of shares too', async () => {
      const frank = walletOf('frank');
      await node.mint(frank, BigInt(5 * ONE));
      await node.rpc('anvil_setBalance', [frank.address, '0xde0b6b3a7640000']);
      await node.split(frank, rain, BigInt(5 * ONE));
      await caughtUp(exchange, node);
      assert.deepEqual(await refused('insufficient_allowance', frank, { side: 1, size: 5 * ONE }), { required: 5 * ONE, available: 0, reserved: 0 });
      await node.approveShares(frank);
      await place(frank, { side: 1, size: 2 * ONE, price: 900_000 });
      await place(frank, { side: 1, outcome: 1, size: 5 * ONE, price: 900_000 });
      assert.deepEqual(await refused('insufficient_balance', frank, { side: 1, size: 4 * ONE }), { required: 4 * ONE, available: 5 * ONE, reserved: 2 * ONE });
    });
  });

  describe('the chain', () => {
    it('counts a deposit at once', async () => {
      const gus = walletOf('gus');
      assert.deepEqual(await refused('insufficient_balance', gus, { size: ONE }), { required: 600_000, available: 0, reserved: 0 });
      await node.equip(gus, { usdc: 600_000n });
      await place(gus, { size: ONE });
    });

    it('takes no order while the chain cannot be asked, and all again when it can', async () => {
      const hal = walletOf('hal');
      await node.equip(hal, { usdc: BigInt(ONE) });
      const { sent, body: first } = await place(hal, { size: 1 });
      const refusedBody = await body(walletOf('ida'), { size: 1 });
      proxy.refuse();
      const problem = await exchange.refused('chain_unavailable', 'POST', '/api/v1/orders', { body: refusedBody });
      assert.equal(problem['status'], 503);
      await exchange.refused('chain_unavailable', 'POST', `/api/v1/positions/${rain.marketId}/sync?userAddress=${hal.address}`);
      assert.deepEqual((await exchange.request('POST', '/api/v1/orders', { body: sent })).body, { ...first, orderStatus: 'open' });
      proxy.accept();
      await node.equip(walletOf('ida'), { usdc: BigInt(ONE) });
      await caughtUp(exchange, node);
      assert.equal((await exchange.request('POST', '/api/v1/orders', { body: refusedBody })).status, 200);
    });

    it('is asked no more once it contradicts the history: what it says of balances is another chain\'s word', async () => {
      const jim = walletOf('jim');
      await node.equip(jim, { usdc: BigInt(ONE) });
      const position = await caughtUp(exchange, node);
      await place(jim, { size: 1 });
      const { block } = (await eventsOf(exchange, 'ChainAdvanced', position)).at(-1)!;
      await node.rpc('anvil_reorg', [Number(await node.rpc('eth_blockNumber')) - block + 1, []]);
      await node.rpc('evm_mine');
      // The indexer and the exposure check each look for themselves, so that readiness says nothing of the check.
      await eventually('orders are refused', async () => {
        const { status } = await exchange.request('POST', '/api/v1/orders', { body: await body(jim, { size: 1 }) });
        return status === 200 ? undefined : true;
      });
      for (const trader of [jim, walletOf('kay')]) {
        await exchange.refused('chain_unavailable', 'POST', '/api/v1/orders', { body: await body(trader, { size: 1 }) });
      }
    });
  });
});
