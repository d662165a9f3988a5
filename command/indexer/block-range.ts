/** Reads blocks and ranges of logs from a chain's nodes, and takes no answer that does not hold together. */
import { isAddress, isBytes32, isHexBytes, quantityOf } from '../../engine/records/hex.js';
import type { Rpc } from '../chain/chain.js';
import type { ChainLog } from './chain-events.js';

export interface BlockName {
  readonly number: number;
  readonly hash: string;
}

export interface LogFilter {
  readonly address: readonly string[];
  readonly topics: readonly (readonly string[])[];
}

/**
 * The nodes' answers do not fit together, or are not as the JSON-RPC specification says: the chain was reorganised between two
 * requests, or different nodes answered them. Asking again helps.
 */
export class InconsistentAnswer extends Error {
  constructor(what: string) {
    super(`the node's answer cannot be used: ${what}`);
    this.name = 'InconsistentAnswer';
  }
}

/** The number of the latest block. */
export async function readLatest(rpc: Rpc): Promise<number> {
  return quantity(await rpc.request('eth_blockNumber', []), 'eth_blockNumber');
}

/** The block of that number; undefined while the node does not have it. */
export async function readBlock(rpc: Rpc, number: number): Promise<BlockName | undefined> {
  const block = await rpc.request<Record<string, unknown> | null>('eth_getBlockByNumber', [hexOf(number), false]);
  if (block === null) return undefined;
  if (typeof block !== 'object' || quantity(block['number'], 'a block\'s number') !== number) {
    throw new InconsistentAnswer(`it is not block ${number}`);
  }
  return { number, hash: hex(block['hash'], isBytes32, 'a block\'s hash') };
}

/**
 * The logs of final blocks `from` to `to`, in chain order, each once, and the name of the last block. Throws InconsistentAnswer
 * unless all of it is from one and the same chain of blocks.
 *
 * A node answers from one chain of blocks. So when the last block is the same before and after, and the last log's block is of
 * that chain, then so are all before it.
 */
export async function readRange(
  rpc: Rpc, filter: LogFilter, { from, to }: { from: number; to: number },
): Promise<{ readonly logs: readonly ChainLog[]; readonly end: BlockName }> {
  const end = await needBlock(rpc, to);
  const answer = await rpc.request('eth_getLogs', [{ ...filter, fromBlock: hexOf(from), toBlock: hexOf(to) }]);
  const logs = inChainOrder(parseLogs(answer), { from, to });
  const last = logs.at(-1);
  if (last !== undefined && last.blockHash !== (last.block === to ? end : await needBlock(rpc, last.block)).hash) {
    throw new InconsistentAnswer(`its logs are of another block ${last.block} than the chain has`);
  }
  if ((await needBlock(rpc, to)).hash !== end.hash) throw new InconsistentAnswer(`block ${to} changed while its logs were read`);
  return { logs, end };
}

async function needBlock(rpc: Rpc, number: number): Promise<BlockName> {
  const block = await readBlock(rpc, number);
  if (block === undefined) throw new InconsistentAnswer(`it does not have block ${number}, which is below its latest`);
  return block;
}

function parseLogs(answer: unknown): ChainLog[] {
  if (!Array.isArray(answer)) throw new InconsistentAnswer('eth_getLogs gives no array');
  return answer.map((log: unknown) => {
    if (typeof log !== 'object' || log === null) throw new InconsistentAnswer('a log is no object');
    const { address, topics, data, blockNumber, blockHash, logIndex, transactionHash, removed } = log as Record<string, unknown>;
    if (!Array.isArray(topics)) throw new InconsistentAnswer('a log has no topics');
    return {
      address: hex(address, isAddress, 'a log\'s address'), topics: topics.map((topic) => hex(topic, isBytes32, 'a topic')),
      data: hex(data, isHexBytes, 'a log\'s data'), block: quantity(blockNumber, 'a log\'s block'), blockHash: hex(blockHash, isBytes32, 'a log\'s block hash'),
      logIndex: quantity(logIndex, 'a log\'s index'), txHash: hex(transactionHash, isBytes32, 'a log\'s transaction'), removed: removed === true,
    };
  });
}

/** The specification promises no order. A log that comes twice is taken once; one that contradicts another is not taken. */
function inChainOrder(logs: readonly ChainLog[], { from, to }: { from: number; to: number }): ChainLog[] {
  const sorted = [...logs].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex);
  return sorted.filter((log, i) => {
    if (log.block < from || log.block > to) throw new InconsistentAnswer(`a log is of block ${log.block}, asked were ${from} to ${to}`);
    if (log.removed) throw new InconsistentAnswer(`a log of block ${log.block} is marked as removed`);
    const before = sorted[i - 1];
    if (before?.block !== log.block) return true;
    if (before.blockHash !== log.blockHash) throw new InconsistentAnswer(`its logs are of two different blocks ${log.block}`);
    if (before.logIndex !== log.logIndex) return true;
    if (JSON.stringify(before) !== JSON.stringify(log)) throw new InconsistentAnswer(`block ${log.block} has two logs of index ${log.logIndex}`);
    return false;
  });
}

function hex(value: unknown, isRight: (text: string) => boolean, what: string): string {
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (!isRight(text)) throw new InconsistentAnswer(`${what} is ${JSON.stringify(value)?.slice(0, 100)}`);
  return text;
}

function quantity(value: unknown, what: string): number {
  const number = quantityOf(value);
  if (number === undefined) throw new InconsistentAnswer(`${what} is ${JSON.stringify(value)?.slice(0, 100)}`);
  return number;
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`;
}
