/**
 * The canonical sequence of the fill feed: which messages the history gives, in which partition and with which number.
 * It depends on the recorded outcomes alone, so every transport gives the same messages at the same places. No input or
 * output.
 */
import type { Event } from '../../engine/records/events.js';
import { PARTITIONS, partitionOf, type FeedMessage, type SequencedMessage } from './messages.js';

/**
 * How much of one partition has been given. A partition's next message is one of the outcome at `position`, or of a
 * later one.
 */
export interface PartitionPosition {
  /** The number of the next message. */
  readonly nextSeq: number;
  /** A log position: all of the partition's messages of earlier outcomes have been given. */
  readonly position: number;
  /** How many of the partition's messages of the outcome at `position` have been given. */
  readonly done: number;
}

/** How much of the feed has been given. The partitions need not have got equally far. */
export interface FeedPosition {
  /** One per partition. */
  readonly partitions: readonly PartitionPosition[];
  /** The chain of every market whose MarketOpened has been given: events of fills do not name it. */
  readonly markets: ReadonlyMap<string, number>;
}

/** Before the first message. */
export const FEED_START: FeedPosition = {
  partitions: Array.from({ length: PARTITIONS }, () => ({ nextSeq: 0, position: 0, done: 0 })), markets: new Map(),
};

/** Some of the feed. */
export interface FeedBatch {
  /** In each partition without a gap. Empty in a batch that only says how far the history has been read. */
  readonly messages: readonly SequencedMessage[];
  /**
   * All messages of the outcomes below this log position have now been given, in every partition. Absent where nobody
   * can say.
   */
  readonly reached?: number;
}

/** An outcome at its log position. */
export interface PlacedOutcome {
  readonly position: number;
  readonly at: number;
  readonly events: readonly Event[];
  readonly digest: string;
}

export interface Sequencer {
  /**
   * The outcome's messages that had not been given. Outcomes come in order, from `position()`'s `least` on, none left
   * out.
   */
  take(outcome: PlacedOutcome): SequencedMessage[];
  /** What has been given so far. `markets` is not a copy: it goes on growing. */
  position(): FeedPosition;
}

/** Goes on from any position. */
export function createSequencer(from: FeedPosition): Sequencer {
  const markets = new Map(from.markets);
  let partitions = from.partitions;
  let next = least(partitions);
  return {
    take(outcome) {
      const { position, digest } = outcome;
      if (position !== next) throw new Error(`the fill feed got outcome ${position}, expected ${next}`);
      next += 1;
      const taken = new Array<number>(PARTITIONS).fill(0);
      const messages: SequencedMessage[] = [];
      for (const { partition, message } of messagesOf(outcome, markets)) {
        const at = partitionAt(partitions, partition);
        const index = taken[partition] ?? 0;
        taken[partition] = index + 1;
        if (at.position > position || (at.position === position && at.done > index)) continue;
        const seq = at.nextSeq + index - (at.position === position ? at.done : 0);
        messages.push({ partition, seq, message, digest });
      }
      partitions = partitionsAfter(partitions, { messages, reached: next });
      return messages;
    },
    position: () => ({ partitions, markets }),
  };
}

/**
 * How far the partitions have got after a batch. Throws an error when a message is not its partition's next one: a feed
 * gives each message once and leaves none out.
 */
export function partitionsAfter(
  partitions: readonly PartitionPosition[], { messages, reached = 0 }: FeedBatch,
): readonly PartitionPosition[] {
  const after = [...partitions];
  for (const { partition, seq, message: { position } } of messages) {
    const at = partitionAt(after, partition);
    if (seq !== at.nextSeq || position < at.position) {
      throw new Error(`partition ${partition} of the fill feed gave message ${seq} of outcome ${position}, expected ${at.nextSeq} of ${at.position} or later`);
    }
    after[partition] = { nextSeq: seq + 1, position, done: position === at.position ? at.done + 1 : 1 };
  }
  return after.map((at) => at.position < reached ? { nextSeq: at.nextSeq, position: reached, done: 0 } : at);
}

/** The first outcome that some partition has not had all messages of. */
export function least(partitions: readonly PartitionPosition[]): number {
  return partitions.reduce((lowest, { position }) => Math.min(lowest, position), Infinity);
}

function partitionAt(partitions: readonly PartitionPosition[], partition: number): PartitionPosition {
  const at = partitions[partition];
  if (at === undefined) throw new Error(`the fill feed has partitions 0 to ${PARTITIONS - 1}, not ${partition}`);
  return at;
}

interface PlacedMessage {
  readonly partition: number;
  readonly message: FeedMessage;
}

/** All messages of an outcome, in the order of its events. Adds the markets that it opens to `markets`. */
function messagesOf({ position, at, events }: PlacedOutcome, markets: Map<string, number>): PlacedMessage[] {
  const head = { v: 1, position, at } as const;
  return events.flatMap((event): PlacedMessage[] => {
    switch (event.type) {
      case 'MarketOpened': {
        const { type, chainId, marketId, contractAddress, maker, expiration, marketKind } = event;
        markets.set(marketId, chainId);
        return [{
          partition: partitionOf(marketId),
          message: { type, ...head, chainId, marketId, contractAddress, maker, expiration, marketKind },
        }];
      }
      case 'FillMatched':
      case 'FillSettled':
      case 'FillFailed': {
        const chainId = markets.get(event.marketId);
        if (chainId === undefined) throw new Error(`outcome ${position} has a fill of market ${event.marketId}, which the fill feed has not seen open`);
        return [{ partition: partitionOf(event.marketId), message: { ...event, ...head, chainId } }];
      }
      case 'ChainAdvanced': return Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, message: { ...event, ...head } }));
      default: return [];
    }
  });
}
