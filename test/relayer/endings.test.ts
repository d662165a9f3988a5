/** How endings are judged: by the state of the chain, by each item's own event, and never by the receipt alone where that says too much. */
import assert from 'node:assert/strict';
import { Interface, toQuantity, type InterfaceAbi } from 'ethers';
import type { ChainLog, ContractCall } from '../../command/chain/abi.js';
import { ChainUnavailable } from '../../command/chain/chain.js';
import type { BlockTag } from '../../command/chain/chain-reads.js';
import { judge, neverSent, type EndedStatus } from '../../command/relayer/endings.js';
import type { Goal } from '../../command/relayer/goals.js';
import type { RelayNote } from '../../command/relayer/note.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { contracts, lowerCase, owner, stranger } from '../support/relay-scene.js';

const TOKENS = new Interface(conditionalTokens.abi as InterfaceAbi);
const ZERO = `0x${'0'.repeat(64)}`;
const RAIN = `0x${'a1'.repeat(32)}`;
const SUN = `0x${'b2'.repeat(32)}`;
const TX = `0x${'77'.repeat(32)}`;
const ann = lowerCase(owner);

const log = (event: string, ...args: unknown[]): ChainLog => ({ ...TOKENS.encodeEventLog(event, args), address: contracts.conditionalTokens });
const redemption = (marketId: string, sets: bigint[], by = ann) => log('PayoutRedemption', by, contracts.collateral, ZERO, marketId, sets, 5n);

const mined = (succeeded: boolean): EndedStatus => ({ kind: 'ended', ending: { kind: 'mined', txHash: TX, block: 5_000, succeeded } });

