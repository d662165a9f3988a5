/** The traders' programs: they send orders and cancels to a front, wait so long, and send the same again where they have no answer. */
import { createRandom } from '../../support/random-commands.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Reply } from '../../../service/api/endpoint.js';
import { cancelOrder } from '../../../command/orders/cancel-order.js';
import { placeOrder } from '../../../command/orders/place-order.js';
import type { Exchange, ProcessName } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import { ask, type EndpointRequest, type AskResult } from './line.js';
import { createRequestClients, textOf, type RequestWatch } from './request-clients.js';
import type { SignedOrder } from './traders.js';

export interface ClientWatch extends RequestWatch {
  /** An order was answered as accepted. */
  accepted(order: SignedOrder, position: number): void;
  /** A try ended: `written` tells whether the command may be in the log. */
  refused(order: SignedOrder, written: 'no' | 'perhaps', code: string): void;
  cancelled(order: SignedOrder, position: number | undefined): void;
}

const FRONTS: readonly ProcessName[] = ['front-0', 'front-1'];
const TRIES = 6;

export function createClients(parts: WorldParts, exchange: Exchange, watch: ClientWatch) {
  const { time, trace, strikes } = parts;
  let underWay = 0;

  /** What the client hears of one try. */
  const heardOf = (front: number, asking: EndpointRequest): Promise<AskResult<Reply>> => ask(parts, exchange.running.get(FRONTS[front % 2] ?? 'front-0'), asking);

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
    ...createRequestClients({ parts, watch, heardOf, untilKnown, carry: (work) => { void carry(work); } }),
    cancel(order: SignedOrder, seed: number): void {
      void carry((async () => {
        const heard = await heardOf(seed, { endpoint: cancelOrder, params: { hash: order.hash }, query: { marketId: order.marketId } });
        trace.note(`cancel ${order.hash.slice(0, 10)}: ${textOf(heard)}`);
        if (typeof heard === 'object' && !(heard instanceof RequestError)) watch.cancelled(order, heard.position);
      })());
    },
  };
}
