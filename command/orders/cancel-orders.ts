/**
 * `POST /api/v1/orders/cancel`: cancels several orders of a trader by one signature, and answers for each as a cancel
 * of its own would.
 */
import type { CancelOrders } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { requestSignature } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { problemExample, problemOf, problems } from '../../service/api/problems.js';
import type { KnownOrder } from './order-ports.js';
import { bodyFields, bodySchema, parseBody } from './request-body.js';
import { cancelledBody, chainOf, checkRequest, findAny, inTurn, type SignedRequestParts } from './signed-request.js';
import { createUnderway } from './command-writer.js';

const { trader, orderHashes, deadline, signature, chainId } = bodyFields;
const fields = { trader, orderHashes, deadline, signature, chainId };

/**
 * Handles the body of a request. Throws RequestError for the first fault: a field, the chain, the signature, a log that
 * cannot be written.
 */
export type SignedRequestHandler = (body: Uint8Array, signal?: AbortSignal) => Promise<Reply>;

export function createCancelOrders(parts: SignedRequestParts): SignedRequestHandler {
  const underway = createUnderway();
  return async (body, signal) => {
    const at = parts.now();
    const asked = parseBody(body, fields);
    const chain = chainOf(parts, asked.chainId);
    const signed = checkRequest(parts, {
      ...asked, chainId: chain, at, fields: { kind: 'CancelOrders', trader: asked.trader, orderHashes: [...asked.orderHashes] },
    });
    const command: CancelOrders = {
      kind: 'CancelOrders', v: 1, at, chainId: chain, trader: asked.trader, orderHashes: [...asked.orderHashes], ...signed,
    };
    const request = `${chain} ${asked.trader} ${asked.orderHashes.join()}`;
    return inTurn(underway, { request, trader: asked.trader, signal }, () => cancelEach(parts, command, signal));
  };
}

/** Writes nothing where none of the orders is open. */
async function cancelEach(
  parts: SignedRequestParts, command: CancelOrders, signal: AbortSignal | undefined,
): Promise<Reply> {
  const { chainId: chain, trader: owner, orderHashes: hashes } = command;
  const orders = new Map<string, KnownOrder | undefined>();
  for (const hash of hashes) if (!orders.has(hash)) orders.set(hash, await findAny(parts, hash));
  const isOurs = (order: KnownOrder | undefined) => order?.chainId === chain && order.trader === owner;
  const isOpen = [...orders.values()].some((order) => isOurs(order) && order?.status === 'open' && order.forgotten !== true);
  const submitted = isOpen ? await parts.submit(command, signal) : undefined;
  const cancelled = submitted === undefined ? new Map<string, string>() : remainingIn(submitted.outcome);
  const results: string[] = [];
  for (const hash of hashes) {
    const remaining = cancelled.get(hash);
    const before = orders.get(hash);
    // What the command has not cancelled may have been closed by another one just before it.
    const order = submitted === undefined || remaining !== undefined ? before : await parts.findOrder(hash);
    results.push(resultOf(hash, isOurs(order) && order !== undefined ? { ...order, ...remaining === undefined ? {} : { remaining, status: 'cancelled' } } : order, owner));
  }
  const position = submitted?.position ?? parts.view.position - 1;
  return { body: `{"results":[${results.join()}]}`, position };
}

/** What was cancelled, by order hash. */
function remainingIn({ events }: CommandOutcome): Map<string, string> {
  return new Map(events.flatMap((event) => event.type === 'OrderCancelled' ? [[event.orderHash, event.remaining] as const] : []));
}

/** What a cancel of this order alone would have been answered with. */
function resultOf(hash: string, order: KnownOrder | undefined, owner: string): string {
  if (order === undefined) return refusal(new RequestError('unknown_order'));
  if (order.trader !== owner) return refusal(new RequestError('not_order_owner'));
  switch (order.status) {
    case 'cancelled': return `{"status":200,"body":${cancelledBody(hash, order)}}`;
    case 'filled': return refusal(new RequestError('already_filled'));
    case 'open': return refusal(new RequestError('unavailable', `it is not known yet how order ${hash} ended`));
  }
}

/** A refusal as one of several results. */
export function refusal(error: RequestError, instance?: string): string {
  const { status, body } = problemOf(error, { instance });
  return `{"status":${status},"body":${body}}`;
}

/** The schema of several results, each as a single request would have been answered. */
export const Results = (name: string, description: string) => field.answer(name, {
  results: Type.Array(field.answer(`${name}Item`, {
    status: field.integer('The HTTP status that a single request would have been answered with.', 100),
    body: Type.Record(Type.String(), Type.Unknown(), { description: 'The body of that answer.' }),
  }), { description }),
});

export const cancelOrders = defineEndpoint({
  id: 'cancelOrders', role: 'api', method: 'POST', path: '/api/v1/orders/cancel', tag: 'Orders', summary: 'Cancel several orders by one signature',
  description: 'Cancels the unfilled remainders of the open ones of these orders, all in one record of the log. The signature is over '
    + 'CancelOrders(bytes32[] orderHashes,address trader,uint64 deadline) in the chain\'s orderDomain. Each order has a result of its own, in the order '
    + 'of the request: what a cancel of it alone would have been answered with. Sending the request again gives the same results, without a record.',
  parameters: {},
  body: bytesOf(bodySchema(fields), {
    limitBytes: MAX_BODY_BYTES,
    examples: { 'two orders': { trader: example.alice, orderHashes: [example.orderHash, `0x${'0b'.repeat(32)}`], deadline: String(example.expiration), signature: example.signature } },
  }),
  authority: requestSignature('CancelOrders'), errorShape: problems,
  answer: {
    description: 'A result for each order.', schema: Results('CancelledOrders', 'By order, in the order of the request.'),
    examples: {
      results: {
        results: [
          { status: 200, body: { status: 'cancelled', orderHash: example.orderHash, filledSize: 10_000_000, remainingSize: 15_000_000 } },
          { status: 409, body: problemExample('already_filled') },
        ],
      },
    },
    headers: { 'X-Log-Position': 'Log position of the cancel, or, where nothing was left to cancel, one at which the answer is true.' },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_address', 'invalid_order_hash', 'invalid_chain_id', 'unknown_chain', 'signature_required',
    'invalid_request_signature', 'other_site', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
}, ({ cancelOrders: cancel }: { readonly cancelOrders: SignedRequestHandler }) => ({ body }, { signal }) => cancel(body, signal));
