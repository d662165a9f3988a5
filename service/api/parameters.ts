/** The parameters that several endpoints share. */
import Type from 'typebox';
import * as kind from '../../query/parameters.js';
import * as example from './examples.js';
import { inHeader, inPath, inQuery } from './parameter.js';

export const marketIdInPath = inPath('marketId', kind.marketId, { description: 'Market identifier.', example: example.marketId });
export const orderHashTold = { description: 'The order\'s EIP-712 hash.', example: example.orderHash };
export const userInPath = inPath('address', kind.address, { description: 'The user.', example: example.alice });

const chainIdTold = { description: 'Chain identifier.', example: 31_337 };
export const chainId = inQuery('chain_id', kind.chainId, chainIdTold);
export const optionalChainId = inQuery('chain_id', kind.optional(kind.chainId), chainIdTold);

/** How many entries an answer has at most. */
export const limit = (bounds: { readonly byDefault: number; readonly max: number }) =>
  inQuery('limit', kind.limit(bounds), { description: 'The highest number of entries in the answer.', example: bounds.byDefault });

/** Needs no parsing here: the shell waits for it before the handler is asked. */
export const minLogPosition = inHeader('X-Min-Log-Position', {
  schema: Type.Integer({ minimum: -1 }), required: false, errors: ['not_caught_up'], parse: ({ value }) => value,
}, {
  description: 'Wait, for 2 seconds at most, until the answer includes this log position: send the X-Log-Position of a write to read it back.',
  example: 4_217,
});
