/** The endpoints about markets: listing, orderbook, statistics, holders, trades, resolution. */
import { Type } from '../../../engine/records/schema-types.js';
import { HOLDER_ENTRIES } from '../../../query/positions.js';
import { named } from '../../../engine/records/named-schema.js';
import * as kind from '../../../query/parameters.js';
import { ACTIVITY_ENTRIES, TRADE_ENTRIES } from '../../../query/trades.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

const reading = {
  role: 'query', method: 'GET', tag: 'Markets', authority: anybody, errorShape: problems, limit: 'reads', consistent: true,
} as const;

/** A read of one market, whose id is the only parameter; the market must exist. */
const ofMarket = { ...reading, parameters: { marketId: parameter.marketIdInPath }, errors: ['unknown_market', 'unavailable'] } as const;

const levels = (description: string) =>
  Type.Array(field.answer('PriceLevel', { price: field.Price, size: field.amount('Total shares at this price') }), { description });
const sides = { bids: levels('Highest price first.'), asks: levels('Lowest price first.') };
const Book = field.answer('Book', sides, { description: 'The price levels of one outcome.' });
const bids = [{ price: 580_000, size: 40_000_000 }, { price: 570_000, size: 12_000_000 }];
const asks = [{ price: 600_000, size: 15_000_000 }];
const none = { bids: [], asks: [] };

export const getOrderbook = defineEndpoint({
  ...reading,
  id: 'getOrderbook', path: '/api/v1/orderbook/{marketId}', summary: 'Price levels of a market',
  description: 'YES and NO have separate books. A market without orders has empty bids and asks. With `at`, the book is as it was after the outcome at this '
    + 'log position, or after the last outcome that is not later than this time; `X-Log-Position` is the position. Such an answer never changes, but for a time '
    + 'after the newest outcome.',
  parameters: {
    marketId: parameter.marketIdInPath,
    at: inQuery('at', kind.optional(kind.moment), {
      description: 'A log position, or a time in UTC to the millisecond such as 2026-01-31T12:00:00Z. Without this parameter: now.', example: 4_217,
    }),
    outcome: inQuery('outcome', kind.optional(kind.outcome), {
      description: 'YES or 0, NO or 1. Without this parameter, the sizes of both books are added by price.', example: 'YES',
    }),
  },
  answer: {
    description: 'The levels.',
    schema: field.answer('Orderbook', {
      marketId: field.Bytes32, ...sides, lastUpdate: field.integer('Unix seconds; 0 = the market has never had an order.'),
      yes: Type.Optional({ ...Book, description: 'Only without `outcome`: the YES book.' }),
      no: Type.Optional({ ...Book, description: 'Only without `outcome`: the NO book.' }),
    }),
    examples: {
      'one outcome': { marketId: example.marketId, bids, asks, lastUpdate: example.placedAt },
      'both outcomes': { marketId: example.marketId, bids, asks, lastUpdate: example.placedAt, yes: { bids, asks }, no: none },
      'no orders': { marketId: example.marketId, ...none, lastUpdate: 0, yes: none, no: none },
    },
  },
  errors: ['unavailable', 'unknown_market', 'not_recorded_yet', 'overloaded'],
});

