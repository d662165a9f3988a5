/**
 * `GET /api/v1/users/{address}/nonces`: reads from a chain the nonces that a user signs next, and what else a signature
 * about a market needs.
 */
import { RequestError } from '../../engine/records/errors.js';
import { patterns } from '../../engine/records/integers.js';
import { Type } from '../../engine/records/schema-types.js';
import type { EngineView } from '../../engine/run/view.js';
import * as field from '../../engine/records/answer-fields.js';
import { anybody } from '../../service/api/authority.js';
import { defineEndpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inQuery } from '../../service/api/parameter.js';
import * as parameter from '../../service/api/parameters.js';
import { problems } from '../../service/api/problems.js';
import * as kind from '../../service/api/request-fields.js';
import { createChainReads, type ChainReads } from '../chain/chain-reads.js';
import { ChainUnavailable, type Chain, type Rpc } from '../chain/chain.js';
import { readMarkets } from './markets.js';
import { nonceSpaceOf } from './signatures.js';

const MAX_MARKETS = 100;

/** A chain with its nodes for what clients ask. */
interface ReadableChain {
  readonly chain: Chain;
  readonly clientRpc: Rpc;
}

type UserNonces = (params: {
  readonly user: string; readonly chainId: number; readonly marketId: string | undefined;
}) => Promise<{ readonly body: string }>;

export function createUserNonces({ view, chains }: {
  view: EngineView;
  chains: ReadonlyMap<number, ReadableChain>;
}): UserNonces {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc }]) => (
    [chainId, { chain, reads: createChainReads(chain, clientRpc) }])));
  return async ({ user, chainId, marketId }) => {
    const reader = readers.get(chainId);
    if (reader === undefined) throw new RequestError('unknown_chain');
    if (marketId !== undefined && view.market(marketId)?.chainId !== chainId) throw new RequestError('unknown_market');
    const markets = marketId === undefined ? newestMarkets(view, chainId) : [marketId];
    const space = (name: Parameters<typeof nonceSpaceOf>[0]['name'], nonceOf?: string) => nonceSpaceOf({ name, nonceOf }, user, reader.chain.contracts).call;
    const [owner, token, ...ofMarkets] = await read(reader.reads, [
      space('ctf-approval'), space('usdc-permit'), ...markets.flatMap((each) => [space('ctf-redemption', each), space('settle-market', each)]),
    ]);
    const facts = await reading(() => readMarkets(
      markets, { contracts: reader.chain.contracts, reads: reader.reads, isKnown: () => true },
    ));
    const body = {
      address: user, chainId, owner, token,
      markets: markets.flatMap((each, i) => {
        const market = facts.get(each);
        if (market === undefined) return [];
        const { address: contractAddress, bond } = market;
        return [{
          marketId: each, contractAddress, bond: String(bond), condition: ofMarkets[2 * i], market: ofMarkets[2 * i + 1],
        }];
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

const Nonce = Type.String({ pattern: patterns.uint256, description: 'The next nonce, in decimal digits.' });

export const getUserNonces = defineEndpoint({
  id: 'getUserNonces', role: 'relayer', method: 'GET', path: '/api/v1/users/{address}/nonces', tag: 'Relayer',
  summary: 'The nonces that a user signs next', description: 'Read from the chain. What each is for stands in signedActions of /api/v1/config. Nonces of '
    + 'markets are packed (key * 2^64 + counter), as they are signed. Lists the 100 newest markets, or the one that is named.',
  parameters: {
    user: parameter.userInPath, chainId: parameter.chainId,
    marketId: inQuery('market', kind.optional(kind.marketId), { description: 'Only this market.', example: example.marketId }),
  },
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The nonces.',
    schema: field.answer('UserNonces', {
      address: field.Address, chainId: field.ChainId,
      owner: { ...Nonce, description: 'Of approvals, splits and merges.' }, token: { ...Nonce, description: 'Of ERC-2612 permits.' },
      markets: Type.Array(field.answer('MarketNonces', {
        marketId: field.Bytes32, contractAddress: field.Address,
        bond: Type.String({ description: 'What a proposal signs as `bond`, in units of 1e-6, in decimal digits: the bond of the proposal that is there, '
          + 'else the greater of the market\'s own bond and the oracle\'s minimum at present.' }),
        condition: { ...Nonce, description: 'Of redemptions.' }, market: { ...Nonce, description: 'Of proposals and settlements.' },
      })),
    }),
    examples: {
      'one market': {
        address: example.alice, chainId: 31_337, owner: '2', token: '1',
        markets: [{
          marketId: example.marketId, contractAddress: example.contractAddress, bond: '10000000',
          condition: '34909474936944979506930092012594866316285105204929593068756992',
          market: '34909474936944979506930092012594866316285105204929593068756993',
        }],
      },
    },
  },
  errors: ['unknown_chain', 'unknown_market', 'chain_unavailable'], limit: 'reads', consistent: false,
}, ({ userNonces }: { readonly userNonces: UserNonces }) => userNonces);
