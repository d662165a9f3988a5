/**
 * What of a topic's messages is new: decides, without input or output, which to give, which to drop, and where some are
 * missing.
 */
import { MalformedRecord } from '../../../engine/records/codec.js';
import { PARTITIONS, decodeMessage, partitionOf, type SequencedMessage } from '../messages.js';
import type { PartitionPosition } from '../sequence.js';
import type { TopicRecord } from './client.js';

export interface NewMessages {
  /** The partition's next ones, in order and without a gap. */
  readonly messages: readonly SequencedMessage[];
  /** Messages that have been given before: a publisher repeats itself after a crash, and two at once each other. */
  readonly repeats: number;
  /** Messages that were left out, since they are not this partition's; what they stood for shows as a gap. */
  readonly unusable: readonly Unusable[];
  /**
   * The messages before number `seq` are missing. `from` is the index of its record, which is to be looked at again
   * once they are here.
   */
  readonly gap?: { readonly from: number; readonly seq: number };
}

export interface Unusable {
  readonly kind: 'unreadable' | 'elsewhere' | 'backwards';
  /** Where it is, and why. */
  readonly what: string;
}

/** The new messages of a part of a partition, in the order of its offsets, up to the first gap. */
export function selectNew(at: PartitionPosition, records: readonly TopicRecord[]): NewMessages {
  const messages: SequencedMessage[] = [];
  const unusable: Unusable[] = [];
  let repeats = 0;
  let { nextSeq, position } = at;
  for (const [index, record] of records.entries()) {
    const message = readMessage(record);
    if ('kind' in message) {
      unusable.push(message);
    } else if (message.seq < nextSeq) {
      repeats += 1;
    } else if (message.seq > nextSeq) {
      return { messages, repeats, unusable, gap: { from: index, seq: message.seq } };
    } else if (message.message.position < position) {
      unusable.push({
        kind: 'backwards', what: `${placeOf(record)}: message ${message.seq} is of outcome ${message.message.position}, but the one before it of ${position} or later`,
      });
    } else {
      messages.push(message);
      nextSeq += 1;
      ({ message: { position } } = message);
    }
  }
  return { messages, repeats, unusable };
}

function readMessage(record: TopicRecord): SequencedMessage | Unusable {
  try {
    const message = decodeMessage(record);
    const { partition } = record;
    if (partition >= PARTITIONS || ('marketId' in message.message && partitionOf(message.message.marketId) !== partition)) {
      return { kind: 'elsewhere', what: `${placeOf(record)}: it is of another partition` };
    }
    return message;
  } catch (error) {
    if (error instanceof MalformedRecord) return { kind: 'unreadable', what: `${placeOf(record)}: ${error.message}` };
    throw error;
  }
}

function placeOf({ partition, offset }: TopicRecord): string {
  return `offset ${offset} of partition ${partition}`;
}
