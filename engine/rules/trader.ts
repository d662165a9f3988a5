/** What the engine keeps of a trader. */

/** A trader. The trader's open orders are a list by number, linked by the columns previousOpen and nextOpen. */
export interface Trader {
  readonly index: number;
  readonly address: string;
  /** The slots of the trader's oldest and youngest open orders, or -1. */
  firstOpen: number;
  lastOpen: number;
  /** The length of the list. */
  openCount: number;
  /**
   * The nonce floor per chain: all lower nonces are cancelled. Undefined until the first floor, so most traders need no
   * look-up.
   */
  floors: Map<number, Nonce> | undefined;
  /** The trader's latest default; undefined until the first one. */
  latestDefault: LatestDefault | undefined;
  /**
   * Up to where the trader has cancelled all orders, by the chain's id or the market's. Undefined until the first time,
   * as the next two.
   */
  cleared: Map<number | string, Clearing> | undefined;
  /** The signed requests that have cancelled all orders, by `cancelAllKey`, until after their deadlines. */
  cancelAlls: Map<string, SignedRequest> | undefined;
  /** The trader's switches by chain: the highest deadline of any request for the switch. */
  switches: Map<number, { readonly deadline: string | undefined }> | undefined;
}

/**
 * All orders of a trader with numbers below `before` are cancelled, also those that would be open again after a failed
 * fill.
 */
export interface Clearing {
  readonly before: number;
  readonly reason: 'user' | 'cancel_after';
}

/** A request that took effect. `deadline` is in Unix seconds, decimal. */
export interface SignedRequest {
  readonly position: number;
  readonly deadline: string;
}

/**
 * A switch that is armed: at `firesAt` (milliseconds since the Unix epoch) the trader's open orders on the chain are
 * cancelled.
 */
export interface ArmedSwitch {
  readonly trader: number;
  readonly chainId: number;
  readonly firesAt: number;
}

/** A trader's latest default, on any chain. */
export interface LatestDefault {
  /** The trader's defaults up to this one, each within a day of the one before. */
  readonly count: number;
  /** The engine's time, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** The number of the next fill: the failures of earlier fills belong to this default. */
  readonly nextFill: number;
  /** New orders are rejected before this time, in milliseconds since the Unix epoch; 0 when none are. */
  readonly suspendedUntil: number;
}

/** A uint64 as two 32-bit halves. */
export interface Nonce {
  readonly hi: number;
  readonly lo: number;
}

/** Whether the trader has cancelled this nonce on this chain. */
export function isBelowFloor({ floors }: Trader, chainId: number, hi: number, lo: number): boolean {
  const floor = floors?.get(chainId);
  return floor !== undefined && isBelow(hi, lo, floor);
}

/** Names a signed CancelAll of a trader. */
export function cancelAllKey({ chainId, marketId, deadline }: {
  chainId: number;
  marketId: string;
  deadline: string;
}): string {
  return `${chainId} ${marketId} ${deadline}`;
}

/** Whether a nonce is lower than a bound. */
export function isBelow(hi: number, lo: number, bound: Nonce): boolean {
  return hi < bound.hi || (hi === bound.hi && lo < bound.lo);
}
