/** What the acts of a market's life share: the exchange, two wallets without gas, and their markets. */
import type { Wallet } from 'ethers';
import type { ApiChain, ApiMarket } from './api.js';
import { ONE } from './progress.js';
import type { Relayer } from './relayer.js';
import type { TradeScene } from './trade.js';
import type { ChainSide } from './wallets.js';

export interface GaslessScene extends TradeScene {
  readonly chain: ApiChain;
  readonly side: ChainSide;
  readonly relayer: Relayer;
  readonly seller: Wallet;
  readonly buyer: Wallet;
}

/** Two markets of the demonstration's own. The wallets trade in `market`, and YES wins. */
export interface LifeScene extends GaslessScene {
  /** The buyer splits in it, and NO wins. */
  readonly other: ApiMarket;
}

/** The collateral that each wallet starts with. */
export const MINTED = 20 * ONE;
/** The collateral that the seller splits in a market, and the buyer in the other one. */
export const SPLIT = { seller: 10 * ONE, buyer: 5 * ONE } as const;
/** What a proposal is backed with. */
export const BOND = 10 * ONE;
