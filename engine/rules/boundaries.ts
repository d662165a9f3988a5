/** The moments at which quick markets start and end, and the price that counts at each: docs/matching-rules.md, "Prices". */
import type { RecordPrice } from '../records/commands.js';
import { LATE_PRICES_MS, PRICE_WINDOW_MS } from './limits.js';
import type { Boundary, Market, State } from './state.js';

export function boundaryAt(state: State, asset: string, time: number): Boundary | undefined {
  return state.boundaries.get(keyOf(asset, time));
}

/** The boundary at which a market starts or ends; it is new if no market before had it. */
export function joinBoundary(state: State, { asset, time, market }: { asset: string; time: number; market: number }): void {
  const key = keyOf(asset, time);
  const boundary: Boundary = state.boundaries.get(key) ?? { asset, time, best: undefined, decided: false, missed: false, markets: [] };
  boundary.markets.push(market);
  state.boundaries.set(key, boundary);
}

/** Forgets boundaries that no new market can have: a market's start is at most a day back, and its end is ahead. */
export function forgetBoundaries(state: State, beforeS: number): void {
  for (const [key, boundary] of state.boundaries) {
    if (boundary.time < beforeS && (boundary.decided || !isWanted(state, boundary))) state.boundaries.delete(key);
  }
}

/** Whether a market still needs the boundary's price. */
export function isWanted(state: State, boundary: Boundary): boolean {
  return !boundary.decided && unresolvedMarkets(state, boundary).length > 0;
}

/** The boundary's markets that may still need its price, in the order of opening. */
export function unresolvedMarkets(state: State, { markets }: Boundary): Market[] {
  return markets.flatMap((index) => state.markets[index] ?? []).filter((market) => !isResolved(market));
}

/** Whether the observation becomes the boundary's best. */
export function serves(state: State, boundary: Boundary, { asset, rank, publishedAt }: Pick<RecordPrice, 'asset' | 'rank' | 'publishedAt'>): boolean {
  const delayMs = publishedAt - boundary.time * 1_000;
  if (boundary.asset !== asset || delayMs < 0 || delayMs > PRICE_WINDOW_MS || !isWanted(state, boundary)) return false;
  const { best } = boundary;
  return best === undefined || rank < best.rank || (rank === best.rank && publishedAt < best.publishedAt);
}

/** When no better observation is waited for, in milliseconds. */
export function lateAt(boundary: Boundary): number {
  return boundary.time * 1_000 + PRICE_WINDOW_MS + LATE_PRICES_MS;
}

/** When the clock has to look at a boundary next, in milliseconds; Infinity when there is none. */
export function nextBoundaryDue(state: State): number {
  return Math.min(...[...state.boundaries.values()].map((boundary) => dueAt(state, boundary)));
}

function dueAt(state: State, boundary: Boundary): number {
  return boundary.missed || !isWanted(state, boundary) ? Infinity : lateAt(boundary);
}

/** The earliest boundary that is due now, of equal ones that of the first asset in alphabetical order. */
export function dueBoundary(state: State): Boundary | undefined {
  let first: Boundary | undefined;
  for (const boundary of state.boundaries.values()) {
    if (dueAt(state, boundary) > state.now) continue;
    if (first === undefined || boundary.time < first.time || (boundary.time === first.time && boundary.asset < first.asset)) first = boundary;
  }
  return first;
}

/** Whether the chain has the market's end result. */
export function isResolved({ winner, halved }: Market): boolean {
  return winner !== undefined || halved;
}

function keyOf(asset: string, time: number): string {
  return `${asset} ${time}`;
}
