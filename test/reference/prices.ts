/** Prices and quick markets in the reference engine: which price counts at a market's start and end, and who wins. */
import type { OpenMarket, RecordPrice } from '../../engine/records/commands.js';
import { reject, type ReferenceBoundary, type ReferenceMarket, type ReferenceQuick, type State, type Turn } from './state.js';

const WINDOW_MS = 15_000;
const LATE_MS = 20_000;
const LEAD_MS = 1_000;
const MAX_MARKETS = 100;
const MEMORY_MS = 2_592_000_000;

/** Why the terms cannot be; undefined if they can. */
export function faultOfQuick(state: State, { quick, expiration }: OpenMarket): 'invalid_expiration' | 'too_many_markets' | undefined {
  if (quick === undefined) return undefined;
  const length = expiration - quick.startTime;
  if (length < 20 || length > 86_400) return 'invalid_expiration';
  const isFull = (time: number) => boundaryAt(state, quick.asset, time)?.markets.length === MAX_MARKETS;
  return isFull(quick.startTime) || isFull(expiration) ? 'too_many_markets' : undefined;
}

/** The terms of a new market, with the boundaries that markets before it have. */
export function quickOf(state: State, { quick, expiration }: OpenMarket): ReferenceQuick | undefined {
  if (quick === undefined) return undefined;
  const at = (time: number) => boundaryAt(state, quick.asset, time) ?? { asset: quick.asset, time, markets: [], decided: false, missed: false };
  return { start: at(quick.startTime), end: at(expiration) };
}

/** A new market counts at its boundaries from now on. */
export function joinBoundaries(state: State, market: ReferenceMarket): void {
  for (const boundary of market.quick === undefined ? [] : [market.quick.start, market.quick.end]) {
    boundary.markets.push(market);
    if (!state.boundaries.includes(boundary)) state.boundaries.push(boundary);
  }
}

/** The prices of a new market that are decided already, and those that are missed, if that is to be told. */
export function tellWhatIsKnown(turn: Turn, market: ReferenceMarket, tellsMissed: boolean): void {
  const { quick } = market;
  for (const boundary of quick === undefined ? [] : [quick.start, quick.end]) {
    if (boundary.decided) tellPrice(turn, market, boundary);
    else if (boundary.missed && tellsMissed) tellMissed(turn, market, boundary);
  }
}

export function recordPrice(state: State, turn: Turn, command: RecordPrice): void {
  const { asset, source, rank, price, publishedAt } = command;
  if (publishedAt > state.now + LEAD_MS) return reject(turn, 'future_price', asset);
  const bettered = open(state).filter((boundary) => betters(command, boundary)).sort((a, b) => a.time - b.time);
  const newest = state.newestPrices.get(asset) ?? -1;
  if (bettered.length === 0 && Math.floor(publishedAt / 1_000) <= Math.floor(newest / 1_000)) return reject(turn, 'old_price', asset);
  state.newestPrices.set(asset, Math.max(newest, publishedAt));
  turn.events.push({ type: 'PriceRecorded', v: 1, asset, source, rank, price, publishedAt });
  for (const boundary of bettered) {
    boundary.best = command;
    if (rank === 0 || isLate(state, boundary)) decide(turn, boundary);
  }
}

/** AdvanceClock's last duty. */
export function passBoundary(state: State, turn: Turn): void {
  const [first] = open(state).filter((boundary) => isLate(state, boundary) && !boundary.missed)
    .sort((a, b) => a.time - b.time || (a.asset < b.asset ? -1 : 1));
  if (first === undefined) return;
  if (first.best !== undefined) return decide(turn, first);
  first.missed = true;
  for (const market of unresolved(first)) tellMissed(turn, market, first);
}

function tellMissed(turn: Turn, market: ReferenceMarket, boundary: ReferenceBoundary): void {
  turn.events.push({ type: 'PriceMissed', v: 1, marketId: market.id, boundary: market.quick!.start === boundary ? 'start' : 'end' });
}

function decide(turn: Turn, boundary: ReferenceBoundary): void {
  boundary.decided = true;
  for (const market of unresolved(boundary)) tellPrice(turn, market, boundary);
}

function tellPrice(turn: Turn, market: ReferenceMarket, boundary: ReferenceBoundary): void {
  const [quick, best] = [market.quick!, boundary.best!];
  const { source, price, publishedAt } = best;
  if (quick.start === boundary) quick.strike = best;
  else quick.endPrice = best;
  turn.events.push({ type: quick.start === boundary ? 'StrikePriceSet' : 'EndPriceSet', v: 1, marketId: market.id, source, price, publishedAt });
  if (quick.strike === undefined || quick.endPrice === undefined) return;
  const isDown = BigInt(quick.endPrice.price) < BigInt(quick.strike.price);
  turn.events.push({ type: 'QuickMarketDecided', v: 1, marketId: market.id, winningOutcome: isDown ? 1 : 0 });
}

function betters({ asset, rank, publishedAt }: RecordPrice, boundary: ReferenceBoundary): boolean {
  const sinceMs = publishedAt - 1_000 * boundary.time;
  if (asset !== boundary.asset || sinceMs < 0 || sinceMs > WINDOW_MS) return false;
  if (boundary.best === undefined) return true;
  return rank === boundary.best.rank ? publishedAt < boundary.best.publishedAt : rank < boundary.best.rank;
}

function isLate(state: State, boundary: ReferenceBoundary): boolean {
  return state.now >= 1_000 * boundary.time + LATE_MS;
}

function boundaryAt(state: State, asset: string, time: number): ReferenceBoundary | undefined {
  const kept = state.boundaries.filter((boundary) => isOpen(boundary) || 1_000 * boundary.time >= state.now - MEMORY_MS);
  return kept.find((boundary) => boundary.asset === asset && boundary.time === time);
}

function open(state: State): ReferenceBoundary[] {
  return state.boundaries.filter(isOpen);
}

function isOpen(boundary: ReferenceBoundary): boolean {
  return !boundary.decided && unresolved(boundary).length > 0;
}

function unresolved({ markets }: ReferenceBoundary): ReferenceMarket[] {
  return markets.filter((market) => market.winner === undefined && !market.halved);
}
