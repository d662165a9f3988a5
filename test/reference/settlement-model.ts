/** What the contracts should do, written from their rules in plain arithmetic: balances, orders and the outcome of every fill. */
import { costOf } from '../../engine/records/amounts.js';
import type { Fill } from '../../contracts-abi/settlement.js';
import { BUY, SELL, type SignedOrder } from '../support/settlement-contracts.js';

export interface ModelTrader {
  usdc: bigint;
  allowance: bigint;
  approved: boolean;
  /** By market id and outcome, as `key` says. */
  readonly shares: Map<string, bigint>;
  floor: bigint;
  pendingFloor: bigint;
  floorAt: number;
}

export interface ModelOrder extends SignedOrder {
  readonly signed: boolean;
  filled: bigint;
  /** Zero without a cancel. */
  cancelAt: number;
}

export interface Model {
  readonly traders: Map<string, ModelTrader>;
  readonly orders: ModelOrder[];
  /** By market id: the winning outcome. */
  readonly resolved: Map<string, number>;
  readonly used: Set<bigint>;
}

export const key = (marketId: string, outcome: bigint | number) => `${marketId} ${outcome}`;

/** Carries the fills out and gives the lines that `results` should give. */
export function settleInModel(model: Model, fills: readonly Fill[], now: number): string[] {
  return fills.flatMap((fill) => {
    if (model.used.has(fill.seq) || !isFill(model, fill)) return [];
    model.used.add(fill.seq);
    return [`${fill.seq} ${settleFill(model, fill, now)}`];
  });
}

function settleFill(model: Model, { buyIndex, sellIndex, price, size }: Fill, now: number): string {
  const [buy, sell] = [model.orders[Number(buyIndex)]!, model.orders[Number(sellIndex)]!];
  const buyer = model.traders.get(buy.order.trader)!;
  const seller = model.traders.get(sell.order.trader)!;
  const cost = costOf(size, Number(price));
  const position = key(buy.order.marketId, buy.order.outcome);
  const held = seller.shares.get(position) ?? 0n;
  const reason = ofEither('invalid_signature', !buy.signed, !sell.signed)
    ?? ofEither('order_expired', BigInt(now) >= buy.order.expiration, BigInt(now) >= sell.order.expiration)
    ?? ofEither('order_cancelled', isCancelled(buy, buyer, now), isCancelled(sell, seller, now))
    ?? ofEither('overfill', buy.filled + size > buy.order.size, sell.filled + size > sell.order.size)
    ?? (model.resolved.has(buy.order.marketId) ? 'market_resolved of both' : undefined)
    ?? (buyer.usdc < cost ? 'buyer_insufficient_balance of buyer' : undefined)
    ?? (buyer.allowance < cost ? 'buyer_insufficient_allowance of buyer' : undefined)
    ?? (held < size ? 'seller_insufficient_shares of seller' : undefined)
    ?? (seller.approved ? undefined : 'seller_not_approved of seller');
  if (reason !== undefined) return reason;
  buy.filled += size;
  sell.filled += size;
  buyer.usdc -= cost;
  buyer.allowance -= cost;
  seller.usdc += cost;
  seller.shares.set(position, held - size);
  buyer.shares.set(position, (buyer.shares.get(position) ?? 0n) + size);
  return 'settled';
}

/** A fill of missing orders, or of orders that do not belong together, is left alone. */
function isFill({ orders }: Model, { buyIndex, sellIndex, price }: Fill): boolean {
  const [buy, sell] = [orders[Number(buyIndex)], orders[Number(sellIndex)]];
  return buy !== undefined && sell !== undefined && agree(buy, sell, price);
}

function agree({ order: buy }: SignedOrder, { order: sell }: SignedOrder, price: bigint): boolean {
  return buy.side === BUY && sell.side === SELL && buy.marketId === sell.marketId && buy.outcome === sell.outcome && buy.trader !== sell.trader
    && sell.price <= price && price <= buy.price;
}

function isCancelled({ order, cancelAt }: ModelOrder, trader: ModelTrader, now: number): boolean {
  return (cancelAt !== 0 && now >= cancelAt) || order.nonce < (now >= trader.floorAt ? trader.pendingFloor : trader.floor);
}

function ofEither(reason: string, buyer: boolean, seller: boolean): string | undefined {
  if (!buyer && !seller) return undefined;
  return `${reason} of ${buyer && seller ? 'both' : buyer ? 'buyer' : 'seller'}`;
}
