/**
 * `POST /api/v1/orders/check`: what an order would do as the next one, or why it would be refused. Nothing is recorded.
 */
import { costOf } from '../../engine/records/amounts.js';
import * as field from '../../engine/records/answer-fields.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Event } from '../../engine/records/events.js';
import { parseJsonObject, type JsonObject } from '../../engine/records/exact-json.js';
import { BUY, SELL } from '../../engine/records/fields.js';
import { toHex } from '../../engine/records/hex.js';
import { Type } from '../../engine/records/schema-types.js';
import type { EngineView } from '../../engine/run/view.js';
import { anybody } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import { errors } from '../../service/api/errors.js';
import * as example from '../../service/api/examples.js';
import { Problem, problemOf, problems } from '../../service/api/problems.js';
import { rejectionError } from './order-ports.js';
import { CheckOrderRequest, expiresTooSoon, parseOrder, parseTerms, tooSoon } from './order-request.js';
import { parsePermit } from './permit.js';
import {
  checkPermit, checkSignature, domainOfMarket, exampleOrder, refusalKnown, type PlaceOrderParts,
} from './place-order.js';

export type CheckOrderParts = PlaceOrderParts & {
  readonly view: Pick<EngineView, 'outcomeIf' | 'openOrderCount' | 'position'>;
};
export type CheckOrderHandler = (body: Uint8Array) => Promise<Reply>;

/**
 * Goes through the checks of an order that is placed, in their order, with the same code, and has the engine decide it
 * without applying what it decides. Throws RequestError for a body that is not an order, and where the service cannot
 * tell at present.
 */
export function createCheckOrder(parts: CheckOrderParts): CheckOrderHandler {
  return async (body) => {
    const request = parseJsonObject(body);
    try {
      return { body: await checked(parts, request), position: parts.view.position - 1 };
    } catch (error) {
      if (!(error instanceof RequestError) || !isRefusal(error)) throw error;
      return { body: `{"accepted":false,"refusal":${problemOf(error).body}}`, position: parts.view.position - 1 };
    }
  };
}

/** Whether it is the order that would be refused, and not this request. */
function isRefusal({ code }: RequestError): boolean {
  return errors[code].status < 500 && code !== 'invalid_request' && code !== 'invalid_json';
}

async function checked(parts: CheckOrderParts, request: JsonObject): Promise<string> {
  const at = parts.now();
  const order = parseOrder(request);
  const terms = parseTerms(request);
  if (expiresTooSoon(order.expiration, at)) throw tooSoon(order.expiration, at);
  const domain = domainOfMarket(parts, order.marketId);
  if (domain === undefined) throw new RequestError('unknown_market', '', [{ field: '/order/marketId', message: 'names it' }]);
  const { chainId } = domain.domain;
  const digest = domain.orderDigest(order);
  const given = request['signature'];
  const signature = given === undefined || given === null
    ? UNSIGNED
    : checkSignature(parts.recovery, { domain, digest, trader: order.trader, given });
  const command: PlaceOrder = { kind: 'PlaceOrder', v: 2, at, orderHash: toHex(digest), ...order, signature, ...terms };
  const known = parts.view.order(command.orderHash);
  if (known !== undefined) return `{"accepted":true,"orderHash":"${command.orderHash}","orderStatus":"${known.status}"}`;
  const { permitSignature = null } = request;
  if (permitSignature !== null) {
    command.permit = parsePermit(permitSignature, at);
    checkPermit(parts, { chainId, owner: order.trader, permit: command.permit });
  }
  const refusal = refusalKnown(parts, { chainId, command });
  if (refusal !== undefined) throw refusal;
  const openOrders = parts.view.openOrderCount(order.trader);
  if (terms?.timeInForce === undefined && openOrders >= parts.maxOpenOrders) {
    throw new RequestError('too_many_open_orders', `the trader has ${openOrders} of at most ${parts.maxOpenOrders}`, [], {
      openOrders, maxOpenOrders: parts.maxOpenOrders,
    });
  }
  (await parts.exposureOf(chainId)?.hold(command))?.();
  return fieldsOf(parts, command, parts.view.outcomeIf(command));
}

/** Of an order that is checked without a signature. The engine does not look at signatures. */
const UNSIGNED = `0x${'0'.repeat(130)}`;

