/**
 * The fields of what the exchange shows, each with its description. A named schema becomes a component of the OpenAPI
 * document.
 */
import * as recorded from './fields.js';
import { ADDRESS, BYTES32 } from './hex.js';
import { named, withValueNames } from './named-schema.js';
import { Type, type TObjectOptions, type TProperties, type TSchema } from './schema-types.js';

/** An object of an answer. Answers may gain fields within a version, so the schema allows further fields. */
export const answer = <T extends TProperties>(name: string, properties: T, options: TObjectOptions = {}) =>
  named(name, Type.Object(properties, options));

export const integer = (description: string, minimum = 0) => Type.Integer({ minimum, description });
export const oneOf = (values: readonly string[], description: string) => Type.Union(
  values.map((each) => Type.Literal(each)), { description },
);
export const amount = (what: string) => integer(`${what}, 6 decimals. An exact integer, which may be beyond 2^53.`);

export const Address = named('Address', Type.String({ pattern: ADDRESS.recorded, description: 'An on-chain address, lower case.' }));
export const Bytes32 = named('Bytes32', Type.String({ pattern: BYTES32.recorded, description: '32 bytes as hex, lower case.' }));
export const Side = named('Side', numbered(['BUY', 'SELL']));
export const Outcome = named('Outcome', numbered(['YES', 'NO']));
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
export const OrderStatus = named('OrderStatus', oneOf(['open', 'filled', 'cancelled'], 'The state of the order.'));

/** Integers from 0 on, each with a name. */
function numbered(names: readonly string[]) {
  const description = `${names.map((name, number) => `${number} = ${name}`).join(', ')}.`;
  return withValueNames(Type.Integer({ enum: [...names.keys()], description }), names);
}

/** A schema that also allows null; the description says when the value is null. */
export const orNull = <T extends TSchema>(schema: T, description: string) => Type.Union(
  [schema, Type.Null()], { description },
);
