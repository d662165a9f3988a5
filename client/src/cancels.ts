/** Cancels: of one order, of many, of all, of a part, and of all unless the client speaks up in time. */
import type { CancelledAll, CancelledOrder, ReducedOrder, Switch } from './answers.js';
import { hexOf, unitsWithin, wholeNumber } from './arguments.js';
import type { Refusal, CallOptions } from './errors.js';
import { postOf, refusalIn, resultsOf } from './orders.js';
import {
  isReplay, marketIdOf, pathOf, positionIn, type MarketReference, type OnChain, type Session,
} from './session.js';
import type { Signing } from './signing.js';
import type { Amount, Hex } from './vocabulary.js';

/** An order, by what `place` and the listings say of it. */
export interface OrderReference {
  readonly orderHash: Hex;
  readonly marketId: Hex;
}

/** Where all orders are cancelled. */
export interface CancelAllRequest {
  /** Default: in all markets of the chain. */
  readonly market?: MarketReference;
  /** Needed where the exchange has several chains and no market is given. */
  readonly chainId?: number;
}

export interface CancelAfterRequest {
  /** 0 disarms. */
  readonly seconds: number;
  readonly chainId?: number;
}

/** An answer, with the log position of what it tells. */
export type Recorded<T> = T & { readonly position: number };

const HASH_BYTES = 32;
const MOST_AT_ONCE = 100;
const ALL_MARKETS: Hex = `0x${'0'.repeat(64)}`;
const SIZES = { min: 1n, max: 2n ** 64n - 1n };

export class Cancels {
  constructor(private readonly session: Session, private readonly signing: Signing) {}

  /**
   * Cancels an order; one that is cancelled already gives the same answer. Throws Refusal `already_filled`,
   * `unknown_order`.
   */
  async cancel(
    { orderHash: hash, marketId }: OrderReference, options: CallOptions = {},
  ): Promise<Recorded<CancelledOrder>> {
    const orderHash = hexOf('orderHash', hash, HASH_BYTES);
    const chain = await this.session.chainOfMarket(marketId, options);
    const [trader, deadline] = [this.signing.trader, await this.signing.nextDeadline(options)];
    const message = { orderHash, trader, deadline: BigInt(deadline) };
    const signature = await this.signing.sign(chain, 'cancel', message, options);
    return this.session.send({
      method: 'DELETE',
      path: pathOf(`/api/v1/orders/${orderHash}`, { marketId: hexOf('marketId', marketId, HASH_BYTES) }),
      headers: { 'X-Cancel-Signature': signature, 'X-Cancel-Deadline': String(deadline) },
    }, { result: (answer) => ({ ...answer.body as CancelledOrder, position: positionIn(answer) }) }, options);
  }

  /** Cancels orders of one chain, by one signature for each hundred. The results come in their order. */
  async cancelMany(
    orders: readonly Pick<OrderReference, 'orderHash'>[], { chainId, ...options }: OnChain & CallOptions = {},
  ): Promise<(CancelledOrder | Refusal)[]> {
    const hashes = orders.map(({ orderHash }) => hexOf('orderHash', orderHash, HASH_BYTES));
    const results: (CancelledOrder | Refusal)[] = [];
    for (let first = 0; first < hashes.length; first += MOST_AT_ONCE) {
      results.push(...await this.cancelSome(hashes.slice(first, first + MOST_AT_ONCE), chainId, options));
    }
    return results;
  }

  /** Cancels all open orders. From the answer on none of them trades. */
  async cancelAll(
    { market, chainId }: CancelAllRequest = {}, options: CallOptions = {},
  ): Promise<Recorded<CancelledAll>> {
    const { session } = this;
    const asked = market === undefined ? session.chain(chainId, options) : session.chainOfMarket(market, options);
    const chain = await asked;
    const marketId = market === undefined ? ALL_MARKETS : hexOf('market', marketIdOf(market), HASH_BYTES);
    for (;;) {
      const { request } = await this.requestOf(chain, 'cancel-all', { trader: this.signing.trader, marketId }, options);
      // Another program with this key, or this one before a restart, may have signed the very same request: then it has
      // not counted.
      const cancelled = await this.session.send(postOf('/api/v1/orders/cancel-all', request), {
        result: (answer) => isReplay(answer) && !answer.wasUnsure
          ? undefined
          : { ...answer.body as CancelledAll, position: positionIn(answer) },
      }, options);
      if (cancelled !== undefined) return cancelled;
    }
  }

  /** Makes an order smaller; it keeps its place. `size` is that of the whole order, its filled part included. */
  async reduce(
    { orderHash: hash, marketId }: OrderReference, size: Amount, options: CallOptions = {},
  ): Promise<Recorded<ReducedOrder>> {
    const [orderHash, units] = [hexOf('orderHash', hash, HASH_BYTES), unitsWithin('size', size, SIZES)];
    const chain = await this.session.chainOfMarket(marketId, options);
    const message = { orderHash, trader: this.signing.trader, size: units };
    const { request: { deadline, signature } } = await this.requestOf(chain, 'reduce', message, options);
    return this.session.send(postOf(`/api/v1/orders/${orderHash}/reduce`, { size: units, deadline, signature }), {
      result: (answer) => ({ ...answer.body as ReducedOrder, position: positionIn(answer) }),
    }, options);
  }

  /** Cancels all open orders of the chain in so many seconds, unless this is called again before. */
  async cancelAfter({ seconds, chainId }: CancelAfterRequest, options: CallOptions = {}): Promise<Recorded<Switch>> {
    const chain = await this.session.chain(chainId, options);
    const message = { trader: this.signing.trader, seconds: wholeNumber('seconds', seconds) };
    const { request } = await this.requestOf(chain, 'cancel-after', message, options);
    return this.session.send(postOf('/api/v1/orders/cancel-after', request), {
      result: (answer) => ({ ...answer.body as Switch, position: positionIn(answer) }),
    }, options);
  }

  private async cancelSome(
    orderHashes: readonly Hex[], chainId: number | undefined, options: CallOptions,
  ): Promise<(CancelledOrder | Refusal)[]> {
    const chain = await this.session.chain(chainId, options);
    const message = { trader: this.signing.trader, orderHashes };
    const { request } = await this.requestOf(chain, 'cancel-orders', message, options);
    return this.session.send(postOf('/api/v1/orders/cancel', request), {
      check: (answer) => { resultsOf(answer, orderHashes.length); },
      isFinal: (answer) => resultsOf(answer, orderHashes.length).every(({ status }) => status < 500),
      result: (answer) => resultsOf(answer, orderHashes.length).map((result) => (
        result.status < 400 ? result.body as unknown as CancelledOrder : refusalIn(result))),
    }, options);
  }

  /** A signed request about orders. */
  private async requestOf(
    { chainId }: { readonly chainId: number }, name: 'cancel-orders' | 'cancel-all' | 'cancel-after' | 'reduce',
    message: object, options: CallOptions,
  ) {
    const deadline = await this.signing.nextDeadline(options);
    const signature = await this.signing.sign({ chainId }, name, { ...message, deadline: BigInt(deadline) }, options);
    return { request: { ...message, deadline: String(deadline), signature, chainId } };
  }
}
