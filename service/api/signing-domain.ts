/** An EIP-712 domain, as answers show it. */
import * as field from '../../engine/records/answer-fields.js';
import { Type } from '../../engine/records/schema-types.js';

export const SigningDomain = field.answer('SigningDomain', {
  name: Type.String(), version: Type.String(), chainId: field.ChainId, verifyingContract: field.Address,
});
