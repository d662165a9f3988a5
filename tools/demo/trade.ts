/** The demonstration's trade: refusals by the exposure check, two orders that match, the settlement on the chain, balances and history. */
import type { Wallet } from 'ethers';
import { Refused, type Api, type ApiBook, type ApiConfig, type ApiEntry, type ApiMarket, type ApiOrder, type ApiPlacedOrder, type ApiPosition, type ApiTrade } from './api.js';
import { ONE, expect, given, say, shown, until } from './progress.js';
import type { ChainSide } from './wallets.js';

export interface TradeScene {
  readonly api: Api;
  readonly config: ApiConfig;
  readonly market: ApiMarket;
  /** In units of 1e-6. */
  readonly price: number;
}

export type TradeSide = Pick<ApiOrder, 'wallet' | 'permit'>;

/** The seller's ask is for more shares than the buyer's bid. */
const ASKED = 10 * ONE;
export const BOUGHT = 4 * ONE;

/** What the buyer pays. */
export function costAt(price: number): number {
  return Math.ceil(BOUGHT * price / ONE);
}

/** A price inside the spread, so that the demonstration trades only with itself. */
export async function freePrice(api: Api, marketId: string): Promise<number> {
  const { bids, asks } = await api.get<ApiBook>(`/api/v1/orderbook/${marketId}?outcome=YES`);
  const [low, high] = [bids.at(0)?.price ?? 0, asks.at(0)?.price ?? ONE];
  if (high - low < 2) throw new Error('the YES book has no room between bid and ask for a demonstration');
  return Math.min(high - 1, Math.max(low + 1, 620_000));
}

/** Shows how the exposure check refuses a bid without enough balance, and a bid without allowance. */
export async function showExposure({ api, config, market: { id: marketId }, price }: TradeScene, wallet: Wallet): Promise<void> {
  for (const [size, code] of [[1_000 * ONE, 'insufficient_balance'], [BOUGHT, 'insufficient_allowance']] as const) {
    const { status, problem: { required, available, reserved } } = await refusal(code, api.place(config, { wallet, marketId, side: 0, price, size }));
    say(`The buyer bids for ${shown(size)} YES without approval: ${status} ${code}, required ${String(required)}, available ${String(available)}, reserved ${String(reserved)}`);
  }
}

/** How the service refuses an order. Throws when it takes it, or refuses it with another code. */
export async function refusal(code: string, placing: Promise<ApiPlacedOrder>): Promise<Refused> {
  const refused = await placing.then(() => undefined, (error: unknown) => error);
  if (refused !== undefined && !(refused instanceof Refused)) throw refused;
  expect('the service refuses the order', refused?.problem['code'] ?? 'accepted', code);
  return given(refused, 'the refusal');
}

export interface DemoTrade { readonly ask: ApiPlacedOrder; readonly bid: ApiPlacedOrder }

/** Places an ask for 10 YES and a bid for 4 that matches it. */
export async function trade(
  { api, config, market: { id: marketId }, price }: TradeScene, { seller, buyer }: { readonly seller: TradeSide; readonly buyer: TradeSide },
): Promise<DemoTrade> {
  const ask = await api.place(config, { ...seller, marketId, side: 1, price, size: ASKED });
  say(`The seller asks ${shown(price)} for ${shown(ASKED)} YES: position ${ask.position}, ${ask.matches} matches`);
  const bid = await api.place(config, { ...buyer, marketId, side: 0, price, size: BOUGHT });
  say(`The buyer bids ${shown(price)} for ${shown(BOUGHT)} YES${buyer.permit === undefined ? '' : ', with a permit'}: position ${bid.position}, ${bid.matches} match`);
  expect('the bid matches the ask', bid.matches, 1);
  const book = await api.get<ApiBook>(`/api/v1/orderbook/${marketId}?outcome=YES`, bid.position);
  say('YES book');
  for (const { price: level, size } of book.asks.slice(0, 5).reverse()) say(`  ask ${shown(level)}  ${shown(size)}`);
  for (const { price: level, size } of book.bids.slice(0, 5)) say(`  bid ${shown(level)}  ${shown(size)}`);
  expect('the rest of the ask rests in the book', book.asks.find((level) => level.price === price)?.size, ASKED - BOUGHT);
  await showHistory(api, ask.position);
  return { ask, bid };
}

