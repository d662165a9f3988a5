/** The traders: their keys, what they have at first, the orders that they sign, and what they do on the chain by themselves. */
import { id } from 'ethers';
import { CHAIN, NOBODY, TREASURY, add, emitted, type ContractEffect, type SimMarket } from '../chain/contracts.js';
import { addressOf } from '../chain/quick-contracts.js';
import type { OrderTerms } from '../../../command/orders/order-request.js';
import type { OrderFields, PreparedDomain } from '../../../command/signing/typed-data.js';
import { toHex } from '../../../engine/records/hex.js';
import { nativeKey, type NativeKey } from '../../support/native-key.js';
import { START_MS } from '../world/time.js';

export interface Trader {
  readonly address: string;
  readonly key: NativeKey;
}

export const TRADERS: readonly Trader[] = ['ann', 'ben', 'cleo', 'dan'].map((name) => {
  const key = nativeKey(id(name));
  return { key, address: key.address };
});

/** What each trader has of the collateral, and of each share, in units of 1e-6. */
export const FIRST_COLLATERAL = 400_000_000n;
export const FIRST_SHARES = 300_000_000n;

const START_S = START_MS / 1_000;

export const MARKETS: ReadonlyMap<string, SimMarket> = new Map([1, 2].map((n) => {
  const market: SimMarket = { marketId: id(`market ${n}`), tokens: [BigInt(id(`yes ${n}`)), BigInt(id(`no ${n}`))], expiration: START_S + 86_400 * n };
  return [market.marketId, market];
}));

/** The first block's: the markets are created, and every trader has something and lets the settlement contract move it. */
export const beginning: ContractEffect = (state) => {
  const logs = [...MARKETS.values()].map(({ marketId, tokens: [yes, no], expiration }) => emitted('factory', 'MarketCreated', [
    marketId, addressOf(marketId), NOBODY, expiration, 0, 0, yes, no, 0, 'Will it?', '']));
  for (const { marketId } of MARKETS.values()) state.escrow.set(marketId, BigInt(TRADERS.length) * FIRST_SHARES);
  for (const { address } of TRADERS) {
    state.collateral.set(address, FIRST_COLLATERAL);
    state.allowance.set(address, 1n << 200n);
    state.approved.add(address);
    for (const { tokens } of MARKETS.values()) {
      for (const token of tokens) {
        state.shares.set(`${address} ${token}`, FIRST_SHARES);
        logs.push(emitted('tokens', 'TransferSingle', [TREASURY, TREASURY, address, token, FIRST_SHARES]));
      }
    }
  }
  return logs;
};

/** Shares go from one trader to another, outside the exchange. */
export function transfer(from: Trader, to: Trader, token: bigint, wanted: bigint): ContractEffect {
  return ({ shares }) => {
    const has = shares.get(`${from.address} ${token}`) ?? 0n;
    const amount = has < wanted ? has : wanted;
    if (amount === 0n || from === to) return [];
    add(shares, `${from.address} ${token}`, -amount);
    add(shares, `${to.address} ${token}`, amount);
    return [emitted('tokens', 'TransferSingle', [from.address, from.address, to.address, token, amount])];
  };
}

/** A part of the trader's collateral goes elsewhere. */
export function spend({ address }: Trader, part: bigint): ContractEffect {
  return ({ collateral, spent }) => {
    const amount = (collateral.get(address) ?? 0n) / part;
    add(collateral, address, -amount);
    add(spent, address, amount);
    return [];
  };
}

const CANCEL_DELAY_S = 120;

export function cancelOnChain({ address }: Trader, marketId: string, orderHash: string): ContractEffect {
  return ({ cancelAt }, timestamp) => {
    if (cancelAt.has(orderHash)) return [];
    cancelAt.set(orderHash, timestamp + CANCEL_DELAY_S);
    return [emitted('settlement', 'OrderCancelled', [orderHash, address, marketId, timestamp + CANCEL_DELAY_S])];
  };
}

export function cancelAllOnChain({ address }: Trader, belowNonce: bigint): ContractEffect {
  return ({ floors }, timestamp) => {
    const current = floors.get(address) ?? { floor: 0n, pending: 0n, at: 0 };
    if (timestamp < current.at || belowNonce <= current.pending) return [];
    floors.set(address, { floor: current.pending, pending: belowNonce, at: timestamp + CANCEL_DELAY_S });
    return [emitted('settlement', 'CancelScheduled', [address, belowNonce, timestamp + CANCEL_DELAY_S])];
  };
}

export function resolve({ marketId }: SimMarket): ContractEffect {
  return ({ resolved }) => {
    if (resolved.has(marketId)) return [];
    resolved.set(marketId, 0);
    return [emitted('tokens', 'ConditionResolution', [marketId, CHAIN.contracts.oracleResolver, marketId, 2, [1, 0]])];
  };
}

export interface SignedOrder {
  readonly hash: string;
  readonly trader: Trader;
  readonly marketId: string;
  readonly nonce: number;
  /** The request's body, as it is sent every time. */
  readonly body: Buffer;
}

/** `terms` are sent beside the order, unsigned. */
export function signOrder(trader: Trader, order: Omit<OrderFields, 'trader'>, domain: PreparedDomain, terms: OrderTerms = {}): SignedOrder {
  const fields = { ...order, trader: trader.address };
  const digest = domain.orderDigest(fields);
  const { marketId, side, outcome, price, size, nonce, expiration } = fields;
  const text = `{"order":{"marketId":"${marketId}","trader":"${trader.address}","side":${side},"outcome":${outcome},"price":${price},"size":${size},`
    + `"nonce":${nonce},"expiration":${expiration},"makerFeeRecipient":"${NOBODY}"},"signature":"${trader.key.sign(digest).serialized}"`
    + `${Object.entries(terms).map(([name, value]) => `,"${name}":${JSON.stringify(value)}`).join('')}}`;
  return { hash: toHex(digest), trader, marketId, nonce: Number(nonce), body: Buffer.from(text) };
}
