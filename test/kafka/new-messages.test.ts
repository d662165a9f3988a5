/** What is new in a topic: whatever publishers repeat, mix up, lose or spoil, a follower that heals gives the sequence. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { TopicRecord } from '../../command/feed/kafka/client.js';
import { partsOf, SEND_MESSAGES } from '../../command/feed/kafka/publisher.js';
import { selectNew } from '../../command/feed/kafka/new-messages.js';
import { encodeMessage, PARTITIONS, type SequencedMessage } from '../../command/feed/messages.js';
import { createSequencer, FEED_START, partitionsAfter, type PartitionPosition } from '../../command/feed/sequence.js';
import { feedHistory } from '../support/feed-history.js';

const START: PartitionPosition = { nextSeq: 0, position: 0, done: 0 };

function messagesOf(seed: number, length: number): readonly SequencedMessage[] {
  const sequencer = createSequencer(FEED_START);
  return feedHistory(seed, length).outcomes.flatMap((outcome) => sequencer.take(outcome));
}

function recordOf(message: SequencedMessage, offset: number): TopicRecord {
  const { value, headers } = encodeMessage(message);
  return { partition: message.partition, offset: String(offset), value, headers };
}

describe('kafka: what is new in a topic', () => {
  const all = messagesOf(11, 3_000);
  const ofPartition = (partition: number) => all.filter((message) => message.partition === partition);
  const [busy = 0] = Array.from({ length: PARTITIONS }, (_, partition) => partition).sort((a, b) => ofPartition(b).length - ofPartition(a).length);
  const own = ofPartition(busy);
  const next = own[0];
  const elsewhere = all.find(({ partition, message }) => partition !== busy && message.type === 'MarketOpened');

  it('is everything of a topic without faults', () => {
    assert.ok(own.length > 200);
    assert.deepEqual(selectNew(START, own.map(recordOf)), { messages: own, repeats: 0, unusable: [] });
  });

  it('is nothing of what was given before, and ends at the first gap', () => {
    const [at] = partitionsAfter([START], { messages: own.slice(0, 50).map((message) => ({ ...message, partition: 0 })) });
    assert.ok(at);
    const records = [...own.slice(0, 60), ...own.slice(65, 70)].map(recordOf);
    assert.deepEqual(selectNew(at, records), { messages: own.slice(50, 60), repeats: 50, unusable: [], gap: { from: 60, seq: 65 } });
  });

  it('is not what cannot be read, lies elsewhere, or goes backwards', () => {
    assert.ok(next !== undefined && elsewhere !== undefined);
    const good = recordOf(next, 4);
    const moved = encodeMessage({ ...elsewhere, partition: busy, seq: 0 });
    const records: TopicRecord[] = [
      { ...good, value: Buffer.from('{') }, { ...good, value: Buffer.from('[]') }, { ...good, value: Buffer.from('{"type":"FillMatched","v":2}') },
      { ...good, headers: {} }, { ...good, headers: { ...good.headers, seq: '1' } }, { ...good, headers: { ...good.headers, position: '123456' } },
      { ...good, headers: { ...good.headers, digest: `0x${'0'.repeat(64)}` } }, { ...good, value: moved.value, headers: moved.headers },
    ];
    const { messages, unusable, gap } = selectNew(START, [...records, good]);
    assert.deepEqual([messages, unusable.map(({ kind }) => kind), gap], [[next], [...Array<string>(7).fill('unreadable'), 'elsewhere'], undefined]);
    assert.match(unusable[0]?.what ?? '', /^offset 4 of partition \d: /);
    const later = { nextSeq: 0, position: next.message.position + 1, done: 0 };
    assert.deepEqual(selectNew(later, [good]).unusable.map(({ kind }) => kind), ['backwards']);
  });

  /** What several publishers leave in a partition that begin anywhere and die anywhere; some of it is lost or spoilt. */
  const topics = fc.record({
    runs: fc.array(fc.record({ from: fc.nat(own.length - 1), length: fc.integer({ min: 1, max: 80 }) }), { minLength: 1, maxLength: 12 }),
    lost: fc.array(fc.nat(400), { maxLength: 20 }), spoilt: fc.array(fc.nat(400), { maxLength: 20 }), batch: fc.integer({ min: 1, max: 60 }),
  });

  it('is the sequence, healed from the log, for random topics', () => {
    fc.assert(fc.property(topics, ({ runs, lost, spoilt, batch }) => {
      const records = runs.flatMap(({ from, length }) => own.slice(from, from + length)).map(recordOf)
        .map((record, i) => spoilt.includes(i) ? { ...record, value: Buffer.from('spoilt') } : record).filter((_, i) => !lost.includes(i));
      let at = START;
      const given: SequencedMessage[] = [];
      const give = (messages: readonly SequencedMessage[]): void => {
        given.push(...messages);
        for (const { seq, message: { position } } of messages) at = { nextSeq: seq + 1, position, done: 1 };
      };
      for (let from = 0; from < records.length; from += batch) {
        for (let rest = records.slice(from, from + batch); rest.length > 0;) {
          const selected = selectNew(at, rest);
          give(selected.messages);
          if (selected.gap === undefined) break;
          assert.ok(selected.gap.seq > at.nextSeq);
          give(own.slice(at.nextSeq, selected.gap.seq));
          rest = rest.slice(selected.gap.from);
        }
      }
      const readable = new Set(records.filter(({ value }) => value.toString() !== 'spoilt').map(({ headers }) => Number(headers['seq'])));
      assert.deepEqual(given, own.slice(0, Math.max(-1, ...readable) + 1));
    }));
  });

  it('is sent in parts, of which only the last reaches as far as all', () => {
    fc.assert(fc.property(fc.nat(own.length), fc.option(fc.nat(), { nil: undefined }), (length, reached) => {
      const batch = { messages: own.slice(0, length), ...reached === undefined ? {} : { reached } };
      const parts = partsOf(batch);
      assert.deepEqual(parts.flatMap(({ messages }) => messages), batch.messages);
      assert.ok(parts.every(({ messages }) => messages.length <= SEND_MESSAGES));
      assert.deepEqual(parts.map((part) => part.reached), [...parts.slice(1).map(() => undefined), reached]);
    }));
  });
});