/** Waits until the chain has settled the trade. Returns it. */
export async function settledTrade({ api, market }: TradeScene, { address }: Wallet): Promise<ApiTrade> {
  let status = '';
  const settled = await until(() => `the fill is settled; its status is ${status || 'unknown: see /api/v1/failed-trades'}`, async () => {
    const { trades } = await api.get<{ trades: readonly ApiTrade[] }>(`/api/v1/trades/${market.id}`);
    const found = trades.find((each) => each.buyer === address.toLowerCase());
    if (found !== undefined && found.settlementStatus !== status) {
      status = found.settlementStatus;
      say(`Fill of ${shown(found.size)} at ${shown(found.price)}: ${status}`);
    }
    return status === 'confirmed' ? found : undefined;
  });
  say(`The fill is settled by transaction ${settled.txHash}`);
  return settled;
}

/** What a wallet must have of a market, and how much collateral. */
export interface DemoHolding {
  readonly name: string;
  readonly wallet: Wallet;
  readonly yes: number;
  readonly no: number;
  readonly collateral: number;
}

/** Checks balances on the chain, and that the exchange's positions are those. */
export async function showBalances({ api, market }: Pick<TradeScene, 'api' | 'market'>, side: ChainSide, holdings: readonly DemoHolding[]): Promise<void> {
  for (const { name, wallet, yes, no, collateral } of holdings) {
    const balances = await side.balances(wallet, market);
    expect(`the ${name} has the YES shares`, balances.yesShares, BigInt(yes));
    expect(`the ${name} has the NO shares`, balances.noShares, BigInt(no));
    expect(`the ${name} has the collateral`, balances.collateral, BigInt(collateral));
    const position = await positionWith({ api, market }, wallet, { yes, no });
    const has = `${shown(balances.yesShares)} YES, ${shown(balances.noShares)} NO, ${shown(balances.collateral)} USDC`;
    say(`  ${name.padEnd(6)}  ${has}; position ${shown(position.yesShares)} YES, ${shown(position.noShares)} NO, invested ${shown(position.totalInvested ?? 0)}`);
  }
}

/** Waits until the exchange knows what the chain has given the wallet. Returns the position. */
export async function positionWith(
  { api, market }: Pick<TradeScene, 'api' | 'market'>, { address }: Wallet, { yes, no }: { readonly yes: number; readonly no: number },
): Promise<ApiPosition> {
  let last: ApiPosition = { yesShares: 0, noShares: 0 };
  const what = () => `the position of ${address} is ${shown(yes)} YES and ${shown(no)} NO, as on the chain, not ${shown(last.yesShares)} YES and ${shown(last.noShares)} NO`;
  return until(what, async () => {
    last = await api.get<ApiPosition>(`/api/v1/positions/${market.contractAddress}?user=${address}`);
    return last.yesShares === yes && last.noShares === no ? last : undefined;
  });
}

/** Shows the history's entry at a position. */
export async function showHistory(api: Api, position: number): Promise<void> {
  const { outcome, digest } = await entryAt(api, position);
  say(`  history ${position}: ${outcome.events.map(({ type }) => type).join(', ')}, digest ${digest}`);
}

/** Shows the history's entry of the bid, and checks that the settlement transaction has anchored the digest that the history has. */
export async function showAnchor(
  api: Api, side: ChainSide, { bid, txHash }: { readonly bid: ApiPlacedOrder; readonly txHash: string },
): Promise<void> {
  await showHistory(api, bid.position);
  const anchor = await side.anchored(txHash);
  say(`The transaction anchored position ${anchor.position} of the history with digest ${anchor.digest}`);
  expect('the history has the anchored digest', (await entryAt(api, anchor.position)).digest, anchor.digest);
}

async function entryAt(api: Api, position: number): Promise<ApiEntry> {
  const { events: [entry] } = await api.get<{ events: readonly ApiEntry[] }>(`/api/v1/events?from=${position}&limit=1`, position);
  expect('the history has the entry at the position', entry?.position, position);
  return given(entry, `the history's entry at position ${position}`);
}