describe('relayer: endings', () => {
  const asked: { from: number; to: number }[] = [];

  /** Judges a request of these goals on a chain whose views give `state` and whose blocks and receipt have these logs. */
  async function judged(
    goals: readonly Goal[], status: EndedStatus,
    {
      action = 'ctf-redemption', state = () => 0n, logs = [], receipt = [], nonces = [], fromBlock = 4_990, logsAt = fromBlock, newest = 5_050, pruned = false,
    }: {
      action?: RelayNote['action']; state?: (call: ContractCall, block: BlockTag) => unknown; receipt?: ChainLog[];
      nonces?: RelayNote['nonces']; fromBlock?: number;
      /** The owner's events, and their block. */
      logs?: ChainLog[]; logsAt?: number;
      /** The newest block, and whether the node has the states of earlier ones. */
      newest?: number; pruned?: boolean;
    } = {},
  ) {
    const note: RelayNote = { requestId: ZERO, action, owner: ann, goals, nonces, fromBlock };
    return judge(note, status, [TX], {
      contracts, relayer: ann, confirmations: 64,
      reads: {
        views: (calls, block) => (pruned && block !== 'latest'
          ? Promise.reject(new ChainUnavailable(1, 'missing trie node'))
          : Promise.resolve(calls.map((call) => state(call, block)))),
        logs: ({ from, to }) => {
          asked.push({ from, to });
          const found = logsAt >= from && logsAt <= to ? logs : [];
          return Promise.resolve(found.map((each) => ({ ...each, blockNumber: toQuantity(logsAt), transactionHash: TX })));
        },
        receiptLogs: () => Promise.resolve(receipt), funds: () => Promise.resolve({ baseFeePerGas: 1n, balance: 1n, block: newest }),
      },
    });
  }

  const redeem = (marketId: string): Goal => ({ kind: 'redemption', owner: ann, marketId, tokens: ['1'] });
  const succeeded = { succeeded: true };

  it('a batch\'s items each by an event of their own, and one event serves one item', async () => {
    const goals = [redeem(RAIN), redeem(RAIN), redeem(SUN)];
    const receipt = [redemption(RAIN, [1n]), redemption(SUN, [1n], lowerCase(stranger)), redemption(SUN, [1n, 2n])];
    const { txHash, results } = await judged(goals, mined(true), { action: 'batch-ctf-redemption', receipt, state: () => 7n });
    assert.equal(txHash, TX);
    assert.deepEqual(results.map((each) => each.succeeded), [true, false, false]);
  });

  it('a redemption that reverted has succeeded only when the shares are gone and the owner was paid for them', async () => {
    const paid = { logs: [redemption(RAIN, [1n])] };
    assert.deepEqual((await judged([redeem(RAIN)], mined(false), paid)).results, [succeeded]);
    for (const [state, logs] of [[() => 1n, paid.logs], [() => 0n, []], [() => 0n, [redemption(SUN, [1n])]]] as const) {
      const { results } = await judged([redeem(RAIN)], mined(false), { state, logs: [...logs] });
      assert.deepEqual(results, [{ succeeded: false, reason: 'the transaction reverted' }]);
    }
  });

  it('a split by the owner\'s own event of the same amount', async () => {
    const goal: Goal = { kind: 'split', owner: ann, marketId: RAIN, amount: '5' };
    const split = (amount: bigint) => log('PositionSplit', ann, contracts.collateral, ZERO, RAIN, [1n, 2n], amount);
    assert.deepEqual((await judged([goal], mined(false), { action: 'ctf-split', logs: [split(4n), split(5n)] })).results, [succeeded]);
    assert.equal((await judged([goal], mined(false), { action: 'ctf-split', logs: [split(4n)] })).results[0]?.succeeded, false);
    assert.deepEqual((await judged([goal], mined(true), { action: 'ctf-split' })).results, [succeeded]);
  });

  it('a split or a merge by the use of its message\'s nonce, where the owner has done the same otherwise since', async () => {
    for (const [kind, event] of [['split', 'PositionSplit'], ['merge', 'PositionsMerge']] as const) {
      const goal: Goal = { kind, owner: ann, marketId: RAIN, amount: '5' };
      const chain = (usedIn: number, more = {}) => ({
        action: `ctf-${kind}` as const, nonces: [['tokens', '3']] as const, logsAt: 4_995,
        logs: [log(event, ann, contracts.collateral, ZERO, RAIN, [1n, 2n], 5n)],
        state: (_call: ContractCall, block: BlockTag) => Number(block) < usedIn ? 3n : 4n, ...more,
      });
      const does = async (more: Parameters<typeof judged>[2]) => (await judged([goal], mined(false), more)).results[0]?.succeeded;
      assert.equal(await does(chain(4_995)), true);
      assert.equal(await does(chain(4_996)), false, 'by a transaction of the owner\'s own');
      assert.equal(await does(chain(4_990, { logsAt: 4_990, state: () => 3n })), false, 'by the message before, in the block at which this one was taken');
      assert.equal(await does(chain(4_996, { newest: 5_200, pruned: true })), true, 'by the event where no node has the state any more');
    }
  });

  describe('what a reorganisation has moved below the block at which the request was taken', () => {
    const split: Goal = { kind: 'split', owner: ann, marketId: RAIN, amount: '5' };
    const SPLIT = log('PositionSplit', ann, contracts.collateral, ZERO, RAIN, [1n, 2n], 5n);
    /** The nonce's counter before block 4,980 and since. */
    const moved = (before: bigint, after: bigint) => ({
      action: 'ctf-split' as const, logs: [SPLIT], logsAt: 4_980, nonces: [['tokens', '3']] as const,
      state: ({ method }: ContractCall, block: BlockTag) => method.startsWith('nonces') && (Number(block) < 4_980 ? before : after),
    });
    const does = async (goal: Goal, chain: Parameters<typeof judged>[2]) => (await judged([goal], mined(false), chain)).results[0]?.succeeded;

    it('counts where the message\'s nonce was used up in the block of the event', async () => {
      assert.equal(await does(split, moved(3n, 4n)), true);
      assert.equal(await does(split, moved(1n, 7n)), true, 'with others in that block');
    });

    it('is an earlier one\'s where the nonce was used before that block, or is not used yet', async () => {
      assert.equal(await does(split, moved(2n, 3n)), false);
      assert.equal(await does(split, moved(4n, 5n)), false);
      assert.equal(await does(split, { ...moved(3n, 4n), logsAt: 4_981 }), false);
    });

    it('counts for a redemption by the nonce of its condition', async () => {
      const key = BigInt(RAIN) & ((1n << 192n) - 1n);
      const base = key << 64n;
      const on = (before: bigint, after: bigint) => ({
        ...moved(base + before, base + after), action: 'ctf-redemption' as const, logs: [redemption(RAIN, [1n])], nonces: [['rain', String(base + 3n)]] as const,
        state: ({ method, args }: ContractCall, block: BlockTag) => {
          if (!method.startsWith('nonces')) return 0n;
          assert.deepEqual(args, [ann, key]);
          return base + (Number(block) < 4_980 ? before : after);
        },
      });
      assert.equal(await does(redeem(RAIN), on(3n, 4n)), true);
      assert.equal(await does(redeem(RAIN), on(2n, 3n)), false);
    });

    it('is looked for as far back as a reorganisation goes, and not where no node has the state any more', async () => {
      asked.length = 0;
      assert.equal(await does(split, { ...moved(3n, 4n), fromBlock: 4_990 }), true);
      assert.deepEqual(asked, [{ from: 4_926, to: 5_000 }]);
      assert.equal(await does(split, { ...moved(3n, 4n), newest: 5_079 }), true);
      assert.equal(await does(split, { ...moved(3n, 4n), newest: 5_080, pruned: true }), false);
    });
  });

  it('a settlement by the resolution: the contract succeeds also when it finds the proposal untruthful', async () => {
    const goal: Goal = { kind: 'resolution', marketId: RAIN, winningOutcome: 1 };
    const pays = (yes: bigint, no: bigint) => ({ action: 'settle-market' as const, state: ({ args }: ContractCall) => args[1] === 0 ? yes : no });
    assert.deepEqual((await judged([goal], mined(true), pays(0n, 1n))).results, [succeeded]);
    assert.deepEqual((await judged([goal], mined(true), pays(0n, 0n))).results, [
      { succeeded: false, reason: 'the transaction has not brought the state that was asked for' },
    ]);
    for (const [yes, no] of [[1n, 0n], [1n, 1n]] as const) {
      assert.equal((await judged([goal], mined(false), pays(yes, no))).results[0]?.succeeded, false);
    }
  });

  it('an approval, an allowance and a proposal by the state at the block of the ending', async () => {
    const proposal = (proposer: string, outcome: boolean) => ({ assertionId: TX, proposer, outcome });
    const cases: readonly [Goal, RelayNote['action'], unknown, boolean][] = [
      [{ kind: 'approval', owner: ann, operator: ann, approved: true }, 'ctf-approval', true, true],
      [{ kind: 'approval', owner: ann, operator: ann, approved: false }, 'ctf-approval', true, false],
      [{ kind: 'allowance', owner: ann, spender: ann, value: '5' }, 'usdc-permit', 5n, true],
      [{ kind: 'allowance', owner: ann, spender: ann, value: '5' }, 'usdc-permit', 4n, false],
      [{ kind: 'proposal', marketId: RAIN, proposer: ann, outcome: true }, 'propose-resolution', proposal(owner.address, true), true],
      [{ kind: 'proposal', marketId: RAIN, proposer: ann, outcome: true }, 'propose-resolution', proposal(owner.address, false), false],
      [{ kind: 'proposal', marketId: RAIN, proposer: ann, outcome: true }, 'propose-resolution', proposal(stranger.address, true), false],
      [{ kind: 'proposal', marketId: RAIN, proposer: ann, outcome: true }, 'propose-resolution', { ...proposal(owner.address, true), assertionId: ZERO }, false],
    ];
    for (const [goal, action, state, wanted] of cases) {
      assert.equal((await judged([goal], mined(false), { action, state: () => state })).results[0]?.succeeded, wanted, JSON.stringify(goal));
    }
  });

  it('by the newest state when the block is so old that nodes may not have its state any more', async () => {
    const goal: Goal = { kind: 'resolution', marketId: RAIN, winningOutcome: 0 };
    const resolved = { action: 'settle-market' as const, state: ({ args }: ContractCall) => args[1] === 0 ? 1n : 0n, pruned: true };
    assert.deepEqual((await judged([goal], mined(true), { ...resolved, newest: 5_101 })).results, [succeeded]);
    const old = { logs: [redemption(RAIN, [1n])], pruned: true, newest: 5_101 };
    assert.deepEqual((await judged([redeem(RAIN)], mined(false), old)).results, [succeeded]);
    await assert.rejects(judged([goal], mined(true), { ...resolved, newest: 5_100 }), /missing trie node/);
  });

  it('a lost transaction by the newest state, in at most 1,000 blocks', async () => {
    asked.length = 0;
    const status: EndedStatus = { kind: 'ended', ending: { kind: 'lost' } };
    const { txHash, results } = await judged([redeem(RAIN)], status, { logs: [redemption(RAIN, [1n])], logsAt: 5_500, fromBlock: 10, newest: 6_000 });
    assert.deepEqual([txHash, results], [TX, [succeeded]]);
    assert.deepEqual(asked, [{ from: 5_000, to: 6_000 }]);
    assert.deepEqual((await judged([redeem(RAIN)], status)).results, [{ succeeded: false, reason: 'another transaction used the relayer\'s nonce' }]);
  });

  it('what the lane refused, or nobody asked for, has failed for each item, with a reason of at most 200 characters', async () => {
    const { results } = await judged([redeem(RAIN), redeem(SUN)], { kind: 'refused', reason: 'x'.repeat(300) });
    assert.deepEqual(results.map(({ succeeded: each, reason }) => [each, reason?.length]), [[false, 200], [false, 200]]);
    assert.deepEqual(neverSent(0).results.length, 1);
    assert.deepEqual(neverSent(3).results.length, 3);
  });
});
