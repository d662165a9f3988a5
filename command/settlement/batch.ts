/** Composes one settlement transaction: as many of the due fills, in order, as its gas and its size allow. */
import type { Log } from '../../engine/log/log.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Chain } from '../chain/chain.js';
import { createSignedOrders } from '../feed/signed-orders.js';
import type { LaneRequest } from '../lane/requests.js';
import type { FillToSettle } from './feed-changes.js';
import { encodeSettleBatch, settleBytes, type SettleBatch, type SettledFill, type SettledPermit } from './settle-calldata.js';
import type { SettlementNote } from './submission.js';

/** The limits of one transaction. */
export interface TransactionLimits {
  /** At most EIP-7825's limit per transaction. */
  readonly gas: number;
  /** Of calldata. */
  readonly bytes: number;
}

export const BATCH_LIMITS: TransactionLimits = { gas: 16_777_216, bytes: 120_000 };

/**
 * The limits on a chain whose blocks have `blockGasLimit` gas. An eighth is left free: the block gas limit may fall with every block, and
 * a transaction that fits into no block would block all later nonces.
 */
export function limitsWithin(limits: TransactionLimits, blockGasLimit: bigint): TransactionLimits {
  return { ...limits, gas: Math.min(limits.gas, Number(blockGasLimit * 7n / 8n)) };
}

/**
 * Upper bounds of a batch's gas, whatever the tokens do: Settlement's FILL_RESERVE per fill, and PERMIT_GAS and ALLOWANCE_GAS per permit under the
 * 63/64 rule. The contract starts a fill only while this much gas is left. Unused gas is not paid for.
 */
export const SETTLE_GAS = { base: 100_000, fill: 260_000, permit: 190_000, byte: 16 } as const;

export interface SettlementBatch {
  readonly fills: readonly Omit<FillToSettle, 'chainId'>[];
  /** Numbers of the orders whose permits the transaction uses. */
  readonly permits: readonly number[];
  readonly gasLimit: number;
  readonly content: Omit<SettleBatch, 'history'>;
}

export interface BatchRequest {
  /** In the order in which they are to settle. */
  readonly fills: readonly Omit<FillToSettle, 'chainId'>[];
  /** Every order of the fills, by its number. */
  readonly orders: ReadonlyMap<number, PlaceOrder>;
  /** Whether an order's permit was in a transaction that is final. */
  readonly permitUsed: (orderNumber: number) => boolean;
  /** Unix seconds. */
  readonly nowS: number;
  readonly limits?: TransactionLimits;
}

/**
 * A batch of the first fills that fit, and of the first fill in any case. Orders are listed once, in the order in which the fills name
 * them. Throws an error when `orders` lacks one.
 */
export function composeBatch({ fills, orders, permitUsed, nowS, limits = BATCH_LIMITS }: BatchRequest): SettlementBatch {
  const listed = new Map<number, ListedOrder>();
  const permits: NumberedPermit[] = [];
  const taken: Omit<FillToSettle, 'chainId'>[] = [];
  const settled: SettledFill[] = [];
  let gasLimit = 0;
  for (const fill of fills) {
    const buy = listed.get(fill.buyNumber) ?? { order: orderOf(orders, fill.buyNumber), index: listed.size };
    const countWithBuy = Math.max(listed.size, buy.index + 1);
    const sell = listed.get(fill.sellNumber) ?? { order: orderOf(orders, fill.sellNumber), index: countWithBuy };
    // Only buyers' permits: a seller's would let the settlement contract move collateral that it does not need.
    const permit = listed.has(fill.buyNumber) || permitUsed(fill.buyNumber) ? undefined : permitOf(buy.order, fill.buyNumber, nowS);
    const counts = {
      orders: Math.max(countWithBuy, sell.index + 1), permits: permits.length + (permit === undefined ? 0 : 1), fills: taken.length + 1,
    };
    const gas = settleGas(counts);
    if (taken.length > 0 && (gas > limits.gas || settleBytes(counts) > limits.bytes)) break;
    listed.set(fill.buyNumber, buy).set(fill.sellNumber, sell);
    if (permit !== undefined) permits.push(permit);
    taken.push(fill);
    settled.push({ seq: fill.fill, buyIndex: buy.index, sellIndex: sell.index, price: fill.price, size: fill.size });
    gasLimit = gas;
  }
  return {
    fills: taken, permits: permits.map(({ orderNumber }) => orderNumber), gasLimit,
    content: { orders: [...listed.values()].map(({ order }) => order), permits: inNonceOrder(permits), fills: settled },
  };
}

