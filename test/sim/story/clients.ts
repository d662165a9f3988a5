/** The traders' programs: they send orders and cancels to a front, wait so long, and send the same again where they have no answer. */
import { createRandom } from '../../support/random-commands.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Reply } from '../../../service/api/endpoint.js';
import { cancelOrder } from '../../../command/orders/cancel-order.js';
import { placeOrder } from '../../../command/orders/place-order.js';
import type { Exchange, ProcessName } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import { ask, type Asking, type Heard } from './line.js';
import type { TraderRequest } from './requests.js';
import type { SignedOrder, Trader } from './traders.js';

export interface ClientWatch {
  /** An order was answered as accepted. */
  accepted(order: SignedOrder, position: number): void;
  /** A try ended: `written` tells whether the command may be in the log. */
  refused(order: SignedOrder, written: 'no' | 'perhaps', code: string): void;
  cancelled(order: SignedOrder, position: number | undefined): void;
  /** An order of a batch was answered as accepted, without a position. */
  acceptedInBatch(order: SignedOrder): void;
  /** The numbers of the trader's orders that were acknowledged before now; `marketId`: in this market, or, zero, in all. */
  acknowledgedOf(of: AllOf): readonly number[];
  /** These orders are cancelled as a whole, but for those from `before` on. */
  allCancelled(numbers: readonly number[], before: number): void;
}

export interface AllOf {
  readonly trader: Trader;
  readonly marketId: string;
}

const FRONTS: readonly ProcessName[] = ['front-0', 'front-1'];
const TRIES = 6;

export function createClients(parts: WorldParts, exchange: Exchange, watch: ClientWatch) {
  const { time, trace, strikes } = parts;
  let underWay = 0;

  /** What the client hears of one try. */
  const heardOf = (front: number, asking: Asking): Promise<Heard<Reply>> => ask(parts, exchange.running.get(FRONTS[front % 2] ?? 'front-0'), asking);

  async function untilKnown(order: SignedOrder, seed: number, firstTry: number): Promise<void> {
    const random = createRandom(seed);
    for (let tries = firstTry; tries < TRIES; tries++) {
      if (tries > 0) strikes.struck('order sent again', order.hash.slice(0, 10));
      const heard = await heardOf(random(), { endpoint: placeOrder, rawBody: order.body });
      trace.note(`order ${order.hash.slice(0, 10)}: ${textOf(heard)}`);
      if (typeof heard === 'object' && !(heard instanceof RequestError)) return watch.accepted(order, heard.position ?? -1);
      const code = heard instanceof RequestError ? heard.code : heard;
      const again = code === 'no answer' || code === 'not reached' || (heard instanceof RequestError && heard.isUnavailable);
      watch.refused(order, code === 'no answer' || code === 'outcome_unknown' ? 'perhaps' : 'no', code);
      if (!again) return;
      await time.sleep(300 + 2_000 * time.random());
    }
  }

  /** Sends the request until it is answered or refused; gives the answer. */
  async function untilAnswered({ endpoint, params = {}, body, what }: TraderRequest, seed: number): Promise<Reply | undefined> {
    const random = createRandom(seed);
    for (let tries = 0; tries < TRIES; tries++) {
      const heard = await heardOf(random(), { endpoint, params, rawBody: body });
      trace.note(`${what}: ${textOf(heard)}`);
      if (typeof heard === 'object' && !(heard instanceof RequestError)) return heard;
      if (heard instanceof RequestError && !heard.isUnavailable) return undefined;
      await time.sleep(300 + 2_000 * time.random());
    }
    return undefined;
  }

  /** An item that is refused because a part was away is sent alone. */
  async function batchUntilKnown(orders: readonly SignedOrder[], request: TraderRequest, seed: number): Promise<void> {
    const reply = await untilAnswered(request, seed);
    const results = reply === undefined ? [] : (JSON.parse(reply.body) as { results: { status: number; body: { code?: string } }[] }).results;
    await Promise.all(orders.map(async (order, i) => {
      const { status, body: { code = '' } } = results[i] ?? { status: 503, body: { code: 'outcome_unknown' } };
      if (status === 200) return watch.acceptedInBatch(order);
      watch.refused(order, code === 'outcome_unknown' ? 'perhaps' : 'no', code);
      if (status === 503) await untilKnown(order, seed + i, 1);
    }));
  }

  async function carry(work: Promise<void>): Promise<void> {
    underWay += 1;
    await work;
    underWay -= 1;
  }

  return {
    /** How many requests have not ended. */
    underWay: () => underWay,
    place(order: SignedOrder, seed: number): void { void carry(untilKnown(order, seed, 0)); },
    /** To both fronts at once. */
    placeTwice(order: SignedOrder, seed: number): void {
      strikes.struck('order sent twice', order.hash.slice(0, 10));
      void carry(untilKnown(order, seed, 0));
      void carry(untilKnown(order, seed + 1, 0));
    },
    request(request: TraderRequest, seed: number): void { void carry(untilAnswered(request, seed).then(() => undefined)); },
    placeBatch(orders: readonly SignedOrder[], request: TraderRequest, seed: number): void { void carry(batchUntilKnown(orders, request, seed)); },
    cancelSeveral(orders: readonly SignedOrder[], request: TraderRequest, seed: number): void {
      void carry((async () => {
        const reply = await untilAnswered(request, seed);
        const results = reply === undefined ? [] : (JSON.parse(reply.body) as { results: { status: number }[] }).results;
        orders.forEach((order, i) => { if (results[i]?.status === 200) watch.cancelled(order, reply?.position); });
      })());
    },
    cancelAll(of: AllOf, request: TraderRequest, seed: number): void {
      const numbers = watch.acknowledgedOf(of);
      void carry((async () => {
        const reply = await untilAnswered(request, seed);
        if (reply === undefined) return;
        const isRepeat = reply.headers?.['Idempotent-Replayed'] === 'true';
        watch.allCancelled(numbers, isRepeat ? reply.position ?? 0 : Infinity);
      })());
    },
    cancel(order: SignedOrder, seed: number): void {
      void carry((async () => {
        const heard = await heardOf(seed, { endpoint: cancelOrder, params: { hash: order.hash }, query: { marketId: order.marketId } });
        trace.note(`cancel ${order.hash.slice(0, 10)}: ${textOf(heard)}`);
        if (typeof heard === 'object' && !(heard instanceof RequestError)) watch.cancelled(order, heard.position);
      })());
    },
  };
}

function textOf(heard: Heard<Reply>): string {
  if (typeof heard === 'string') return heard;
  return heard instanceof RequestError ? heard.code : heard.body;
}
