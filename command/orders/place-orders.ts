/** `POST /api/v1/orders/batch`: several orders in one request and one append, each answered as a single one would be. */
import { RequestError } from '../../engine/records/errors.js';
import { record } from '../../engine/records/fields.js';
import { Type } from '../../engine/records/schema-types.js';
import { anybody } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import { parseJsonObject, type JsonObject } from '../../engine/records/exact-json.js';
import * as example from '../../service/api/examples.js';
import { problemExample, problems } from '../../service/api/problems.js';
import { refuseUnknown } from '../../service/api/request-fields.js';
import type { RecoveryThread } from '../signing/recovery-thread.js';
import type { Submitted } from './order-ports.js';
import { refusal, Results, type SignedRequestHandler } from './cancel-orders.js';
import type { CommandWriter, Written } from './command-writer.js';
import { fieldError, PlaceOrderRequest } from './order-request.js';
import { exampleOrder, type OrderPlacing } from './place-order.js';

/** The most orders of one request. */
export const MAX_BATCH_ORDERS = 15;

export interface PlaceOrdersParts {
  readonly placing: OrderPlacing;
  readonly submitAll: CommandWriter['submitAll'];
  /** Recovers the signers of a batch together; absent: one after the other, as of single orders. */
  readonly recover?: RecoveryThread['recover'] | undefined;
  /** Told of each order's result: `accepted`, or the code of its refusal. */
  readonly counted: (result: string) => void;
  /** Logs an unexpected error. Returns the id under which it is logged. */
  readonly failed: (error: unknown, what: string) => string;
}

export function createPlaceOrders({ placing, submitAll, recover, counted, failed }: PlaceOrdersParts): SignedRequestHandler {
  return async (body, signal) => {
    const requests = ordersIn(body);
    const append = createCommonAppend(requests.length, (commands) => submitAll(commands, signal));
    const marketIds = requests.map(marketIn);
    let position = -1;
    const results = await Promise.all(requests.map(async (request, i) => {
      const item = append.item(i);
      const followsOthers = marketIds.indexOf(marketIds[i]) < i;
      try {
        const { body: answered, position: at = -1 } = await placeOne(placing, request, { ...item, recover, followsOthers, signal });
        position = Math.max(position, at);
        counted('accepted');
        return `{"status":200,"body":${answered}}`;
      } catch (error) {
        const refused = error instanceof RequestError ? error : new RequestError('internal');
        counted(refused.code);
        return refusal(refused, refused === error ? undefined : failed(error, `order ${i} of a batch`));
      } finally {
        item.ended();
      }
    }));
    return { body: `{"results":[${results.join()}]}`, ...position >= 0 && { position } };
  };
}

/** The market that an item names, in any form; undefined for none. */
function marketIn(request: unknown): string | undefined {
  const { marketId } = (request as { readonly order?: { readonly marketId?: unknown } } | null)?.order ?? {};
  return typeof marketId === 'string' ? marketId.toLowerCase() : undefined;
}

function placeOne(placing: OrderPlacing, request: unknown, how: Parameters<OrderPlacing>[1]): Promise<Reply> {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return Promise.reject(new RequestError('invalid_json'));
  return placing(request as JsonObject, how);
}

/** The number of orders in the body: the rate limit counts each as if it came alone. */
function weightOf(body: Buffer): number {
  try {
    return ordersIn(body).length;
  } catch {
    // The handler refuses it.
    return 1;
  }
}

/** A body is read twice, for its weight and to be carried out, and parsed once. */
const parsed = new WeakMap<Uint8Array, readonly unknown[]>();

function ordersIn(body: Uint8Array): readonly unknown[] {
  const known = parsed.get(body);
  if (known !== undefined) return known;
  const orders = parseOrders(parseJsonObject(body));
  parsed.set(body, orders);
  return orders;
}

function parseOrders(body: JsonObject): readonly unknown[] {
  refuseUnknown(body, { orders: true });
  const { orders } = body;
  if (!Array.isArray(orders) || orders.length === 0 || orders.length > MAX_BATCH_ORDERS) {
    throw fieldError('invalid_request', '/orders', `is a list of 1 to ${MAX_BATCH_ORDERS} orders`);
  }
  return orders;
}

interface Pending {
  readonly index: number;
  readonly command: Written;
  readonly resolve: (submitted: Promise<Submitted>) => void;
}

/**
 * Gathers the commands of several pieces of work: they are written together, in the order of the pieces, once each piece has a command to write, has
 * ended, or waits for work of another request. Waiting for another one of the same request would be waiting for the writing itself. What comes
 * later, such as an order whose twin was refused, is written when it comes.
 */
function createCommonAppend(count: number, write: (commands: readonly Written[]) => readonly Promise<Submitted>[]) {
  const busy = new Set(Array.from({ length: count }, (_, i) => i));
  let pending: Pending[] = [];

  function rest(index: number): void {
    busy.delete(index);
    if (busy.size > 0 || pending.length === 0) return;
    const together = pending.sort((a, b) => a.index - b.index);
    pending = [];
    try {
      const submitted = write(together.map(({ command }) => command));
      together.forEach(({ resolve }, i) => { resolve(submitted[i] ?? Promise.reject(new Error('a command was not written'))); });
    } catch (error) {
      for (const { resolve } of together) resolve(Promise.reject(error as Error));
    }
  }

  return {
    item: (index: number) => ({
      submit: (command: Written): Promise<Submitted> => new Promise((resolve) => {
        pending.push({ index, command, resolve });
        rest(index);
      }),
      waits: () => { rest(index); },
      resumes: () => { busy.add(index); },
      ended: () => { rest(index); },
    }),
  };
}

export const placeOrders = defineEndpoint({
  id: 'placeOrders', role: 'api', method: 'POST', path: '/api/v1/orders/batch', tag: 'Orders', summary: 'Submit several signed orders at once',
  description: `At most ${MAX_BATCH_ORDERS} orders, each as in a request of its own. They are written to the log together, in the order of the request, and `
    + 'matched one after the other. Each has a result of its own, in that order: the status and the body that a single request would have been answered '
    + 'with. One that is refused does not keep the others from being accepted. Each counts for the rate limit as an order does.',
  parameters: {},
  body: bytesOf(record({ orders: Type.Array(PlaceOrderRequest, { minItems: 1, maxItems: MAX_BATCH_ORDERS }) }), {
    limitBytes: MAX_BODY_BYTES,
    examples: {
      'two orders': {
        orders: [
          { order: exampleOrder, signature: example.signature },
          { order: { ...exampleOrder, nonce: '2', price: 610_000 }, signature: example.signature, postOnly: true },
        ],
      },
    },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'A result for each order.', schema: Results('PlacedOrders', 'By order, in the order of the request.'),
    examples: {
      results: {
        results: [
          { status: 200, body: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt } },
          { status: 409, body: problemExample('would_match') },
        ],
      },
    },
    headers: { 'X-Log-Position': 'The highest log position of the accepted orders: a read with it as X-Min-Log-Position includes all of them. Absent where none is accepted.' },
  },
  errors: ['invalid_json', 'invalid_request', 'trading_halted', 'clock_untrusted', 'disk_full', 'overloaded', 'unavailable'],
  limit: 'orders', weight: weightOf, consistent: false,
}, ({ placeOrders: place }: { readonly placeOrders: SignedRequestHandler }) => ({ body }, { signal }) => place(body, signal));
