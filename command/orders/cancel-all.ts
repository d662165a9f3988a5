/** `POST /api/v1/orders/cancel-all`: cancels all open orders of a trader, in one market or on a chain. */
import type { CancelAll } from '../../engine/records/commands.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { RequestError } from '../../engine/records/errors.js';
import { ALL_MARKETS } from '../../engine/records/fields.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { requestSignature } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { problems } from '../../service/api/problems.js';
import { rejectionError } from './order-ports.js';
import type { SignedRequestHandler } from './cancel-orders.js';
import { bodyFields, bodySchema, parseBody } from './request-body.js';
import { chainOf, checkRequest, inTurn, type SignedRequestParts } from './signed-request.js';
import { createUnderway } from './command-writer.js';

const { trader, marketId, deadline, signature, chainId } = bodyFields;
const fields = { trader, marketId, deadline, signature, chainId };

export function createCancelAll(parts: SignedRequestParts): SignedRequestHandler {
  const underway = createUnderway();
  return async (body, signal) => {
    const at = parts.now();
    const { chainId: named, ...asked } = parseBody(body, fields);
    const chain = chainOf(parts, named);
    const { trader: owner, marketId: market } = asked;
    const signed = checkRequest(parts, { ...asked, chainId: chain, at, fields: { kind: 'CancelAll', trader: owner, marketId: market } });
    const command: CancelAll = { kind: 'CancelAll', v: 1, at, chainId: chain, trader: owner, marketId: market, ...signed };
    const request = `${chain} ${owner} ${market} ${asked.deadline ?? ''}`;
    return inTurn(underway, { request, trader: owner, signal }, () => cancelEverything(parts, command, signal));
  };
}

/** Orders that other processes have taken are known first: then, what is not open in the view is not open at all. */
async function cancelEverything(
  parts: SignedRequestParts, command: CancelAll, signal: AbortSignal | undefined,
): Promise<Reply> {
  const { view } = parts;
  const { chainId: chain, marketId: market, deadline: until } = command;
  await parts.caughtUp();
  if (market !== ALL_MARKETS && view.market(market)?.chainId !== chain) throw new RequestError('unknown_market');
  const first = until === undefined ? undefined : view.cancelledAllAt({ ...command, deadline: until });
  if (first !== undefined) return repeated(parts, command, first);
  if (!view.hasOrders(command)) return { body: bodyOf(command, 0), position: view.position - 1 };
  const { position, outcome } = await parts.submit(command, signal);
  const [event] = outcome.events;
  switch (event?.type) {
    case 'AllOrdersCancelled': return { body: bodyOf(command, event.orders), position };
    case 'CancelAllRepeated': return repeated(parts, command, event.position);
    case 'CommandRejected': throw rejectionError(event, { atMs: outcome.at });
    default: throw new Error(`position ${position}: a CancelAll's outcome began with ${event?.type ?? 'nothing'}`);
  }
}

async function repeated(
  { originalOutcome }: SignedRequestParts, command: CancelAll, position: number,
): Promise<Reply> {
  return { body: bodyOf(command, cancelledIn(await originalOutcome(position))), position, headers: { 'Idempotent-Replayed': 'true' } };
}

function cancelledIn({ events: [event] }: CommandOutcome): number {
  if (event?.type !== 'AllOrdersCancelled') throw new Error(`a CancelAll is said to be one, and caused ${event?.type ?? 'nothing'}`);
  return event.orders;
}

function bodyOf({ trader: owner, chainId: chain, marketId: market }: CancelAll, cancelled: number): string {
  return JSON.stringify({ status: 'cancelled', trader: owner, chainId: chain, marketId: market, cancelled });
}

export const cancelAll = defineEndpoint({
  id: 'cancelAll', role: 'api', method: 'POST', path: '/api/v1/orders/cancel-all', tag: 'Orders', summary: 'Cancel all orders of a trader',
  description: 'Cancels all open orders of the trader in a market, or, with a market id of 32 zero bytes, in all markets of the chain. From then on none '
    + 'of them trades, however many they are. The signature is over CancelAll(address trader,bytes32 marketId,uint64 deadline) in the chain\'s '
    + 'orderDomain. A signed request takes effect once: sent again, it gets the first answer, with `Idempotent-Replayed: true`, and does not cancel '
    + 'orders that were placed since. Sign a new one, with another deadline, to cancel those.',
  parameters: {},
  body: bytesOf(bodySchema(fields), {
    limitBytes: MAX_BODY_BYTES,
    examples: {
      'one market': { trader: example.alice, marketId: example.marketId, deadline: String(example.expiration), signature: example.signature },
      'all markets of a chain': { trader: example.alice, marketId: ALL_MARKETS, deadline: String(example.expiration), signature: example.signature, chainId: 31_337 },
    },
  }),
  authority: requestSignature('CancelAll'), errorShape: problems,
  answer: {
    description: 'The orders are cancelled.',
    schema: field.answer('CancelledAll', {
      status: Type.Literal('cancelled'), trader: field.Address, chainId: field.ChainId, marketId: field.Bytes32,
      cancelled: field.integer('How many orders were open and are cancelled.'),
    }),
    examples: { cancelled: { status: 'cancelled', trader: example.alice, chainId: 31_337, marketId: example.marketId, cancelled: 17 } },
    headers: {
      'X-Log-Position': 'Log position of the cancel, or, where nothing was left to cancel, one at which the answer is true.',
      'Idempotent-Replayed': '`true` when the same signed request took effect before.',
    },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_address', 'invalid_market_id', 'invalid_chain_id', 'unknown_chain', 'unknown_market', 'signature_required',
    'invalid_request_signature', 'too_late', 'other_site', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
}, ({ cancelAll: cancel }: { readonly cancelAll: SignedRequestHandler }) => ({ body }, { signal }) => cancel(body, signal));
