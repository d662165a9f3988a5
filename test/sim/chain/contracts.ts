/** The contracts' rules that matter to the exchange, and their state at the end of a block: tokens, fills, cancels, anchors. */
import type { InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../../contracts-abi/conditional-tokens.js';
import { market } from '../../../contracts-abi/market.js';
import { marketFactory } from '../../../contracts-abi/market-factory.js';
import { optimisticOracle } from '../../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../../contracts-abi/quick-resolver.js';
import { settlement } from '../../../contracts-abi/settlement.js';
import { prepareDomain, type OrderDomain, type Keccak256 } from '../../../command/signing/typed-data.js';
import type { SignerRecovery } from '../../../command/signing/recover.js';
import { costOf } from '../../../engine/records/amounts.js';
import { toHex } from '../../../engine/records/hex.js';
import type { Chain } from '../../../command/chain/chain.js';
import { QuickInterface } from './quick-interface.js';

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
export const NOBODY = address(0);
/** Gives traders the shares that they have at first. */
export const TREASURY = address(0x9);

export const CHAIN: Chain = {
  chainId: 31_337, name: 'simulated', testnet: true, confirmations: 3, startBlock: 1, domainName: 'Prediction Exchange Settlement', exposureCheck: false,
  contracts: {
    settlement: address(0xc001), conditionalTokens: address(0xc002), collateral: address(0xc003), marketFactory: address(0xc004),
    oracle: address(0xc005),
    oracleResolver: address(0xc006), quickResolver: address(0xc007), multicall: address(0xc008),
  },
};
export const ORDER_DOMAIN: OrderDomain = {
  name: CHAIN.domainName, version: '1', chainId: CHAIN.chainId, verifyingContract: CHAIN.contracts.settlement,
};

export const abi = {
  settlement: new QuickInterface(settlement.abi as InterfaceAbi), tokens: new QuickInterface(conditionalTokens.abi as InterfaceAbi),
  factory: new QuickInterface(marketFactory.abi as InterfaceAbi), quickResolver: new QuickInterface(quickResolver.abi as InterfaceAbi),
  market: new QuickInterface(market.abi as InterfaceAbi), oracle: new QuickInterface(optimisticOracle.abi as InterfaceAbi),
  oracleResolver: new QuickInterface(oracleResolver.abi as InterfaceAbi),
};

export interface SimMarket {
  readonly marketId: string;
  /** Of the YES and the NO shares. */
  readonly tokens: readonly [bigint, bigint];
  /** Unix seconds. */
  readonly expiration: number;
}

/** Everything that a block can change. Maps are copied per block. */
export interface ContractState {
  readonly collateral: Map<string, bigint>;
  /** Collateral that traders have sent to others. */
  readonly spent: Map<string, bigint>;
  readonly allowance: Map<string, bigint>;
  /** By `trader token`. */
  readonly shares: Map<string, bigint>;
  /** Traders who let the settlement contract move their shares. */
  readonly approved: Set<string>;
  readonly settled: Set<number>;
  /** Filled size and cancel's time by order hash. */
  readonly filled: Map<string, bigint>;
  readonly cancelAt: Map<string, number>;
  readonly floors: Map<string, { readonly floor: bigint; readonly pending: bigint; readonly at: number }>;
  /** The outcome that has won. */
  readonly resolved: Map<string, 0 | 1>;
  /** Quick markets by their ids. */
  readonly quick: Map<string, QuickSimMarket>;
  /** Collateral that covers the complete sets of a market. */
  readonly escrow: Map<string, bigint>;
  /** How many messages were used up, by `owner`, or by `owner marketId` for redemptions. */
  readonly nonces: Map<string, bigint>;
  /** How often a signed message was carried out, by its digest. */
  readonly carried: Map<string, number>;
  /** By assertion. */
  readonly proposals: Map<string, SimProposal>;
}

/** A proposed resolution. Times are Unix seconds. */
export interface SimProposal {
  readonly assertionId: string;
  readonly marketId: string;
  readonly outcome: 0 | 1;
  readonly expirationTime: number;
  readonly disputed: boolean;
  /** What the arbitration of a dispute has found. */
  readonly truthful: boolean | undefined;
  readonly settled: boolean;
}

/** A quick market on the chain. Times are Unix seconds; `expiration` is its end. */
export interface QuickSimMarket extends SimMarket {
  readonly asset: string;
  readonly startTime: number;
}

export function emptyContracts(): ContractState {
  return {
    collateral: new Map(), spent: new Map(), allowance: new Map(), shares: new Map(), approved: new Set(), settled: new Set(),
    filled: new Map(), cancelAt: new Map(), floors: new Map(), resolved: new Map(), quick: new Map(),
    escrow: new Map(), nonces: new Map(), carried: new Map(), proposals: new Map(),
  };
}

export function copyContracts(state: ContractState): ContractState {
  const { collateral, spent, allowance, shares, approved, settled, filled, cancelAt, floors, resolved, quick } = state;
  const { escrow, nonces, carried, proposals } = state;
  return {
    collateral: new Map(collateral), spent: new Map(spent), allowance: new Map(allowance), shares: new Map(shares),
    approved: new Set(approved), settled: new Set(settled),
    filled: new Map(filled), cancelAt: new Map(cancelAt), floors: new Map(floors), resolved: new Map(resolved), quick: new Map(quick),
    escrow: new Map(escrow), nonces: new Map(nonces), carried: new Map(carried), proposals: new Map(proposals),
  };
}

/** An EVM log before its block is known. */
export interface SimLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** What a trader does on the chain; carried out with the next block. */
export type ContractEffect = (state: ContractState, timestamp: number) => readonly SimLog[];

export interface Sides { readonly seq: number; readonly buyer: string; readonly seller: string }

/** Called when fills end on the chain and when a history is anchored, also in blocks that a reorganisation removes again. */
export interface ContractEvents {
  fillFailed(reason: string): void;
  stopped(seq: number): void;
  anchored(position: number, digest: string): void;
  resolved(marketId: string, outcome: number): void;
}

export function emitted(contract: 'settlement' | 'tokens' | 'factory' | 'oracleResolver', name: string, values: readonly unknown[]): SimLog {
  const { contracts } = CHAIN;
  const at = {
    settlement: contracts.settlement, tokens: contracts.conditionalTokens, factory: contracts.marketFactory, oracleResolver: contracts.oracleResolver,
  }[contract];
  const { topics, data } = abi[contract].encodeEventLog(name, [...values]);
  return { address: at, topics, data };
}

interface OrderArgs {
  readonly marketId: string; readonly trader: string; readonly side: bigint; readonly outcome: bigint; readonly price: bigint; readonly size: bigint;
  readonly nonce: bigint; readonly expiration: bigint;
}
interface FillArgs { readonly seq: bigint; readonly buyIndex: bigint; readonly sellIndex: bigint; readonly price: bigint; readonly size: bigint }

/** A call of settleBatch, read once per transaction. */
export interface Batch {
  readonly orders: readonly (OrderArgs & { readonly hash: string; readonly signed: boolean })[];
  readonly fills: readonly FillArgs[];
  readonly position: number;
  readonly digest: string;
}

export interface BatchReader { read(data: string): Batch | undefined }

/** Reads calldata, and checks the orders' signatures. */
export function createBatchReader({ keccak256, recovery }: { keccak256: Keccak256; recovery: SignerRecovery }): BatchReader {
  const domain = prepareDomain(keccak256, ORDER_DOMAIN);
  return {
    read(data) {
      const call = abi.settlement.parseTransaction({ data });
      if (call?.name !== 'settleBatch') return undefined;
      const [orders, signatures, , fills, position, digest] = call.args.toArray() as [OrderArgs[], string[], unknown, FillArgs[], bigint, string];
      return {
        position: Number(position), digest, fills: [...fills],
        orders: orders.map((order, i) => {
          const { marketId, side, outcome, price, size, nonce, expiration } = order;
          const trader = order.trader.toLowerCase();
          const fields = {
            marketId, trader, side: Number(side) as 0 | 1, outcome: Number(outcome) as 0 | 1, price: Number(price),
            size: String(size), nonce: String(nonce),
            expiration: String(expiration),
          };
          const hash = domain.orderDigest(fields);
          const recovered = recovery.recover(hash, Buffer.from((signatures[i] ?? '0x').slice(2), 'hex'));
          const signed = recovered.ok && recovered.signer === trader;
          return { marketId, trader, side, outcome, price, size, nonce, expiration, hash: toHex(hash), signed };
        }),
      };
    },
  };
}

const REASONS = [
  'buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired', 'order_cancelled',
  'overfill', 'market_resolved', 'invalid_signature',
] as const;
type Reason = typeof REASONS[number];
const CULPRITS = ['buyer', 'seller', 'both'] as const;

export interface Settling {
  readonly state: ContractState;
  readonly markets: ReadonlyMap<string, SimMarket>;
  /** The block's time, Unix seconds. */
  readonly timestamp: number;
  /** The token refuses everybody from this fill of the batch on. */
  readonly stopsAt?: number;
  readonly events: ContractEvents;
}

/** Carries a batch out: each fill for itself, each number once. Returns the logs. */
export function settleBatch({ orders, fills, position, digest }: Batch, settling: Settling): SimLog[] {
  const { state, events, stopsAt = Infinity } = settling;
  const logs: SimLog[] = [];
  for (const [index, fill] of fills.entries()) {
    const seq = Number(fill.seq);
    const [buy, sell] = [orders[Number(fill.buyIndex)], orders[Number(fill.sellIndex)]];
    if (index >= stopsAt) {
      events.stopped(seq);
      logs.push(emitted('settlement', 'BatchStopped', [seq, CHAIN.contracts.collateral]));
      break;
    }
    if (state.settled.has(seq) || buy === undefined || sell === undefined || !belongTogether(buy, sell, fill)) continue;
    state.settled.add(seq);
    const fault = faultOf({ buy, sell, fill }, settling);
    if (fault === undefined) {
      const cost = costOf(fill.size, Number(fill.price));
      move(settling, { buy, sell, size: fill.size, cost });
      logs.push(emitted('settlement', 'FillSettled', [seq, buy.hash, sell.hash, fill.price, fill.size, cost]));
    } else {
      events.fillFailed(fault.reason);
      logs.push(emitted('settlement', 'FillFailed', [seq, buy.hash, sell.hash, REASONS.indexOf(fault.reason), CULPRITS.indexOf(fault.culprit)]));
    }
  }
  events.anchored(position, digest);
  logs.push(emitted('settlement', 'HistoryAnchored', [position, digest]));
  return logs;
}

type SignedOrder = Batch['orders'][number];

function belongTogether(buy: SignedOrder, sell: SignedOrder, { size, price }: FillArgs): boolean {
  return buy.side === 0n && sell.side === 1n && buy.marketId === sell.marketId && buy.outcome === sell.outcome && buy.trader !== sell.trader
    && size !== 0n && sell.price <= price && price <= buy.price;
}

function faultOf(
  { buy, sell, fill: { size, price } }: { buy: SignedOrder; sell: SignedOrder; fill: FillArgs }, { state, markets, timestamp }: Settling,
): { readonly reason: Reason; readonly culprit: typeof CULPRITS[number] } | undefined {
  const cost = costOf(size, Number(price));
  const either = (reason: Reason, isAtFault: (order: SignedOrder) => boolean) => {
    const [byBuyer, bySeller] = [isAtFault(buy), isAtFault(sell)];
    return byBuyer || bySeller ? { reason, culprit: byBuyer && bySeller ? 'both' : byBuyer ? 'buyer' : 'seller' } as const : undefined;
  };
  const lacks = (reason: Reason, culprit: 'buyer' | 'seller' | 'both', is: boolean) => is ? { reason, culprit } as const : undefined;
  const token = (markets.get(buy.marketId) ?? state.quick.get(buy.marketId))?.tokens[Number(buy.outcome) as 0 | 1];
  return either('invalid_signature', ({ signed }) => !signed)
    ?? either('order_expired', ({ expiration }) => BigInt(timestamp) >= expiration)
    ?? either('order_cancelled', (order) => isCancelled(order, state, timestamp))
    ?? either('overfill', (order) => (state.filled.get(order.hash) ?? 0n) + size > order.size)
    ?? lacks('market_resolved', 'both', state.resolved.has(buy.marketId))
    ?? lacks('buyer_insufficient_balance', 'buyer', (state.collateral.get(buy.trader) ?? 0n) < cost)
    ?? lacks('buyer_insufficient_allowance', 'buyer', (state.allowance.get(buy.trader) ?? 0n) < cost)
    ?? lacks('seller_insufficient_shares', 'seller', (state.shares.get(`${sell.trader} ${token}`) ?? 0n) < size)
    ?? lacks('seller_not_approved', 'seller', !state.approved.has(sell.trader));
}

function isCancelled({ hash, trader, nonce }: SignedOrder, { cancelAt, floors }: ContractState, timestamp: number): boolean {
  const at = cancelAt.get(hash);
  const floor = floors.get(trader) ?? { floor: 0n, pending: 0n, at: 0 };
  return (at !== undefined && timestamp >= at) || nonce < (timestamp >= floor.at ? floor.pending : floor.floor);
}

function move(
  { state: { collateral, allowance, shares, filled, quick }, markets }: Settling,
  { buy, sell, size, cost }: { buy: SignedOrder; sell: SignedOrder; size: bigint; cost: bigint },
): void {
  const token = (markets.get(buy.marketId) ?? quick.get(buy.marketId))?.tokens[Number(buy.outcome) as 0 | 1];
  add(collateral, buy.trader, -cost);
  add(allowance, buy.trader, -cost);
  add(collateral, sell.trader, cost);
  add(shares, `${sell.trader} ${token}`, -size);
  add(shares, `${buy.trader} ${token}`, size);
  add(filled, buy.hash, size);
  add(filled, sell.hash, size);
}

export function add(balances: Map<string, bigint>, key: string, change: bigint): void {
  balances.set(key, (balances.get(key) ?? 0n) + change);
}
