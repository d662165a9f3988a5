/** Orders on the chain as time passes: expiry, cancels that take effect after their delay, and a market resolved before its fills settle. */
import assert from 'node:assert/strict';
import { SELL, USDC, results, onSettlementContracts, walletOf, type SettlementContracts, type SignedOrder } from '../support/settlement-contracts.js';
import type { Order } from '../../contracts-abi/settlement.js';

const buyer = walletOf('buyer');
const seller = walletOf('seller');
const DELAY = 120;

describe('contracts: orders over time', function () {
  this.timeout(60_000);
  let contracts: SettlementContracts;
  let start: number;
  let seq = 0n;
  onSettlementContracts(async (begun) => {
    contracts = begun;
    await contracts.fund(buyer.address, 100n * USDC);
    await contracts.stock(seller.address, contracts.marketId, 10n * USDC);
  });
  beforeEach(async () => {
    start = await contracts.now();
    seq = 0n;
  });

  const bid = (fields: Partial<Order> = {}) => contracts.order(buyer, { marketId: contracts.marketId, size: 5n * USDC, ...fields });
  const ask = (fields: Partial<Order> = {}) => contracts.order(seller, { marketId: contracts.marketId, side: SELL, size: 5n * USDC, ...fields });
  /** The result of a fill of one share in a block of that time. */
  const at = async (seconds: number, buy: SignedOrder, sell: SignedOrder): Promise<string> => {
    seq += 1n;
    await contracts.nextBlockAt(seconds);
    const fill = { seq, buyIndex: 0n, sellIndex: 1n, price: 600_000n, size: USDC };
    const lines = results(await contracts.settle({ orders: [buy, sell], fills: [fill] }));
    assert.equal(lines.length, 1);
    return lines[0]!.replace(/^\d+ /, '');
  };
  const cancelAt = async (seconds: number, ...orders: SignedOrder[]) => {
    await contracts.nextBlockAt(seconds);
    return await contracts.send(orders[0]!.order.trader, contracts.settlement, 'cancelOrders', [orders.map(({ order }) => order)]);
  };
  const cancelAllAt = async (seconds: number, belowNonce: bigint) => {
    await contracts.nextBlockAt(seconds);
    return await contracts.send(buyer.address, contracts.settlement, 'scheduleCancelAll', [belowNonce]);
  };

  it('an order lives until the second before its expiration', async () => {
    const early = { expiration: BigInt(start + 100) };
    const late = { expiration: BigInt(start + 101) };
    assert.equal(await at(start + 99, await bid(early), await ask(late)), 'settled');
    assert.equal(await at(start + 100, await bid(early), await ask(late)), 'order_expired of buyer');
    assert.equal(await at(start + 100 + 1, await bid(), await ask(late)), 'order_expired of seller');
    assert.equal(await at(start + 102, await bid(early), await ask(late)), 'order_expired of both');
  });

  it('a cancel takes effect 120 s later, so that a fill in flight settles', async () => {
    const { settlement, read } = contracts;
    const [buy, sell] = [await bid(), await ask()];
    assert.equal(await at(start + 5, buy, sell), 'settled');
    assert.deepEqual((await cancelAt(start + 10, buy)).events, [
      {
        event: 'OrderCancelled',
        args: { orderHash: buy.hash, trader: buyer.address, marketId: contracts.marketId, effectiveAt: BigInt(start + 10 + DELAY) },
      },
    ]);
    assert.equal(await read(settlement, 'cancelEffectiveAt', [buy.hash]), BigInt(start + 10 + DELAY));
    assert.equal(await at(start + 9 + DELAY, buy, sell), 'settled');
    assert.equal(await read(settlement, 'filled', [buy.hash]), 2n * USDC);
    assert.equal(await at(start + 10 + DELAY, buy, sell), 'order_cancelled of buyer');
    assert.equal(await read(settlement, 'filled', [buy.hash]), 2n * USDC);
    assert.equal(await read(settlement, 'filled', [sell.hash]), 2n * USDC);
    assert.equal(await at(start + 11 + DELAY, await bid({ nonce: 2n }), sell), 'settled');
  });

  it('a second cancel neither postpones nor says anything', async () => {
    const [buy, other, sell] = [await bid(), await bid({ nonce: 2n }), await ask()];
    await cancelAt(start + 10, buy);
    const again = await cancelAt(start + 100, buy, other);
    assert.deepEqual(again.events.map(({ args }) => [args.orderHash, args.effectiveAt]), [[other.hash, BigInt(start + 100 + DELAY)]]);
    assert.equal(await at(start + 10 + DELAY, buy, sell), 'order_cancelled of buyer');
    assert.equal(await at(start + 11 + DELAY, other, sell), 'settled');
  });

  it('only the trader cancels, and the seller\'s cancel is the seller\'s doing', async () => {
    const { refusal, settlement } = contracts;
    const [buy, sell] = [await bid(), await ask()];
    assert.equal(await refusal(seller.address, settlement, 'cancelOrders', [[sell.order, buy.order]]), `NotOrderTrader(${buy.hash},${buyer.address})`);
    await cancelAt(start + 1, sell);
    assert.equal(await at(start + 1 + DELAY, buy, sell), 'order_cancelled of seller');
    await cancelAt(start + 2 + DELAY, buy);
    assert.equal(await at(start + 2 + 2 * DELAY, buy, sell), 'order_cancelled of both');
  });

  it('all orders below a nonce are cancelled 120 s later, and that one is not', async () => {
    const { settlement, read } = contracts;
    const [below, exact, sell] = [await bid({ nonce: 9n }), await bid({ nonce: 10n }), await ask()];
    assert.deepEqual((await cancelAllAt(start + 10, 10n)).events, [
      { event: 'CancelScheduled', args: { trader: buyer.address, belowNonce: 10n, effectiveAt: BigInt(start + 10 + DELAY) } },
    ]);
    assert.equal(await at(start + 9 + DELAY, below, sell), 'settled');
    assert.equal(await at(start + 10 + DELAY, below, sell), 'order_cancelled of buyer');
    assert.equal(await at(start + 11 + DELAY, exact, sell), 'settled');
    assert.equal(await read(settlement, 'filled', [below.hash]), USDC);
    assert.deepEqual(await read(settlement, 'nonceFloor', [buyer.address]), [0n, 10n, BigInt(start + 10 + DELAY)]);
  });

  it('a cancel of all is neither weakened nor postponed: while it is pending there is no other', async () => {
    const { refusal, settlement, read } = contracts;
    const [first, second, sell] = [await bid({ nonce: 9n }), await bid({ nonce: 19n }), await ask()];
    await cancelAllAt(start + 10, 10n);
    for (const belowNonce of [5n, 10n, 20n]) {
      assert.equal(await refusal(buyer.address, settlement, 'scheduleCancelAll', [belowNonce]), `CancelAllPending(10,${start + 10 + DELAY})`);
    }
    await contracts.timeIs(start + 10 + DELAY);
    for (const belowNonce of [0n, 10n]) {
      assert.equal(await refusal(buyer.address, settlement, 'scheduleCancelAll', [belowNonce]), 'NonceFloorNotRaised(10)');
    }
    await cancelAllAt(start + 11 + DELAY, 20n);
    assert.deepEqual(await read(settlement, 'nonceFloor', [buyer.address]), [10n, 20n, BigInt(start + 11 + 2 * DELAY)]);
    assert.equal(await at(start + 12 + DELAY, first, sell), 'order_cancelled of buyer');
    assert.equal(await at(start + 10 + 2 * DELAY, second, sell), 'settled');
    assert.equal(await at(start + 11 + 2 * DELAY, second, sell), 'order_cancelled of buyer');
    assert.equal(await refusal(seller.address, settlement, 'scheduleCancelAll', [0n]), 'NonceFloorNotRaised(0)');
  });

  it('a cancel of all leaves nonces to trade with: no trader is locked out for ever', async () => {
    const { refusal, settlement, read } = contracts;
    const most = await read(settlement, 'MAX_NONCE_FLOOR') as bigint;
    assert.equal(most, 2n ** 64n - 2n ** 32n);
    for (const belowNonce of [most + 1n, 2n ** 64n - 1n]) {
      assert.equal(await refusal(buyer.address, settlement, 'scheduleCancelAll', [belowNonce]), `NonceFloorTooHigh(${most})`);
    }
    await cancelAllAt(start + 10, most);
    assert.equal(await at(start + 10 + DELAY, await bid({ nonce: most - 1n }), await ask()), 'order_cancelled of buyer');
    assert.equal(await at(start + 11 + DELAY, await bid({ nonce: most }), await ask()), 'settled');
  });

  it('a market resolved between match and settlement: nobody\'s doing, and other markets go on', async () => {
    const [buy, sell] = [await bid(), await ask()];
    const other = await contracts.prepare(`0x${'22'.repeat(32)}`);
    await contracts.stock(seller.address, other, USDC);
    const orders = [buy, sell, await bid({ marketId: other }), await ask({ marketId: other })];
    await contracts.resolve(1);
    const fill = { price: 600_000n, size: USDC };
    const sent = await contracts.settle({ orders, fills: [
      { ...fill, seq: 1n, buyIndex: 0n, sellIndex: 1n }, { ...fill, seq: 2n, buyIndex: 2n, sellIndex: 3n },
      { ...fill, seq: 3n, buyIndex: 0n, sellIndex: 1n },
    ] });
    assert.deepEqual(results(sent), ['1 market_resolved of both', '2 settled', '3 market_resolved of both']);
  });
});