const TokenId = named('TokenId', Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$', description: 'A uint256 as a decimal string.' }));
const WITHOUT_CHAIN = 'null for a market without a chain.';

export const listMarkets = defineEndpoint({
  ...reading,
  id: 'listMarkets', path: '/api/v1/markets', summary: 'Active markets', description: 'All standard markets that are not resolved, newest first. '
    + 'With `conditionId` and the token ids a wallet reads its shares, splits and redeems; /api/v1/contracts has the ABIs for that.',
  parameters: { chainId: parameter.optionalChainId },
  answer: {
    description: 'The markets.',
    schema: field.answer('Markets', {
      markets: Type.Array(field.answer('Market', {
        id: field.Bytes32, question: field.Question, description: Type.String(),
        category: field.oneOf(['defi', 'protocol', 'stablecoin', 'general'], 'What the market is about.'),
        contractAddress: field.Address, maker: field.Address, expiration: field.Seconds, chainId: field.integer('Chain on which the market settles.', 1),
        resolved: Type.Boolean(), bestAskPrice: field.PriceOrNone, createdAt: field.Seconds,
        conditionId: field.orNull(field.Bytes32, `Condition of the conditional tokens, for splitPosition, mergePositions and redeemPositions; ${WITHOUT_CHAIN}`),
        yesTokenId: field.orNull(TokenId, `ERC-1155 id of the YES shares; ${WITHOUT_CHAIN}`),
        noTokenId: field.orNull(TokenId, `ERC-1155 id of the NO shares; ${WITHOUT_CHAIN}`),
      })),
      count: field.Count,
    }),
    examples: {
      'one market': {
        markets: [{
          id: example.marketId, question: example.question, description: 'Resolves YES if the figure is reached before the year ends.', category: 'defi',
          contractAddress: example.contractAddress, maker: example.maker, expiration: example.expiration, chainId: 31_337, resolved: false,
          bestAskPrice: 600_000, createdAt: example.placedAt, conditionId: example.marketId,
          yesTokenId: '67342861206352183424271838154306187063461374310264017361302217042436938274305',
          noTokenId: '110289364510287301928475610293847561029384756102938475610293847561029384756102',
        }],
        count: 1,
      },
    },
  },
  errors: ['unavailable'],
});

const chainTotals = field.answer('ChainTotals', {
  chainId: field.ChainId, totalVolume: field.amount('Stablecoin traded since the start'), totalTrades: field.integer('Number of trades since the start.'),
}, { description: 'Totals of one chain. With chain_id, this is the whole answer.' });
const totals = { chainId: 31_337, totalVolume: 81_500_000, totalTrades: 311 };

export const getPlatformStats = defineEndpoint({
  ...reading,
  id: 'getPlatformStats', path: '/api/v1/platform/stats', summary: 'Volume and trades of the platform',
  description: 'Without chain_id: per chain and in total. With chain_id: of that chain.',
  parameters: { chainId: parameter.optionalChainId },
  answer: {
    description: 'The totals.',
    schema: Type.Union([
      field.answer('PlatformTotals', {
        chains: Type.Array(chainTotals), total_volume: field.amount('Stablecoin traded since the start, on all chains'),
        total_trades: field.integer('Number of trades since the start, on all chains.'),
      }, { description: 'The answer without chain_id.' }),
      chainTotals,
    ]),
    examples: { 'all chains': { chains: [totals], total_volume: 81_500_000, total_trades: 311 }, 'one chain': totals },
  },
  errors: ['unavailable'],
});

export const getMarketStats = defineEndpoint({
  ...ofMarket,
  id: 'getMarketStats', path: '/api/v1/stats/{marketId}', summary: 'Statistics of a market',
  description: '`volume24h` covers the 24 hours before the request. Trades that failed to settle are not counted.',
  answer: {
    description: 'The statistics.',
    schema: field.answer('MarketStatistics', {
      marketId: field.Bytes32, contractAddress: field.Address, volume24h: field.amount('Stablecoin traded in the last 24 hours'),
      totalVolume: field.amount('Stablecoin traded since the start'), lastPrice: field.PriceOrNone,
    }),
    examples: {
      traded: {
        marketId: example.marketId, contractAddress: example.contractAddress, volume24h: 6_000_000, totalVolume: 81_500_000, lastPrice: 600_000,
      },
    },
  },
});

export const getHolders = defineEndpoint({
  ...ofMarket,
  id: 'getHolders', path: '/api/v1/holders/{marketId}', summary: 'The ten largest holders of a market', description: 'Sorted by the size of their positions, largest first.',
  answer: {
    description: 'The holders.',
    schema: field.answer('Holders', {
      marketId: field.Bytes32,
      topHolders: Type.Array(field.answer('Holder', { userAddress: field.Address, ...field.shares }), {
        maxItems: HOLDER_ENTRIES, description: 'Sorted by the size of their positions, largest first.',
      }),
      totalHolders: field.integer('Number of holders.'),
    }),
    examples: {
      'two holders': {
        marketId: example.marketId, totalHolders: 2,
        topHolders: [
          { userAddress: example.alice, yesShares: 10_000_000, noShares: 0 }, { userAddress: example.bob, yesShares: 0, noShares: 2_500_000 },
        ],
      },
    },
  },
});

const tradeFields = {
  price: field.Price, size: field.amount('Shares'), buyer: field.Address, seller: field.Address, timestamp: field.Seconds, txHash: field.TxHash,
  settlementStatus: field.SettlementStatus,
};
const trade = {
  price: 600_000, size: 10_000_000, buyer: example.alice, seller: example.bob, timestamp: example.placedAt, txHash: '', settlementStatus: 'matched',
};

export const getMarketActivity = defineEndpoint({
  ...ofMarket,
  id: 'getMarketActivity', path: '/api/v1/activity/{marketId}', summary: 'The 50 latest trades of a market',
  description: 'Newest first. `txHash` is empty until a settlement transaction is sent.',
  answer: {
    description: 'The trades.',
    schema: field.answer('MarketActivity', {
      marketId: field.Bytes32, activity: Type.Array(field.answer('MarketActivityEntry', tradeFields), { maxItems: ACTIVITY_ENTRIES }),
    }),
    examples: { 'one trade': { marketId: example.marketId, activity: [trade] } },
  },
});

export const listTrades = defineEndpoint({
  ...ofMarket,
  id: 'listTrades', path: '/api/v1/trades/{marketId}', summary: 'The 100 latest trades of a market',
  description: 'Newest first, with the outcome traded. `txHash` is empty until a settlement transaction is sent.',
  answer: {
    description: 'The trades.',
    schema: field.answer('Trades', {
      marketId: field.Bytes32, trades: Type.Array(field.answer('Trade', { ...tradeFields, outcome: field.Outcome }), { maxItems: TRADE_ENTRIES }),
      count: field.Count,
    }),
    examples: { 'one trade': { marketId: example.marketId, trades: [{ ...trade, outcome: 0 }], count: 1 } },
  },
});

const assertion = {
  id: example.digest, proposer: example.alice, proposedOutcome: true, bondAmount: '500000000', assertionTime: example.expiration + 600,
  expirationTime: example.expiration + 7_800, settled: false, settlementResolution: false, disputed: false,
};

export const getResolution = defineEndpoint({
  ...ofMarket,
  id: 'getResolution', path: '/api/v1/resolution/{marketId}', summary: 'The state of a market\'s resolution',
  description: '`assertion` is present while an assertion is open or was upheld; it is absent after it was rejected by the oracle, or abandoned. `settlementResolution` '
    + 'is the oracle\'s value: whether the assertion was upheld. The winner is `winningOutcome`. `bondAmount` is in units of 1e-6 of the stablecoin. '
    + 'Of an expired market that is neither resolved nor has an assertion, the chain tells what can become of it: `proposal` and `halvableFrom`, which are absent '
    + 'while the chain cannot be read.',
  answer: {
    description: 'The resolution.',
    schema: field.answer('Resolution', {
      marketId: field.Bytes32,
      expired: Type.Boolean({ description: 'Whether the market\'s expiration has passed.' }),
      resolved: Type.Boolean({ description: 'Whether the market is resolved.' }),
      winningOutcome: Type.Optional(field.Outcome),
      halved: Type.Optional(Type.Literal(true, { description: 'Only of a resolved market without a winner: each share of either outcome is paid one half.' })),
      assertion: Type.Optional(field.answer('Assertion', {
        id: field.Bytes32, proposer: field.Address, proposedOutcome: Type.Boolean({ description: 'True = YES.' }),
        bondAmount: Type.String({ pattern: '^(0|[1-9][0-9]*)$', description: 'Bond in the stablecoin, 6 decimals.' }),
        assertionTime: field.Seconds, expirationTime: field.integer('End of the dispute window, Unix seconds.'),
        settled: Type.Boolean({ description: 'Whether the oracle has decided.' }),
        settlementResolution: Type.Boolean({ description: 'Whether the oracle upheld the assertion; false until `settled`.' }),
        disputed: Type.Boolean(),
      })),
      proposal: Type.Optional(field.answer('ProposalTaken', {
        bond: Type.String({ pattern: '^(0|[1-9][0-9]*)$', description: 'What a proposal signs as `bond`, and what its permit is of, in units of 1e-6 of the stablecoin: '
          + 'the greater of the market\'s own bond and the oracle\'s minimum. At most 10 seconds old; `/users/{address}/nonces` has the present one.' }),
        refusal: field.orNull(Type.String(), 'Why no proposal is taken at present, whatever it says; null if proposals are taken.'),
      }, { description: 'Only of an expired standard market without an assertion.' })),
      halvableFrom: Type.Optional(field.integer('Only of an expired market that is neither resolved nor has an assertion: when the administrator may pay it half to half, '
        + 'Unix seconds by the chain\'s time. Absent where the chain\'s contracts cannot.')),
    }),
    examples: {
      'proposable': {
        marketId: example.marketId, expired: true, resolved: false, proposal: { bond: '500000000', refusal: null }, halvableFrom: example.expiration + 2_592_000,
      },
      'refused by the oracle': {
        marketId: example.marketId, expired: true, resolved: false, halvableFrom: example.expiration + 2_592_000,
        proposal: { bond: '500000000', refusal: 'the oracle refuses assertions: Unsupported currency' },
      },
      'paid half to half': { marketId: example.marketId, expired: true, resolved: true, halved: true },
      'open': { marketId: example.marketId, expired: false, resolved: false },
      'assertion active': { marketId: example.marketId, expired: true, resolved: false, assertion },
      'resolved': {
        marketId: example.marketId, expired: true, resolved: true, winningOutcome: 0,
        assertion: { ...assertion, settled: true, settlementResolution: true },
      },
    },
  },
});
