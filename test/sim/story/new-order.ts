/** The orders that traders sign, and what they ask for beside. */
import type { OrderTerms } from '../../../command/orders/order-request.js';
import { BUY, SELL } from '../../../engine/records/fields.js';
import { START_MS } from '../world/time.js';
import type { Dice, Scene } from './scene.js';
import { MARKETS, TRADERS, signOrder, type SignedOrder } from './traders.js';

/** An order of any trader's, in any market. */
export function newOrder({ orders, parts: { tools, time, chain } }: Scene, dice: Dice): SignedOrder {
  const trader = dice.pick(TRADERS);
  const running = [...chain.head.state.quick.values()].filter(({ expiration }) => expiration > chain.head.timestamp + 3);
  const { marketId } = dice.pick([...MARKETS.values(), ...running]);
  const nowMs = START_MS + time.now();
  const order = signOrder(trader, {
    marketId, side: dice.pick([BUY, SELL]), outcome: dice.pick([0, 0, 1] as const),
    // Odd, so that costs are rounded; few prices, so that orders meet.
    price: 450_001 + 10_002 * dice.below(11), size: String(1 + 2 * dice.below(15_000_000)),
    nonce: String(orders.length + 1), expiration: String(Math.floor(nowMs / 1_000) + 90 + dice.below(3_600)),
  }, tools.domain, termsOf(dice, nowMs));
  orders.push(order);
  return order;
}

/** Most orders have no terms. A last time that is near comes before the tries of a client that hears nothing have ended. */
function termsOf(dice: Dice, nowMs: number): OrderTerms {
  if (dice.below(3) > 0) return {};
  return dice.pick<OrderTerms>([
    { timeInForce: 'FOK' }, { timeInForce: 'FAK' }, { postOnly: true }, { selfTrade: 'cancel_newer' }, { timeInForce: 'FAK', selfTrade: 'cancel_newer' },
    ...[500, 3_000, 15_000].map((ms) => ({ notAfter: Math.floor(nowMs) + ms })),
  ]);
}