function fieldsOf({ view }: CheckOrderParts, command: PlaceOrder, events: readonly Event[]): string {
  const [first] = events;
  if (first?.type === 'CommandRejected') throw rejectionError(first, { atMs: command.at, suspendedUntilMs: view.suspendedUntil(command.trader) });
  const matches: { price: number; size: bigint; cost: bigint }[] = [];
  let [filled, cost, rests, ownCancelled] = [0n, 0n, 0n, 0];
  for (const event of events) {
    if (event.type === 'OrderRested') rests += BigInt(event.size);
    if (event.type === 'OrderCancelled' && event.reason === 'self_trade' && event.orderHash !== command.orderHash) ownCancelled += 1;
    if (event.type !== 'FillMatched') continue;
    const last = matches.at(-1);
    const [size, paid] = [BigInt(event.size), BigInt(event.cost)];
    if (last?.price === event.price) Object.assign(last, { size: last.size + size, cost: last.cost + paid });
    else matches.push({ price: event.price, size, cost: paid });
    filled += size;
    cost += paid;
  }
  const cancelled = BigInt(command.size) - filled - rests;
  const payout = command.side === BUY ? filled : cost;
  const needed = command.side === SELL ? filled + rests : cost + costOf(rests, command.price);
  const levels = matches.map((each) => `{"price":${each.price},"size":${each.size},"cost":${each.cost}}`);
  return `{"accepted":true,"orderHash":"${command.orderHash}","matches":[${levels.join()}],"filledSize":${filled},"restingSize":${rests},`
    + `"cancelledSize":${cancelled},"cost":${cost},"payout":${payout},"needed":${needed},"ownOrdersCancelled":${ownCancelled}}`;
}

const match = { price: 600_000, size: 10_000_000, cost: 6_000_000 };

export const checkOrder = defineEndpoint({
  id: 'checkOrder', role: 'api', method: 'POST', path: '/api/v1/orders/check', tag: 'Orders', summary: 'What an order would do',
  description: 'The body of POST /api/v1/orders; the signature may be left out. Goes through all that the order would go through as the next one, and records nothing. '
    + 'What another order does before it can change the answer. An order that would be refused gets 200 with `accepted` false, and in `refusal` the body '
    + 'that POST /api/v1/orders would answer, with its `status`. An order that was accepted before has only its hash and its state.',
  parameters: {},
  body: bytesOf(CheckOrderRequest, {
    limitBytes: MAX_BODY_BYTES,
    examples: { 'without a signature': { order: exampleOrder }, 'signed': { order: exampleOrder, signature: example.signature } },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'What the order would do, or why it would be refused.',
    schema: field.answer('CheckedOrder', {
      accepted: Type.Boolean({ description: 'Whether the order would be accepted, or has been.' }),
      orderHash: Type.Optional(field.Bytes32),
      orderStatus: Type.Optional({
        ...field.OrderStatus, description: 'Only of an order that was accepted before: its present state.',
      }),
      matches: Type.Optional(Type.Array(field.answer('CheckedMatch', {
        price: field.Price, size: field.amount('Shares'), cost: field.amount('Stablecoin'),
      }), { description: 'What the order would match, by price, the best first.' })),
      filledSize: Type.Optional(field.amount('Shares that match at once')),
      restingSize: Type.Optional(field.amount('Shares that rest in the book')),
      cancelledSize: Type.Optional(field.amount('Shares that are cancelled at once')),
      cost: Type.Optional(field.amount('Stablecoin of the matches: paid by a buy, received by a sell')),
      payout: Type.Optional(field.amount('Of a buy: what its matched shares pay if the outcome wins. Of a sell: what it receives for its matches')),
      needed: Type.Optional(field.amount('What the order needs until it is settled: stablecoin of a buy, shares of a sell')),
      ownOrdersCancelled: Type.Optional(field.integer('Number of the trader\'s own orders that are cancelled, since they would trade with this one.')),
      refusal: Type.Optional(Problem),
    }),
    examples: {
      'matched in part': {
        accepted: true, orderHash: example.orderHash, matches: [match], filledSize: 10_000_000, restingSize: 15_000_000,
        cancelledSize: 0,
        cost: 6_000_000, payout: 10_000_000, needed: 15_300_000, ownOrdersCancelled: 0,
      },
      'accepted before': { accepted: true, orderHash: example.orderHash, orderStatus: 'open' },
    },
    headers: { 'X-Log-Position': 'Log position of the book that the answer is about.' },
  },
  errors: ['invalid_json', 'invalid_request', 'chain_unavailable', 'unavailable'],
  limit: 'reads', consistent: false,
}, ({ checkOrder: check }: { readonly checkOrder: CheckOrderHandler }) => ({ body }) => check(body));
