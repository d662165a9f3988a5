/**
 * Which quick markets there should be, and under which ids: asset and times give the id, so the same market can never
 * exist twice.
 */
import type { Keccak256 } from '../signing/typed-data.js';

/** What a quick market is about. Times are in seconds since the Unix epoch. */
export interface QuickMarketTerms {
  readonly asset: string;
  readonly startTime: number;
  readonly endTime: number;
}

export interface Schedule {
  readonly assets: readonly string[];
  /** Markets start at the multiples of it since the Unix epoch, and last so long. */
  readonly intervalS: number;
  /** How many are made ahead of the one that runs. */
  readonly ahead: number;
}

/** Markets are made at least so far ahead, since a chain takes its time to make one, however short they are. */
const AHEAD_S = 120;
const LEAST_AHEAD = 2;

/** How many markets of such a length are made ahead of the one that runs. */
export function marketsAhead(intervalS: number): number {
  return Math.max(LEAST_AHEAD, Math.ceil(AHEAD_S / intervalS));
}

/** A market that has started is still made while this part of its time is left. */
const USEFUL_PART = 1 / 3;

/** The markets that there should be at a time, those that start first before others. */
export function scheduledTerms({ assets, intervalS, ahead }: Schedule, nowMs: number): readonly QuickMarketTerms[] {
  const running = Math.floor(nowMs / 1_000 / intervalS) * intervalS;
  const starts = Array.from({ length: ahead + 1 }, (_, n) => running + n * intervalS);
  return starts
    .filter((start) => (start + intervalS) * 1_000 - nowMs >= intervalS * 1_000 * USEFUL_PART)
    .flatMap((startTime) => assets.map((asset) => ({ asset, startTime, endTime: startTime + intervalS })));
}

/** A market's question and its id, which is its condition's: Gnosis' of the resolver, the question and two outcomes. */
export interface MarketIds {
  readonly questionId: string;
  readonly marketId: string;
}

export interface Naming {
  readonly keccak256: Keccak256;
  readonly chainId: number;
  /** Lower-case hex. */
  readonly quickResolver: string;
}

export function idsOf(
  { asset, startTime, endTime }: QuickMarketTerms, { keccak256, chainId, quickResolver }: Naming,
): MarketIds {
  const question = keccak256(Buffer.from(`prediction-exchange/quick/${chainId}/${asset}/${startTime}/${endTime}`));
  const outcomes = Buffer.alloc(32);
  outcomes[31] = 2;
  const condition = keccak256(Buffer.concat([Buffer.from(quickResolver.slice(2), 'hex'), question, outcomes]));
  return { questionId: hex(question), marketId: hex(condition) };
}

function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}
