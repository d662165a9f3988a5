/** `POST /api/v1/orders`: from a body's bytes to the answer. An order is accepted exactly once, however often it is sent. */
import { LogUnavailable } from '../../engine/log/log.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { AdvanceClock, OrderPermit, PlaceOrder } from '../../engine/records/commands.js';
import type { Event, OrderTermsSet } from '../../engine/records/events.js';
import { RequestError } from '../../engine/records/errors.js';
import { toHex } from '../../engine/records/hex.js';
import { Type } from '../../engine/records/schema-types.js';
import type { EngineView, MarketView } from '../../engine/run/view.js';
import * as field from '../../engine/records/answer-fields.js';
import { anybody } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import { parseJsonObject, type JsonObject } from '../../engine/records/exact-json.js';
import * as example from '../../service/api/examples.js';
import { problems } from '../../service/api/problems.js';
import type { Exposure } from '../chain/exposure.js';
import { normalSignature, recoveryFailures, signatureBytes, type Recovery, type SignerRecovery } from '../signing/recover.js';
import type { RecoveryThread } from '../signing/recovery-thread.js';
import type { OrderFields, PermitFields, PreparedDomain } from '../signing/typed-data.js';
import { rejectionError, type FindOrder, type KnownOrder, type OriginalOutcome, type Submit, type Submitted } from './order-ports.js';
import { expiresTooSoon, fieldError, parseOrder, parseTerms, PlaceOrderRequest, tooSoon, type OrderTerms } from './order-request.js';
import { parsePermit } from './permit.js';
import { createUnderway, passed, type Underway } from './command-writer.js';

