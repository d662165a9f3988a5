/**
 * Version 2 of FillMatched, the message of topic `fills.v2`: it has both signed orders, so that a settlement worker
 * needs nothing else. All other messages are the same in both topics, and so are partitions, numbers, ids and digests.
 */
import { Type, type Static, type TSchema } from '../../engine/records/schema-types.js';
import { shapes } from '../../engine/records/codec.js';
import { OrderPermit, type PlaceOrder } from '../../engine/records/commands.js';
import { Address, Bytes32, MarketOutcome, Price, Side, Signature, Uint64, record } from '../../engine/records/fields.js';
import type { Log } from '../../engine/log/log.js';
import { FillMatchedMessage, encodeMessage, messageSchemas, type AddressedMessage, type EncodedMessage, type SequencedMessage } from './messages.js';
import { createSignedOrders } from './signed-orders.js';

const says = <S extends TSchema>(schema: S, description: string): S => ({ ...schema, description });

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

const PERMIT = 'The ERC-2612 permit that the trader sent with the order: it lets the settlement contract take `value` of the collateral, in units of 1e-6. '
  + '`nonce`, `value` and `deadline` (seconds since the Unix epoch) are integers in decimal digits. Absent where the trader sent none.';

const SignedOrder = { title: 'SignedOrder', ...record({
  orderHash: says(Bytes32, 'The order\'s EIP-712 hash in the domain of the chain\'s settlement contract: 32 bytes as hex, lower case. It is what the trader signed.'),
  marketId: says(Bytes32, 'The market: 32 bytes as hex, lower case.'),
  trader: says(Address, 'Who signed the order: 20 bytes as hex, lower case.'),
  side: says(Side, '0 = BUY, 1 = SELL.'),
  outcome: says(MarketOutcome, '0 = YES, 1 = NO.'),
  price: says(Price, 'The order\'s limit: collateral per share in units of 1e-6, 1 to 999999.'),
  size: says(Uint64, 'The order\'s whole size in shares of 1e-6: an integer of 0 to 2^64-1 in decimal digits.'),
  nonce: says(Uint64, 'The trader\'s number of the order: an integer of 0 to 2^64-1 in decimal digits.'),
  expiration: says(Uint64, 'When the order ends: seconds since the Unix epoch, an integer of 0 to 2^64-1 in decimal digits.'),
  makerFeeRecipient: says(Type.Literal(ZERO_ADDRESS), 'Part of the signed order; always the zero address.'),
  signature: says(Signature, 'The trader\'s signature of the order: 65 bytes (r, s, v) as hex, lower case.'),
  permit: Type.Optional({ title: 'SignedPermit', ...says(OrderPermit, PERMIT) }),
}) };
type SignedOrder = Static<typeof SignedOrder>;

export const SignedFillMatched = {
  ...record({
    ...FillMatchedMessage.properties, v: says(Type.Literal(2), 'The version of the message\'s shape.'),
    makerOrder: says(SignedOrder, 'The order that rested, of `makerNumber`.'),
    takerOrder: says(SignedOrder, 'The order that came, of `takerNumber`.'),
  }),
  description: 'Two orders matched: the fill waits for its settlement. Version 2 has both orders as their traders signed them.',
};
export type SignedFillMatched = Static<typeof SignedFillMatched>;

/** The messages of `fills.v2`. */
export const signedMessageSchemas = { ...messageSchemas, FillMatched: SignedFillMatched } as const;

const signedShapes = shapes(signedMessageSchemas, {});

/** What turns messages of the feed into those of `fills.v2`. It reads the orders of fills from the log. */
export function createSignedEncoder(log: Pick<Log, 'read'>): (messages: readonly SequencedMessage[]) => Promise<readonly AddressedMessage[]> {
  const signedOrders = createSignedOrders(log);
  return async (messages) => {
    const fills = messages.flatMap(({ message }) => message.type === 'FillMatched' ? [message] : []);
    const orders = await signedOrders.read(fills.flatMap(({ makerNumber, takerNumber }) => [makerNumber, takerNumber]));
    return messages.map((each) => ({ partition: each.partition, ...encodeSigned(each, orders) }));
  };
}

/**
 * The message's bytes and headers in `fills.v2`. Throws MalformedRecord, and an error when `orders` lacks an order of a
 * fill.
 */
export function encodeSigned(
  { message, ...place }: SequencedMessage, orders: ReadonlyMap<number, PlaceOrder>,
): EncodedMessage {
  if (message.type !== 'FillMatched') return encodeMessage({ ...place, message }, signedShapes);
  const signed: SignedFillMatched = {
    ...message, v: 2, makerOrder: signedOrder(orders, message.makerNumber),
    takerOrder: signedOrder(orders, message.takerNumber),
  };
  return encodeMessage({ ...place, message: signed }, signedShapes);
}

function signedOrder(orders: ReadonlyMap<number, PlaceOrder>, number: number): SignedOrder {
  const order = orders.get(number);
  if (order === undefined) throw new Error(`order ${number} of a fill is missing`);
  const { orderHash, marketId, trader, side, outcome, price, size, nonce, expiration, signature, permit } = order;
  return {
    orderHash, marketId, trader, side, outcome, price, size, nonce, expiration, makerFeeRecipient: ZERO_ADDRESS,
    signature,
    ...permit === undefined ? {} : { permit },
  };
}
