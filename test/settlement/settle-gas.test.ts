/** The gas of a batch is what the contract's source wants to have left, and the documents for other settlement workers say the same. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { SETTLE_GAS } from '../../command/settlement/batch.js';

const textOf = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

describe('settlement: the gas of a batch', () => {
  it('is enough for every fill, and for every permit with the look at its allowance', () => {
    const source = textOf('contracts-abi/solidity/Settlement.sol');
    const constant = (name: string): number => Number(new RegExp(`constant ${name} = ([\\d_]+);`).exec(source)?.[1]?.replaceAll('_', ''));
    assert.ok(SETTLE_GAS.fill >= constant('FILL_RESERVE'));
    // A call gets at most 63/64 of the gas that is left.
    assert.ok(SETTLE_GAS.permit >= Math.ceil((constant('PERMIT_GAS') + constant('ALLOWANCE_GAS')) * 64 / 63));
  });

  it('is what the documents tell settlement workers of others', () => {
    const { base, fill, permit, byte } = SETTLE_GAS;
    const worker = /gasLimit: ([\d_]+) \+ ([\d_]+) \* batch\.length \+ ([\d_]+) \* permits\.length \+ (\d+) \* call\.data\.length/.exec(
      textOf('docs/events/settlement-worker.mjs'))?.slice(1).map((number) => Number(number.replaceAll('_', '')));
    // Two hex digits of the call are a byte.
    assert.deepEqual(worker, [base, fill, permit, byte / 2]);
    const grouped = (gas: number): string => gas.toLocaleString('en');
    assert.ok(textOf('docs/events.md').includes(
      `${grouped(base)}, and ${grouped(fill)} per fill, ${grouped(permit)} per permit and ${byte} per byte of the call`));
  });
});
