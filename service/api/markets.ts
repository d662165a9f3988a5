/** The routes about markets: listing, statistics, holders, trades, the orderbook. */
import type { TSchema } from 'typebox';
import type { Outcome } from '../../engine/records/fields.js';
import { marketIdOf, optionalChainIdOf, optionalOutcomeOf } from '../../query/parameters.js';
import * as example from './examples.js';
import type { Answer } from '../../query/statement.js';
import * as parameter from './parameters.js';
import type { ApiRequest, Examples, Route } from './route.js';
import * as schema from './schemas.js';

export interface MarketQueries {
  markets(asked: { chainId: number | undefined }): Promise<Answer>;
  statsOfMarket(asked: { marketId: string }): Promise<Answer>;
  holdersOfMarket(asked: { marketId: string }): Promise<Answer>;
  activityOfMarket(asked: { marketId: string }): Promise<Answer>;
  tradesOfMarket(asked: { marketId: string }): Promise<Answer>;
  resolutionOfMarket(asked: { marketId: string }): Promise<Answer>;
  platformStats(asked: { chainId: number | undefined }): Promise<Answer>;
  orderbook(asked: { marketId: string; outcome: Outcome | undefined }): Promise<Answer>;
}

/** The orderbook first: it is what is read most. */
export function marketRoutes(queries: MarketQueries): Route[] {
  return [
    orderbookRoute(queries), marketsRoute(queries), platformRoute(queries),
    ofMarket({
      id: 'getMarketStats', path: '/api/v1/stats/{marketId}', summary: 'Statistics of a market',
      description: 'The 24 hours slide; a trade that failed to settle counts in nothing.', schema: schema.StatsAnswer,
      examples: {
        traded: {
          marketId: example.marketId, contractAddress: example.contractAddress, volume24h: 6_000_000, totalVolume: 81_500_000,
          lastPrice: 600_000,
        },
      },
      read: (asked) => queries.statsOfMarket(asked),
    }),
    ofMarket({
      id: 'getHolders', path: '/api/v1/holders/{marketId}', summary: 'The ten largest holders of a market',
      description: 'Sorted by the size of their position.', schema: schema.HoldersAnswer,
      examples: {
        'two holders': {
          marketId: example.marketId, totalHolders: 2,
          topHolders: [
            { userAddress: example.alice, yesShares: 10_000_000, noShares: 0 },
            { userAddress: example.bob, yesShares: 0, noShares: 2_500_000 },
          ],
        },
      },
      read: (asked) => queries.holdersOfMarket(asked),
    }),
    ofMarket({
      id: 'getMarketActivity', path: '/api/v1/activity/{marketId}', summary: 'The 50 latest trades of a market',
      description: 'Newest first. `txHash` is empty until the settlement is sent.', schema: schema.ActivityAnswer,
      examples: { 'one trade': { marketId: example.marketId, activity: [trade] } },
      read: (asked) => queries.activityOfMarket(asked),
    }),
    ofMarket({
      id: 'listTrades', path: '/api/v1/trades/{marketId}', summary: 'The 100 latest trades of a market',
      description: 'Newest first, with their outcomes. `txHash` is empty until the settlement is sent.', schema: schema.TradesAnswer,
      examples: { 'one trade': { marketId: example.marketId, trades: [{ ...trade, outcome: 0 }], count: 1 } },
      read: (asked) => queries.tradesOfMarket(asked),
    }),
    ofMarket({
      id: 'getResolution', path: '/api/v1/resolution/{marketId}', summary: 'How far the resolution of a market is',
      description: '`assertion` is there while somebody\'s assertion stands: it disappears when the oracle finds it untrue. `settlementResolution` is the '
        + 'oracle\'s own meaning: whether the assertion held; the winner is `winningOutcome`. `bondAmount` is in units of 1e-6 of the stablecoin.',
      schema: schema.ResolutionAnswer, examples: resolutions,
      read: (asked) => queries.resolutionOfMarket(asked),
    }),
  ];
}

const trade = {
  price: 600_000, size: 10_000_000, buyer: example.alice, seller: example.bob, timestamp: example.placedAt, txHash: '', settlementStatus: 'matched',
};

const assertion = {
  id: example.digest, proposer: example.alice, proposedOutcome: true, bondAmount: '500000000', assertionTime: example.expiration + 600,
  expirationTime: example.expiration + 7_800, settled: false, settlementResolution: false, disputed: false,
};

