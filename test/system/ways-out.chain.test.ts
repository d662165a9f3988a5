/** Standard markets that would be locked, at the exchange on a chain: one is proposed under a risen bond, another is paid half to half. */
import assert from 'node:assert/strict';
import { Wallet, ZeroHash, id } from 'ethers';
import { TEST_CHAIN_ID } from '../support/chain.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { caughtUp, eventsOf, eventually, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { type ExchangeStack, type Fields } from '../harness/exchange.js';
import { relayedExchange, type GaslessClient } from '../support/gasless-wallet.js';
import { resolutionActs } from '../support/resolution-acts.js';

const USDC = 1_000_000n;
const BOND = 10n * USDC;
const RISEN = 25n * USDC;
const WINDOW_S = 7_200;
const HALVE_S = 30 * 86_400;

describe('markets that would be locked, at the exchange on a chain', function () {
  this.timeout(120_000);
  const ann = new Wallet(id('ways out: ann'));
  let node: TradedChain;
  let exchange: ExchangeStack;
  let acts: ReturnType<typeof resolutionActs>;
  let client: GaslessClient;
  let dear: DeployedMarket, empty: DeployedMarket;

  before(async () => {
    node = await tradedChain();
    acts = resolutionActs(node);
    const expiration = await node.now() + 3;
    dear = await node.createMarket({ question: 'Does the bond rise?', expiration, bond: BOND });
    empty = await node.createMarket({ question: 'Is it neither?', expiration, bond: BOND });
    await node.fund(ann);
    await node.mint(ann, 8n * USDC + RISEN);
    await node.split(ann, empty, 8n * USDC);
    await acts.transact(node.operator, acts.at('oracle'), 'setParameters', [RISEN / 2n, true]);
    await acts.passes(3);
    ({ exchange, client } = await relayedExchange(node));
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const resolutionOf = async ({ marketId }: DeployedMarket) => exchange.get(`/api/v1/resolution/${marketId}`, await caughtUp(exchange, node));
  const expired = (market: DeployedMarket) => eventually('the exchange has it as expired', async () => {
    const found = await resolutionOf(market);
    return found['expired'] === true ? found : undefined;
  });
  const mined = (txHash: string) => eventually(`${txHash} is mined`, async () => (
    (await node.rpc('eth_getTransactionReceipt', [txHash]) as { status: string } | null)?.status));

  it('are told: proposable under the risen bond, which the nonces name too, and halvable a month after the expiration', async () => {
    for (const market of [dear, empty]) {
      assert.deepEqual(await expired(market), {
        marketId: market.marketId, expired: true, resolved: false,
        proposal: { bond: String(RISEN), refusal: null }, halvableFrom: market.expiration + HALVE_S,
      });
    }
    const { markets } = await exchange.get(`/api/v1/users/${ann.address}/nonces?chain_id=${TEST_CHAIN_ID}`) as { markets: { bond: string }[] };
    assert.deepEqual(markets.map(({ bond }) => bond), [String(RISEN), String(RISEN)]);
  });

  it('are proposed under that bond by the relayer, and settled', async () => {
    const { bodies } = client;
    const wrong = await client.refused('propose-resolution', await bodies.proposal(ann, { market: dear.address, marketId: dear.marketId, bond: BOND }));
    assert.deepEqual(wrong.slice(0, 2), [400, 'relay_wrong_signer']);
    assert.match(wrong[2], new RegExp(`and bond ${RISEN} has the digest`));
    const body = await bodies.proposal(ann, { market: dear.address, marketId: dear.marketId, bond: RISEN });
    assert.equal(await mined(await client.relayed('propose-resolution', body)), '0x1');
    const { assertion, ...rest } = await resolutionOf(dear) as Fields & { assertion: { bondAmount: string } };
    assert.deepEqual([rest, assertion.bondAmount], [{ marketId: dear.marketId, expired: true, resolved: false }, String(RISEN)]);
    await acts.passes(WINDOW_S);
    const settlement = await bodies.settlement(ann, { market: dear.address, marketId: dear.marketId });
    assert.equal(await mined(await client.relayed('settle-market', settlement)), '0x1');
    assert.equal((await resolutionOf(dear))['winningOutcome'], 0);
    assert.equal(await node.usdcOf(ann), RISEN);
  });

  it('are paid half to half by the administrator; the history has it from the chain, and shares are redeemed for one half', async () => {
    await acts.passes(HALVE_S);
    await acts.transact(node.operator, acts.at('oracleResolver'), 'halve', [empty.address]);
    assert.deepEqual(await resolutionOf(empty), { marketId: empty.marketId, expired: true, resolved: true, halved: true });
    const last = await caughtUp(exchange, node);
    assert.deepEqual(await eventsOf(exchange, 'MarketHalved', last), [{ type: 'MarketHalved', v: 1, marketId: empty.marketId }]);
    await node.send(ann, 'conditionalTokens', 'redeemPositions', [node.chain.contracts.collateral, ZeroHash, empty.marketId, [2n]]);
    assert.equal(await node.usdcOf(ann), RISEN + 4n * USDC);
    const { settlements } = await exchange.get(`/api/v1/users/${ann.address}/activity?chain_id=${TEST_CHAIN_ID}`, await caughtUp(exchange, node)) as {
      settlements: Fields[];
    };
    assert.deepEqual(settlements.map(({ marketId, payout, winningOutcome }) => ({ marketId, payout, winningOutcome })), [
      { marketId: empty.marketId, payout: Number(4n * USDC), winningOutcome: null },
    ]);
  });
});
