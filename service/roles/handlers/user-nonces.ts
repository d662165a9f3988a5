/** `GET /api/v1/users/{address}/nonces`: reads from a chain the nonces that a user signs next, and what else a signature about a market needs. */
import { createChainReads, type ChainReads } from '../../../command/chain/chain-reads.js';
import { readMarkets } from '../../../command/relayer/markets.js';
import { nonceSpaceOf } from '../../../command/relayer/signatures.js';
import { ChainUnavailable } from '../../../command/chain/chain.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { EngineView } from '../../../engine/run/view.js';
import type { GetUserNonces } from '../../api/endpoints/relayer.js';
import type { ChainAccess } from '../../chains/chain-access.js';

const MAX_MARKETS = 100;

export function createUserNonces({ view, chains }: { view: EngineView; chains: ReadonlyMap<number, ChainAccess> }): GetUserNonces {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc }]) => [chainId, { chain, reads: createChainReads(chain, clientRpc) }]));
  return async ({ user, chainId, marketId }) => {
    const reader = readers.get(chainId);
    if (reader === undefined) throw new RequestError('unknown_chain');
    if (marketId !== undefined && view.market(marketId)?.chainId !== chainId) throw new RequestError('unknown_market');
    const markets = marketId === undefined ? newestMarkets(view, chainId) : [marketId];
    const space = (name: Parameters<typeof nonceSpaceOf>[0]['name'], nonceOf?: string) => nonceSpaceOf({ name, nonceOf }, user, reader.chain.contracts).call;
    const [owner, token, ...ofMarkets] = await read(reader.reads, [
      space('ctf-approval'), space('usdc-permit'), ...markets.flatMap((each) => [space('ctf-redemption', each), space('settle-market', each)]),
    ]);
    const facts = await reading(() => readMarkets(markets, { contracts: reader.chain.contracts, reads: reader.reads, isKnown: () => true }));
    const body = {
      address: user, chainId, owner, token,
      markets: markets.flatMap((each, i) => {
        const market = facts.get(each);
        if (market === undefined) return [];
        const { address: contractAddress, bond } = market;
        return [{ marketId: each, contractAddress, bond: String(bond), condition: ofMarkets[2 * i], market: ofMarkets[2 * i + 1] }];
      }),
    };
    return { body: JSON.stringify(body) };
  };
}

/** Decimal texts. Throws RequestError when the chain does not answer. */
async function read(reads: ChainReads, calls: Parameters<ChainReads['views']>[0]): Promise<readonly string[]> {
  return (await reading(() => reads.views(calls, 'latest'))).map((nonce) => {
    if (typeof nonce !== 'bigint') throw new RequestError('chain_unavailable', 'a nonce cannot be read');
    return String(nonce);
  });
}

async function reading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChainUnavailable) throw new RequestError('chain_unavailable', 'the nonces cannot be read');
    throw error;
  }
}

/** The ids of the chain's latest markets, the newest first. */
function newestMarkets(view: EngineView, chainId: number): readonly string[] {
  const newest: string[] = [];
  for (const marketId of view.newestMarkets(chainId)) if (newest.push(marketId) === MAX_MARKETS) break;
  return newest;
}
