/** What each field of the fill feed's messages means, with its unit: for the published schemas. */
import type { TSchema } from '../../engine/records/schema-types.js';

const FIELDS = {
  type: 'The kind of the message.',
  v: 'The version of the message\'s shape.',
  position: 'Log position of the outcome that the message is made from: the `position` of an entry of GET /api/v1/events. Never falls within a partition.',
  at: 'When the outcome was computed, by the exchange\'s clock: milliseconds since the Unix epoch. Never falls within a partition.',
  chainId: 'EIP-155 number of the chain on which the market\'s fills are settled.',
  marketId: 'The market: 32 bytes as hex, lower case. Its last four bytes say which partition has the market\'s messages.',
  contractAddress: 'The market\'s contract: 20 bytes as hex, lower case.',
  maker: 'Who created the market: 20 bytes as hex, lower case.',
  expiration: 'When the market takes no more orders: seconds since the Unix epoch.',
  marketKind: '`quick`: a market on the price of an asset, which the exchange itself creates and decides. `standard`: any other.',
  fill: 'Number of the fill: dense from 0 over all markets and chains. The settlement contract settles or fails each number once (its `seq`).',
  outcome: 'Which shares were traded: 0 = YES, 1 = NO.',
  price: 'Collateral per share in units of 1e-6: 1 to 999999. The price of the order that rested.',
  size: 'Number of shares in units of 1e-6: an integer of 0 to 2^64-1 in decimal digits.',
  cost: 'What the buyer pays, in units of 1e-6 of the collateral: size × price / 1000000, rounded up. An integer of 0 to 2^64-1 in decimal digits.',
  takerSide: 'Side of the taker, the order that came; the maker, the order that rested, was on the other one. 0 = BUY, 1 = SELL.',
  makerNumber: 'Log position of the maker\'s PlaceOrder command, which has the signed order.',
  takerNumber: 'Log position of the taker\'s PlaceOrder command, which has the signed order.',
  buyer: 'Who gets the shares and pays `cost`: 20 bytes as hex, lower case.',
  seller: 'Who gives the shares and gets `cost`: 20 bytes as hex, lower case.',
  txHash: 'The transaction that settled or failed the fill: 32 bytes as hex, lower case.',
  reason: 'Why the chain refused the fill.',
  culprit: 'Whose order made the fill fail. `both` also means that neither order alone is the cause.',
  block: 'Number of a final block of the chain.',
  blockHash: 'The block\'s hash: 32 bytes as hex, lower case.',
} as const;

/** Properties that all have a description here. */
export type DescribedProperties<P> = { readonly [name in keyof P]: name extends keyof typeof FIELDS ? TSchema : never };

/** The same properties, each with its description. */
export function described<P extends DescribedProperties<P>>(properties: P): P {
  const describe = ([name, schema]: [string, TSchema]) => [
    name, { ...schema, description: FIELDS[name as keyof typeof FIELDS] },
  ] as const;
  return Object.fromEntries(Object.entries<TSchema>(properties).map(describe)) as Record<string, TSchema> as P;
}
