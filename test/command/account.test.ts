/** An account is of one moment: balances at the block that the history ends with, and a ban that is over by the clock is none. */
import assert from 'node:assert/strict';
import { createAccount } from '../../command/orders/account.js';
import { ChainUnavailable } from '../../command/chain/chain.js';
import type { Holdings } from '../../command/chain/holdings.js';
import type { ChainCursor, EngineView } from '../../engine/run/view.js';

const USER = `0x${'aa'.repeat(20)}`;
const asked = { user: USER, chainId: 7 };

/** A history at block 5, with a fill that costs 30, and balances of 100 less what the fill has cost from block 6 on. */
function scene() {
  const state = {
    block: 5, nextLog: 0, time: 1_000, nowMs: 1_000, suspendedUntil: 0, fills: 1, reads: [] as number[], during: (): void => undefined,
    failure: undefined as Error | undefined,
  };
  const view = {
    position: 9, get time() { return state.time; }, suspendedUntil: () => state.suspendedUntil, openOrderCount: () => 0,
    cursor: () => ({ block: state.block, nextBlock: state.block + 1, nextLog: state.nextLog }) as ChainCursor,
    commitments: () => Array.from({ length: state.fills }, () => ({ fill: 0, marketId: USER, outcome: 0, side: 0, size: 50n, cost: 30n })),
  } as unknown as EngineView;
  const read = async ({ block }: { block: number }): Promise<Holdings> => {
    state.reads.push(block);
    await Promise.resolve();
    state.during();
    if (state.failure !== undefined) throw state.failure;
    return { collateral: block < 6 ? 100n : 70n, allowance: 1_000n, permitNonce: 0n, approved: true, shares: [] };
  };
  const account = createAccount({ view, holdingsOf: (chainId) => chainId === 7 ? read : undefined, now: () => state.nowMs });
  return { state, account: async () => JSON.parse((await account(asked)).body) as Record<string, unknown> };
}

describe('command: an account', () => {
  it('is read again when the history records a block meanwhile, so that no fill is neither paid nor needed', async () => {
    const { state, account } = scene();
    state.during = () => { [state.block, state.fills, state.during] = [6, 0, () => undefined]; };
    const { block, balance, neededByFills, available } = await account();
    assert.deepEqual([state.reads, block, balance, neededByFills, available], [[5, 6], 6, 70, 0, 70]);
  });

  it('is not answered while the history never rests, has a part of a block, or the chain cannot be read', async () => {
    const { state, account } = scene();
    state.during = () => { state.block += 1; };
    await assert.rejects(account(), { code: 'chain_unavailable' });
    assert.equal(state.reads.length, 10);
    Object.assign(state, { nextLog: 1, during: () => undefined });
    await assert.rejects(account(), { code: 'chain_unavailable' });
    Object.assign(state, { nextLog: 0, failure: new ChainUnavailable(7, 'away') });
    await assert.rejects(account(), { code: 'chain_unavailable' });
    state.failure = new TypeError('a fault of the program');
    await assert.rejects(account(), { name: 'TypeError' });
  });

  it('has a ban until its end, also where nothing moves the history\'s time', async () => {
    const { state, account } = scene();
    const banned = async () => (await account())['suspendedUntil'];
    state.suspendedUntil = 31_500;
    assert.equal(await banned(), 32);
    state.nowMs = 31_500;
    assert.equal(await banned(), null);
    Object.assign(state, { nowMs: 1_000, time: 31_500 });
    assert.equal(await banned(), null);
  });
});
