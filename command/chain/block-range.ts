/**
 * Reads blocks and the chain events of block ranges from a chain's nodes, and rejects answers that contradict
 * themselves.
 */
import { isAddress, isBytes32, isHexBytes, quantityOf } from '../../engine/records/hex.js';
import { onOneNode, type Rpc } from './chain.js';

export interface BlockName {
  readonly number: number;
  readonly hash: string;
}

export interface EventFilter {
  readonly address: readonly string[];
  readonly topics: readonly (readonly string[])[];
}

/** A chain event as eth_getLogs returns it, not yet decoded. All hex is lower-case. */
export interface RawChainEvent {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly block: number;
  readonly blockHash: string;
  /** The event's index within its block. */
  readonly logIndex: number;
  readonly txHash: string;
  /** The node has withdrawn the event after a reorganisation. */
  readonly removed: boolean;
}

/**
 * The nodes' answers contradict one another or the JSON-RPC specification. The chain was reorganised between two
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

/** The block with this number; undefined while the node does not have it. */
export async function readBlock(rpc: Rpc, number: number): Promise<BlockName | undefined> {
  const block = await rpc.request<Record<string, unknown> | null>('eth_getBlockByNumber', [hexOf(number), false]);
  if (block === null) return undefined;
  if (typeof block !== 'object' || quantity(block['number'], 'a block\'s number') !== number) {
    throw new InconsistentAnswer(`it is not block ${number}`);
  }
  return { number, hash: hex(block['hash'], isBytes32, 'a block\'s hash') };
}

export interface Range {
  readonly from: number;
  readonly to: number;
  /** How many blocks must follow block `to` on the node that answers. */
  readonly confirmations: number;
}

/**
 * The chain events of the final blocks `from` to `to`, in chain order and each once, and the name of the last block.
 * Throws InconsistentAnswer unless they all come from the same chain of blocks, in which block `to` is final.
 *
 * One node answers everything, and it answers eth_getLogs from one chain of blocks. So three checks are enough: enough
 * blocks follow block `to`, the last block has the same hash before and after the read, and the last event's block is a
 * block of that chain. All earlier events are then on it too. Whether block `to` is final is asked of this node, since
 * another one may be on another branch, and ahead.
 */
export function readRange(
  rpc: Rpc, filter: EventFilter, range: Range,
): Promise<{ readonly events: readonly RawChainEvent[]; readonly end: BlockName }> {
  return onOneNode(rpc, (node) => readRangeOf(node, filter, range));
}

async function readRangeOf(rpc: Rpc, filter: EventFilter, { from, to, confirmations }: Range) {
  const latest = await readLatest(rpc);
  if (latest < to + confirmations) {
    throw new InconsistentAnswer(`its latest block is ${latest}, so block ${to} is not final there, as it is on another node`);
  }
  const end = await needBlock(rpc, to);
  const answer = await rpc.request('eth_getLogs', [{ ...filter, fromBlock: hexOf(from), toBlock: hexOf(to) }]);
  const events = inChainOrder(parseEvents(answer), { from, to });
  const last = events.at(-1);
  if (last !== undefined && last.blockHash !== (last.block === to ? end : await needBlock(rpc, last.block)).hash) {
    throw new InconsistentAnswer(`its events are from a block ${last.block} that the chain does not have`);
  }
  if ((await needBlock(rpc, to)).hash !== end.hash) throw new InconsistentAnswer(`block ${to} changed while its events were read`);
  return { events, end };
}

async function needBlock(rpc: Rpc, number: number): Promise<BlockName> {
  const block = await readBlock(rpc, number);
  if (block === undefined) throw new InconsistentAnswer(`it does not have block ${number}, which is below its latest`);
  return block;
}

function parseEvents(answer: unknown): RawChainEvent[] {
  if (!Array.isArray(answer)) throw new InconsistentAnswer('the result of eth_getLogs is not an array');
  return answer.map((event: unknown) => {
    if (typeof event !== 'object' || event === null) throw new InconsistentAnswer('an event is not an object');
    const {
      address, topics, data, blockNumber, blockHash, logIndex, transactionHash, removed,
    } = event as Record<string, unknown>;
    if (!Array.isArray(topics)) throw new InconsistentAnswer('an event has no topics');
    return {
      address: hex(address, isAddress, 'an event\'s address'), topics: topics.map((topic) => hex(topic, isBytes32, 'a topic')),
      data: hex(data, isHexBytes, 'an event\'s data'), block: quantity(blockNumber, 'an event\'s block'),
      blockHash: hex(blockHash, isBytes32, 'an event\'s block hash'), logIndex: quantity(logIndex, 'an event\'s logIndex'),
      txHash: hex(transactionHash, isBytes32, 'an event\'s transaction'), removed: removed === true,
    };
  });
}

/**
 * The events sorted by block and logIndex, since the specification does not promise an order. An event that comes twice
 * is kept once. Throws InconsistentAnswer for events that contradict one another or were not asked for.
 */
function inChainOrder(events: readonly RawChainEvent[], { from, to }: { from: number; to: number }): RawChainEvent[] {
  const sorted = [...events].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex);
  return sorted.filter((event, i) => {
    const { block, blockHash, logIndex, removed } = event;
    if (block < from || block > to) throw new InconsistentAnswer(`an event is from block ${block}, but blocks ${from} to ${to} were asked for`);
    if (removed) throw new InconsistentAnswer(`an event of block ${block} is marked as removed`);
    const before = sorted[i - 1];
    if (before?.block !== block) return true;
    if (before.blockHash !== blockHash) throw new InconsistentAnswer(`its events are from two different blocks ${block}`);
    if (before.logIndex !== logIndex) return true;
    if (JSON.stringify(before) !== JSON.stringify(event)) throw new InconsistentAnswer(`block ${block} has two events with logIndex ${logIndex}`);
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
