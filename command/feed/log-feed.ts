/** The fill feed straight from the log: it computes the sequence while it follows the recorded outcomes. */
import { setImmediate } from 'node:timers/promises';
import { MalformedRecord, decodeOutcome } from '../../engine/records/codec.js';
import { LogUnavailable, type Log, type LogRecord } from '../../engine/log/log.js';
import { retrying } from '../../engine/waiting.js';
import { ForeignFeed, type FillFeed } from './fill-feed.js';
import { messageSchemas, type SequencedMessage } from './messages.js';
import { createSequencer, least, type FeedPosition, type PlacedOutcome } from './sequence.js';

const BATCH_MESSAGES = 1_000;
/** Outcomes per turn of the event loop. */
const SLICE = 256;
const BACKOFF = { firstMs: 50, longestMs: 5_000 };

/**
 * Each follower reads the outcomes once, from the partition on that is furthest behind; what the others have had
 * already is left out. A batch ends with the message that makes it `batchMessages` long, or with the records that the
 * log gave together.
 */
export function createLogFeed(log: Pick<Log, 'follow' | 'length'>, { batchMessages = BATCH_MESSAGES } = {}): FillFeed {
  return {
    async* follow(from, signal) {
      if (!await isWithin(log, from, signal)) return;
      const sequencer = createSequencer(from);
      for await (const records of log.follow('outcomes', least(from.partitions), signal)) {
        let messages: SequencedMessage[] = [];
        for (const [index, record] of records.entries()) {
          messages.push(...sequencer.take(outcomeIn(record)));
          if (messages.length >= batchMessages) {
            yield { messages, reached: record.position + 1 };
            messages = [];
          }
          if (index % SLICE === SLICE - 1) await setImmediate();
          if (signal.aborted) return;
        }
        yield { messages, reached: least(sequencer.position().partitions) };
      }
    },
  };
}

/** Resolves with false when the signal has aborted. Throws ForeignFeed when the log ends before what was given. */
async function isWithin(log: Pick<Log, 'length'>, { partitions }: FeedPosition, signal: AbortSignal): Promise<boolean> {
  const needed = partitions.reduce((most, { position, done }) => Math.max(most, position + (done > 0 ? 1 : 0)), 0);
  try {
    const length = await retrying(() => log.length('outcomes'), { backoff: BACKOFF, signal, canPass: (error) => error instanceof LogUnavailable });
    if (needed > length) throw new ForeignFeed(`the fill feed was followed over ${needed} outcomes, but the log has ${length}`);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

const TYPES = Object.keys(messageSchemas);

/**
 * Most outcomes have no messages. They are known by their bytes, and not decoded: an event's type is plain text in
 * them.
 */
function outcomeIn({ position, data }: LogRecord): PlacedOutcome {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (!TYPES.some((type) => bytes.includes(type))) return { position, at: 0, events: [], digest: '' };
  try {
    return { position, ...decodeOutcome(data) };
  } catch (cause) {
    throw new MalformedRecord(`outcome ${position} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
