/** What a trader's requests about all of its orders have come to, read from the engine's state. */
import { ALL_MARKETS } from '../records/fields.js';
import { marketOf, type State } from '../rules/state.js';
import { cancelAllKey } from '../rules/trader.js';
import { unsettledFills } from './unsettled-fills.js';

/** A trader on a chain, by lower-case hex. */
export interface TraderOnChain {
  readonly trader: string;
  readonly chainId: number;
}

/**
 * A trader's switch: `firesAt` is undefined while it is not armed; `deadline` is the highest of the signed requests, in
 * Unix seconds.
 */
export interface SwitchView {
  readonly firesAt: number | undefined;
  readonly deadline: string | undefined;
}

/** Undefined where the trader has never asked for it. */
export function switchOf(state: State, { trader: address, chainId }: TraderOnChain): SwitchView | undefined {
  const trader = state.traders[state.traderIndex.get(address) ?? -1];
  const known = trader?.switches?.get(chainId);
  if (trader === undefined || known === undefined) return undefined;
  return {
    ...known, firesAt: state.armed.find((each) => each.trader === trader.index && each.chainId === chainId)?.firesAt,
  };
}

/** The log position of the signed CancelAll with this deadline; undefined when none took effect, or it is long over. */
export function cancelledAllAt(
  state: State, asked: TraderOnChain & { readonly marketId: string; readonly deadline: string },
): number | undefined {
  return state.traders[state.traderIndex.get(asked.trader) ?? -1]?.cancelAlls?.get(cancelAllKey(asked))?.position;
}

/**
 * Whether the trader has an open order in the market, or on the chain, or one that would be open again if a fill of it
 * failed.
 */
export function hasOrders(
  state: State, { trader: address, chainId, marketId }: TraderOnChain & { readonly marketId: string },
): boolean {
  const trader = state.traders[state.traderIndex.get(address) ?? -1];
  if (trader === undefined) return false;
  const isMeant = (of: string): boolean => marketId === ALL_MARKETS || of === marketId;
  for (let slot = trader.firstOpen; slot >= 0; slot = state.columns.nextOpen.get(slot) - 1) {
    const market = marketOf(state, slot);
    if (market.chainId === chainId && isMeant(market.marketId)) return true;
  }
  for (const fill of unsettledFills(state, { chainId, from: 0 })) {
    if ((fill.buyer === address || fill.seller === address) && isMeant(fill.marketId)) return true;
  }
  return false;
}
