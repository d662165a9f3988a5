/** The whole exchange on go-ethereum: deployment, exposure, settlement, facts, a collateral that stands still, and the relayer with its refusals. */
import assert from 'node:assert/strict';
import {
  ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventsOf, eventually, merge, permitOf, readiness, settled,
} from '../support/exchange-on-chain.js';
import { alice, bob, carol, exchangeStack, signedBody, type ExchangeStack, type Fields } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { bearerToken, gaslessClient, type GaslessClient } from '../support/gasless-wallet.js';
import { GETH_CHAIN_ID, gethChain, type GethChain } from '../support/geth.js';

const USDC = BigInt(ONE);
const BOND = 10n * USDC;

describe('the exchange on go-ethereum', function () {
  this.timeout(180_000);
  let node: GethChain;
  let exchange: ExchangeStack;
  let rain: DeployedMarket, sun: DeployedMarket;
  let last: number;

  before(async () => {
    node = await gethChain({ chain: { exposureCheck: true }, disputeWindowS: 60n });
    rain = await node.createMarket({ question: 'Will it rain?', bond: BOND });
    sun = await node.createMarket({ question: 'Will the sun shine?', bond: BOND });
    const key = node.accounts[8]!;
    exchange = await exchangeStack({}, [node.configured({ relayerKey: key.privateKey, relayer: key.address.toLowerCase() })]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const body = (fields: Fields) => signedBody(exchange.signing, alice, { marketId: rain.marketId, price: 600_000, nonce: 1_000_000, ...fields });
  const trade = async (size: number) => {
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 600_000, size });
    const bid = await exchange.place(alice, { marketId: rain.marketId, price: 600_000, size });
    assert.equal(bid.body['matches'], 1);
    return bid.position;
  };
  const sent = async () => eventsOf(exchange, 'SettlementSubmitted', (await readiness(exchange)).engine.position - 1);
  const compare = async () => {
    last = await caughtUp(exchange, node);
    for (const market of [rain, sun]) await assertPositionsAreBalances(exchange, { node, market, traders: [alice, bob, carol], position: last });
  };

  it('has its markets, and refuses an order that its trader cannot pay for, with what is missing', async () => {
    last = await caughtUp(exchange, node);
    const { markets } = await exchange.get('/api/v1/markets', last) as { markets: { id: string; chainId: number }[] };
    assert.deepEqual(markets.map(({ id, chainId }) => [id, chainId]), [sun, rain].map(({ marketId }) => [marketId, GETH_CHAIN_ID]));
    await exchange.refused('insufficient_balance', 'POST', '/api/v1/orders', { body: await body({ size: ONE }) });
    await node.mint(alice, 100n * USDC);
    last = await caughtUp(exchange, node);
    await exchange.refused('insufficient_allowance', 'POST', '/api/v1/orders', { body: await body({ size: ONE }) });
  });

  it('settles a bid with a permit: money and shares move, and the history has the chain\'s facts', async () => {
    await node.equip(bob, { shares: 100n * USDC, market: rain });
    await compare();
    const [hadAlice, hadBob] = [await node.usdcOf(alice), await node.usdcOf(bob)];
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 600_000 });
    const permit = await permitOf(exchange, node, { trader: alice });
    const bid = await exchange.place(alice, { marketId: rain.marketId, price: 620_000, size: 4 * ONE }, permit);
    assert.equal(bid.body['matches'], 1);
    last = await settled(exchange, bid.position);
    assert.deepEqual([await node.usdcOf(alice) - hadAlice, await node.usdcOf(bob) - hadBob], [-2_400_000n, 2_400_000n]);
    await merge(node, bob, rain, 10 * ONE);
    await compare();
    const [submitted, done] = [await eventsOf(exchange, 'SettlementSubmitted', last), await eventsOf(exchange, 'FillSettled', last)];
    assert.deepEqual(done.map(({ fill, txHash }) => [fill, txHash]), [[0, submitted[0]!.txHash]]);
    assert.equal(await assertAnchored(exchange, node, last), 1);
  });

  it('settles a whole batch of one transaction', async () => {
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 610_000, size: 20 * ONE });
    let position = 0;
    for (let i = 0; i < 20; i++) position = (await exchange.place(alice, { marketId: rain.marketId, price: 610_000, size: ONE })).position;
    last = await settled(exchange, position);
    await compare();
  });

  it('fails a fill for the party that the stablecoin refuses, and waits while the stablecoin stands still', async () => {
    await node.send(node.operator, 'collateral', 'blacklist', [alice.address]);
    last = await settled(exchange, await trade(ONE));
    const { failedTrades: [failed] } = await exchange.get('/api/v1/failed-trades', last) as { failedTrades: [{ reason: string }] };
    assert.equal(failed.reason, 'transfer_rejected');
    await node.send(node.operator, 'collateral', 'unBlacklist', [alice.address]);

    await node.send(node.operator, 'collateral', 'pause', []);
    await caughtUp(exchange, node);
    const before = await sent();
    const position = await trade(ONE);
    await eventually('it is tried in vain', async () => {
      const { length } = await sent();
      const { count } = await exchange.get('/api/v1/pending-trades') as { count: number };
      return length > before.length && count === 1 ? true : undefined;
    });
    await node.send(node.operator, 'collateral', 'unpause', []);
    last = await settled(exchange, position);
    await compare();
  });

  describe('the relayer', () => {
    let client: GaslessClient;
    before(async () => {
      client = await gaslessClient({ url: exchange.url, token: await bearerToken(exchange.databaseUrl) });
      await node.mint(carol, 1_000n * USDC);
      await caughtUp(exchange, node);
    });

    const done = async (action: string, signed: unknown) => {
      const txHash = await client.relayed(action, signed);
      const { status } = await eventually(`${action} is mined`, async () =>
        (await node.rpc('eth_getTransactionReceipt', [txHash]) as { status: string } | null) ?? undefined);
      assert.equal(status, '0x1', action);
      return txHash;
    };

    it('tells why geth says that a call would revert: an error of the contract with its values, and a text', async () => {
      const { bodies } = client;
      const sets = { conditionId: rain.marketId, amount: 10n * USDC };
      const split = await client.refused('ctf-split', await bodies.sets(carol, 'ctf-split', sets));
      assert.deepEqual(split.slice(0, 2), [422, 'relay_would_revert']);
      assert.match(split[2], /allowance/i);
      const merging = await client.refused('ctf-merge', await bodies.sets(carol, 'ctf-merge', sets));
      assert.deepEqual(merging.slice(0, 2), [422, 'relay_would_revert']);
      assert.match(merging[2], /^[^:]*: \w+\(.*\d.*\)/, 'the error and its values');
    });

    it('approves, permits, splits and merges for a wallet without gas, and knows its transactions again', async () => {
      const { bodies, contracts } = client;
      await done('ctf-approval', await bodies.approval(carol));
      await done('usdc-permit', await bodies.permit(carol, { value: 2n ** 256n - 1n }));
      await done('usdc-permit', await bodies.permit(carol, { spender: contracts['conditionalTokens'], value: 500n * USDC }));
      await done('ctf-split', await bodies.sets(carol, 'ctf-split', { conditionId: rain.marketId, amount: 100n * USDC }));
      const merging = await bodies.sets(carol, 'ctf-merge', { conditionId: rain.marketId, amount: 40n * USDC });
      const txHash = await done('ctf-merge', merging);
      assert.deepEqual(await node.sharesOf(carol, rain), { yes: 60n * USDC, no: 60n * USDC });
      await eventually('the same request again gives its transaction', async () => (await client.post('ctf-merge', merging)).body.tx_hash === txHash ? true : undefined);
      await compare();
      assert.equal(await node.provider.getBalance(carol), 0n);
    });

    it('lets that wallet trade what it has', async () => {
      await exchange.place(carol, { marketId: rain.marketId, side: 1, price: 590_000, size: 5 * ONE });
      const bid = await exchange.place(alice, { marketId: rain.marketId, price: 590_000, size: 5 * ONE });
      assert.equal(bid.body['matches'], 1);
      last = await settled(exchange, bid.position);
      await compare();
    });
  });
});
