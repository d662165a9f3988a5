/** `GET /users/{address}/account` on a real chain: what the contracts say of the trader, what orders and fills need of it, and a trading ban. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import { MAX_UINT256, type DeployedMarket } from '../support/deployed-chain.js';
import { ONE, caughtUp, exchangeBehindProxy, settled, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, carol, cancelHeaders, signedBody, type ExchangeStack, type Fields } from '../harness/exchange.js';
import type { TcpProxy } from '../support/proxies.js';

describe('the exchange on a chain: an account', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let proxy: TcpProxy;
  let exchange: ExchangeStack;
  let rain: DeployedMarket, sun: DeployedMarket;

  before(async () => { ({ node, proxy, rain, sun, exchange } = await exchangeBehindProxy()); });
  after(async () => {
    await exchange.close();
    await proxy.close();
    await node.stop();
  });
  // A test that fails midway leaves no chain that stands still to the next.
  afterEach(() => node.rpc('evm_setAutomine', [true]));

  /** Resolves when all that was sent is final and in the history, which deposits alone do not bring there at once: shares do, which are facts. */
  const recorded = async () => {
    await node.equip(other, { shares: 1n, market: rain });
    await node.rpc('anvil_mine', [`0x${(node.chain.confirmations + 1).toString(16)}`]);
    await caughtUp(exchange, node);
  };
  const path = ({ address }: Wallet) => `/api/v1/users/${address}/account?chain_id=${node.chain.chainId}`;
  /** What is said of the trader, apart from the block. */
  const accountOf = async (wallet: Wallet) => {
    const { block, chainId, ...told } = await exchange.get(path(wallet));
    assert.deepEqual([chainId, typeof block], [node.chain.chainId, 'number']);
    return told;
  };
  const place = (wallet: Wallet, fields: Fields) => exchange.place(wallet, { marketId: rain.marketId, price: 600_000, ...fields });
  const other = new Wallet(id('exchange account: other'));
  const NOTHING = {
    balance: 0, allowance: 0, approved: false, neededByOrders: 0, neededByFills: 0, available: 0, shares: [], openOrders: 0, suspendedUntil: null,
  };

  it('is empty of whom nobody knows, and follows what the trader owns and allows', async () => {
    const dora = new Wallet(id('exchange account: dora'));
    await recorded();
    assert.deepEqual(await accountOf(dora), NOTHING);
    await node.fund(dora);
    await node.mint(dora, BigInt(10 * ONE));
    await node.approve(dora, BigInt(4 * ONE));
    await recorded();
    assert.deepEqual(await accountOf(dora), { ...NOTHING, balance: 10 * ONE, allowance: 4 * ONE, available: 4 * ONE });
    await node.approveShares(dora);
    await node.approve(dora, BigInt(40 * ONE));
    await recorded();
    assert.deepEqual(await accountOf(dora), { ...NOTHING, balance: 10 * ONE, allowance: 40 * ONE, approved: true, available: 10 * ONE });
  });

  it('needs what open orders in all markets bid and sell, and what fills need until the chain has settled them', async () => {
    await node.equip(alice, { usdc: BigInt(10 * ONE), shares: BigInt(5 * ONE), market: sun });
    await node.equip(bob, { shares: BigInt(5 * ONE), market: rain });
    await recorded();
    const owned = { ...NOTHING, balance: 10 * ONE, allowance: MAX_UINT256, approved: true };
    assert.deepEqual(await accountOf(alice), { ...owned, available: 10 * ONE });

    await place(alice, { size: 5 * ONE + 1 });
    const far = await place(alice, { marketId: sun.marketId, price: 1, size: ONE });
    await place(alice, { marketId: sun.marketId, side: 1, size: 2 * ONE });
    await place(alice, { marketId: sun.marketId, side: 1, outcome: 1, size: 3 * ONE });
    const neededByOrders = 3 * ONE + 1 + 1;
    const sold = [{ outcome: 0, neededByOrders: 2 * ONE }, { outcome: 1, neededByOrders: 3 * ONE }].map((each) => (
      { marketId: sun.marketId, neededByFills: 0, ...each }));
    const all = { ...owned, neededByOrders, available: 10 * ONE - neededByOrders, openOrders: 4 };
    const { shares, ...rest } = await accountOf(alice);
    assert.deepEqual(rest, without('shares', all));
    assert.deepEqual(byOutcome(shares), sold);

    await node.rpc('evm_setAutomine', [false]);
    const sale = await place(bob, { side: 1, size: 2 * ONE });
    const bought = 1_200_000;
    const { shares: still, ...filled } = await accountOf(alice);
    assert.deepEqual(filled, without('shares', { ...all, neededByOrders: neededByOrders - bought, neededByFills: bought }));
    assert.deepEqual(byOutcome(still), sold);
    const { shares: ofBob } = await accountOf(bob);
    assert.deepEqual(ofBob, [{ marketId: rain.marketId, outcome: 0, neededByOrders: 0, neededByFills: 2 * ONE }]);

    await node.rpc('evm_setAutomine', [true]);
    await node.rpc('evm_mine');
    await settled(exchange, sale.position);
    await recorded();
    const { shares: after, ...paid } = await accountOf(alice);
    assert.deepEqual(paid, without('shares', {
      ...all, balance: 10 * ONE - bought, neededByOrders: neededByOrders - bought, available: 10 * ONE - neededByOrders,
    }));
    assert.deepEqual([byOutcome(after), (await accountOf(bob))['shares']], [sold, []]);

    const headers = await cancelHeaders(exchange.signing, alice, { orderHash: far.orderHash });
    const query = `marketId=${sun.marketId}`;
    assert.equal((await exchange.request('DELETE', `/api/v1/orders/${far.orderHash}?${query}`, { headers })).status, 200);
    const { openOrders, neededByOrders: left } = await accountOf(alice);
    assert.deepEqual([openOrders, left], [3, neededByOrders - bought - 1]);
  });

  it('has nothing available where more is needed than there is', async () => {
    await node.equip(carol, { usdc: BigInt(ONE) });
    await recorded();
    await place(carol, { price: 300_000, size: 10 * ONE });
    const { available, neededByOrders } = await accountOf(carol);
    assert.deepEqual([available, neededByOrders], [0, 3 * ONE]);
  });

  it('tells of a ban until its end, which is the one that orders are refused with', async () => {
    const eve = new Wallet(id('exchange account: eve'));
    await place(bob, { side: 1, outcome: 1, price: 500_000, size: 3 * ONE });
    for (const defaults of [1, 2]) {
      const bid = await place(eve, { outcome: 1, price: 500_000, size: ONE });
      assert.equal(bid.body['matches'], 1);
      await settled(exchange, bid.position);
      const { suspendedUntil } = await accountOf(eve);
      assert.equal(typeof suspendedUntil, defaults === 1 ? 'object' : 'number');
    }
    const { suspendedUntil } = await accountOf(eve);
    const left = Number(suspendedUntil) - Date.now() / 1_000;
    assert.ok(left > 0 && left < 32, `${left} s`);
    const body = await signedBody(exchange.signing, eve, { marketId: rain.marketId, price: 500_000, size: ONE, nonce: 9_999 });
    const refused = await exchange.refused('trader_suspended', 'POST', '/api/v1/orders', { body });
    assert.equal(refused['suspendedUntil'], suspendedUntil);
    assert.equal((await accountOf(alice))['suspendedUntil'], null);
  });

  it('is refused for another chain and for what is no address, and while the chain cannot be read', async () => {
    const { address } = alice;
    await exchange.refused('unknown_chain', 'GET', `/api/v1/users/${address}/account?chain_id=77`);
    await exchange.refused('invalid_request', 'GET', `/api/v1/users/${address}/account`);
    for (const query of ['?chain_id=', '?chain_id=x', '?chain_id=-1', '?chain_id=1.5']) {
      await exchange.refused('invalid_chain_id', 'GET', `/api/v1/users/${address}/account${query}`);
    }
    await exchange.refused('invalid_address', 'GET', `/api/v1/users/0x12/account?chain_id=${node.chain.chainId}`);
    proxy.refuse();
    await exchange.refused('chain_unavailable', 'GET', path(new Wallet(id('exchange account: fay'))));
    proxy.accept();
  });
});

/** In the order of their outcomes. */
function byOutcome(shares: unknown): unknown[] {
  return (shares as { outcome: number }[]).toSorted((a, b) => a.outcome - b.outcome);
}

function without(name: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name));
}
