/** What the messages of the streams have, as the API's documents say it. */
import * as field from '../../engine/records/answer-fields.js';
import { CancelReason } from '../../engine/records/events.js';
import { Category, MarketKind } from '../../engine/records/fields.js';
import { named } from '../../engine/records/named-schema.js';
import { Type, type TObject, type TProperties } from '../../engine/records/schema-types.js';
import { Book } from '../orders/orderbook.js';

/** A log position, or -1. */
const positionOrNone = (description: string) => Type.Integer({ minimum: -1, description });

const head = (type: string, description: string, channel: string) => ({
  channel: Type.String({ description: `\`${channel}\`, hex in lower case.` }),
  position: positionOrNone('The log position. A snapshot has that of the last message before it; -1 if there is none.'),
  previous: positionOrNone('The position of the previous message in the channel; -1 for the first one. A snapshot has its own.'),
  type: Type.Literal(type, { description }),
  at: field.integer('Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.'),
  more: Type.Optional(Type.Literal(true, { description: 'Another message at this position, or another snapshot, follows on the connection.' })),
});

const message = (name: string, channel: string, type: string, description: string, fields: TProperties): TObject => (
  field.answer(name, { ...head(type, description, channel), ...fields }));

const ChangedLevel = field.answer('ChangedLevel', {
  outcome: field.Outcome, side: field.Side, price: field.Price, size: field.amount('Total shares at this price from now on; 0 removes the level'),
}, { description: 'A level of a book.' });
const fillNumber = { fill: field.integer('The fill\'s number.') };
const transaction = { txHash: { ...field.Bytes32, description: 'The settlement transaction.' } };

const order = { orderHash: field.Bytes32, remainingSize: field.amount('Unfilled part of the order after this') };
const FillRole = named('FillRole', field.oneOf(['maker', 'taker'], 'The order\'s part in the fill.'));
const ofFill = {
  ...order, ...fillNumber, role: FillRole, price: field.Price, size: field.amount('Shares of the fill'),
};
const reason = named('OrderCancelReason', field.oneOf(CancelReason.anyOf.map((each) => each.const), 'Why the order was cancelled.'));
const TradeOutcome = named('TradeSettlementStatus', field.oneOf(['pending', 'confirmed', 'failed'], 'State of the trade\'s settlement on the chain.'));

const market = { marketId: field.Bytes32 };
const assertion = { ...market, assertionId: field.Bytes32 };

