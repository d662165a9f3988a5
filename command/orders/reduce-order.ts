/** `POST /api/v1/orders/{hash}/reduce`: makes an open order smaller. It keeps its place in the book. */
import type { ReduceOrder } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { AnyCaseBytes32 } from '../../engine/records/fields.js';
import { isBytes32 } from '../../engine/records/hex.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { requestSignature } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inPath } from '../../service/api/parameter.js';
import * as parameter from '../../service/api/parameters.js';
import { problems } from '../../service/api/problems.js';
import * as kind from '../../service/api/request-fields.js';
import { rejectionError, type KnownOrder } from './order-ports.js';
import { bodyFields, bodySchema, parseBody } from './request-body.js';
import { cancelledBody, checkRequest, findAny, inTurn, type SignedRequestParts } from './signed-request.js';
import { createUnderway } from './command-writer.js';

const { size, deadline, signature } = bodyFields;
const fields = { size, deadline, signature };

/**
 * Reduces the order with this hash to the size in the body. Throws RequestError for the first fault: hash, body, an
 * unknown order, the signature, an order that cannot be reduced so, a log that cannot be written.
 */
export type ReduceOrderHandler = (orderHash: string, body: Uint8Array, signal?: AbortSignal) => Promise<Reply>;

export function createReduceOrder(parts: SignedRequestParts): ReduceOrderHandler {
  const underway = createUnderway();
  return async (given, body, signal) => {
    const at = parts.now();
    const asked = parseBody(body, fields);
    if (!isBytes32(given)) throw new RequestError('invalid_order_hash', '', [{ field: '/hash', message: 'is 0x and 64 hex digits' }]);
    const orderHash = given.toLowerCase();
    const order = await findAny(parts, orderHash);
    if (order === undefined) throw new RequestError('unknown_order');
    const { trader, chainId } = order;
    const signed = checkRequest(parts, { ...asked, chainId, at, fields: { kind: 'ReduceOrder', orderHash, trader, size: asked.size } });
    const by = signed.signature === undefined ? {} : { trader, ...signed };
    const command: ReduceOrder = { kind: 'ReduceOrder', v: 1, at, orderHash, size: asked.size, ...by };
    return inTurn(underway, { request: `${orderHash} ${asked.size}`, trader, signal }, () => reduce(parts, command, signal));
  };
}

/** An order that is so already, or cannot be so any more, is answered without a record. */
async function reduce(
  parts: SignedRequestParts, command: ReduceOrder, signal: AbortSignal | undefined,
): Promise<Reply> {
  const { orderHash } = command;
  const before = await parts.findOrder(orderHash);
  const known = before === undefined ? undefined : answerOf(command, before);
  if (known !== undefined) return known;
  const { position, outcome } = await parts.submit(command, signal);
  const [event] = outcome.events;
  switch (event?.type) {
    case 'OrderReduced': case 'ReduceRepeated': return { body: reducedBody(command), position };
    case 'OrderCancelled': return { body: cancelledBody(orderHash, { size: before?.size ?? event.remaining, remaining: event.remaining }), position };
    case 'CancelRepeated': return { body: cancelledBody(orderHash, event), position };
    case 'CommandRejected': {
      // Forgotten since, and so closed: the read models know how.
      const after = event.code === 'unknown_order' ? await parts.findOrder(orderHash) : undefined;
      const closed = after === undefined ? undefined : answerOf(command, after);
      if (closed !== undefined) return closed;
      throw rejectionError(event, { atMs: outcome.at });
    }
    default: throw new Error(`position ${position}: a ReduceOrder's outcome began with ${event?.type ?? 'nothing'}`);
  }
}

/** The answer that needs no command; undefined where one is needed. Throws RequestError. */
function answerOf(command: ReduceOrder, order: KnownOrder): Reply | undefined {
  const { orderHash } = command;
  const at = order.asOf === undefined ? {} : { position: order.asOf };
  const [asked, present, left] = [command.size, order.size, order.remaining].map(BigInt) as [bigint, bigint, bigint];
  if (asked === present) return { body: reducedBody(command), ...at };
  if (order.status === 'cancelled') {
    if (asked > present - left) throw new RequestError('already_cancelled');
    return { body: cancelledBody(orderHash, order), ...at };
  }
  if (order.status === 'filled') throw new RequestError('already_filled');
  if (order.forgotten === true) throw new RequestError('unavailable', `the read model does not know yet how order ${orderHash} ended`);
  if (asked > present) throw new RequestError('not_reduced', `the order's size is ${present}`);
  return undefined;
}

function reducedBody({ orderHash, size: reduced }: ReduceOrder): string {
  return `{"status":"reduced","orderHash":"${orderHash}","size":${reduced}}`;
}

export const reduceOrder = defineEndpoint({
  id: 'reduceOrder', role: 'api', method: 'POST', path: '/api/v1/orders/{hash}/reduce', tag: 'Orders', summary: 'Make an open order smaller',
  description: 'The order keeps its place in the book. `size` is the new size of the whole order, its filled part included; it can only become smaller. '
    + 'Where at least as much is filled already, the rest of the order is cancelled. The signature is over '
    + 'ReduceOrder(bytes32 orderHash,address trader,uint64 size,uint64 deadline) in the chain\'s orderDomain. Sending the request again gives the same '
    + 'answer.',
  parameters: { orderHash: inPath('hash', kind.text(AnyCaseBytes32), parameter.orderHashText) },
  body: bytesOf(bodySchema(fields), {
    limitBytes: MAX_BODY_BYTES,
    examples: { smaller: { size: '15000000', deadline: String(example.expiration), signature: example.signature } },
  }),
  authority: requestSignature('ReduceOrder'), errorShape: problems,
  answer: {
    description: 'The order has this size, or its rest is cancelled.',
    schema: field.answer('ReducedOrder', {
      status: field.oneOf(['reduced', 'cancelled'], 'Cancelled where at least `size` was filled already.'), orderHash: field.Bytes32,
      size: Type.Optional(field.amount('Size of the order from now on; only when reduced')),
      filledSize: Type.Optional(field.amount('Shares that were filled before the cancel; only when cancelled')),
      remainingSize: Type.Optional(field.amount('Shares that were not filled and are now cancelled; only when cancelled')),
    }),
    examples: {
      reduced: { status: 'reduced', orderHash: example.orderHash, size: 15_000_000 },
      cancelled: { status: 'cancelled', orderHash: example.orderHash, filledSize: 20_000_000, remainingSize: 5_000_000 },
    },
    headers: { 'X-Log-Position': 'Log position of the reduction.' },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_size', 'invalid_order_hash', 'unknown_order', 'signature_required', 'invalid_request_signature',
    'not_order_owner', 'already_filled', 'already_cancelled', 'not_reduced', 'other_site', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
}, ({ reduceOrder: asked }: { readonly reduceOrder: ReduceOrderHandler }) => (
  { orderHash, body }, { signal },
) => asked(orderHash, body, signal));
