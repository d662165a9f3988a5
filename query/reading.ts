/** What the endpoints of the read models have in common. */
import { anybody } from '../service/api/authority.js';
import * as parameter from '../service/api/parameters.js';
import { problems } from '../service/api/problems.js';
import type { Database } from './database.js';
import type { Share } from './shared.js';

/** What most reads need. */
export interface Reads {
  readonly db: Database;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** What reads need whose answers many clients share. */
export interface SharedReads extends Reads {
  readonly share: Share;
}

/** The second of a time in milliseconds: what is asked for in one second is the same answer. */
export function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

export const read = { role: 'query', method: 'GET', authority: anybody, errorShape: problems, limit: 'reads', consistent: true } as const;

/** A read of one market, whose id is the only parameter; the market must exist. */
export const ofMarket = {
  ...read, tag: 'Markets', parameters: { marketId: parameter.marketIdInPath }, errors: ['unknown_market', 'unavailable'],
} as const;