/** Every message, by channel. */
export const messageSchemas = {
  book: [
    message('BookSnapshot', 'book:{marketId}', 'snapshot', 'The books; what comes after changes them.', {
      yes: { ...Book, description: 'The book of YES.' }, no: { ...Book, description: 'The book of NO.' },
    }),
    message('BookChange', 'book:{marketId}', 'change', 'Levels with other sizes.', {
      levels: Type.Array(ChangedLevel),
    }),
  ],
  trades: [
    message('TradeMade', 'trades:{marketId}', 'trade', 'A fill.', {
      ...fillNumber, price: field.Price, size: field.amount('Shares'), outcome: field.Outcome, buyer: field.Address, seller: field.Address,
      takerSide: field.Side,
    }),
    message('TradeSettlement', 'trades:{marketId}', 'settlement', 'What became of a fill on the chain. A failed one never happened.', {
      ...fillNumber, settlementStatus: TradeOutcome, ...transaction,
      reason: Type.Optional(field.FailureReason),
    }),
  ],
  orders: [
    message('OwnOrderAccepted', 'orders:{address}', 'accepted', 'The order was accepted.', {
      ...order, ...market, side: field.Side, outcome: field.Outcome, price: field.Price, size: field.amount('Size'), nonce: field.integer('Nonce.'),
      expiration: field.Seconds,
    }),
    message('OwnOrderFilled', 'orders:{address}', 'filled', 'A part of the order, or all of it, was matched.', ofFill),
    message('OwnOrderSettled', 'orders:{address}', 'settled', 'A fill of the order was settled on the chain.', { ...ofFill, ...transaction }),
    message('OwnOrderFailed', 'orders:{address}', 'failed', 'A fill of the order failed on the chain: the order has its size back, and is open only if that is told.',
      { ...ofFill, ...transaction, reason: field.FailureReason }),
    message('OwnOrderReinstated', 'orders:{address}', 'reinstated', 'The order is open again with the size of a fill that failed.',
      { ...order, size: field.amount('Size of the failed fill') }),
    message('OwnOrderReduced', 'orders:{address}', 'reduced', 'The order was made smaller.', { ...order, size: field.amount('The order\'s size from now on') }),
    message('OwnOrderCancelled', 'orders:{address}', 'cancelled', 'The order was cancelled.', { ...order, reason }),
  ],
  prices: [
    message('PriceTold', 'prices:{asset}', 'price', 'A price was published.', {
      asset: field.Asset, price: field.integer('In units of 1e-8 US dollars. An exact integer, which may be beyond 2^53.', 1),
      priceUSD: Type.Number({ exclusiveMinimum: 0, description: 'The same in US dollars.' }),
      timestamp: field.integer('When the source published the price, Unix milliseconds.'), source: Type.String({ description: 'Name of the source.' }),
    }),
  ],
  markets: [
    message('MarketTold', 'markets', 'opened', 'The market takes orders.', {
      ...market, question: field.Question, category: named('MarketCategory', { ...Category }), contractAddress: field.Address, maker: field.Address, expiration: field.Seconds,
      chainId: field.ChainId, kind: named('MarketKind', { ...MarketKind }), asset: Type.Optional(field.Asset), startTime: Type.Optional(field.Seconds),
    }),
    message('MarketExpired', 'markets', 'expired', 'The market takes no more orders: it has expired, or is resolved.', market),
    message('MarketProposed', 'markets', 'proposed', 'An outcome was asserted.', {
      ...assertion, proposer: field.Address, proposedOutcome: field.Outcome, bondAmount: Type.String({ description: 'Bond in stablecoin, 6 decimals.' }),
      assertionTime: field.Seconds, expirationTime: field.Seconds,
    }),
    message('MarketDisputed', 'markets', 'disputed', 'The assertion was disputed.', { ...assertion, disputer: field.Address }),
    message('MarketRejected', 'markets', 'rejected', 'The assertion counts no more; another one may follow.', assertion),
    message('MarketResolvedTold', 'markets', 'resolved', 'The market has its final outcome.', { ...market, winningOutcome: field.Outcome }),
    message('MarketHalvedTold', 'markets', 'halved', 'Each share of either outcome is paid one half.', market),
  ],
} as const;

/** The message that is none of a channel: why the stream ends, or what could not be done. */
export const StreamError = field.answer('StreamError', {
  type: Type.Literal('error', { description: 'The stream ends, or by WebSocket: what was asked for was not done.' }),
  code: Type.String({ description: 'Name of the error.' }), error: Type.String({ description: 'What is wrong, and what to do.' }),
});

const channels = Type.Array(Type.String(), { description: 'The channels, hex in lower case and assets in upper case.' });

/** What else is sent by WebSocket. */
export const Subscribed = field.answer('Subscribed', {
  type: Type.Literal('subscribed', { description: 'What was asked for is done; the messages of these channels follow.' }), channels,
  position: positionOrNone('All messages after this log position come; -1 for the whole history.'),
});
export const Unsubscribed = field.answer('Unsubscribed', {
  type: Type.Literal('unsubscribed', { description: 'What was asked for is done; no more messages of these channels follow.' }), channels,
});
export const StreamHeartbeat = field.answer('StreamHeartbeat', {
  type: Type.Literal('heartbeat', { description: 'Every 15 s, and when a history has been sent up to the present.' }),
  position: positionOrNone('Everything up to this log position has been sent.'),
});

export const StreamMessage = Type.Union([...Object.values(messageSchemas).flat(), StreamError], { description: 'A message.' });