export interface PlaceOrderParts {
  /** What the engine knows: an order that the view can answer is not written to the log. */
  readonly view: Pick<EngineView, 'order' | 'refusalOf' | 'refusalByBook' | 'openOrderCount' | 'suspendedUntil' | 'time'> & {
    /** A market that the engine knows, open or closed. */
    market(marketId: string): Pick<MarketView, 'chainId'> | undefined;
  };
  /** The most open orders per trader. */
  readonly maxOpenOrders: number;
  /** The smallest size of an order in a chain's markets, in units of 1e-6 shares. */
  readonly minSizeOf: (chainId: number) => number;
  /** The signing domain of a chain; every market's chain has one. */
  readonly domainOf: (chainId: number) => PreparedDomain | undefined;
  /** Computes the digest of permits for a chain's settlement contract; undefined while the stablecoin's signing domain is not known. */
  readonly permitDigestOf: (chainId: number) => ((permit: PermitFields) => Uint8Array) | undefined;
  /** The check of a chain's orders against balances; undefined for a chain without that check. */
  readonly exposureOf: (chainId: number) => Exposure | undefined;
  readonly recovery: SignerRecovery;
  readonly submit: Submit<PlaceOrder | AdvanceClock>;
  /** Resolves once the view has everything that is in the log now. Throws RequestError `unavailable`. */
  readonly caughtUp: () => Promise<void>;
  readonly findOrder: FindOrder;
  readonly originalOutcome: OriginalOutcome;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/**
 * Places the order in a request's body. `signal` aborts when the client disconnects; an order that was not handed to the log yet is then
 * withdrawn. An order that was accepted before gets its original answer. Throws RequestError for the first fault in this order: JSON, shape,
 * price, size, expiration, market, signature, permit, the chain's smallest size, a rejection by the engine, the limit of open orders,
 * balance and allowance; a log that cannot be written. Only what the replica cannot tell yet is written to the log.
 */
export type PlaceOrderHandler = (body: Uint8Array, signal?: AbortSignal) => Promise<Reply>;

/** `recover`: as of PlacingOptions. */
export function createPlaceOrder(placing: OrderPlacing, recover?: PlacingOptions['recover']): PlaceOrderHandler {
  return async (body, signal) => placing(parseJsonObject(body), { signal, recover });
}

/** How an order is placed: what is absent is as for a request of its own. */
export interface PlacingOptions {
  readonly signal: AbortSignal | undefined;
  /** Writes the order's command. */
  readonly submit?: Submit<PlaceOrder>;
  /** Orders that come before it may change its book: only the engine can tell then whether it would match. */
  readonly followsOthers?: boolean;
  /** Recovers the signer, perhaps later; absent: the main thread does, at once. */
  readonly recover?: RecoveryThread['recover'] | undefined;
  /** Called when the order begins to wait for another request with its nonce, and when it has waited. */
  readonly waits?: () => void;
  readonly resumes?: () => void;
}

/** Places the order in a request's parsed body, as PlaceOrderHandler does. */
export type OrderPlacing = (request: JsonObject, options: PlacingOptions) => Promise<Reply>;

export function createOrderPlacing(parts: PlaceOrderParts): OrderPlacing {
  const underway = createUnderway();
  return async (request, options) => {
    const at = parts.now();
    const order = parseOrder(request);
    const terms = parseTerms(request);
    if (expiresTooSoon(order.expiration, at)) return repeatOrRefuse(parts, order, request['signature'], at);
    const domain = domainOfMarket(parts, order.marketId);
    if (domain === undefined) throw new RequestError('unknown_market', '', [{ field: '/order/marketId', message: 'names it' }]);
    const digest = domain.orderDigest(order);
    const signed = { domain, digest, trader: order.trader, given: request['signature'] };
    const { recover } = options;
    const signature = recover === undefined ? checkSignature(parts.recovery, signed) : await signatureLater(recover, signed);
    const orderHash = toHex(digest);
    const command: PlaceOrder = { kind: 'PlaceOrder', v: 2, at, orderHash, ...order, signature };
    const { chainId } = domain.domain;
    const known = parts.view.order(orderHash);
    if (known !== undefined) return originalAnswer(parts, orderHash, known);
    const { permitSignature = null } = request;
    if (permitSignature !== null) {
      command.permit = parsePermit(permitSignature, at);
      checkPermit(parts, { chainId, owner: order.trader, permit: command.permit });
    }
    if (terms !== undefined) Object.assign(command, terms);
    const decided = await decide(parts, { chainId, command, terms, underway, ...options });
    return 'outcome' in decided ? answerTo(parts, command, decided) : originalAnswer(parts, orderHash, decided);
  };
}

interface Incoming extends PlacingOptions {
  readonly chainId: number;
  readonly command: PlaceOrder;
  /** Undefined when all are the defaults. */
  readonly terms: OrderTerms | undefined;
  readonly underway: Underway;
}

/**
 * Has the engine decide an order that the view did not know a moment ago. Orders of one trader with one nonce go one after the other, so that
 * of many at the same time only one is written; what an order has waited for may have been the same order.
 */
async function decide(parts: PlaceOrderParts, incoming: Incoming): Promise<Submitted | KnownOrder> {
  const { command, terms, underway, signal } = incoming;
  const { orderHash, trader, nonce } = command;
  // With other terms, the same order may have another answer.
  const request = terms === undefined ? orderHash : `${orderHash} ${JSON.stringify(terms)}`;
  const key = `${trader}:${nonce}`;
  for (;;) {
    const refusing = terms === undefined ? undefined : refuseByTerms(parts, incoming);
    // Nothing is awaited where nothing has to be: a later order of the same nonce would come first.
    const since = refusing === undefined ? undefined : await refusing;
    if (since !== undefined) return since;
    // Nothing is awaited between the last look at the view and `start`: no other order may come in.
    const found = refuseOrFind(parts, incoming);
    if (found !== undefined) return await found;
    const ahead = underway.find(key);
    if (ahead === undefined) {
      refuseBeyondLimit(parts, incoming);
      return underway.start({ key, trader, orderHash, request, signal, run: () => submitReserved(parts, incoming) });
    }
    incoming.waits?.();
    await passed(ahead, request);
    incoming.resumes?.();
    const now = parts.view.order(orderHash);
    if (now !== undefined) return now;
  }
}

/**
 * Throws `not_filled`, `would_match` or `too_late` where that is certain without the order's command: the history shows recorded orders with their
 * signatures to everybody, and whoever has one could send it with other terms. Finds the order where it has taken effect meanwhile. What the engine
 * alone can tell is left to the engine: undefined.
 */
function refuseByTerms(parts: PlaceOrderParts, incoming: Incoming): Promise<KnownOrder | undefined> | undefined {
  const { view } = parts;
  const { command, followsOthers = false } = incoming;
  if (view.refusalOf(command) !== undefined) return undefined;
  if (command.at > (command.notAfter ?? Infinity)) return passTime(parts, command);
  return followsOthers || view.refusalByBook(command) === undefined ? undefined : refuseByBook(parts, command);
}

/** Once the history's time is past an order's `notAfter`, no other process can have the order accepted any more. */
async function passTime({ view, submit }: PlaceOrderParts, { orderHash, at }: PlaceOrder): Promise<KnownOrder | undefined> {
  await submit({ kind: 'AdvanceClock', v: 1, at });
  return view.order(orderHash);
}

async function refuseByBook({ view, caughtUp }: PlaceOrderParts, command: PlaceOrder): Promise<KnownOrder | undefined> {
  const { orderHash, at } = command;
  await caughtUp();
  const known = view.order(orderHash);
  const code = known === undefined && view.refusalOf(command) === undefined ? view.refusalByBook(command) : undefined;
  if (code !== undefined) throw rejectionError({ code, subject: orderHash }, { atMs: at });
  return known;
}

/**
 * Throws what the engine would answer to the order as far as the view tells, with the same code. An order that comes too late for the
 * engine may have been accepted and forgotten: then it is found in the read models.
 */
function refuseOrFind(parts: PlaceOrderParts, incoming: Incoming): Promise<KnownOrder> | undefined {
  const refusal = refusalKnown(parts, incoming);
  if (refusal === undefined) return undefined;
  if (refusal.code !== 'invalid_expiration') throw refusal;
  return parts.findOrder(incoming.command.orderHash).then((known) => {
    if (known === undefined) throw refusal;
    return known;
  });
}

/** Why the order is refused as far as the chain's smallest size and the view tell, the book aside; undefined when they have nothing against it. */
export function refusalKnown(parts: PlaceOrderParts, { chainId, command }: Pick<Incoming, 'chainId' | 'command'>): RequestError | undefined {
  const { orderHash, size } = command;
  const minSize = parts.minSizeOf(chainId);
  // Every size is 1 or more: a chain that sets no smallest size costs its orders no BigInt.
  if (minSize > 1 && BigInt(size) < BigInt(minSize)) {
    return fieldError('size_too_small', '/order/size', `must be ${minSize} or more on chain ${chainId}, but is ${size}`, { minOrderSize: minSize });
  }
  const code = parts.view.refusalOf(command);
  if (code === undefined) return undefined;
  return rejectionError({ code, subject: orderHash }, { atMs: command.at, suspendedUntilMs: parts.view.suspendedUntil(command.trader) });
}

/** Counts the orders that are on their way in, too. An order that never rests is not limited. */
function refuseBeyondLimit({ view, maxOpenOrders }: PlaceOrderParts, { underway, command: { trader, timeInForce } }: Incoming): void {
  if (timeInForce !== undefined) return;
  const openOrders = view.openOrderCount(trader) + underway.countOf(trader);
  if (openOrders < maxOpenOrders) return;
  throw new RequestError('too_many_open_orders', `the trader has ${openOrders} of at most ${maxOpenOrders}`, [], { openOrders, maxOpenOrders });
}

async function submitReserved(parts: PlaceOrderParts, { chainId, command, signal, submit = parts.submit }: Incoming): Promise<Submitted> {
  const release = await reserve(parts, chainId, command);
  try {
    return await submit(command, signal);
  } finally {
    release?.();
  }
}

/** Reserves what the order needs; throws when the trader cannot pay. An order accepted before needs no check: it gets its first answer again. */
async function reserve(parts: PlaceOrderParts, chainId: number, command: PlaceOrder): Promise<(() => void) | undefined> {
  const exposure = parts.exposureOf(chainId);
  if (exposure === undefined || await parts.findOrder(command.orderHash) !== undefined) return undefined;
  return exposure.hold(command);
}

/** The fields of the answer to an order that was accepted, as JSON. They depend on the outcome alone, so they are always the same. */
function acceptedFields(orderHash: string, outcome: CommandOutcome): string {
  let matches = 0;
  for (const event of outcome.events) if (event.type === 'FillMatched') matches++;
  const fields = `"orderHash":"${orderHash}","status":"accepted","matches":${matches},"timestamp":${Math.floor(outcome.at / 1_000)}`;
  return outcome.events[1]?.type === 'OrderTermsSet' ? `${fields}${unfilledField(outcome.events[1], outcome.events)}` : fields;
}

/** What was cancelled at once, of an order that would not rest. */
function unfilledField({ orderNumber, timeInForce }: OrderTermsSet, events: readonly Event[]): string {
  const last = events.at(-1);
  const cancelled = last?.type === 'OrderCancelled' && last.orderNumber === orderNumber ? last.remaining : undefined;
  return timeInForce === 'GTC' && cancelled === undefined ? '' : `,"remainingSize":${cancelled ?? 0}`;
}

export function domainOfMarket(parts: PlaceOrderParts, marketId: string): PreparedDomain | undefined {
  const market = parts.view.market(marketId);
  if (market === undefined) return undefined;
  const domain = parts.domainOf(market.chainId);
  if (domain === undefined) throw new Error(`market ${marketId} is on chain ${market.chainId}, which has no signing domain`);
  return domain;
}

interface SignatureCheck {
  readonly domain: PreparedDomain;
  readonly digest: Uint8Array;
  readonly trader: string;
  readonly given: unknown;
}

/** The signature in the form of records. Throws `invalid_signature` with all that a client needs to find its mistake. */
export function checkSignature(recovery: SignerRecovery, check: SignatureCheck): string {
  const bytes = givenSignature(check);
  return signatureBy(recovery.recover(check.digest, bytes), bytes, check);
}

/** The same, where the signer may be recovered later. */
async function signatureLater(recover: RecoveryThread['recover'], check: SignatureCheck): Promise<string> {
  const bytes = givenSignature(check);
  return signatureBy(await recover(check.digest, bytes), bytes, check);
}

function givenSignature({ domain: { domain }, digest, given }: SignatureCheck): Uint8Array {
  const bytes = signatureBytes(given);
  if (bytes !== undefined) return bytes;
  throw fieldError('invalid_signature', '/signature', 'is 65 bytes: 0x and 130 hex digits', { digest: toHex(digest), recoveredSigner: null, domain });
}

function signatureBy(recovered: Recovery, bytes: Uint8Array, { domain: { domain }, digest, trader }: SignatureCheck): string {
  if (recovered.ok && recovered.signer === trader) return normalSignature(bytes);
  const fault = recovered.ok ? `is by ${recovered.signer}, not by the trader ${trader}` : `recovers no signer: ${recoveryFailures[recovered.failure]}`;
  throw fieldError('invalid_signature', '/signature', fault, {
    digest: toHex(digest), recoveredSigner: recovered.ok ? recovered.signer : null, domain,
  });
}

/** Throws `invalid_permit` for a permit that this trader did not sign. */
export function checkPermit(
  { permitDigestOf, recovery }: PlaceOrderParts, { chainId, owner, permit }: { chainId: number; owner: string; permit: OrderPermit },
): void {
  const digestOf = permitDigestOf(chainId);
  if (digestOf === undefined) return;
  const digest = digestOf({ owner, ...permit });
  const signature = Buffer.from(`${permit.r.slice(2)}${permit.s.slice(2)}${permit.v.toString(16)}`, 'hex');
  const recovered = recovery.recover(digest, signature);
  if (recovered.ok && recovered.signer === owner) return;
  const fault = recovered.ok ? `is by ${recovered.signer}, not by the trader ${owner}` : `recovers no signer: ${recoveryFailures[recovered.failure]}`;
  throw fieldError('invalid_permit', '/permitSignature', `${fault}; its spender is the settlement contract`, {
    digest: toHex(digest), recoveredSigner: recovered.ok ? recovered.signer : null,
  });
}

async function answerTo(parts: PlaceOrderParts, { orderHash, trader }: PlaceOrder, { position, outcome }: Submitted): Promise<Reply> {
  const first = outcome.events[0];
  switch (first?.type) {
    case 'OrderAccepted': return { body: `{${acceptedFields(orderHash, outcome)}}`, position };
    case 'OrderRepeated': return originalAnswer(parts, orderHash, await parts.findOrder(orderHash) ?? { orderNumber: first.orderNumber });
    case 'CommandRejected': throw rejectionError(first, { atMs: outcome.at, suspendedUntilMs: parts.view.suspendedUntil(trader) });
    default: throw new Error(`position ${position}: a PlaceOrder's outcome began with ${first?.type ?? 'nothing'}`);
  }
}

/** The answer that the order got first, and what has become of the order since, if that is known. */
async function originalAnswer(
  parts: PlaceOrderParts, orderHash: string, { orderNumber, status, forgotten }: Pick<KnownOrder, 'orderNumber'> & Partial<KnownOrder>,
): Promise<Reply> {
  const present = status === undefined || (status === 'open' && forgotten === true) ? '' : `,"orderStatus":"${status}"`;
  try {
    const original = acceptedFields(orderHash, await parts.originalOutcome(orderNumber));
    return { body: `{${original}${present}}`, position: orderNumber, headers: { 'Idempotent-Replayed': 'true' } };
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    throw new RequestError('unavailable', `the order was accepted at position ${orderNumber}, but its answer cannot be read`);
  }
}

/**
 * An expired order may have been accepted long ago and its answer lost: then the original answer is given again. Throws
 * `invalid_expiration` otherwise.
 */
async function repeatOrRefuse(parts: PlaceOrderParts, order: OrderFields, given: unknown, at: number): Promise<Reply> {
  const refusal = tooSoon(order.expiration, at);
  const domain = domainOfMarket(parts, order.marketId);
  const bytes = signatureBytes(given);
  if (domain === undefined || bytes === undefined) throw refusal;
  const digest = domain.orderDigest(order);
  const recovered = parts.recovery.recover(digest, bytes);
  if (!recovered.ok || recovered.signer !== order.trader) throw refusal;
  const orderHash = toHex(digest);
  const known = await parts.findOrder(orderHash);
  if (known === undefined) throw refusal;
  return originalAnswer(parts, orderHash, known);
}

/** An order in examples. */
export const exampleOrder = {
  marketId: example.marketId, trader: example.alice, side: 0, outcome: 0, price: 620_000, size: '25000000', nonce: '1',
  expiration: String(example.expiration), makerFeeRecipient: `0x${'0'.repeat(40)}`,
};

export const placeOrder = defineEndpoint({
  id: 'placeOrder', role: 'api', method: 'POST', path: '/api/v1/orders', tag: 'Orders', summary: 'Submit a signed order',
  description: 'The order is matched at once against the resting orders of the same outcome, by price, then time. The unfilled remainder rests in the book. '
    + 'The answer is sent when the order is durable. Sending the same signed order again is safe: it gets the first answer, with `Idempotent-Replayed: true` '
    + 'and the present `orderStatus`, also when it comes with other terms (`timeInForce`, `postOnly`, `notAfter`, `selfTrade`): those of the first time '
    + 'hold; of an order that was cancelled since, `orderStatus` is `cancelled`, and nothing is placed. An order that was refused because of the book '
    + '(`not_filled`, `would_match`) is decided anew.',
  parameters: {},
  body: bytesOf(PlaceOrderRequest, {
    limitBytes: MAX_BODY_BYTES,
    examples: {
      'order': { order: exampleOrder, signature: example.signature },
      'fill or kill, until a time': {
        order: exampleOrder, signature: example.signature, timeInForce: 'FOK', notAfter: `${example.placedAt}000`, selfTrade: 'cancel_newer',
      },
      'post-only': { order: exampleOrder, signature: example.signature, postOnly: true },
      'order with permit': {
        order: { ...exampleOrder, nonce: '2' }, signature: example.signature,
        permitSignature: { nonce: '0', value: '15500000', deadline: String(example.expiration), v: 27, r: `0x${'11'.repeat(32)}`, s: `0x${'22'.repeat(32)}` },
      },
    },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The order is accepted.',
    schema: field.answer('PlacedOrder', {
      orderHash: field.Bytes32, status: Type.Literal('accepted'), matches: field.integer('Number of trades that the order made at once.'), timestamp: field.Seconds,
      orderStatus: Type.Optional({
        ...field.OrderStatus, description: 'Only when the same order was submitted before: the order\'s present state, as in '
          + '/api/v1/orders/{hash}. Missing if it is not known at the moment.',
      }),
      remainingSize: Type.Optional(field.amount('Only for FOK and FAK, and where selfTrade has cancelled the order: shares that were not filled and are cancelled')),
    }),
    examples: {
      accepted: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt },
      FAK: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt, remainingSize: 15_000_000 },
      repeated: { orderHash: example.orderHash, status: 'accepted', matches: 1, timestamp: example.placedAt, orderStatus: 'cancelled' },
    },
    headers: { 'X-Log-Position': 'Log position of the order.', 'Idempotent-Replayed': '`true` when the same order was submitted before.' },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_price', 'invalid_size', 'size_too_small', 'invalid_expiration', 'invalid_signature', 'invalid_permit',
    'unknown_market', 'too_late', 'not_filled', 'would_match', 'market_closed', 'trader_suspended', 'duplicate_nonce', 'nonce_cancelled', 'too_many_open_orders', 'insufficient_balance', 'insufficient_allowance',
    'chain_unavailable', 'trading_halted', 'clock_untrusted', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
}, ({ placeOrder: place }: { readonly placeOrder: PlaceOrderHandler }) => ({ body }, { signal }) => place(body, signal));
