/** The parameters that several endpoints share. */
import { Type } from '../../engine/records/schema-types.js';
import * as example from './examples.js';
import { inHeader, inPath, inQuery } from './parameter.js';
import * as kind from './request-fields.js';

export const marketIdInPath = inPath('marketId', kind.marketId, { description: 'Market identifier.', example: example.marketId });
export const orderHashText = { description: 'The order\'s EIP-712 hash.', example: example.orderHash };
export const userInPath = inPath('address', kind.address, { description: 'The user.', example: example.alice });

const chainIdText = { description: 'Chain identifier.', example: 31_337 };
export const chainId = inQuery('chain_id', kind.chainId, chainIdText);
export const optionalChainId = inQuery('chain_id', kind.optional(kind.chainId), chainIdText);

/** The highest number of entries in an answer. */
export const limit = (bounds: { readonly byDefault: number; readonly max: number }) =>
  inQuery('limit', kind.limit(bounds), { description: 'The highest number of entries in the answer.', example: bounds.byDefault });

/** Not parsed here: the service parses the position and waits for it before it calls the handler. */
export const minLogPosition = inHeader('X-Min-Log-Position', {
  schema: Type.Integer({ minimum: -1 }), required: false, errors: ['not_caught_up'], parse: (value) => value,
}, {
  description: 'Wait for at most 2 seconds until the answer includes this log position. To read your own write, send the X-Log-Position of its answer.',
  example: 4_217,
});
