/** The endpoints about one user: positions and activity. */
import { Type } from '../../../engine/records/schema-types.js';
import * as kind from '../../../query/parameters.js';
import { USER_ACTIVITY_LIMIT } from '../../../query/trades.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inPath, inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

const reading = {
  role: 'query', method: 'GET', tag: 'Users', authority: anybody, errorShape: problems, limit: 'reads', consistent: true,
} as const;

export const listUserPositions = defineEndpoint({
  ...reading,
  id: 'listUserPositions', path: '/api/v1/users/{address}/positions', summary: 'All positions of a user on a chain',
  description: 'One entry per market, with the amount invested.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId },
  answer: {
    description: 'The positions.',
    schema: field.answer('UserPositions', {
      positions: Type.Array(field.answer('UserPosition', {
        marketId: field.Bytes32, marketQuestion: field.Question, contractAddress: field.Address, expiration: field.Seconds, resolved: Type.Boolean(),
        ...field.shares, totalInvested: field.Invested,
      })),
    }),
    examples: {
      'one position': {
        positions: [{
          marketId: example.marketId, marketQuestion: example.question, contractAddress: example.contractAddress, expiration: example.expiration,
          resolved: false, yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000,
        }],
      },
    },
  },
  errors: ['unavailable'],
});

export const getUserActivity = defineEndpoint({
  ...reading,
  id: 'getUserActivity', path: '/api/v1/users/{address}/activity', summary: 'Latest trades and payouts of a user on a chain',
  description: 'Newest first. `settlements` has the payouts of resolved markets. `limit` applies to each of the two lists.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId, limit: parameter.limit(USER_ACTIVITY_LIMIT) },
  answer: {
    description: 'The activity.',
    schema: field.answer('UserActivity', {
      activity: Type.Array(field.answer('UserTrade', {
        marketId: field.Bytes32, marketQuestion: field.Question, price: field.Price, size: field.amount('Shares'),
        userRole: field.oneOf(['buyer', 'seller'], 'The side of the user in the trade.'),
        timestamp: field.Seconds, txHash: field.TxHash, settlementStatus: field.SettlementStatus,
      })),
      settlements: Type.Array(field.answer('Payout', {
        marketId: field.Bytes32, marketQuestion: field.Question, payout: field.amount('Stablecoin paid out'),
        winningOutcome: field.orNull(field.Outcome, '0 = YES, 1 = NO; null if the chain paid without naming a winner, half to half.'),
        timestamp: field.Seconds, txHash: field.Bytes32,
      })),
    }),
    examples: {
      'one trade, one payout': {
        activity: [{
          marketId: example.marketId, marketQuestion: example.question, price: 600_000, size: 10_000_000, userRole: 'buyer', timestamp: example.placedAt,
          txHash: '', settlementStatus: 'matched',
        }],
        settlements: [{
          marketId: example.digest, marketQuestion: 'Will it rain in Oslo?', payout: 2_500_000, winningOutcome: 1, timestamp: example.placedAt,
          txHash: example.txHash,
        }],
      },
    },
  },
  errors: ['unavailable'],
});

export const getPosition = defineEndpoint({
  ...reading,
  id: 'getPosition', path: '/api/v1/positions/{marketAddress}', summary: 'A user\'s position in one market',
  description: 'Costs are average costs. Without a position, the answer has only `yesShares` and `noShares`, both 0.',
  parameters: {
    market: inPath('marketAddress', kind.marketReference, {
      description: 'The address of the market\'s contract, or the market identifier.', example: example.contractAddress,
    }),
    user: inQuery('user', kind.address, { description: 'Owner of the position.', example: example.alice }),
  },
  answer: {
    description: 'The position.',
    schema: field.answer('Position', {
      ...field.shares,
      totalInvested: Type.Optional(field.Invested), yesCost: Type.Optional(field.yesCost), noCost: Type.Optional(field.noCost),
    }, { description: 'Without a position: only yesShares and noShares, both 0.' }),
    examples: {
      position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000, yesCost: 6_000_000, noCost: 0 },
      none: { yesShares: 0, noShares: 0 },
    },
  },
  errors: ['unknown_market', 'unavailable'],
});
