/**
 * `DELETE /api/v1/orders/{hash}`: checks who may cancel the order, cancels it, and answers how much of it was filled.
 */
import type { CancelOrder } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { BUY, SELL, type Side } from '../../engine/records/fields.js';
import { AnyCaseBytes32, AnyCaseSignature } from '../../engine/records/fields.js';
import { isBytes32, toHex } from '../../engine/records/hex.js';
import { UINT64_MAX } from '../../engine/records/integers.js';
import { Type } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import { cancelSignature } from '../../service/api/authority.js';
import { defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inHeader, inPath, inQuery } from '../../service/api/parameter.js';
import * as parameter from '../../service/api/parameters.js';
import { problems } from '../../service/api/problems.js';
import * as kind from '../../service/api/request-fields.js';
import { normalSignature, recoveryFailures, signatureBytes, type SignerRecovery } from '../signing/recover.js';
import type { PreparedDomain } from '../signing/typed-data.js';
import { rejectionError, type FindOrder, type KnownOrder, type Submit, type Submitted } from './order-ports.js';
import { createUnderway, passed } from './command-writer.js';

export interface CancelOrderParts {
  /** `open`: a cancel without a signature is accepted too; only for a development stack on loopback. */
  readonly auth: 'required' | 'open';
  readonly domainOf: (chainId: number) => PreparedDomain | undefined;
  readonly recovery: SignerRecovery;
  readonly submit: Submit;
  readonly findOrder: FindOrder;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** The texts of a cancel's path, query and headers. */
export interface CancelRequest {
  readonly orderHash: string;
  readonly marketId: string | undefined;
  readonly side: string | undefined;
  /** `X-Cancel-Signature`: the trader's EIP-712 CancelOrder signature. */
  readonly signature: string | undefined;
  /** `X-Cancel-Deadline`: Unix seconds, decimal. */
  readonly deadline: string | undefined;
}

/**
 * Cancels an order; an order that is already cancelled gets the same answer again. Throws RequestError for the first
 * fault in this order: hash, market id, side; a missing signature; an unknown order, or one of another market or side;
 * a wrong signature; a rejection by the engine; a log that cannot be written.
 */
export type CancelOrderHandler = (request: CancelRequest, signal?: AbortSignal) => Promise<Reply>;

export function createCancelOrder(parts: CancelOrderParts): CancelOrderHandler {
  const underway = createUnderway();
  return async (request, signal) => {
    const at = parts.now();
    const { orderHash, marketId, side } = parseTarget(request);
    const signed = parseAuthority(parts.auth, request);
    for (;;) {
      const order = await parts.findOrder(orderHash);
      if (order?.marketId !== marketId || (side !== undefined && order.side !== side)) throw new RequestError('unknown_order');
      const command: CancelOrder = { kind: 'CancelOrder', v: 1, at, orderHash, marketId };
      if (side !== undefined) command.side = side;
      if (signed !== undefined) Object.assign(command, checkAuthority(parts, { order, orderHash, at, ...signed }));
      if (order.status !== 'open' || order.forgotten === true) return closedAnswer(orderHash, order);
      const ahead = underway.find(orderHash);
      if (ahead === undefined) {
        const { trader } = order;
        const work = { key: orderHash, trader, orderHash, request: orderHash, signal };
        const submitted = await underway.start({ ...work, run: () => parts.submit(command, signal) });
        return answerTo(parts, order, command, submitted);
      }
      // The same cancel is on its way: its outcome answers this one too.
      await passed(ahead, orderHash);
    }
  };
}

async function answerTo(
  parts: CancelOrderParts, order: KnownOrder, command: CancelOrder, submitted: Submitted,
): Promise<Reply> {
  const { orderHash } = command;
  for (const event of submitted.outcome.events) {
    switch (event.type) {
      case 'OrderCancelled': return cancelledAnswer(orderHash, order, event.remaining, submitted.position);
      case 'CancelRepeated': return cancelledAnswer(orderHash, order, event.remaining, submitted.position);
      case 'CommandRejected':
        if (event.code === 'unknown_order') return forgottenAnswer(parts, orderHash);
        throw rejectionError(event, { atMs: submitted.outcome.at });
      default:
    }
  }
  throw new Error(`position ${submitted.position}: the outcome of a CancelOrder does not name its order`);
}

/** The answer for an order that the engine has forgotten since the endpoint looked. */
async function forgottenAnswer(parts: CancelOrderParts, orderHash: string): Promise<Reply> {
  const order = await parts.findOrder(orderHash);
  if (order === undefined) throw new RequestError('unknown_order');
  return closedAnswer(orderHash, order);
}

/** The answer for an order that is closed, which no command can change. */
function closedAnswer(orderHash: string, order: KnownOrder): Reply {
  switch (order.status) {
    case 'cancelled': return cancelledAnswer(orderHash, order, order.remaining, order.asOf);
    case 'filled': throw new RequestError('already_filled');
    // The engine forgets orders that are over for good. The read model will know how the order ended once it has caught
    // up.
    case 'open': throw new RequestError('unavailable', `the read model does not know yet how order ${orderHash} ended`);
  }
}

/** Writes amounts as exact JSON integers. */
function cancelledAnswer(
  orderHash: string, { size }: KnownOrder, remaining: string, position: number | undefined,
): Reply {
  const filled = BigInt(size) - BigInt(remaining);
  const body = `{"status":"cancelled","orderHash":"${orderHash}","filledSize":${filled},"remainingSize":${remaining}}`;
  return position === undefined ? { body } : { body, position };
}

interface Target {
  readonly orderHash: string;
  readonly marketId: string;
  readonly side: Side | undefined;
}

function parseTarget({ orderHash, marketId, side }: CancelRequest): Target {
  if (!isBytes32(orderHash)) {
    throw new RequestError('invalid_order_hash', '', [{ field: '/hash', message: 'is 0x and 64 hex digits' }]);
  }
  if (marketId === undefined || !isBytes32(marketId)) {
    const message = marketId === undefined ? 'is missing from the query' : 'is 0x and 64 hex digits';
    throw new RequestError('invalid_market_id', '', [{ field: '/marketId', message }]);
  }
  return { orderHash: orderHash.toLowerCase(), marketId: marketId.toLowerCase(), side: parseSide(side) };
}

function parseSide(side: string | undefined): Side | undefined {
  switch (side?.toLowerCase()) {
    case undefined: return undefined;
    case 'buy': return BUY;
    case 'sell': return SELL;
    default: throw new RequestError('invalid_request', '', [{ field: '/side', message: 'is buy or sell' }]);
  }
}

interface Authority {
  readonly signature: Buffer;
  readonly deadline: string;
}

/**
 * The given signature; undefined when none is given and none is needed. If one of the two headers is given, both are
 * required.
 */
function parseAuthority(auth: 'required' | 'open', { signature, deadline }: CancelRequest): Authority | undefined {
  if (signature === undefined && deadline === undefined && auth === 'open') return undefined;
  if (signature === undefined || deadline === undefined) throw new RequestError('cancel_signature_required');
  const bytes = signatureBytes(signature);
  if (bytes === undefined) throw invalidSignature('X-Cancel-Signature', 'is 65 bytes: 0x and 130 hex digits');
  const text = kind.uintText(deadline, UINT64_MAX);
  if (text === undefined) throw invalidSignature('X-Cancel-Deadline', 'is a time in Unix seconds, digits only');
  return { signature: bytes, deadline: text };
}

interface AuthorityCheck extends Authority {
  readonly order: KnownOrder;
  readonly orderHash: string;
  readonly at: number;
}

/** The checked fields of a signed cancel's command. Throws `invalid_cancel_signature`. */
function checkAuthority(
  parts: CancelOrderParts, { order, orderHash, at, signature, deadline }: AuthorityCheck,
): Required<Pick<CancelOrder, 'trader' | 'signature' | 'deadline'>> {
  const prepared = parts.domainOf(order.chainId);
  if (prepared === undefined) throw new Error(`order ${orderHash} is on chain ${order.chainId}, which has no signing domain`);
  if (Number(deadline) * 1_000 <= at) throw invalidSignature('X-Cancel-Deadline', `has passed: the server's time is ${Math.floor(at / 1_000)}`);
  const { trader } = order;
  const digest = prepared.cancelDigest({ orderHash, trader, deadline });
  const recovered = parts.recovery.recover(digest, signature);
  if (recovered.ok && recovered.signer === trader) return { trader, signature: normalSignature(signature), deadline };
  const { domain } = prepared;
  const fault = recovered.ok ? `is by ${recovered.signer}, not by the order's trader ${trader}` : `recovers no signer: ${recoveryFailures[recovered.failure]}`;
  throw invalidSignature('X-Cancel-Signature', fault, {
    digest: toHex(digest), recoveredSigner: recovered.ok ? recovered.signer : null, domain,
  });
}

function invalidSignature(field: string, message: string, extra?: Readonly<Record<string, unknown>>): RequestError {
  return new RequestError('invalid_cancel_signature', '', [{ field, message }], extra);
}

/** The parameters are passed on unparsed: the command side checks them together with the right to cancel. */
export const cancelOrder = defineEndpoint({
  id: 'cancelOrder', role: 'api', method: 'DELETE', path: '/api/v1/orders/{hash}', tag: 'Orders', summary: 'Cancel an order',
  description: 'Cancels the unfilled remainder of an open order. Cancelling a cancelled order gives the same answer; cancelling a filled order is an error.',
  parameters: {
    orderHash: inPath('hash', kind.text(AnyCaseBytes32), parameter.orderHashText),
    // Optional for the parser: a missing id is refused as invalid_market_id.
    marketId: inQuery('marketId', { ...kind.optional(kind.text(AnyCaseBytes32)), required: true }, {
      description: 'Market identifier.', example: example.marketId,
    }),
    side: inQuery('side', kind.optional(kind.text(Type.Union([Type.Literal('buy'), Type.Literal('sell')]))), {
      description: '`buy` or `sell`. Without this parameter, `buy` is tried first, then `sell`.', example: 'buy',
    }),
    signature: inHeader('X-Cancel-Signature', kind.optional(kind.text(AnyCaseSignature)), {
      description: 'The trader\'s EIP-712 signature of CancelOrder(bytes32 orderHash,address trader,uint64 deadline). Needed unless '
        + 'cancelAuth in /api/v1/config is open.',
      example: example.signature,
    }),
    deadline: inHeader('X-Cancel-Deadline', kind.optional(kind.text(Type.String({ pattern: '^(0|[1-9][0-9]{0,19})$' }))), {
      description: 'The deadline in the signed CancelOrder, in Unix seconds.', example: '1900000000',
    }),
  },
  authority: cancelSignature, errorShape: problems,
  answer: {
    description: 'The order is cancelled.',
    schema: field.answer('CancelledOrder', {
      status: Type.Literal('cancelled'), orderHash: field.Bytes32, filledSize: field.amount('Shares that were filled before the cancel'),
      remainingSize: field.amount('Shares that were not filled and are now cancelled'),
    }),
    examples: { cancelled: { status: 'cancelled', orderHash: example.orderHash, filledSize: 10_000_000, remainingSize: 15_000_000 } },
    headers: { 'X-Log-Position': 'Log position of the cancel.' },
  },
  errors: [
    'invalid_order_hash', 'invalid_market_id', 'cancel_signature_required', 'invalid_cancel_signature', 'not_order_owner', 'other_site', 'unknown_order',
    'already_filled', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
}, ({ cancelOrder: cancel }: { readonly cancelOrder: CancelOrderHandler }) => (request, { signal }) => cancel(request, signal));
