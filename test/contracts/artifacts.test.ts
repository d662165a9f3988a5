/** The artifacts' types are what decoding gives. That they are what the sources compile to is a test of its own, since compiling takes long. */
import assert from 'node:assert/strict';
import { Interface } from 'ethers';
import * as settlementArtifact from '../../contracts-abi/settlement.js';

describe('contracts: artifacts', () => {
  it('have the types that ethers decodes', () => {
    const abi = new Interface(settlementArtifact.settlement.abi);
    const args = { seq: 1n, buyOrder: `0x${'11'.repeat(32)}`, sellOrder: `0x${'22'.repeat(32)}`, price: 3n, size: 4n, cost: 5n } satisfies settlementArtifact.FillSettledArgs;
    const encoded = abi.encodeEventLog('FillSettled', Object.values(args));
    assert.deepEqual(abi.parseLog(encoded)!.args.toObject(), args);
    for (const name of ['LengthMismatch', 'OnlySelf']) assert.ok(abi.getError(name) !== null, name);
  });
});
