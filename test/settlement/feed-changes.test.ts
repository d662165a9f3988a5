/** What batches of the feed change, over random histories whose partitions come at different speeds. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict';
import fc from 'fast-check';
import { changesOf, leastBarrier, progressAfter, type FeedChanges, type FeedProgress } from '../../command/settlement/feed-changes.js';
import { PARTITIONS, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { feedHistory } from '../support/feed-history.js';

const start = (ahead: FeedProgress['ahead'] = new Map()): FeedProgress => ({ partitions: FEED_START.partitions, watermark: 0, ahead, barriers: new Map(), newest: undefined });

const sequencer = createSequencer(FEED_START);
const messages = feedHistory(5, 1_500).outcomes.flatMap((outcome) => sequencer.take(outcome));
const queues = Array.from({ length: PARTITIONS }, (_, partition) => messages.filter((each) => each.partition === partition));

/** The rows as Postgres would have them: by fill, whether it has ended. */
class Rows {
  readonly byFill = new Map<number, boolean>();

  write({ matched, ended, dropped }: FeedChanges): void {
    for (const { fill, ended: over } of matched) {
      ok(!this.byFill.has(fill));
      this.byFill.set(fill, over);
    }
    for (const { fill } of ended) {
      equal(this.byFill.get(fill), false);
      this.byFill.set(fill, true);
    }
    for (const { fill } of dropped) ok(this.byFill.delete(fill));
  }
}

/** What is known of the messages so far, counted in the simplest way. */
function known(given: readonly SequencedMessage[]) {
  const of = (type: string) => given.flatMap(({ message }) => 'fill' in message && message.type.startsWith(type) ? [message.fill] : []);
  const [matched, settled, failed] = [new Set(of('FillMatched')), of('FillSettled'), of('FillFailed')];
  const over = new Set([...settled, ...failed]);
  let watermark = 0;
  while (matched.has(watermark)) watermark += 1;
  const unsettled = [...matched].filter((fill) => !over.has(fill)).sort((a, b) => a - b);
  return { watermark, unsettled, failed, endedAhead: [...over].filter((fill) => fill >= watermark).sort((a, b) => a - b) };
}

/** Takes the messages of the partitions in the order that the random choices say, in batches. */
function taken(choices: readonly { readonly partition: number; readonly count: number }[], onBatch: (batch: SequencedMessage[]) => void): void {
  const next = queues.map(() => 0);
  const take = (partition: number, count: number): SequencedMessage[] => {
    const from = next[partition]!;
    next[partition] = from + count;
    return queues[partition]!.slice(from, from + count);
  };
  for (const { partition, count } of choices) onBatch(take(partition, count));
  onBatch(queues.flatMap((queue, partition) => take(partition, queue.length)));
}

const choices = fc.array(fc.record({ partition: fc.nat(PARTITIONS - 1), count: fc.integer({ min: 1, max: 60 }) }), { maxLength: 60 });

/** Each partition has a good part of its messages, and then the rest. */
const uneven = fc.tuple(...queues.map(({ length }) => fc.integer({ min: length >> 1, max: length })))
  .map((counts) => counts.map((count, partition) => ({ partition, count })));

describe('settlement: what a batch of the feed changes', () => {
  it('keeps exactly the fills that wait, and below the watermark all have come, whichever partition is slow', () => {
    fc.assert(fc.property(choices, (random) => {
      const rows = new Rows();
      const given: SequencedMessage[] = [];
      let at = start();
      taken(random, (batch) => {
        const changes = changesOf(at, { messages: batch });
        given.push(...batch);
        rows.write(changes);
        const { watermark, unsettled, endedAhead } = known(given);
        at = progressAfter(at, changes);
        equal(at.watermark, watermark);
        const stored = [...rows.byFill].sort(([a], [b]) => a - b);
        deepEqual(stored.filter(([, ended]) => !ended).map(([fill]) => fill), unsettled);
        deepEqual(stored.filter(([, ended]) => ended).map(([fill]) => fill), endedAhead);
        // What a start would load is what there is.
        deepEqual([...at.ahead].map(([fill, { ended }]) => [fill, ended]).sort(([a], [b]) => Number(a) - Number(b)),
          stored.filter(([fill]) => fill >= watermark));
      });
      deepEqual(at.watermark, known(messages).watermark);
      equal(at.ahead.size, 0);
    }), { numRuns: 60 });
    ok(known(messages).failed.length > 10 && known(messages).unsettled.length > 10);
  });

  it('a chain has got as far as the least of its barriers', () => {
    const chains = new Set(messages.flatMap(({ message }) => message.type === 'ChainAdvanced' ? [message.chainId] : []));
    let differed = 0;
    fc.assert(fc.property(uneven, (random) => {
      const given: SequencedMessage[] = [];
      let at = start();
      taken(random, (batch) => {
        at = progressAfter(at, changesOf(at, { messages: batch }));
        given.push(...batch);
        for (const chainId of chains) {
          const blocks = Array.from({ length: PARTITIONS }, (_, partition) => given.findLast((each) => (
            each.partition === partition && each.message.type === 'ChainAdvanced' && each.message.chainId === chainId))?.message);
          const least = blocks.some((each) => each === undefined) ? undefined : Math.min(...blocks.map((each) => each?.type === 'ChainAdvanced' ? each.block : NaN));
          equal(leastBarrier(at.barriers.get(chainId))?.block, least);
          if (least !== undefined && blocks.some((each) => each?.type === 'ChainAdvanced' && each.block > least)) differed += 1;
        }
        const newest = given.reduce<SequencedMessage | undefined>((most, each) => (
          most === undefined || each.message.position >= most.message.position ? each : most), undefined);
        deepEqual(at.newest, newest && { position: newest.message.position, digest: newest.digest });
      });
    }), { numRuns: 30 });
    ok(differed > 10);
  });

  it('tells which number each partition must have had, and changes nothing that it was given', () => {
    const before = start();
    const first = changesOf(before, { messages: queues[3]!.slice(0, 5) });
    deepEqual(first.moved, [{ partition: 3, expected: 0, ...first.after.partitions[3]! }]);
    deepEqual(before, start());
    const next = progressAfter(before, first);
    const second = changesOf(next, { messages: queues[3]!.slice(5, 7), reached: 40 });
    deepEqual(second.moved.map(({ partition, expected, nextSeq }) => [partition, expected, nextSeq]), queues.map((_, partition) => (
      partition === 3 ? [3, 5, 7] : [partition, 0, 0])));
    throws(() => changesOf(next, { messages: queues[3]!.slice(6, 7) }), /expected 5 of/);
  });

  it('never goes through all fills that are ahead, of which there are very many while a partition is slow', () => {
    let at = start(new Unwalked());
    for (const queue of queues) at = progressAfter(at, changesOf(at, { messages: queue }));
    deepEqual([at.watermark, at.ahead.size], [known(messages).watermark, 0]);
  });
});

class Unwalked extends Map<number, never> {
  override [Symbol.iterator](): never { throw new Error('all of them are gone through'); }
  override entries(): never { return this[Symbol.iterator](); }
  override keys(): never { return this[Symbol.iterator](); }
  override values(): never { return this[Symbol.iterator](); }
  override forEach(): never { return this[Symbol.iterator](); }
}
