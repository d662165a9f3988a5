/** The fields of answers, each with its description. A named schema becomes a component of the OpenAPI document. */
import * as recorded from '../../engine/records/fields.js';
import { ADDRESS, BYTES32 } from '../../engine/records/hex.js';
import { named } from '../../engine/records/named-schema.js';
import { Type, type TObjectOptions, type TProperties, type TSchema } from '../../engine/records/schema-types.js';

/** An object of an answer. Answers may gain fields within a version, so the schema allows further fields. */
export const answer = <T extends TProperties>(name: string, properties: T, options: TObjectOptions = {}) =>
  named(name, Type.Object(properties, options));

export const integer = (description: string, minimum = 0) => Type.Integer({ minimum, description });
export const oneOf = (values: readonly string[], description: string) => Type.Union(values.map((each) => Type.Literal(each)), { description });
export const amount = (what: string) => integer(`${what}, 6 decimals. An exact integer, which may be beyond 2^53.`);

export const Address = named('Address', Type.String({ pattern: ADDRESS.recorded, description: 'An on-chain address, lower case.' }));
export const Bytes32 = named('Bytes32', Type.String({ pattern: BYTES32.recorded, description: '32 bytes as hex, lower case.' }));
export const Side = named('Side', Type.Integer({ minimum: 0, maximum: 1, description: '0 = BUY, 1 = SELL.' }));
export const Outcome = named('Outcome', Type.Integer({ minimum: 0, maximum: 1, description: '0 = YES, 1 = NO.' }));
export const Price = named('Price', Type.Integer({
  minimum: 1, maximum: 999_999, description: 'Price of one share in collateral, 6 decimals: 1000000 = 1.00.',
}));
export const PriceOrNone = Type.Integer({ minimum: 0, maximum: 999_999, description: 'As a price; 0 = no price.' });
export const Seconds = integer('Unix seconds.');
export const Question = Type.String({ description: 'The market\'s question.' });
export const Count = integer('Number of entries.');
export const LogPosition = integer('Position in the log.');
export const Asset = named('Asset', Type.String({ pattern: '^[A-Z0-9]{1,16}$', description: 'Asset, such as BTC or ETH.' }));
export const ChainId = integer('Chain identifier.', 1);
export const Next = Type.Optional(integer('Only on a full page. For the next page, send this value as `before`.'));
export const TxHash = named('SettlementTxHash', Type.String({
  pattern: `^(${BYTES32.text})?$`, description: 'Hash of the settlement transaction; empty until a transaction is sent.',
}));
export const SettlementStatus = named('SettlementStatus',
  oneOf(['matched', 'pending', 'confirmed', 'failed'], 'State of the trade\'s settlement on the chain.'));
export const FailureReason = named('FailureReason',
  oneOf(recorded.FailureReason.anyOf.map((each) => each.const), 'Why the chain refused the fill.'));

const MIN = Number.MIN_SAFE_INTEGER;
export const shares = { yesShares: integer('YES shares, 6 decimals.', MIN), noShares: integer('NO shares, 6 decimals.', MIN) };
export const Invested = integer('Stablecoin invested, 6 decimals.', MIN);
export const yesCost = integer('Average-cost basis of the YES shares, 6 decimals.', MIN);
export const noCost = integer('Average-cost basis of the NO shares, 6 decimals.', MIN);

/** The states of an accepted order. */
export const ORDER_STATES = ['open', 'filled', 'cancelled'];

/** A schema that also allows null; the description says when the value is null. */
export const orNull = <T extends TSchema>(schema: T, description: string) => Type.Union([schema, Type.Null()], { description });

/** RFC 9457 problem document: every error of every endpoint that has this error shape. */
export const Problem = answer('Problem', {
  type: Type.String({ description: 'Reference to the description of this error.' }),
  title: Type.String({ description: 'Short description of the error; the same text for every occurrence.' }),
  status: Type.Integer({ description: 'The HTTP status.' }),
  detail: Type.Optional(Type.String({ description: 'What is wrong with this request.' })),
  instance: Type.Optional(Type.String({ description: 'The id of this occurrence in the service\'s log lines.' })),
  error: Type.String({ description: 'Title and detail as one text.' }),
  code: Type.String({ description: 'The name of the error. Names do not change.' }),
  errors: Type.Optional(Type.Array(answer('FieldError', {
    field: Type.String({ description: 'JSON pointer to the field, or the name of the parameter or header.' }),
    message: Type.String({ description: 'What was expected.' }),
  }), { description: 'What is wrong with each field.' })),
  required: Type.Optional(amount('`insufficient_…`: what the order needs, in stablecoin or shares')),
  available: Type.Optional(amount('`insufficient_…`: what the trader has, or has approved, in total')),
  reserved: Type.Optional(amount('`insufficient_…`: the part of `available` that other open orders and unsettled fills of the trader need')),
  block: Type.Optional(integer('`insufficient_…`: the block at which balance and allowance were read: the last one in the history.')),
  latestBlock: Type.Optional(integer('`insufficient_…`: the latest block of the chain.')),
  blocksBehind: Type.Optional(integer('`insufficient_…`: `latestBlock` less `block`. What happened in these blocks is not counted yet.')),
  minOrderSize: Type.Optional(integer('`size_too_small`: the smallest size on the market\'s chain, 6 decimals.', 1)),
  openOrders: Type.Optional(integer('`too_many_open_orders`: the number of the trader\'s open orders, those on their way in included.')),
  suspendedUntil: Type.Optional(integer('`trader_suspended`: when the trader\'s orders are taken again, in Unix seconds.')),
  maxOpenOrders: Type.Optional(integer('`too_many_open_orders`: the most open orders that a trader may have.', 1)),
});

/** Every error of every endpoint of the relayer. */
export const RelayerError = answer('RelayerError', {
  success: Type.Literal(false), error: Type.String({ description: 'What is wrong with the request, or why it could not be carried out.' }),
});
