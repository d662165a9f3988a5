/** Orders: signed once, sent until they are answered, changed and cancelled. */
import type { CheckedOrder, PlacedOrder } from './answers.js';
import { hexOf, oneOf, unitsWithin, wholeNumber } from './arguments.js';
import type { Delivered } from './delivery.js';
import {
  BadArgument, OutcomeUnknown, Refusal, TransportError, type CallOptions, type SentRequest,
} from './errors.js';
import { writeJson } from './exact-json.js';
import type { NonceSource } from './nonces.js';
import { isReplay, marketIdOf, positionIn, type MarketReference, type Session } from './session.js';
import type { Signing } from './signing.js';
import { isObject, listIn, type ApiAnswer } from './transport.js';
import { read } from './delivery.js';
import { Outcome, Side, type Amount, type Hex } from './vocabulary.js';

/** An order as a trader thinks of it. */
export interface OrderRequest extends OrderTerms {
  readonly market: MarketReference;
  readonly side: Side;
  readonly outcome: Outcome;
  /** Of one share: `'0.62'` or 620_000n. */
  readonly price: Amount;
  /** Shares: `'10'` or 10_000_000n. */
  readonly size: Amount;
  /** Unix seconds, at least 60 ahead. Default: in an hour. */
  readonly expiration?: number;
  /** Default: the next of the client's. */
  readonly nonce?: bigint;
}

/** What an order asks for beside what its trader signs; docs/orders.md says what each means. */
export interface OrderTerms {
  readonly timeInForce?: 'GTC' | 'FOK' | 'FAK';
  readonly postOnly?: boolean;
  /**
   * Milliseconds since the Unix epoch: later than this the order is refused with `too_late`, by every process, for
   * ever.
   */
  readonly notAfter?: number;
  readonly selfTrade?: 'cancel_older' | 'cancel_newer';
  /** An ERC-2612 permit for the settlement contract, instead of an allowance: see `signPermit`. */
  readonly permit?: OrderPermit;
}

export interface OrderPermit {
  readonly nonce: string;
  readonly value: string;
  readonly deadline: string;
  readonly v: number;
  readonly r: Hex;
  readonly s: Hex;
}

/**
 * A signed order: `place` and `placeBatch` send it as it is, however often they are called. Plain JSON but for bigints.
 */
export interface SignedOrder {
  readonly order: {
    readonly marketId: Hex;
    readonly trader: Hex;
    readonly side: Side;
    readonly outcome: Outcome;
    readonly price: bigint;
    readonly size: bigint;
    readonly nonce: bigint;
    readonly expiration: number;
    readonly makerFeeRecipient: Hex;
  };
  readonly signature: Hex;
  readonly terms: OrderTerms;
}

/** An order that was accepted. */
export interface Placed extends PlacedOrder {
  readonly marketId: Hex;
  /** Log position of the order. */
  readonly position: number;
  /** Whether it had been accepted before: `orderStatus` says what has become of it. */
  readonly replayed: boolean;
}

/** What became of one order of a batch. */
export type BatchResult = Placed | Refusal | OutcomeUnknown<Placed>;

const MARKET_BYTES = 32;
const MOST_PER_BATCH = 15;
const LIFETIME_S = 3_600;
const ZERO_ADDRESS: Hex = `0x${'0'.repeat(40)}`;
const PRICES = { min: 1n, max: 999_999n };
const SIZES = { min: 1n, max: 2n ** 64n - 1n };

export class Orders {
  constructor(
    private readonly session: Session, private readonly signing: Signing, private readonly nonces: () => NonceSource,
  ) {}

  /** Signs an order without sending it. */
  async sign(request: OrderRequest, options: CallOptions = {}): Promise<SignedOrder> {
    const order = await this.orderOf(request, options);
    const chain = await this.session.chainOfMarket(request.market, options);
    const message = { ...order, expiration: BigInt(order.expiration) };
    return { order, signature: await this.signing.sign(chain, 'order', message, options), terms: ownTerms(request) };
  }

  /**
   * Places an order. Throws Refusal where the exchange does not take it, OutcomeUnknown where there was no answer in
   * time; that is asked again with the same signed bytes, which are carried out once.
   */
  async place(order: OrderRequest | SignedOrder, options: CallOptions = {}): Promise<Placed> {
    return this.placeSigned(await this.signed(order, options), options);
  }

