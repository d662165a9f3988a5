/**
 * The moments at which quick markets start and end, and the price that counts at each: docs/matching-rules.md,
 * "Prices".
 */
import type { RecordPrice } from '../records/commands.js';
import { BOUNDARY_MEMORY_MS, LATE_PRICES_MS, PRICE_WINDOW_MS } from './limits.js';
import type { Boundary, Market, State } from './state.js';

/** The boundary that a new market would have there; undefined if no market has it, or if it is forgotten. */
export function boundaryAt(state: State, asset: string, time: number): Boundary | undefined {
  const boundary = keptBoundary(state, asset, time);
  return boundary !== undefined && isOld(state, boundary) && !isOpen(state, boundary) ? undefined : boundary;
}

/** The boundary in memory. It may be forgotten already. */
export function keptBoundary(state: State, asset: string, time: number): Boundary | undefined {
  return state.boundaries.get(keyOf(asset, time));
}

/** The boundary at which a market starts or ends; it is new if no market before had it. */
export function joinBoundary(
  state: State, { asset, time, market }: { asset: string; time: number; market: number },
): void {
  const boundary: Boundary = boundaryAt(state, asset, time)
    ?? { asset, time, best: undefined, decided: false, missed: false, markets: [] };
  boundary.markets.push(market);
  state.boundaries.set(keyOf(asset, time), boundary);
  const { openBoundaries } = state;
  if (boundary.decided || openBoundaries.includes(boundary)) return;
  const after = openBoundaries.findLastIndex((other) => comesBefore(other, boundary));
  openBoundaries.splice(after + 1, 0, boundary);
}

/** Takes the boundary from the open ones if no market waits for its price any more. */
export function leaveOpen(state: State, boundary: Boundary): void {
  const index = isOpen(state, boundary) ? -1 : state.openBoundaries.indexOf(boundary);
  if (index >= 0) state.openBoundaries.splice(index, 1);
}

/** Frees the memory of forgotten boundaries, the ones that were joined first. */
export function freeBoundaries(state: State): void {
  for (const [key, boundary] of state.boundaries) {
    if (!isOld(state, boundary)) return;
    if (!isOpen(state, boundary)) state.boundaries.delete(key);
  }
}

/** The open boundaries, the earliest first, of equal ones that of the first asset in alphabetical order. */
export function openBoundariesOf(state: Pick<State, 'boundaries' | 'markets'>): Boundary[] {
  return [...state.boundaries.values()].filter((boundary) => isOpen(state, boundary))
    .sort((a, b) => (comesBefore(a, b) ? -1 : 1));
}

/** The boundary's markets that may still need its price, in the order of opening. */
export function unresolvedMarkets(state: State, { markets }: Boundary): Market[] {
  return markets.flatMap((index) => state.markets[index] ?? []).filter((market) => !isResolved(market));
}

/**
 * The open boundaries whose best price the observation becomes, the earliest first. Looks at the seconds of the window
 * only.
 */
export function servedBy(state: State, price: Pick<RecordPrice, 'asset' | 'rank' | 'publishedAt'>): Boundary[] {
  const { asset, publishedAt } = price;
  const served: Boundary[] = [];
  for (let time = Math.ceil((publishedAt - PRICE_WINDOW_MS) / 1_000); time * 1_000 <= publishedAt; time++) {
    const boundary = keptBoundary(state, asset, time);
    if (boundary !== undefined && isBetter(price, boundary) && isOpen(state, boundary)) served.push(boundary);
  }
  return served;
}

function isBetter({ rank, publishedAt }: Pick<RecordPrice, 'rank' | 'publishedAt'>, { best }: Boundary): boolean {
  return best === undefined || rank < best.rank || (rank === best.rank && publishedAt < best.publishedAt);
}

/** When no better observation is waited for, in milliseconds. */
export function lateAt(boundary: Boundary): number {
  return boundary.time * 1_000 + PRICE_WINDOW_MS + LATE_PRICES_MS;
}

/** When the clock has to look at a boundary next, in milliseconds; Infinity when there is none. */
export function nextBoundaryDue(state: State): number {
  const next = nextBoundary(state);
  return next === undefined ? Infinity : lateAt(next);
}

/** The earliest boundary that is due now, of equal ones that of the first asset in alphabetical order. */
export function dueBoundary(state: State): Boundary | undefined {
  const next = nextBoundary(state);
  return next !== undefined && lateAt(next) <= state.now ? next : undefined;
}

function nextBoundary({ openBoundaries }: State): Boundary | undefined {
  return openBoundaries.find(({ missed }) => !missed);
}

/** Whether the chain has the market's end result. */
export function isResolved({ winner, halved }: Market): boolean {
  return winner !== undefined || halved;
}

/** Whether a market still needs the boundary's price. */
function isOpen({ markets }: Pick<State, 'markets'>, boundary: Boundary): boolean {
  return !boundary.decided
    && boundary.markets.some((index) => markets[index] !== undefined && !isResolved(markets[index]));
}

function isOld({ now }: State, { time }: Boundary): boolean {
  return time * 1_000 < now - BOUNDARY_MEMORY_MS;
}

function comesBefore(a: Boundary, b: Boundary): boolean {
  return a.time < b.time || (a.time === b.time && a.asset < b.asset);
}

function keyOf(asset: string, time: number): string {
  return `${asset} ${time}`;
}