const resolutions = {
  'open': { marketId: example.marketId, expired: false, resolved: false },
  'assertion active': { marketId: example.marketId, expired: true, resolved: false, assertion },
  'resolved': {
    marketId: example.marketId, expired: true, resolved: true, winningOutcome: 0,
    assertion: { ...assertion, settled: true, settlementResolution: true },
  },
};

const marketIdIn = ({ params }: ApiRequest) => marketIdOf({ name: 'marketId', value: params['marketId'] });
const chainIdIn = ({ query }: ApiRequest) => optionalChainIdOf({ name: 'chain_id', value: query['chain_id'] });

interface OfMarket {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: TSchema;
  readonly examples: Examples;
  readonly read: (asked: { marketId: string }) => Promise<Answer>;
}

/** A read of one market that must exist, by its id and nothing else. */
function ofMarket({ id, path, summary, description, schema: answered, examples, read }: OfMarket): Route {
  return {
    id, method: 'GET', path, tag: 'Markets', summary, description,
    parameters: [parameter.inPath(parameter.marketId)],
    answer: { description: `${summary}.`, schema: answered, examples },
    errors: ['invalid_market_id', 'unknown_market', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => read({ marketId: marketIdIn(request) }),
  };
}

function orderbookRoute(queries: MarketQueries): Route {
  const bids = [{ price: 580_000, size: 40_000_000 }, { price: 570_000, size: 12_000_000 }];
  const asks = [{ price: 600_000, size: 15_000_000 }];
  return {
    id: 'getOrderbook', method: 'GET', path: '/api/v1/orderbook/{marketId}', tag: 'Markets', summary: 'Price levels of a market',
    description: 'YES and NO have separate books. A market without orders has empty bids and asks.',
    parameters: [parameter.inPath(parameter.marketId), parameter.optional(parameter.outcome)],
    answer: {
      description: 'The levels.', schema: schema.OrderbookAnswer,
      examples: {
        'one outcome': { marketId: example.marketId, bids, asks, lastUpdate: example.placedAt },
        'both outcomes': {
          marketId: example.marketId, bids, asks, lastUpdate: example.placedAt, yes: { bids, asks }, no: { bids: [], asks: [] },
        },
        'no orders': { marketId: example.marketId, bids: [], asks: [], lastUpdate: 0, yes: { bids: [], asks: [] }, no: { bids: [], asks: [] } },
      },
    },
    errors: ['invalid_request', 'invalid_market_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => queries.orderbook({
      marketId: marketIdIn(request), outcome: optionalOutcomeOf({ name: 'outcome', value: request.query['outcome'] }),
    }),
  };
}

function marketsRoute(queries: MarketQueries): Route {
  return {
    id: 'listMarkets', method: 'GET', path: '/api/v1/markets', tag: 'Markets', summary: 'Active markets',
    description: 'Every standard market that is not resolved, newest first.',
    parameters: [parameter.optional(parameter.chainId)],
    answer: {
      description: 'The markets.', schema: schema.MarketsAnswer,
      examples: {
        'one market': {
          markets: [{
            id: example.marketId, question: example.question, description: 'Resolves YES if the figure is reached before the year ends.', category: 'defi',
            contractAddress: example.contractAddress, maker: example.maker, expiration: example.expiration, chainId: 31_337,
            resolved: false,
            bestAskPrice: 600_000, createdAt: example.placedAt,
          }],
          count: 1,
        },
      },
    },
    errors: ['invalid_request', 'invalid_chain_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => queries.markets({ chainId: chainIdIn(request) }),
  };
}

function platformRoute(queries: MarketQueries): Route {
  const totals = { chainId: 31_337, totalVolume: 81_500_000, totalTrades: 311 };
  return {
    id: 'getPlatformStats', method: 'GET', path: '/api/v1/platform/stats', tag: 'Markets', summary: 'Volume and trades of the platform',
    description: 'By chain and in all, or of one chain.',
    parameters: [parameter.optional(parameter.chainId)],
    answer: {
      description: 'The totals.', schema: schema.PlatformStatsAnswer,
      examples: { 'all chains': { chains: [totals], total_volume: 81_500_000, total_trades: 311 }, 'one chain': totals },
    },
    errors: ['invalid_request', 'invalid_chain_id', 'unavailable'],
    limit: 'reads', consistent: true,
    handler: (request) => queries.platformStats({ chainId: chainIdIn(request) }),
  };
}