  /**
   * Places up to 15 orders in one append to the history. Their results come in their order: one that is refused keeps
   * no other from being taken.
   */
  async placeBatch(orders: readonly (OrderRequest | SignedOrder)[], options: CallOptions = {}): Promise<BatchResult[]> {
    if (orders.length === 0 || orders.length > MOST_PER_BATCH) {
      throw new BadArgument('orders', `are 1 to ${MOST_PER_BATCH}, not ${orders.length}`);
    }
    const signed: SignedOrder[] = [];
    for (const order of orders) signed.push(await this.signed(order, options));
    const request = postOf('/api/v1/orders/batch', { orders: signed.map(bodyOf) });
    return this.session.send(request, {
      check: (answer) => { resultsOf(answer, signed.length); },
      isFinal: (answer) => resultsOf(answer, signed.length).every(({ status }) => status < 500 && status !== 429),
      result: (answer) => resultsOf(answer, signed.length).map((result, i) => (
        this.batchResult(signed[i] as SignedOrder, result, answer))),
    }, options);
  }

  /** What the order would do if it came next. Nothing is signed, and nothing is recorded. */
  async check(request: OrderRequest, options: CallOptions = {}): Promise<CheckedOrder> {
    const body = { order: wire(await this.orderOf(request, options)), ...termsOf(request) };
    const answer = await read(this.session.delivery, postOf('/api/v1/orders/check', body), options);
    return answer.body as CheckedOrder;
  }

  private async orderOf(request: OrderRequest, options: CallOptions): Promise<SignedOrder['order']> {
    const { expiration, ...checked } = termsToSign(request);
    return {
      ...checked, trader: this.signing.trader, nonce: request.nonce ?? await this.nonces().next(),
      expiration: expiration ?? await this.session.now(options) + LIFETIME_S, makerFeeRecipient: ZERO_ADDRESS,
    };
  }

  private async signed(order: OrderRequest | SignedOrder, options: CallOptions): Promise<SignedOrder> {
    return 'signature' in order ? order : this.sign(order, options);
  }

  private placeSigned(signed: SignedOrder, options: CallOptions): Promise<Placed> {
    return this.session.send(postOf('/api/v1/orders', bodyOf(signed)), {
      result: (answer) => ({
        ...answer.body as PlacedOrder, marketId: signed.order.marketId, position: positionIn(answer),
        replayed: isReplay(answer),
      }),
    }, options);
  }

  private batchResult(signed: SignedOrder, result: SingleResult, answer: Delivered): BatchResult {
    if (result.status < 400) {
      const placed = result.body as unknown as PlacedOrder;
      const replayed = placed.orderStatus !== undefined;
      return { ...placed, marketId: signed.order.marketId, position: positionIn(answer), replayed };
    }
    const refusal = refusalIn(result);
    if (refusal.code !== 'outcome_unknown') return refusal;
    const request = postOf('/api/v1/orders', bodyOf(signed));
    return new OutcomeUnknown(request, (options = {}) => this.placeSigned(signed, options), refusal);
  }
}

/** One result of a request about several orders. */
export interface SingleResult {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The results of so many orders. Throws TransportError for an answer that has not as many. */
export function resultsOf(answer: ApiAnswer, count: number): readonly SingleResult[] {
  const results = listIn<Partial<SingleResult> | null>(answer, 'results');
  if (results.length === count && results.every((each) => isObject(each?.body))) return results as SingleResult[];
  throw new TransportError(`${count} orders were answered with other results`, { status: answer.status });
}

export const JSON_TYPE = { 'Content-Type': 'application/json' } as const;

export function postOf(path: string, body: object): SentRequest {
  return { method: 'POST', path, headers: JSON_TYPE, body: writeJson(body) };
}

/** A result that is not of success, as the error that a request of its own would have thrown. */
export function refusalIn({ status, body }: SingleResult): Refusal {
  return new Refusal({ status, code: typeof body['code'] === 'string' ? body['code'] : 'unknown', body });
}

function termsToSign({ market, side, outcome, price, size, expiration }: OrderRequest) {
  return {
    marketId: hexOf('market', marketIdOf(market), MARKET_BYTES),
    side: oneOf('side', side, Side), outcome: oneOf('outcome', outcome, Outcome),
    price: unitsWithin('price', price, PRICES), size: unitsWithin('size', size, SIZES),
    expiration: expiration === undefined ? undefined : wholeNumber('expiration', expiration),
  };
}

function bodyOf({ order, signature, terms }: SignedOrder): object {
  return { order: wire(order), signature, ...termsOf(terms) };
}

/** Prices are JSON numbers, and what may be beyond 2^53 decimal strings. */
function wire(order: SignedOrder['order']): object {
  return { ...order, price: Number(order.price), expiration: String(order.expiration) };
}

const TERMS = ['timeInForce', 'postOnly', 'notAfter', 'selfTrade', 'permit'] as const;

function ownTerms(request: OrderTerms): OrderTerms {
  return Object.fromEntries(TERMS.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]));
}

function termsOf({ timeInForce, postOnly, notAfter, selfTrade, permit }: OrderTerms): object {
  return { timeInForce, postOnly, notAfter, selfTrade, permitSignature: permit };
}
