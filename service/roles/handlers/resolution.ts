/** `GET /resolution/{marketId}`: what the history has of a market's resolution, and what the chain would take of an unresolved market at present. */
import { createChainReads } from '../../../command/chain/chain-reads.js';
import { createWaysOutReader, type UnresolvedMarket, type WaysOut } from '../../../command/chain/ways-out.js';
import { within } from '../../../engine/waiting.js';
import type { Database } from '../../../query/database.js';
import { resolution, type Unresolved } from '../../../query/resolution.js';
import type { Answer } from '../../../query/statement.js';
import type { ChainAccess } from '../../chains/chain-access.js';

export interface ResolutionParts {
  readonly db: Database;
  readonly chains: ReadonlyMap<number, Pick<ChainAccess, 'chain' | 'clientRpc'>>;
  /** Unix seconds. */
  readonly nowS: () => number;
  /** Milliseconds, not going back. */
  readonly monotonic: () => number;
  /** The answer does not wait longer for a chain: the history's part is worth more than the rest. */
  readonly chainWithinMs?: number;
}

const CHAIN_WITHIN_MS = 2_000;

/** Resolves without the chain's part where the chain is not configured or does not answer. Throws RequestError `unknown_market`. */
export function createResolution(
  { db, chains, nowS, monotonic: now, chainWithinMs = CHAIN_WITHIN_MS }: ResolutionParts,
): (asked: { readonly marketId: string }) => Promise<Answer> {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc }]) => [
    chainId, createWaysOutReader({ chain, reads: createChainReads(chain, clientRpc), now })]));
  return async ({ marketId }) => {
    const { body, position, unresolved } = await resolution(db, { marketId, nowS: nowS() });
    const found = unresolved === undefined ? undefined : await within(waysOutOf(unresolved, readers), chainWithinMs);
    return { body: found === undefined ? body : withWaysOut(body, found), position };
  };
}

type Readers = ReadonlyMap<number, (market: UnresolvedMarket) => Promise<WaysOut>>;

/** Undefined also for any fault of the chain's nodes: their troubles are told elsewhere. */
async function waysOutOf({ chainId, ...market }: Unresolved, readers: Readers): Promise<WaysOut | undefined> {
  return readers.get(chainId)?.(market).catch(() => undefined);
}

/** The text of an object that has members, with further ones. */
function withWaysOut(body: string, { proposal, halvableFromS: halvableFrom }: WaysOut): string {
  const members = JSON.stringify({
    ...proposal === undefined ? {} : { proposal: { bond: String(proposal.bond), refusal: proposal.refusal ?? null } },
    ...halvableFrom === undefined ? {} : { halvableFrom },
  });
  return members === '{}' ? body : `${body.slice(0, -1)},${members.slice(1)}`;
}
