/** The client's relayer on a real chain: a market's life without gas, in which messages that are sent at once wait for each other's nonces. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import { connect, Outcome, Side, UNLIMITED, type Client, type Hex, type Placed } from '../../client/src/client.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { eventually, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { bearerToken, relayedExchange } from '../support/gasless-wallet.js';
import type { ExchangeStack } from '../harness/exchange.js';

const USDC = 1_000_000n;
const BOND = 10n * USDC;
/** More than the market's trades take on any machine: its end comes when the chain's time passes. */
const OPEN_S = 600;
const DISPUTE_WINDOW_S = 60;
/** What clients sign has to be valid on a chain that is so far ahead of their clocks. */
const TIMEOUT_MS = 2 * (OPEN_S + DISPUTE_WINDOW_S) * 1_000;

describe('client: the relayer', function () {
  this.timeout(180_000);
  const [ann, ben] = [new Wallet(id('client relay: ann')), new Wallet(id('client relay: ben'))];
  let node: TradedChain;
  let exchange: ExchangeStack;
  let clients: Readonly<Record<'ann' | 'ben', Client>>;
  let rain: DeployedMarket;
  let market: Hex;

  before(async () => {
    node = await tradedChain({ disputeWindowS: BigInt(DISPUTE_WINDOW_S) });
    for (const wallet of [ann, ben]) await node.mint(wallet, 100n * USDC);
    const expiration = Math.max(await node.now(), Math.floor(Date.now() / 1_000)) + OPEN_S;
    rain = await node.createMarket({ question: 'Will it rain?', expiration, bond: BOND });
    market = rain.marketId as Hex;
    ({ exchange } = await relayedExchange(node));
    const token = await bearerToken(exchange.databaseUrl);
    const of = (signer: Wallet) => connect({ url: exchange.url, signer, token, timeoutMs: TIMEOUT_MS });
    clients = { ann: of(ann), ben: of(ben) };
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const has = (what: string, isSo: () => Promise<boolean>) => eventually(what, async () => await isSo() || undefined);

  it('approves and permits; what is so already needs no transaction', async () => {
    const { relay } = clients.ann;
    const relayed = await Promise.all([relay.approve(), relay.permit({ value: UNLIMITED }), relay.permit({ spender: 'conditionalTokens', value: '60' })]);
    for (const { txHash } of relayed) assert.match(txHash!, /^0x[0-9a-f]{64}$/);
    const { settlement, conditionalTokens } = node.chain.contracts;
    await has('the approval', async () => await node.read('conditionalTokens', 'isApprovedForAll', [ann.address, settlement]) === true);
    await has('the permits', async () => await node.read('collateral', 'allowance', [ann.address, conditionalTokens]) === 60n * USDC);
    assert.deepEqual(await relay.approve(), { txHash: undefined });
  });

  it('splits and merges, also many at once: each waits for the nonce of the one before', async () => {
    const { relay } = clients.ann;
    const relayed = await Promise.all([relay.split(market, '20'), relay.split(market, '10'), relay.split(market, 5n * USDC), relay.merge(market, '1')]);
    assert.equal(new Set(relayed.map(({ txHash }) => txHash)).size, 4);
    await has('34 sets', async () => {
      const { yes, no } = await node.sharesOf(ann, rain);
      return yes === 34n * USDC && no === 34n * USDC;
    });
  });

  it('trades, with a permit in the order', async () => {
    const placed = await clients.ann.place({ market, side: Side.Sell, outcome: Outcome.Yes, price: '0.6', size: '10' });
    const permit = await clients.ben.relay.signPermit({ value: '6' });
    const taken: Placed = await clients.ben.place({ market, side: Side.Buy, outcome: Outcome.Yes, price: '0.6', size: '10', permit });
    assert.equal(taken.matches, 1);
    await settled(exchange, taken.position);
    assert.equal((await clients.ann.read.order(placed.orderHash)).status, 'filled');
    const { yesShares, totalInvested } = await clients.ben.read.position(market, clients.ben.address);
    assert.deepEqual([yesShares, totalInvested], [10n * USDC, 6n * USDC]);
    assert.equal((await clients.ben.read.account({ user: clients.ben.address })).balance, 94n * USDC);
  });

  it('refuses as the relayer does', async () => {
    await assert.rejects(clients.ann.relay.propose(market, Outcome.Yes), { name: 'Refusal', status: 422, code: 'relay_would_revert' });
    await assert.rejects(connect({ url: exchange.url, signer: ann }).relay.approve(), { name: 'BadArgument', argument: 'token' });
    await assert.rejects(connect({ url: exchange.url, signer: ann, token: 'pex_x' }).relay.approve(), { name: 'Refusal', status: 401, code: 'invalid_token' });
  });

  it('proposes, settles and redeems, singly and several at once', async () => {
    await assert.rejects(clients.ann.relay.propose(market, Outcome.Yes), /MarketNotExpired/);
    await node.passUntil(rain.expiration);
    await clients.ann.relay.propose(market, Outcome.Yes);
    await has('the exchange knows of the proposal', async () => (await clients.ann.read.resolution(market)).assertion !== undefined);
    await assert.rejects(clients.ben.relay.settle(market), /DisputeWindowOpen/);
    await node.passUntil(await node.now() + DISPUTE_WINDOW_S + 1);
    await clients.ben.relay.settle(market);
    await has('the market is resolved', async () => (await clients.ben.read.resolution(market)).resolved);
    const [, [batch]] = await Promise.all([
      clients.ann.relay.redeem(market), clients.ben.relay.redeemMany([{ marketId: market, contractAddress: rain.address.toLowerCase() as Hex }]),
    ]);
    assert.match(batch!.txHash!, /^0x/);
    await has('both are paid', async () => await node.usdcOf(ann) === 100n * USDC + 6n * USDC - 10n * USDC && await node.usdcOf(ben) === 94n * USDC + 10n * USDC);
    await has('the exchange knows it', async () => (await clients.ben.read.payouts({ user: clients.ben.address }).take(1))[0]?.payout === 10n * USDC);
  });
});
