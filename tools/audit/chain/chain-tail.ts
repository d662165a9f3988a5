/** What a chain has after the last event that the history recorded: not a part of this history, and nothing wrong by itself. */
import type { RawChainEvent } from '../../../command/chain/block-range.js';
import type { Chain } from '../../../command/chain/chain.js';
import { readEvent } from '../../../command/indexer/chain-events.js';
import type { ChainReader } from './chain-reader.js';
import { compareFacts } from './compare-facts.js';
import type { PositionStore } from './position-store.js';

export interface ChainTail {
  /** The last block of the chain that counts as final. */
  readonly finalBlock: number;
  readonly blocks: number;
  readonly events: number;
  /** The highest position that an anchor there names at or after the audited end; undefined when there is none. */
  readonly anchored: number | undefined;
}

export interface TailScan {
  readonly chain: Chain;
  readonly reader: Pick<ChainReader, 'range'>;
  readonly digestAt: PositionStore['digestAt'];
  /** The first block, and the index in it of the first event, that the history does not have. */
  readonly from: number;
  readonly fromLog: number;
  /** The last block that is looked at. */
  readonly head: number;
  /** The history's length. */
  readonly end: number;
  /** Is told of each block up to which all is read. */
  readonly onRead: (block: number) => void;
}

/** Throws Differs for an anchor of a position before the end that differs; CannotAudit. */
export async function readChainTail(scan: TailScan): Promise<ChainTail> {
  const { reader, from, fromLog, head, onRead } = scan;
  let [events, anchored] = [0, -1];
  for (let next = from; next <= head;) {
    const read = await reader.range(next, head);
    for (const raw of read.events) {
      if (raw.block === from && raw.logIndex < fromLog) continue;
      events++;
      anchored = Math.max(anchored, anchoredBy(raw, scan));
    }
    next = read.end.number + 1;
    onRead(read.end.number);
  }
  return { finalBlock: head, blocks: Math.max(0, head - from + 1), events, anchored: anchored < 0 ? undefined : anchored };
}

/** The position of an anchor at or after the end; -1 for other events. Throws Differs for an anchor before the end that differs. */
function anchoredBy(raw: RawChainEvent, { chain, end, digestAt }: TailScan): number {
  const event = readEvent(chain.contracts, raw);
  if (event?.name !== 'HistoryAnchored' || chain.passOverAnchors?.includes(raw.txHash) === true) return -1;
  const position = Number(event.args.position);
  if (position >= end) return position;
  if (digestAt(position) !== event.args.digest) {
    compareFacts({
      chain, events: [raw], facts: [], digestAt, orderHashAt: () => undefined, saidAt: () => end - 1,
      isKnownMarket: () => false, isKnownToken: () => false,
    });
  }
  return -1;
}
