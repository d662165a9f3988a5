/** The same vectors in TypeScript and in Solidity: order hashes, costs, addresses; and what a deployment gives. */
import assert from 'node:assert/strict';
import { Interface, ZeroAddress, getCreateAddress, id, toBeHex } from 'ethers';
import fc from 'fast-check';
import { createKeccak256, orderTypes, prepareDomain, typeHash } from '../../command/signing/typed-data.js';
import { toHex } from '../../engine/records/hex.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import type { Order } from '../../contracts-abi/settlement.js';
import { costOf } from '../../engine/records/amounts.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { USDC, settlementContracts, walletOf, type SettlementContracts } from '../support/settlement-contracts.js';

const ORDER_TYPE_HASH = '0xffadbf349cab94884bffeb8a3792ec6371e07ac591ebcbdca20b58f6b001b16f';
const MAX_UINT64 = 2n ** 64n - 1n;

describe('contracts: vectors', function () {
  this.timeout(60_000);
  let contracts: SettlementContracts;
  before(async () => { contracts = await settlementContracts(); });
  after(() => contracts.stop());

  it('orders hash alike', async () => {
    const keccak256 = await createKeccak256();
    assert.equal(toHex(typeHash(keccak256, 'Order', orderTypes.Order)), ORDER_TYPE_HASH);
    const { settlement, deployed, readAll } = contracts;
    const prepared = prepareDomain(keccak256, {
      name: 'Prediction Exchange Settlement', version: '1', chainId: TEST_CHAIN_ID, verifyingContract: settlement.address.toLowerCase(),
    });
    const uint64 = fc.bigInt(0n, MAX_UINT64);
    const bytes = (length: number) => fc.bigInt(0n, 2n ** BigInt(8 * length) - 1n).map((value) => toBeHex(value, length));
    const orders = fc.sample(fc.record({
      marketId: bytes(32), trader: bytes(20), side: fc.constantFrom(0n, 1n), outcome: fc.constantFrom(0n, 1n),
      price: fc.bigInt(1n, 999_999n), size: uint64, nonce: uint64, expiration: uint64, makerFeeRecipient: fc.constant(ZeroAddress),
    }), { numRuns: 100, seed: 5 }) as Order[];
    const hashes = await readAll(deployed.multicall, orders.map((order) => [settlement, 'hashOrder', [order]]));
    const ours = orders.map(({ side, outcome, price, size, nonce, expiration, ...order }) => toHex(prepared.orderDigest({
      ...order, side: Number(side) as 0 | 1, outcome: Number(outcome) as 0 | 1, price: Number(price), size: String(size), nonce: String(nonce),
      expiration: String(expiration),
    })));
    assert.deepEqual(ours, hashes);
    assert.equal(new Set(hashes).size, 100);
  });

  it('costs are alike, to the greatest', async () => {
    const { settlement, deployed, readAll } = contracts;
    const sizes = [1n, 2n, 999_999n, 1_000_000n, 1_000_001n, 18_446_744_073_709n, MAX_UINT64 - 1n, MAX_UINT64];
    const prices = [1n, 2n, 333_333n, 500_000n, 999_999n];
    const random = fc.sample(fc.tuple(fc.bigInt(0n, MAX_UINT64), fc.bigInt(1n, 999_999n)), { numRuns: 100, seed: 6 });
    const vectors = [...sizes.flatMap((size) => prices.map((price) => [size, price] as const)), ...random];
    const costs = await readAll(deployed.multicall, vectors.map((vector) => [settlement, 'fillsCost', vector]));
    assert.deepEqual(costs, vectors.map(([size, price]) => costOf(size, Number(price))));
    assert.deepEqual(costs.slice(0, 4), [1n, 1n, 1n, 1n]);
    assert.equal(await contracts.read(settlement, 'fillsCost', [MAX_UINT64, MAX_UINT64]), (MAX_UINT64 * MAX_UINT64 + 999_999n) / 1_000_000n);
  });

  it('the signing domain is the one that orders are signed for', async () => {
    const { read, settlement } = contracts;
    assert.deepEqual((await read(settlement, 'eip712Domain') as unknown[]).slice(0, 5), [
      '0x0f', 'Prediction Exchange Settlement', '1', BigInt(TEST_CHAIN_ID), settlement.address,
    ]);
  });

  it('a deployment has its addresses from the account alone, and gives the roles away', async () => {
    const { deployed, operator, read, settlement, tokens } = contracts;
    const created = (nonce: number) => getCreateAddress({ from: operator, nonce });
    const { oracleResolver, quickResolver, ...own } = deployed;
    assert.deepEqual(own, {
      collateral: created(0), conditionalTokens: created(1), settlement: created(2), oracle: created(3), marketFactory: created(4),
      multicall: created(5), deploymentBlock: 1,
    });
    const made = [1, 2, 3].map((nonce) => getCreateAddress({ from: deployed.marketFactory, nonce }));
    assert.deepEqual([oracleResolver, quickResolver].map((address) => made.includes(address)), [true, true]);
    assert.equal(await read(settlement, 'hasRole', [id('OPERATOR_ROLE'), operator]), true);
    assert.equal(await read(tokens, 'hasRole', [id('SETTLEMENT_ROLE'), settlement.address]), true);
    const immutables = [await read(settlement, 'collateral'), await read(settlement, 'conditionalTokens')];
    assert.deepEqual(immutables, [deployed.collateral, deployed.conditionalTokens]);
  });

  it('the test stablecoin is one of 6 decimals that anybody mints', async () => {
    const { read, usdc, send } = contracts;
    const { address } = walletOf('minter');
    assert.equal((await send(address, usdc, 'mint', [address, 5n * USDC])).ok, true);
    assert.deepEqual(await Promise.all(['name', 'symbol', 'decimals', 'totalSupply'].map((view) => read(usdc, view))), ['USD Coin (test)', 'USDC', 6n, 5n * USDC]);
  });

  it('many calls in one: an allowed failure is reported, any other failure reverts all calls', async () => {
    const { deployed, usdc, operator } = contracts;
    const multicall = { name: 'Multicall3', address: deployed.multicall, abi: new Interface(multicall3.abi) };
    const good = { target: usdc.address, callData: usdc.abi.encodeFunctionData('decimals') };
    const bad = { target: usdc.address, callData: usdc.abi.encodeFunctionData('transferFrom', [operator, operator, 1n]) };
    const six = toBeHex(6, 32);
    const results3 = await contracts.read(multicall, 'aggregate3', [[{ ...good, allowFailure: false }, { ...bad, allowFailure: true }]]) as unknown[][];
    assert.deepEqual(results3.map(([success]) => success), [true, false]);
    assert.equal(results3[0]![1], six);
    assert.match(String(results3[1]![1]), new RegExp(`^${usdc.abi.getError('ERC20InsufficientAllowance')!.selector}`));
    assert.equal(await contracts.refusal(operator, multicall, 'aggregate3', [[{ ...good, allowFailure: false }, { ...bad, allowFailure: false }]]), 'CallFailed(1)');
    const tried = await contracts.read(multicall, 'tryAggregate', [false, [bad, good]]) as unknown[][];
    assert.deepEqual(tried.map(([success]) => success), [false, true]);
    assert.equal(await contracts.refusal(operator, multicall, 'tryAggregate', [true, [bad, good]]), 'CallFailed(0)');
    assert.equal(await contracts.read(multicall, 'getBlockNumber'), BigInt(await contracts.chain.provider.getBlockNumber()));
  });
});
