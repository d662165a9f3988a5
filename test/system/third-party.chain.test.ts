/** A settlement worker of somebody else's, by docs/events.md alone: the fill feed, the signed orders of the history, and the contract. */
import assert from 'node:assert/strict';
import { ZeroAddress, id } from 'ethers';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import type { FillMatchedMessage, SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import type { Order } from '../../contracts-abi/settlement.js';
import { deployedChain, type DeployedChain, type DeployedMarket, type Receipt } from '../support/deployed-chain.js';
import { ONE, assertAnchored, assertPositionsAreBalances, caughtUp, settled } from '../support/exchange-on-chain.js';
import { alice, bob, carol, exchangeStack, type ExchangeStack } from '../harness/exchange.js';

interface HistoryPage {
  readonly next: number;
  readonly events: readonly {
    readonly position: number;
    readonly digest: string;
    readonly command: PlaceOrder;
    readonly outcome: { readonly at: number; readonly events: readonly Event[] };
  }[];
}

/** An estimate would be too low: with too little gas the contract leaves fills alone, and succeeds. */
const GAS = 2_000_000;

describe('a third party', function () {
  this.timeout(120_000);
  let node: DeployedChain;
  let market: DeployedMarket;
  let exchange: ExchangeStack;

  before(async () => {
    node = await deployedChain();
    market = await node.createMarket({ question: 'Will it rain?' });
    await node.equip(alice, { usdc: BigInt(10 * ONE) });
    await node.equip(bob, { shares: BigInt(10 * ONE), market });
    const configured = { chain: node.chain, rpcUrls: [node.url], operatorKey: node.accounts[9]!.privateKey, pollMs: 50, stalledAfterMs: Infinity };
    exchange = await exchangeStack({ ROLES: 'api,query,engine,projections,indexer' }, [configured]);
    await caughtUp(exchange, node);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const history = async (query: string) => await exchange.get(`/api/v1/events?${query}`) as unknown as HistoryPage;

  /** All messages of the feed so far. */
  async function feed(): Promise<SequencedMessage[]> {
    const sequencer = createSequencer(FEED_START);
    const messages: SequencedMessage[] = [];
    for (let page = await history('from=0'); page.events.length > 0; page = await history(`from=${page.next}`)) {
      messages.push(...page.events.flatMap(({ position, digest, outcome }) => sequencer.take({ position, digest, ...outcome })));
    }
    return messages;
  }

  async function signedOrder(orderNumber: number): Promise<{ order: Order; signature: string }> {
    const { events: [entry] } = await history(`from=${orderNumber}&limit=1`);
    const { marketId, trader, signature, ...command } = entry!.command;
    const [side, outcome, price, size, nonce, expiration] = (['side', 'outcome', 'price', 'size', 'nonce', 'expiration'] as const)
      .map((name) => BigInt(command[name])) as [bigint, bigint, bigint, bigint, bigint, bigint];
    return { order: { marketId, trader, side, outcome, price, size, nonce, expiration, makerFeeRecipient: ZeroAddress }, signature };
  }

  /** Sends the fills in one batch, each order once. */
  async function settle(fills: readonly FillMatchedMessage[], newest: SequencedMessage): Promise<Receipt> {
    const numbers = [...new Set(fills.flatMap(({ makerNumber, takerNumber }) => [makerNumber, takerNumber]))];
    const orders = await Promise.all(numbers.map(signedOrder));
    const batch = fills.map(({ fill, takerSide, price, size, makerNumber, takerNumber }) => {
      const [maker, taker] = [numbers.indexOf(makerNumber), numbers.indexOf(takerNumber)];
      const [buyIndex, sellIndex] = takerSide === 0 ? [taker, maker] : [maker, taker];
      return { seq: fill, buyIndex, sellIndex, price, size };
    });
    return await node.send(node.accounts[5]!, 'settlement', 'settleBatch', [
      orders.map(({ order }) => order), orders.map(({ signature }) => signature), [], batch, newest.message.position, newest.digest,
    ], GAS);
  }

  it('settles fills by what is public, each once, and the history and the feed say what became of them', async () => {
    await node.send(node.operator, 'settlement', 'grantRole', [id('OPERATOR_ROLE'), node.accounts[5]!.address]);
    const order = { marketId: market.marketId, outcome: 0, price: 500_000 };
    await exchange.place(bob, { ...order, side: 1, size: 8 * ONE });
    await exchange.place(alice, { ...order, side: 0, size: 5 * ONE });
    const { position } = await exchange.place(carol, { ...order, side: 0, size: 3 * ONE });
    await exchange.get('/api/v1/markets', position);
    const messages = await feed();
    const fills = messages.flatMap(({ message }) => message.type === 'FillMatched' ? [message] : []);
    assert.deepEqual(fills.map(({ fill, size }) => [fill, size]), [[0, '5000000'], [1, '3000000']]);
    await settle(fills, messages.at(-1)!);
    await settle(fills, messages.at(-1)!);
    const last = await settled(exchange, await caughtUp(exchange, node));
    const ended = (await feed()).flatMap(({ message }) => message.type === 'FillSettled' || message.type === 'FillFailed' ? [message] : []);
    assert.deepEqual(ended.map((message) => [message.fill, message.type, 'reason' in message ? message.reason : undefined]), [
      [0, 'FillSettled', undefined], [1, 'FillFailed', 'buyer_insufficient_balance'],
    ]);
    assert.equal(await node.read('settlement', 'isSettled', [1]), true);
    assert.equal(await assertAnchored(exchange, node, last), 2);
    await assertPositionsAreBalances(exchange, { node, market, traders: [alice, bob, carol], position: last });
  });
});
