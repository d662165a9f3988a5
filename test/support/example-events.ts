/** Example events, about the same market, traders, orders and fill. A new event type needs one only where a test uses it. */
import type { EventOf, EventType } from '../../engine/records/events.js';

const bytes = (length: number, n: number) => `0x${n.toString(16).padStart(2 * length, '0')}`;

/** What the events are about. */
export const subject = {
  marketId: bytes(32, 0xaa), alice: bytes(20, 1), bob: bytes(20, 2), txHash: bytes(32, 0xcc), assertionId: bytes(32, 0xdd),
  requestId: bytes(32, 0xee),
  /** Order 1 is Alice's and buys; order 2 is Bob's and sells. */
  orders: [1, 2],
} as const;

const { marketId, alice, bob, txHash, assertionId, requestId } = subject;
const order = (orderNumber: number) => (
  { v: 1, orderHash: bytes(32, orderNumber), orderNumber, marketId, side: orderNumber === 1 ? 0 : 1, outcome: 0, price: 500_000 } as const);
const fill = {
  v: 1, fill: 0, marketId, outcome: 0, price: 500_000, size: '40', cost: '20', takerSide: 1, makerNumber: 1, takerNumber: 2, buyer: alice, seller: bob,
} as const;

const relay: Omit<EventOf<'RelayRequested'>, 'type'> = {
  v: 1, requestId, chainId: 137, action: 'ctf-redemption', owner: alice, claims: [{ marketId, payout: '7', winningOutcome: 1 }],
};

export const exampleEvents = {
  MarketOpened: {
    type: 'MarketOpened', v: 2, marketId, question: 'Will it rain?', description: '', category: 'general', contractAddress: bytes(20, 0xc0), maker: alice,
    expiration: 1_800_000_000, chainId: 137, marketKind: 'standard', quick: null,
  },
  MarketTokenized: { type: 'MarketTokenized', v: 1, marketId, yesToken: bytes(32, 0xe0), noToken: bytes(32, 0xe1) },
  MarketClosed: { type: 'MarketClosed', v: 1, marketId },
  MarketResolved: { type: 'MarketResolved', v: 1, marketId, winningOutcome: 1 },
  MarketHalved: { type: 'MarketHalved', v: 1, marketId },
  PriceRecorded: { type: 'PriceRecorded', v: 1, asset: 'BTC', source: 'pyth', rank: 0, price: '6140993501000', publishedAt: 1_700_000_000_000 },
  StrikePriceSet: { type: 'StrikePriceSet', v: 1, marketId, source: 'pyth', price: '6140993501000', publishedAt: 1_700_000_000_000 },
  EndPriceSet: { type: 'EndPriceSet', v: 1, marketId, source: 'pyth', price: '6140993501001', publishedAt: 1_700_000_900_000 },
  QuickMarketDecided: { type: 'QuickMarketDecided', v: 1, marketId, winningOutcome: 0 },
  PriceMissed: { type: 'PriceMissed', v: 1, marketId, boundary: 'start' },
  OrderAccepted: { type: 'OrderAccepted', ...order(1), trader: alice, size: '100', nonce: '1', expiration: '1800000000' },
  OrderRested: { type: 'OrderRested', ...order(1), size: '100' },
  FillMatched: { type: 'FillMatched', ...fill },
  OrderCancelled: { type: 'OrderCancelled', ...order(1), remaining: '60', rested: '60', reason: 'user' },
  OrderTermsSet: { type: 'OrderTermsSet', ...order(1), timeInForce: 'GTC', postOnly: true, notAfter: null, selfTrade: 'cancel_newer' },
  OrderReduced: { type: 'OrderReduced', ...order(1), size: '100', remaining: '100', reduced: '0' },
  AllOrdersCancelled: { type: 'AllOrdersCancelled', v: 1, chainId: 137, trader: alice, marketId, orders: 0, deadline: '1800000000' },
  CancelAfterArmed: { type: 'CancelAfterArmed', v: 1, chainId: 137, trader: alice, firesAt: 1_700_000_000_000, deadline: null },
  CancelAfterDisarmed: { type: 'CancelAfterDisarmed', v: 1, chainId: 137, trader: alice, deadline: null },
  CancelAllRepeated: { type: 'CancelAllRepeated', v: 1, chainId: 137, trader: alice, marketId, position: 3 },
  ReduceRepeated: { type: 'ReduceRepeated', v: 1, orderHash: bytes(32, 1), orderNumber: 1, size: '100' },
  NonceFloorRaised: { type: 'NonceFloorRaised', v: 1, chainId: 137, trader: alice, belowNonce: '2' },
  SettlementSubmitted: { type: 'SettlementSubmitted', v: 1, chainId: 137, txHash, fills: [0] },
  FillSettled: { type: 'FillSettled', ...fill, txHash },
  FillFailed: { type: 'FillFailed', ...fill, txHash, reason: 'seller_insufficient_shares', culprit: 'seller' },
  TraderDefaulted: { type: 'TraderDefaulted', v: 1, trader: bob, defaults: 2, suspendedUntil: 1_790_000_030_000 },
  OrderReinstated: { type: 'OrderReinstated', ...order(1), size: '60' },
  SharesTransferred: { type: 'SharesTransferred', v: 1, marketId, outcome: 0, from: alice, to: bob, amount: '5', txHash },
  PositionRedeemed: { type: 'PositionRedeemed', v: 1, marketId, user: alice, payout: '7', txHash },
  PositionSynced: { type: 'PositionSynced', v: 1, marketId, user: alice, yesShares: '3', noShares: '4' },
  ResolutionProposed: {
    type: 'ResolutionProposed', v: 1, marketId, assertionId, proposer: alice, outcome: 0, bond: '10', assertionTime: 1_700_000_000,
    expirationTime: 1_700_007_200,
  },
  ResolutionDisputed: { type: 'ResolutionDisputed', v: 1, marketId, assertionId, disputer: bob },
  ResolutionRejected: { type: 'ResolutionRejected', v: 1, marketId, assertionId },
  ChainAdvanced: { type: 'ChainAdvanced', v: 1, chainId: 137, block: 5, blockHash: bytes(32, 0xbb) },
  AnchorPassedOver: { type: 'AnchorPassedOver', v: 1, chainId: 137, txHash, position: '18446744073709551615', digest: bytes(32, 0xbc) },
  RelayRequested: { type: 'RelayRequested', ...relay },
  RelaySubmitted: { type: 'RelaySubmitted', ...relay, txHash },
  RelayEnded: { type: 'RelayEnded', ...relay, txHash, results: [{ succeeded: false, reason: 'reverted' }] },
  OrderRepeated: { type: 'OrderRepeated', v: 1, orderHash: bytes(32, 1), orderNumber: 1 },
  CancelRepeated: { type: 'CancelRepeated', v: 1, orderHash: bytes(32, 1), orderNumber: 1, size: '100', remaining: '60' },
  CommandRejected: { type: 'CommandRejected', v: 1, code: 'unknown_market', subject: marketId },
} satisfies { readonly [Type in EventType]?: EventOf<Type> };