interface ListedOrder {
  readonly order: PlaceOrder;
  readonly index: number;
}

interface NumberedPermit extends SettledPermit {
  readonly orderNumber: number;
}

function orderOf(orders: BatchRequest['orders'], number: number): PlaceOrder {
  const order = orders.get(number);
  if (order === undefined) throw new Error(`order ${number} is missing from the batch's request`);
  return order;
}

/** The gas limit of a batch with these counts. */
export function settleGas(counts: { orders: number; permits: number; fills: number }): number {
  return SETTLE_GAS.base + counts.fills * SETTLE_GAS.fill + counts.permits * SETTLE_GAS.permit + settleBytes(counts) * SETTLE_GAS.byte;
}

/** The order's permit; undefined when it has none, or its deadline has passed. */
function permitOf({ trader, permit }: PlaceOrder, orderNumber: number, nowS: number): NumberedPermit | undefined {
  return permit === undefined || BigInt(permit.deadline) < BigInt(nowS) ? undefined : { orderNumber, owner: trader, permit };
}

/** Sorted by owner and nonce: a token accepts an owner's permits only in the order of their nonces. */
function inNonceOrder(permits: readonly SettledPermit[]): SettledPermit[] {
  return permits.map(({ owner, permit }) => ({ owner, permit }))
    .sort((a, b) => a.owner === b.owner ? Number(BigInt(a.permit.nonce) - BigInt(b.permit.nonce)) : a.owner < b.owner ? -1 : 1);
}

export interface BatchParts {
  readonly chain: Pick<Chain, 'contracts'>;
  readonly log: Pick<Log, 'read'>;
  /** A recent log position and the digest up to it. */
  readonly history: () => SettleBatch['history'];
  /** Throws an error when the chain cannot settle the orders of this history at all. Called before each request until it has not thrown. */
  readonly checkOrder: (order: PlaceOrder) => void;
  /** A new UUID. */
  readonly newId: () => string;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly limits?: TransactionLimits | undefined;
}

export interface Batches {
  /** A request for as many of the fills as fit, from the first on. Throws LogUnavailable, NoSuchOrder, and what `checkOrder` throws. */
  prepare(due: readonly FillToSettle[], blockGasLimit: bigint | undefined): Promise<LaneRequest & { readonly note: SettlementNote }>;
  /** Notes that the permits of these orders were in a final transaction. */
  permitsUsed(orderNumbers: readonly number[]): void;
}

/** How many orders are remembered whose permits are final. Forgetting one only costs some gas. */
const MAX_USED_PERMITS = 10_000;

/** Makes transactions of fills, with the signed orders from the log, and remembers which permits are already on the chain. */
export function createBatches({ chain, log, history, checkOrder, newId, now, limits = BATCH_LIMITS }: BatchParts): Batches {
  const signedOrders = createSignedOrders(log);
  const used = new Set<number>();
  let isChecked = false;
  return {
    async prepare(due, blockGasLimit) {
      const orders = await signedOrders.read(new Set(due.flatMap(({ buyNumber, sellNumber }) => [buyNumber, sellNumber])));
      const [first] = orders.values();
      if (!isChecked && first !== undefined) {
        checkOrder(first);
        isChecked = true;
      }
      const { fills, permits, gasLimit, content } = composeBatch({
        fills: due, orders, nowS: Math.floor(now() / 1_000), permitUsed: (number) => used.has(number),
        limits: blockGasLimit === undefined ? limits : limitsWithin(limits, blockGasLimit),
      });
      const note = { fills: fills.map(({ fill }) => fill), permits };
      const data = encodeSettleBatch({ ...content, history: history() });
      return { id: newId(), to: chain.contracts.settlement, data, gasLimit: BigInt(gasLimit), note };
    },
    permitsUsed(orderNumbers) {
      for (const number of orderNumbers) used.add(number);
      for (const number of used) {
        if (used.size <= MAX_USED_PERMITS) break;
        used.delete(number);
      }
    },
  };
}
