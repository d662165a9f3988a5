/** A holding that the history takes over from the chain is the chain's at that block, or at least what the history's own facts give. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { RpcError, type Rpc } from '../../command/chain/chain.js';
import { Interface, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import {
  CHAIN_ID, emptyHistory, linesOfHistory, market, marketCreated, nodeOf, sourceOf, traders, transaction, auditOf, differenceOf, type AuditedHistory,
  type Emitted,
} from '../support/audited-history.js';
import { newCommand } from '../support/commands.js';

const NOBODY = `0x${'0'.repeat(40)}`;
const [alice, bob] = traders.map(({ address }) => address) as [string, string];
/** ERC-1155 ids of the first market. */
const [YES, NO] = [10, 11];

function moved(from: string, to: string, id: number, value: number, n: number): Emitted {
  return { contract: 'conditionalTokens', name: 'TransferSingle', args: { operator: to, from, to, id, value }, txHash: transaction(500 + n) };
}

function synced(history: AuditedHistory, yes: number, no: number, block = history.blocks): number {
  return history.add(newCommand('SyncPosition', {
    at: 1_800_000_000_000, marketId: market(0), user: alice, yesShares: String(yes), noShares: String(no), block,
  })).position;
}

const tokens = new Interface(conditionalTokens.abi as InterfaceAbi);
const multicall = new Interface(multicall3.abi as InterfaceAbi);

/** A node that has the states of its blocks, by what the balances are said to be, or has forgotten them. */
function nodeWith(history: AuditedHistory, balances: ((user: string, token: bigint, block: number) => bigint) | 'forgotten'): Rpc {
  const node = nodeOf(history.chainEvents, history.blocks);
  const call = ([{ data }, block]: readonly [{ data: string }, string]): string => {
    if (balances === 'forgotten') throw new RpcError('eth_call', -32_000, 'missing trie node', undefined);
    const [calls] = multicall.decodeFunctionData('aggregate3', data).toArray() as [{ callData: string }[]];
    return multicall.encodeFunctionResult('aggregate3', [calls.map(({ callData }) => {
      const [user, token] = tokens.decodeFunctionData('balanceOf', callData).toArray() as [string, bigint];
      return [true, tokens.encodeFunctionResult('balanceOf', [balances(user.toLowerCase(), token, Number(block))])];
    })]);
  };
  return {
    chainId: CHAIN_ID,
    request: async <T>(method: string, params: readonly unknown[]) => (
      method === 'eth_call' ? call(params as [{ data: string }, string]) as T : await node.request<T>(method, params)),
  };
}

/** Ways to ask: a node with all states, one that has forgotten them, and no node at all. */
const sources = (history: AuditedHistory, yes: bigint, no: bigint) => [
  ['a node', nodeWith(history, (user, token) => user !== alice ? 0n : token === BigInt(YES) ? yes : no)], ['a node without old states', nodeWith(history, 'forgotten')],
  ['no node', null],
] as const;

describe('an audit of holdings that were taken over from the chain', () => {
  /** Alice has 70 YES and 100 NO at block 2, and 60 YES at block 3. */
  async function held(): Promise<AuditedHistory> {
    const history = await emptyHistory();
    history.block(marketCreated(0));
    history.block(moved(NOBODY, alice, YES, 100, 1), moved(NOBODY, alice, NO, 100, 2), moved(alice, bob, YES, 30, 3));
    return history;
  }

  it('passes those that chain and facts give, whichever of them is asked', async () => {
    const history = await held();
    synced(history, 70, 100);
    for (const [what, node] of sources(history, 70n, 100n)) {
      const { difference, checks } = await auditOf(history, { node });
      deepEqual(difference, null, what);
      deepEqual(checks.filter(({ name }) => name === 'syncedPositions').map(({ status, count }) => [status, count]), [['passed', 1]]);
    }
  });

  it('finds shares that nobody ever moved, also when all is computed anew, and also behind the chain\'s last facts', async () => {
    const history = await held();
    const position = synced(history, 1_000_070, 100);
    for (const [what, node] of sources(history, 70n, 100n)) {
      const { check, place, expected, means } = await differenceOf(history, { node });
      deepEqual([check, place.position, place.block, expected], ['syncedPositions', position, 2, { yesShares: '70', noShares: '100' }], what);
      equal(/--rpc/.test(means), node === null);
    }
  });

  it('compares with the block that the record names, and not with a later one', async () => {
    const history = await held();
    const position = synced(history, 60, 100);
    history.block(moved(alice, bob, YES, 10, 4));
    const { place } = await differenceOf(history, { node: nodeWith(history, 'forgotten') });
    equal(place.position, position);
    const right = await held();
    synced(right, 70, 100);
    right.block(moved(alice, bob, YES, 10, 4));
    synced(right, 60, 100);
    for (const node of [nodeWith(right, 'forgotten'), null]) deepEqual((await auditOf(right, { node })).difference, null);
  });

  it('passes what only the chain can confirm with a node, and without one says that facts are missing', async () => {
    const history = await emptyHistory();
    // The token is nobody's market yet, so that the history does not record it.
    history.block(moved(NOBODY, alice, YES, 50, 1), marketCreated(0));
    const position = synced(history, 50, 0);
    for (const [what, node] of sources(history, 50n, 0n)) {
      if (node !== null) deepEqual((await auditOf(history, { node })).difference, null, what);
    }
    const { check, place, means } = await differenceOf(history, { node: null });
    deepEqual([check, place.position], ['syncedPositions', position]);
    match(means, /With --rpc the chain decides/);
  });

  it('leaves alone those that the engine has refused', async () => {
    const history = await held();
    synced(history, 5, 5, 1);
    for (const [, node] of sources(history, 0n, 0n)) deepEqual((await auditOf(history, { node })).difference, null);
  });

  it('tells one beside a later difference of another kind, as the earlier one', async () => {
    const history = await held();
    const position = synced(history, 9, 9);
    history.block();
    const lines = linesOfHistory(history.records);
    const { check, place } = await differenceOf(history, { node: null, source: sourceOf([...lines, Buffer.from('{}')]) });
    deepEqual([check, place.position], ['syncedPositions', position]);
  });
});
