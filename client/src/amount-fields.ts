/**
 * The fields of answers that are amounts: bigints, whatever their size, in the exchange's units. All other integers are
 * numbers.
 */

const NAMES = [
  // Prices: of shares in units of 1e-6, of assets in units of 1e-8.
  'price', 'fillPrice', 'bestAskPrice', 'lastPrice', 'bestBid', 'bestAsk', 'mid', 'spread', 'change24h', 'startPrice',
  'endPrice', 'open', 'high', 'low', 'close', 'minPrice', 'maxPrice',
  // Sizes, and shares that are held.
  'size', 'fillSize', 'filledSize', 'restingSize', 'remainingSize', 'cancelledSize', 'minOrderSize',
  'yesShares', 'noShares',
  // Stablecoin.
  'cost', 'payout', 'needed', 'neededByOrders', 'neededByFills', 'balance', 'allowance', 'collateral', 'available',
  'required', 'reserved', 'totalInvested', 'yesCost', 'noCost', 'volume', 'volume24h', 'totalVolume', 'total_volume',
  // Numbers that others choose.
  'nonce',
] as const;

const AMOUNTS: ReadonlySet<string> = new Set(NAMES);

/** Whether the field of this name is an amount, in every answer. */
export const isAmount = (name: string): boolean => AMOUNTS.has(name);
