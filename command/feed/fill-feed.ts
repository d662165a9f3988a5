/** The fill feed's port: the canonical sequence of messages, whichever way they come. */
import type { FeedBatch, FeedPosition } from './sequence.js';

export interface FillFeed {
  /**
   * The messages from a position on, present and future. Each partition's come in order, each once and without a gap,
   * so that `partitionsAfter` takes every batch; partitions need not keep step with each other. A batch has a message,
   * or says how far the history has been read. Ends only when `signal` aborts, whatever goes wrong between here and the
   * log: then nothing comes until it is mended. Throws ForeignFeed, MalformedRecord and BrokenSequence, none of which
   * trying again can help.
   */
  follow(from: FeedPosition, signal: AbortSignal): AsyncIterable<FeedBatch>;
}

/**
 * A position is beyond the log's end, or a message there is not the one that was given: the position belongs to another
 * log.
 */
export class ForeignFeed extends Error {
  constructor(what: string) {
    super(`${what}: it was made from another log; restore that log, or drop what was made from it`);
    this.name = 'ForeignFeed';
  }
}
