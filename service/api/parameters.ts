/** The parameters of the routes, each described once. Their checks are `query/parameters.ts`. */
import Type from 'typebox';
import * as example from './examples.js';
import type { Parameter } from './route.js';

const hex = (digits: number) => Type.String({ pattern: `^0x[0-9a-fA-F]{${digits}}$` });
const Position = Type.Integer({ minimum: 0 });

type Described = Omit<Parameter, 'in' | 'required'>;
export const inPath = (parameter: Described): Parameter => ({ ...parameter, in: 'path', required: true });
export const required = (parameter: Described): Parameter => ({ ...parameter, in: 'query', required: true });
export const optional = (parameter: Described): Parameter => ({ ...parameter, in: 'query', required: false });

export const hash: Described = { name: 'hash', description: 'The order\'s EIP-712 hash.', schema: hex(64), example: example.orderHash };
export const marketId: Described = { name: 'marketId', description: 'Market identifier.', schema: hex(64), example: example.marketId };
export const marketReference: Described = {
  name: 'marketId', description: 'Market identifier, or the market\'s contract address.', schema: Type.Union([hex(64), hex(40)]), example: example.marketId,
};
export const market: Described = { name: 'market', description: 'Only orders in this market.', schema: hex(64), example: example.marketId };
export const marketAddress: Described = {
  name: 'marketAddress', description: 'The market\'s contract address, or its id.', schema: Type.Union([hex(40), hex(64)]), example: example.contractAddress,
};
export const trader: Described = { name: 'trader', description: 'Owner of the orders.', schema: hex(40), example: example.alice };
export const user: Described = { name: 'user', description: 'Owner of the position.', schema: hex(40), example: example.alice };
export const userAddress: Described = {
  name: 'userAddress', description: 'Owner of the position, where the body does not name it.', schema: hex(40), example: example.alice,
};
export const txHash: Described = { name: 'txHash', description: 'Hash of a settlement transaction.', schema: hex(64), example: example.txHash };
export const address: Described = { name: 'address', description: 'The user.', schema: hex(40), example: example.alice };
export const chainId: Described = { name: 'chain_id', description: 'Chain identifier.', schema: Type.Integer({ minimum: 1 }), example: 31_337 };
export const outcome: Described = {
  name: 'outcome', description: 'YES or 0, NO or 1. Without it both books are summed by price.',
  schema: Type.Union(['YES', 'NO', '0', '1'].map((each) => Type.Literal(each))), example: 'YES',
};
export const side: Described = {
  name: 'side', description: '`buy` or `sell`. Without it, `buy` is tried first, then `sell`.',
  schema: Type.Union([Type.Literal('buy'), Type.Literal('sell')]), example: 'buy',
};
export const before: Described = { name: 'before', description: 'Only orders placed before this log position: `next` of the page before.', schema: Position, example: 4_200 };
export const beforeFailure: Described = {
  name: 'before', description: 'Only trades that failed before this log position: `next` of the page before.', schema: Position, example: 4_200,
};
export const after: Described = { name: 'after', description: 'Only trades with a higher fill number: `next` of the page before.', schema: Position, example: 310 };
export const from: Described = { name: 'from', description: 'First log position of the page; 0 without it.', schema: Position, example: 0 };

/** How many entries at most. */
export const limit = (byDefault: number, max: number): Described => ({
  name: 'limit', description: 'The most entries to answer with.', schema: Type.Integer({ minimum: 1, maximum: max, default: byDefault }), example: byDefault,
});

export const minLogPosition: Parameter = {
  name: 'X-Min-Log-Position', in: 'header', required: false, schema: Type.Integer({ minimum: -1 }), example: 4_217,
  description: 'Wait, for 2 seconds at most, until the answer includes this log position: send the X-Log-Position of a write to read it back.',
};
export const cancelSignature: Parameter = {
  name: 'X-Cancel-Signature', in: 'header', required: false, schema: hex(130), example: example.signature,
  description: 'The trader\'s EIP-712 signature of CancelOrder(bytes32 orderHash,address trader,uint64 deadline). Needed unless /api/v1/config says cancelAuth = open.',
};
export const cancelDeadline: Parameter = {
  name: 'X-Cancel-Deadline', in: 'header', required: false, schema: Type.Integer({ minimum: 0 }), example: 1_900_000_000,
  description: 'The deadline in the signed CancelOrder, in Unix seconds.',
};
