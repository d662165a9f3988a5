/** Shares beside trading, at the whole exchange on a chain: transfers, merges, sync with the chain, resolution and redemption. */
import assert from 'node:assert/strict';
import { ZeroHash, id } from 'ethers';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { marketIdOf } from '../../stack/chain/create-markets.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { ONE, assertPositionsAreBalances, caughtUp, eventsOf, eventually, merge, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, carol, exchangeStack, lower, signedBody, type ExchangeStack } from '../harness/exchange.js';
import { targetAt, BOND, signedResolutions, type Arguments } from '../support/market-contracts.js';

const CHAIN = 'chain_id=31337';
const HOUR_S = 3_600;
const traders = [alice, bob, carol];

describe('the exchange on a chain: shares, resolution, sync', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let rain: DeployedMarket, sun: DeployedMarket;
  let last: number;

  before(async () => {
    node = await tradedChain();
    rain = await node.createMarket({ question: 'Will it rain?', bond: BOND });
    sun = await node.createMarket({ question: 'Will the sun shine?' });
    await node.equip(bob, { usdc: BigInt(5 * ONE), shares: BigInt(20 * ONE), market: rain });
    await node.equip(alice, { usdc: BigInt(100 * ONE) });
    exchange = await exchangeStack({}, [node.configured()]);
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 500_000, size: 8 * ONE });
    last = (await exchange.place(alice, { marketId: rain.marketId, price: 500_000, size: 8 * ONE })).position;
    last = await settled(exchange, last);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const read = (path: string) => exchange.get(path, last);
  const compare = async () => { await assertPositionsAreBalances(exchange, { node, market: rain, traders, position: last }); };
  const positionOf = async (trader: typeof alice) => read(`/api/v1/positions/${rain.marketId}?user=${trader.address}`);

  it('follows transfers, of one outcome and of both, with their part of the cost, and merges', async () => {
    const { send, chain: { contracts } } = node;
    await send(alice, 'conditionalTokens', 'safeTransferFrom', [alice.address, carol.address, rain.yesId, 2 * ONE, '0x']);
    await send(bob, 'conditionalTokens', 'safeBatchTransferFrom', [bob.address, carol.address, [rain.yesId, rain.noId], [3 * ONE, 4 * ONE], '0x']);
    last = await caughtUp(exchange, node);
    // Bob's shares cost 0.50 each: half of a set.
    assert.deepEqual(await positionOf(alice), { yesShares: 6 * ONE, noShares: 0, totalInvested: 3 * ONE, yesCost: 3 * ONE, noCost: 0 });
    assert.deepEqual(await positionOf(carol), {
      yesShares: 5 * ONE, noShares: 4 * ONE, totalInvested: 4_500_000, yesCost: 2_500_000, noCost: 2 * ONE,
    });
    await compare();
    await node.rpc('anvil_setBalance', [carol.address, '0xde0b6b3a7640000']);
    await merge(node, carol, rain, 3 * ONE);
    await send(bob, 'conditionalTokens', 'safeTransferFrom', [bob.address, contracts.settlement, rain.noId, 0, '0x']).then(
      () => assert.fail('the settlement contract takes no shares'), () => undefined);
    last = await caughtUp(exchange, node);
    assert.deepEqual(await positionOf(carol), { yesShares: 2 * ONE, noShares: ONE, totalInvested: 1_500_000, yesCost: ONE, noCost: 500_000 });
    await compare();
  });

  describe('sync', () => {
    const syncPath = (market: string) => `/api/v1/positions/${market}/sync`;
    const sync = (market: string, user: typeof alice) =>
      exchange.request('POST', syncPath(market), { body: JSON.stringify({ userAddress: user.address }) });

    it('finds nothing to correct where the facts tell all, by the market\'s id and by its contract', async () => {
      for (const market of [rain.marketId, rain.address]) {
        assert.deepEqual((await sync(market, carol)).body, {
          success: true, position: { yesShares: 2 * ONE, noShares: ONE, totalInvested: 1_500_000 }, message: 'Position equals on-chain balances already',
        });
      }
      assert.deepEqual(await eventsOf(exchange, 'PositionSynced', last), []);
    });

    it('finds shares that were split before their market came to be', async () => {
      const slug = 'early';
      const marketId = marketIdOf(node.chain, slug);
      const questionId = id(`prediction-exchange/31337/${slug}`);
      await node.send(carol, 'conditionalTokens', 'prepareCondition', [node.chain.contracts.oracleResolver, questionId, 2]);
      await node.mint(carol, BigInt(7 * ONE));
      await node.split(carol, { marketId }, BigInt(7 * ONE));
      const early = await node.createMarket({ question: `prediction-exchange/31337/${slug}` });
      assert.equal(early.marketId, marketId);
      last = await caughtUp(exchange, node);
      assert.deepEqual(await read(`/api/v1/positions/${marketId}?user=${carol.address}`), { yesShares: 0, noShares: 0 });
      const answer = await sync(early.address, carol);
      assert.deepEqual(answer.body, {
        success: true, position: { yesShares: 7 * ONE, noShares: 7 * ONE, totalInvested: 0 }, message: 'Position synced from on-chain balances',
      });
      last = answer.position;
      assert.deepEqual((await eventsOf(exchange, 'PositionSynced', last)), [
        { type: 'PositionSynced', v: 1, marketId, user: lower(carol), yesShares: String(7 * ONE), noShares: String(7 * ONE) },
      ]);
      await assertPositionsAreBalances(exchange, { node, market: early, traders, position: last });
      assert.equal((await sync(marketId, carol)).body['message'], 'Position equals on-chain balances already');
      await merge(node, carol, early, 7 * ONE);
      last = await caughtUp(exchange, node);
      assert.deepEqual(await read(`/api/v1/positions/${marketId}?user=${carol.address}`), { yesShares: 0, noShares: 0 });
    });

    it('sees at once what the chain has just done', async () => {
      await node.send(alice, 'conditionalTokens', 'safeTransferFrom', [alice.address, bob.address, rain.yesId, ONE, '0x']);
      const { body, position } = await sync(rain.marketId, alice);
      assert.deepEqual(body, {
        success: true, position: { yesShares: 5 * ONE, noShares: 0, totalInvested: 2_500_000 }, message: 'Position equals on-chain balances already',
      });
      last = position;
      await compare();
    });

    it('knows no other market', async () => {
      await exchange.refused('unknown_market', 'POST', syncPath(id('none')), { body: JSON.stringify({ userAddress: alice.address }) });
    });
  });

  describe('resolution', () => {
    const resolver = () => targetAt('OracleResolver', node.chain.contracts.oracleResolver, oracleResolver);
    const usdc = () => targetAt('TestUSDC', node.chain.contracts.collateral, testUsdc);
    const market = () => targetAt('Market', rain.address, marketArtifact);
    const signed = () => signedResolutions({
      oracleResolver: resolver(), usdc: usdc(),
      read: async ({ address, abi }, method, args = []) => {
        const data = await node.rpc('eth_call', [{ to: address, data: abi.encodeFunctionData(method, args) }, 'latest']);
        return abi.decodeFunctionResult(method, data as string)[0] as unknown;
      },
    });
    const proposer = bob;
    type Assertion = { readonly id: string; readonly settled: boolean; readonly settlementResolution: boolean };
    const relay = async (method: string, args: Arguments) => {
      const { address, abi } = resolver();
      const receipt = await node.rpc('eth_sendTransactionSync', [{ from: node.operator.address, to: address, data: abi.encodeFunctionData(method, args) }]);
      assert.equal((receipt as { status: string }).status, '0x1');
    };
    const inMarket = { marketQuestion: 'Will it rain?' };
    let asked: string;

    it('is proposed on the chain, and says what was asserted', async () => {
      await node.mint(proposer, BOND);
      const open = await exchange.place(alice, { marketId: rain.marketId, price: 10_000, size: ONE });
      asked = open.orderHash;
      const time = rain.expiration + HOUR_S;
      const proposal = await signed().proposal(proposer, market(), { bondPermit: await signed().bondPermit(proposer) });
      await node.rpc('evm_setNextBlockTimestamp', [time]);
      await relay('proposeWithSig', proposal);
      last = await caughtUp(exchange, node);
      const { assertion, ...rest } = await read(`/api/v1/resolution/${rain.marketId}`) as { assertion: Assertion };
      assert.deepEqual(rest, { marketId: rain.marketId, expired: false, resolved: false });
      assert.deepEqual(assertion, {
        id: assertion.id, proposer: lower(proposer), proposedOutcome: true, bondAmount: String(BOND), assertionTime: time,
        expirationTime: time + 2 * HOUR_S, settled: false, settlementResolution: false, disputed: false,
      });
    });

    it('is settled after two hours: the market leaves the list, and its orders go', async () => {
      await node.rpc('evm_setNextBlockTimestamp', [rain.expiration + 4 * HOUR_S]);
      await relay('settleWithSig', await signed().settlement(proposer, market()));
      last = await caughtUp(exchange, node);
      const { assertion, ...rest } = await read(`/api/v1/resolution/${rain.marketId}`) as { assertion: Assertion };
      assert.deepEqual(rest, { marketId: rain.marketId, expired: true, resolved: true, winningOutcome: 0 });
      assert.deepEqual([assertion.settled, assertion.settlementResolution], [true, true]);
      const { markets } = await read('/api/v1/markets') as { markets: { id: string }[] };
      assert.deepEqual(markets.map((each) => each.id), [marketIdOf(node.chain, 'early'), sun.marketId]);
      assert.equal(await eventually('the open order is swept', async () => {
        const { status, cancelReason } = await read(`/api/v1/orders/${asked}`);
        return status === 'open' ? undefined : `${String(status)} ${String(cancelReason)}`;
      }), 'cancelled market_closed');
      const body = await signedBody(exchange.signing, alice, { marketId: rain.marketId, nonce: 77 });
      await exchange.refused('market_closed', 'POST', '/api/v1/orders', { body });
      type Held = { readonly marketId: string; readonly resolved: boolean };
      const { positions } = await read(`/api/v1/users/${carol.address}/positions?${CHAIN}`) as { positions: Held[] };
      assert.deepEqual(positions.map((each) => [each.marketId, each.resolved]), [[rain.marketId, true]]);
    });

    it('pays the winners, who have no shares then; losers\' are worth nothing', async () => {
      const had = await node.usdcOf(carol);
      const redeem = (user: typeof alice) =>
        node.send(user, 'conditionalTokens', 'redeemPositions', [node.chain.contracts.collateral, ZeroHash, rain.marketId, [1n, 2n]]);
      const paid = await redeem(carol);
      const paidBob = await redeem(bob);
      last = await caughtUp(exchange, node);
      assert.equal(await node.usdcOf(carol) - had, BigInt(2 * ONE));
      for (const [user, payout, receipt] of [[carol, 2 * ONE, paid], [bob, 10 * ONE, paidBob]] as const) {
        const { settlements } = await read(`/api/v1/users/${user.address}/activity?${CHAIN}`) as { settlements: { timestamp: number }[] };
        assert.deepEqual(settlements, [{
          ...inMarket, marketId: rain.marketId, payout, winningOutcome: 0, timestamp: settlements[0]!.timestamp, txHash: receipt.transactionHash,
        }]);
        assert.deepEqual(await positionOf(user), { yesShares: 0, noShares: 0 });
      }
      assert.deepEqual(await positionOf(alice), { yesShares: 5 * ONE, noShares: 0, totalInvested: 2_500_000, yesCost: 2_500_000, noCost: 0 });
      await compare();
    });
  });
});
