/** A match is no free option: what the relayer does not carry away from it, and what becomes of traders who take it away themselves. */
import assert from 'node:assert/strict';
import { eventsOf, eventually, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, cancelHeaders, lower as lowerCase, signedBody, type ExchangeStack } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { relayedExchange, type GaslessClient } from '../support/gasless-wallet.js';

const ONE = 1_000_000;

describe('relayer: a match is no free option', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let client: GaslessClient;
  let rain: DeployedMarket;

  before(async () => {
    node = await tradedChain();
    rain = await node.createMarket({ question: 'Will it rain?' });
    await node.equip(bob, { shares: BigInt(40 * ONE), market: rain });
    await node.equip(alice, { usdc: BigInt(10 * ONE) });
    await node.approve(alice, BigInt(10 * ONE), node.chain.contracts.conditionalTokens);
    ({ exchange, client } = await relayedExchange(node));
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  /** What would let the buyer or the seller out, with the amounts that the wallets have beside the fill's. */
  const escapes = async () => [
    ['usdc-permit', await client.bodies.permit(alice, { value: 0n })],
    ['ctf-split', await client.bodies.sets(alice, 'ctf-split', { conditionId: rain.marketId, amount: BigInt(4 * ONE) })],
    ['ctf-approval', await client.bodies.approval(bob, false)],
    ['ctf-merge', await client.bodies.sets(bob, 'ctf-merge', { conditionId: rain.marketId, amount: BigInt(26 * ONE) })],
  ] as const;

  it('the relayer carries nothing away that orders and an unsettled fill need, names them, and carries it once nothing needs it', async () => {
    await node.rpc('evm_setAutomine', [false]);
    const place = (wallet: typeof alice, fields: object) => exchange.place(wallet, { marketId: rain.marketId, ...fields });
    const higher = await place(bob, { side: 1, price: 900_000, size: 5 * ONE });
    const lower = await place(alice, { price: 100_000, size: 10 * ONE });
    const ask = await place(bob, { side: 1, price: 600_000, size: 10 * ONE });
    const bid = await place(alice, { price: 600_000, size: 10 * ONE });
    assert.equal(bid.body['matches'], 1);
    for (const [action, body] of await escapes()) {
      const [status, code, error] = await client.refused(action, body);
      const orders = action === 'usdc-permit' || action === 'ctf-split' ? [lower, bid] : [higher, ask];
      assert.deepEqual([action, status, code, error.endsWith(`orders ${orders.map(({ orderHash }) => orderHash).join(', ')}`)], [action, 409, 'relay_cover_needed', true], error);
    }
    for (const [wallet, { orderHash }] of [[alice, lower], [bob, higher]] as const) {
      const headers = await cancelHeaders(exchange.signing, wallet, { orderHash });
      const { status } = await exchange.request('DELETE', `/api/v1/orders/${orderHash}?marketId=${rain.marketId}`, { headers });
      assert.equal(status, 200);
    }
    await node.rpc('evm_setAutomine', [true]);
    await node.rpc('evm_mine');
    await settled(exchange, bid.position);
    const [[, permit], , [, approval]] = await escapes();
    await client.relayed('usdc-permit', permit);
    await client.relayed('ctf-approval', approval);
    await eventually('both are gone', async () => (
      await node.read('collateral', 'allowance', [alice.address, node.chain.contracts.settlement]) === 0n
      && await node.read('conditionalTokens', 'isApprovedForAll', [bob.address, node.chain.contracts.settlement]) === false
        ? true
        : undefined));
  });

  it('who takes it away by a transaction of their own, for the second time, places no order for 30 s', async () => {
    await node.approveShares(bob);
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 500_000, size: 20 * ONE });
    for (const defaults of [1, 2]) {
      // Withdrawn by the test before, so that the fill cannot be settled first; this chain's balances are not checked.
      const bid = await exchange.place(alice, { marketId: rain.marketId, price: 500_000, size: ONE });
      assert.equal(bid.body['matches'], 1);
      const events = await eventsOf(exchange, 'TraderDefaulted', await settled(exchange, bid.position));
      assert.deepEqual(events.map((event) => [event.trader, event.defaults]), [1, 2].slice(0, defaults).map((n) => [lowerCase(alice), n]));
    }
    const body = await signedBody(exchange.signing, alice, { marketId: rain.marketId, price: 500_000, size: ONE, nonce: 9_999 });
    const { suspendedUntil } = await exchange.refused('trader_suspended', 'POST', '/api/v1/orders', { body });
    const secondsLeft = Number(suspendedUntil) - Date.now() / 1_000;
    assert.ok(secondsLeft > 0 && secondsLeft < 31, `${secondsLeft} s`);
  });
});
