/** What traders ask of several of their orders in the simulation: batches, cancels of some or all, the switch, smaller sizes. */
import { cancelAfter } from '../../../command/orders/cancel-after.js';
import { cancelAll } from '../../../command/orders/cancel-all.js';
import { cancelOrders } from '../../../command/orders/cancel-orders.js';
import { placeOrders } from '../../../command/orders/place-orders.js';
import { reduceOrder } from '../../../command/orders/reduce-order.js';
import type { RequestFields } from '../../../command/signing/typed-data.js';
import { ALL_MARKETS } from '../../../engine/records/fields.js';
import { CHAIN } from '../chain/contracts.js';
import { START_MS } from '../world/time.js';
import { newOrder } from './new-order.js';
import { MARKETS, TRADERS, type SignedOrder } from './traders.js';
import type { Act, Dice, Scene } from './scene.js';

type RequestKind = 'batch' | 'cancel several' | 'cancel all' | 'cancel after' | 'reduce';

export const requestActs: Readonly<Record<RequestKind, Act>> = {
  'batch': (scene, dice, seed) => {
    const orders = Array.from({ length: 2 + dice.below(4) }, () => newOrder(scene, dice));
    // One of them twice: the second is a repeat.
    if (dice.below(3) === 0) orders.push(dice.pick(orders));
    scene.clients.placeBatch(orders, { endpoint: placeOrders, body: batchOf(orders), what: `batch of ${orders.length}` }, seed);
  },
  'cancel several': (scene, dice, seed) => {
    const order = recent(scene, dice);
    if (order === undefined) return;
    const own = scene.orders.slice(-12).filter((each) => each.trader === order.trader);
    const orderHashes = own.map(({ hash }) => hash);
    const body = signed(scene, dice, { kind: 'CancelOrders', trader: order.trader.address, orderHashes });
    scene.clients.cancelSeveral(own, { endpoint: cancelOrders, body, what: `cancel of ${own.length}` }, seed);
  },
  'cancel all': (scene, dice, seed) => {
    const trader = dice.pick(TRADERS);
    const marketId = dice.below(2) === 0 ? ALL_MARKETS : dice.pick([...MARKETS.keys()]);
    const body = signed(scene, dice, { kind: 'CancelAll', trader: trader.address, marketId });
    scene.clients.cancelAll({ trader, marketId }, { endpoint: cancelAll, body, what: `cancel-all of ${trader.address.slice(0, 6)}` }, seed);
  },
  'cancel after': (scene, dice, seed) => {
    const { address: trader } = dice.pick(TRADERS);
    const body = signed(scene, dice, { kind: 'CancelAfter', trader, seconds: dice.pick([0, 2, 5, 10]) });
    scene.clients.request({ endpoint: cancelAfter, body, what: `cancel-after of ${trader.slice(0, 6)}` }, seed);
  },
  'reduce': (scene, dice, seed) => {
    const order = recent(scene, dice);
    if (order === undefined) return;
    const { hash: orderHash, trader: { address: trader } } = order;
    const whole = signed(scene, dice, { kind: 'ReduceOrder', orderHash, trader, size: String(1 + 2 * dice.below(10_000_000)) });
    const { size, deadline, signature } = JSON.parse(whole.toString()) as Record<string, unknown>;
    const body = Buffer.from(JSON.stringify({ size, deadline, signature }));
    scene.clients.request({ endpoint: reduceOrder, params: { hash: orderHash }, body, what: `reduction of ${orderHash.slice(0, 10)}` }, seed);
  },
};

function recent({ orders }: Scene, dice: Dice): SignedOrder | undefined {
  return orders.length === 0 ? undefined : dice.pick(orders.slice(-8));
}

function batchOf(orders: readonly SignedOrder[]): Buffer {
  return Buffer.from(`{"orders":[${orders.map(({ body }) => body.toString()).join()}]}`);
}

type Unsigned<R> = R extends RequestFields ? Omit<R, 'deadline'> : never;

/** The body of a request that its trader has signed, with a deadline that is near. */
function signed({ parts: { tools, time } }: Scene, dice: Dice, fields: Unsigned<RequestFields>): Buffer {
  const deadline = String(Math.floor((START_MS + time.now()) / 1_000) + 20 + dice.below(40));
  const { kind, ...message } = { ...fields, deadline } as RequestFields;
  const key = TRADERS.find(({ address }) => address === message.trader)?.key;
  const signature = key?.sign(tools.domain.requestDigest({ kind, ...message } as RequestFields)).serialized;
  return Buffer.from(JSON.stringify({ ...message, signature, ...kind === 'ReduceOrder' ? {} : { chainId: CHAIN.chainId } }));
}
