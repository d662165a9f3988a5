/** Events of blocks, in whatever order a node answers them. */
import assert from 'node:assert/strict';
import { InconsistentAnswer, readRange } from '../../command/chain/block-range.js';
import type { Rpc } from '../../command/chain/chain.js';

const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;
const hex = (n: number) => `0x${n.toString(16)}`;
const ADDRESS = `0x${'a'.repeat(40)}`;
const RANGE = { from: 4, to: 6, confirmations: 2 };

const log = (block: number, logIndex: number, changes: object = {}) => ({
  address: ADDRESS, topics: [word(1)], data: '0x', blockNumber: hex(block), blockHash: word(block), logIndex: hex(logIndex), transactionHash: word(9),
  removed: false, ...changes,
});

/** A node whose blocks have their numbers as hashes. */
function nodeWith(logs: readonly object[], latest = 8): Rpc {
  const answers: Record<string, unknown> = { eth_getLogs: logs, eth_blockNumber: hex(latest) };
  const request = (method: string, [block]: readonly unknown[]): Promise<unknown> => (
    Promise.resolve(answers[method] ?? { number: block, hash: word(Number(block)) }));
  return { request } as Rpc;
}

async function placesOf(logs: readonly object[]): Promise<(readonly [number, number])[]> {
  const { events } = await readRange(nodeWith(logs), { address: [ADDRESS], topics: [] }, RANGE);
  return events.map(({ block, logIndex }) => [block, logIndex]);
}

describe('indexer: the events of blocks', () => {
  const IN_ORDER = [[4, 2], [4, 10], [5, 0], [6, 1], [6, 3]] as const;
  const logs = IN_ORDER.map(([block, logIndex]) => log(block, logIndex));

  it('are in the chain\'s order, also within a block, whatever the order of the answer', async () => {
    assert.deepEqual(await placesOf(logs), IN_ORDER);
    assert.deepEqual(await placesOf(logs.toReversed()), IN_ORDER);
    assert.deepEqual(await placesOf([3, 0, 4, 2, 1].map((i) => logs[i]!)), IN_ORDER);
  });

  it('that come twice are there once; two with one place contradict each other', async () => {
    assert.deepEqual(await placesOf([...logs, ...logs]), IN_ORDER);
    await assert.rejects(placesOf([...logs, log(6, 1, { data: '0x01' })]), InconsistentAnswer);
  });

  it('of blocks that are not final on the node that answers, are refused', async () => {
    const read = (latest: number) => readRange(nodeWith(logs, latest), { address: [ADDRESS], topics: [] }, RANGE);
    await assert.rejects(read(7), /its latest block is 7, so block 6 is not final there/);
    assert.equal((await read(8)).events.length, logs.length);
  });

  it('of other blocks, or that were taken back, are refused', async () => {
    for (const wrong of [log(3, 0), log(7, 0), log(5, 1, { removed: true })]) await assert.rejects(placesOf([...logs, wrong]), InconsistentAnswer);
  });
});
