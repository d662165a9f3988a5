/** What goes into one settlement transaction: of the fills that are due, in order, as many as its gas and its size allow. */
import type { PlaceOrder } from '../../engine/records/commands.js';
import { BUY } from '../../engine/records/fields.js';
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { settleBytes, type SettleBatch } from './settle-calldata.js';

/** What a transaction may be. */
export interface BatchLimits {
  /** EIP-7825: no transaction may have more. */
  readonly gas: number;
  readonly bytes: number;
}

export const BATCH_LIMITS: BatchLimits = { gas: 16_777_216, bytes: 120_000 };

/**
 * The limits on a chain whose blocks have so much gas. An eighth is left: the limit may sink with every block, and what no block can
 * hold any more would block all that come after it.
 */
export function limitsWithin(limits: BatchLimits, blockGasLimit: bigint): BatchLimits {
  return { ...limits, gas: Math.min(limits.gas, Number(blockGasLimit * 7n / 8n)) };
}

/**
 * The gas that a batch never needs more of, whatever the tokens do (Settlement's FILL_RESERVE and PERMIT_GAS, the latter under the
 * 63/64 rule): it goes on with a fill only while this much is left. What is not used is not paid.
 */
export const SETTLE_GAS = { base: 100_000, fill: 260_000, permit: 160_000, byte: 16 } as const;

export interface Batch {
  readonly fills: readonly UnsettledFill[];
  /** Numbers of the orders whose permits are used. */
  readonly permits: readonly number[];
  readonly gasLimit: number;
  readonly content: Omit<SettleBatch, 'history'>;
}

export interface BatchRequest {
  /** In order. */
  readonly fills: readonly UnsettledFill[];
  /** Every order of the fills, by its number. */
  readonly orders: ReadonlyMap<number, PlaceOrder>;
  /** Whether an order's permit is in a transaction that is final. */
  readonly permitUsed: (orderNumber: number) => boolean;
  /** Unix seconds. */
  readonly nowS: number;
  readonly limits?: BatchLimits;
}

/** A batch of the first fills that fit; at least one. Orders are listed once, in the order in which the fills name them. */
export function composeBatch({ fills, orders, permitUsed, nowS, limits = BATCH_LIMITS }: BatchRequest): Batch {
  const places = new Map<number, number>();
  const permits: number[] = [];
  const taken: UnsettledFill[] = [];
  let gasLimit = 0;
  for (const fill of fills) {
    const added = [fill.buyNumber, fill.sellNumber].filter((number) => !places.has(number));
    const newPermits = added.filter((number) => needsPermit(orders.get(number)!, nowS) && !permitUsed(number));
    const counts = { orders: places.size + added.length, permits: permits.length + newPermits.length, fills: taken.length + 1 };
    const gas = settleGas(counts);
    if (taken.length > 0 && (gas > limits.gas || settleBytes(counts) > limits.bytes)) break;
    for (const number of added) places.set(number, places.size);
    permits.push(...newPermits);
    taken.push(fill);
    gasLimit = gas;
  }
  return {
    fills: taken, permits, gasLimit,
    content: {
      orders: [...places.keys()].map((number) => orders.get(number)!),
      permits: inNonceOrder(permits.map((number) => orders.get(number)!)),
      fills: taken.map(({ fill, price, size, buyNumber, sellNumber }) => (
        { seq: fill, buyIndex: places.get(buyNumber)!, sellIndex: places.get(sellNumber)!, price, size })),
    },
  };
}

/** The gas limit of such a batch. */
export function settleGas(counts: { orders: number; permits: number; fills: number }): number {
  return SETTLE_GAS.base + counts.fills * SETTLE_GAS.fill + counts.permits * SETTLE_GAS.permit + settleBytes(counts) * SETTLE_GAS.byte;
}

/** A seller's permit would allow the settlement contract collateral that it does not need. */
function needsPermit({ side, permit }: PlaceOrder, nowS: number): boolean {
  return side === BUY && permit !== undefined && BigInt(permit.deadline) >= BigInt(nowS);
}

/** A token takes an owner's permits in the order of their nonces only. */
function inNonceOrder(orders: readonly PlaceOrder[]): { owner: string; permit: NonNullable<PlaceOrder['permit']> }[] {
  const permits = orders.map(({ trader, permit }) => ({ owner: trader, permit: permit! }));
  return permits.sort((a, b) => a.owner === b.owner ? Number(BigInt(a.permit.nonce) - BigInt(b.permit.nonce)) : a.owner < b.owner ? -1 : 1);
}
