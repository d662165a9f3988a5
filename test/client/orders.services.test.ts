/** The client against the whole exchange: orders and cancels, what it reads of them at once, and lists page by page. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import { connect, OutcomeUnknown, Refusal, type Client, type Hex, type OrderRequest, type Placed } from '../../client/src/client.js';
import { Outcome, Side } from '../../client/src/vocabulary.js';
import { alice, bob, exchangeStack, type ExchangeStack } from '../harness/exchange.js';

describe('client: orders, on the whole exchange', function () {
  this.timeout(60_000);
  let exchange: ExchangeStack;
  let market: Hex;
  let [buyer, seller]: Client[] = [];
  before(async () => {
    exchange = await exchangeStack();
    market = exchange.rain.id as Hex;
    [buyer, seller] = [alice, bob].map((signer) => connect({ url: exchange.url, signer })) as [Client, Client];
  });
  afterEach(async () => {
    for (const client of [buyer!, seller!]) await client.cancelAll();
  });
  after(() => exchange.close());

  const bid = (changes: Partial<OrderRequest> = {}): OrderRequest => ({ market, side: Side.Buy, outcome: Outcome.Yes, price: '0.4', size: '10', ...changes });
  const ask = (changes: Partial<OrderRequest> = {}): OrderRequest => bid({ side: Side.Sell, price: '0.6', ...changes });

  it('places an order that its own reads show at once, and cancels it', async () => {
    const placed = await buyer!.place(bid({ size: '10.5' }));
    assert.deepEqual([placed.status, placed.matches, placed.replayed, placed.marketId], ['accepted', 0, false, market]);
    assert.equal(buyer!.position, placed.position);
    const order = await buyer!.read.order(placed.orderHash);
    assert.deepEqual([order.trader, order.side, order.outcome, order.price, order.size, order.status], [buyer!.address, Side.Buy, Outcome.Yes, 400_000n, 10_500_000n, 'open']);
    assert.equal(typeof order.nonce, 'bigint');
    const [open] = await buyer!.read.openOrders({ user: buyer!.address }).take(1);
    assert.deepEqual([open?.orderHash, open?.remainingSize], [placed.orderHash, 10_500_000n]);
    assert.equal((await buyer!.read.openOrdersIn(market, buyer!.address).take(9)).length, 1);
    assert.deepEqual(await buyer!.read.openOrdersIn(exchange.sun.id as Hex, buyer!.address).take(9), []);
    const cancelled = await buyer!.cancel(placed);
    assert.deepEqual([cancelled.status, cancelled.filledSize, cancelled.remainingSize], ['cancelled', 0n, 10_500_000n]);
    assert.equal((await buyer!.read.order(placed.orderHash)).status, 'cancelled');
    assert.deepEqual(await buyer!.cancel(placed), { ...cancelled, position: (await buyer!.cancel(placed)).position }, 'a repeat is answered the same');
  });

  it('reads in another client what this one has written, from its position on', async () => {
    const { orderHash } = await buyer!.place(bid());
    const other = connect({ url: exchange.url, position: buyer!.position });
    assert.equal((await other.read.order(orderHash)).status, 'open');
  });

  it('trades, and reads the trade with amounts as bigints', async () => {
    await seller!.place(ask({ size: '4' }));
    const taken = await buyer!.place(bid({ price: '0.65', size: '6', timeInForce: 'FAK' }));
    assert.deepEqual([taken.matches, taken.remainingSize], [1, 2_000_000n]);
    const [trade] = await buyer!.read.trades(market).take(1);
    const { price, size, buyer: by, seller: of, outcome } = trade!;
    assert.deepEqual([price, size, by, of, outcome], [600_000n, 4_000_000n, buyer!.address, seller!.address, Outcome.Yes]);
    assert.equal((await buyer!.read.ticker(market)).yes.lastPrice, 600_000n);
    assert.ok((await buyer!.read.stats(market)).totalVolume >= 2_400_000n);
  });

  it('sends a signed order again as it is: it is carried out once', async () => {
    const signed = await buyer!.sign(bid());
    const first = await buyer!.place(signed);
    const again = await buyer!.place(signed);
    assert.deepEqual([again.orderHash, again.position, again.replayed, again.orderStatus], [first.orderHash, first.position, true, 'open']);
    assert.equal((await buyer!.read.openOrders({ user: buyer!.address }).take(9)).length, 1);
  });

  it('places and cancels many, each with its own result', async () => {
    const twin = await buyer!.sign(bid({ price: '0.1' }));
    const results = await buyer!.placeBatch([bid({ price: '0.2' }), bid({ price: '0.99', postOnly: true, expiration: 1_000 }), twin, twin]);
    assert.deepEqual(results.map((result) => result instanceof Error ? (result as Refusal).code : result.replayed), [false, 'invalid_expiration', false, true]);
    const placed = results.filter((result): result is Placed => !(result instanceof Error));
    const unknown = `0x${'77'.repeat(32)}` as const;
    const cancelled = await buyer!.cancelMany([placed[0]!, { orderHash: unknown }, placed[1]!]);
    assert.deepEqual(cancelled.map((result) => result instanceof Refusal ? result.code : result.status), ['cancelled', 'unknown_order', 'cancelled']);
  });

  it('cancels more than one request takes', async () => {
    const orders: Placed[] = [];
    for (let i = 0; i < 8; i++) {
      const results = await buyer!.placeBatch(Array.from({ length: 15 }, (_, j) => bid({ price: BigInt(1_000 + i * 15 + j) })));
      orders.push(...results as Placed[]);
    }
    const cancelled = await buyer!.cancelMany(orders);
    assert.deepEqual(new Set(cancelled.map((result) => result instanceof Error ? result.message : result.status)), new Set(['cancelled']));
    assert.equal(cancelled.length, 120);
  });

  it('cancels all, also those that were placed since the time before', async () => {
    for (let i = 0; i < 2; i++) {
      await buyer!.placeBatch([bid(), bid({ price: '0.3' }), bid({ market: exchange.sun.id as Hex })]);
      assert.equal((await buyer!.cancelAll({ market })).cancelled, 2);
      assert.equal((await buyer!.cancelAll()).cancelled, 1);
    }
    const other = connect({ url: exchange.url, signer: alice });
    await buyer!.place(bid());
    assert.equal((await other.cancelAll()).cancelled, 1, 'a program that signs in the same second is not taken for a repeat');
  });

  it('reduces an order, and arms and disarms the switch', async () => {
    const placed = await buyer!.place(bid());
    const reduced = await buyer!.reduce(placed, '4');
    assert.deepEqual([reduced.status, reduced.size], ['reduced', 4_000_000n]);
    await assert.rejects(buyer!.reduce(placed, '5'), { name: 'Refusal', code: 'not_reduced' });
    assert.equal((await buyer!.cancelAfter({ seconds: 60 })).status, 'armed');
    assert.deepEqual(await buyer!.cancelAfter({ seconds: 0 }).then(({ status, cancelAt }) => [status, cancelAt]), ['disarmed', null]);
  });

  it('checks what an order would do', async () => {
    await seller!.place(ask({ size: '4' }));
    const checked = await buyer!.check(bid({ price: '0.65', size: '6' }));
    assert.deepEqual([checked.accepted, checked.filledSize, checked.restingSize, checked.cost], [true, 4_000_000n, 2_000_000n, 2_400_000n]);
    assert.equal((await buyer!.check(bid({ expiration: 1_000 }))).refusal?.code, 'invalid_expiration');
  });

  it('refuses with the API\'s code', async () => {
    await assert.rejects(buyer!.place(bid({ market: `0x${'12'.repeat(32)}` })), { name: 'Refusal', code: 'unknown_market', status: 404 });
    await seller!.place(ask());
    await assert.rejects(buyer!.place(bid({ price: '0.6', postOnly: true })), { name: 'Refusal', code: 'would_match' });
    await assert.rejects(connect({ url: exchange.url }).place(bid()), { name: 'BadArgument', argument: 'signer' });
  });

  it('goes through lists page by page, each entry once', async () => {
    for (let i = 0; i < 2; i++) await buyer!.placeBatch(Array.from({ length: 13 }, (_, j) => bid({ price: BigInt(2_000 + 13 * i + j) })));
    const orders = buyer!.read.openOrders({ user: buyer!.address }, { pageSize: 10 });
    const sizes: number[] = [];
    for await (const page of orders.byPage()) sizes.push(page.length);
    assert.deepEqual(sizes, [10, 10, 6]);
    const hashes = new Set<string>();
    for await (const { orderHash } of orders) hashes.add(orderHash);
    assert.equal(hashes.size, 26);
    assert.equal((await orders.take(3)).length, 3);
    const markets: string[] = [];
    for await (const each of buyer!.read.markets({ state: 'all' }, { pageSize: 1 })) markets.push(each.id);
    assert.deepEqual(new Set(markets), new Set([exchange.rain.id, exchange.sun.id]));
  });

  it('reads the whole history, and a part of it', async () => {
    const placed = await buyer!.place(bid());
    const positions: number[] = [];
    for await (const { position } of buyer!.read.history({}, { pageSize: 5 })) positions.push(position);
    assert.deepEqual(positions, positions.map((_, i) => i));
    assert.ok(positions.includes(placed.position));
    const [accepted] = await buyer!.read.history({ from: placed.position, trader: buyer!.address, event: 'OrderAccepted' }).take(1);
    assert.equal(accepted?.position, placed.position);
  });

  it('finds its order where the answer was lost, by asking again with the same bytes', async () => {
    let isCut = true;
    const client = connect({
      url: exchange.url, signer: new Wallet(id('client: cut off')), timeoutMs: 100,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (isCut && init.method === 'POST') throw new TypeError('the answer is lost');
        return response;
      },
    });
    const unknown = await client.place(bid()).then(() => assert.fail('it was answered'), (error: unknown) => error);
    assert.ok(unknown instanceof OutcomeUnknown);
    isCut = false;
    const placed = await (unknown as OutcomeUnknown<Placed>).again();
    assert.equal(placed.replayed, true);
    assert.equal((await client.resend(unknown.request) as Placed).orderHash, placed.orderHash);
    assert.deepEqual((await client.read.openOrders({ user: client.address }).take(9)).map(({ orderHash }) => orderHash), [placed.orderHash]);
  });
});
