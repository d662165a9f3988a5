/** The canonical sequence of the fill feed, over random histories: what is in it, that it is dense, and that it goes on from anywhere. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PARTITIONS, type SequencedMessage } from '../../command/feed/messages.js';
import {
  FEED_START, createSequencer, least, partitionsAfter, type FeedPosition, type PartitionPosition, type PlacedOutcome,
} from '../../command/feed/sequence.js';
import { feedHistory } from '../support/feed-history.js';

const { outcomes } = feedHistory(1, 2_000);
const whole = sequenced(FEED_START, outcomes);

/** The messages of the outcomes from the position's least one on. */
function sequenced(from: FeedPosition, all: readonly PlacedOutcome[]): SequencedMessage[] {
  const sequencer = createSequencer(from);
  return all.slice(least(from.partitions)).flatMap((outcome) => sequencer.take(outcome));
}

const inPartition = (messages: readonly SequencedMessage[], partition: number) => messages.filter((each) => each.partition === partition);

describe('the fill feed\'s sequence', () => {
  it('has every event that settlement needs, in the history\'s order, and nothing else', () => {
    const chains = new Map(outcomes.flatMap(({ events }) => events.flatMap((event) => (
      event.type === 'MarketOpened' ? [[event.marketId, event.chainId] as const] : []))));
    const expected = outcomes.flatMap(({ position, at, events, digest }) => events.flatMap((event): unknown[] => {
      switch (event.type) {
        case 'MarketOpened': {
          const { type, marketId, chainId, contractAddress, maker, expiration, marketKind } = event;
          return [{ digest, message: { type, v: 1, position, at, marketId, chainId, contractAddress, maker, expiration, marketKind } }];
        }
        case 'FillMatched': case 'FillSettled': case 'FillFailed':
          return [{ digest, message: { ...event, position, at, chainId: chains.get(event.marketId) } }];
        case 'ChainAdvanced': return Array.from({ length: PARTITIONS }, () => ({ digest, message: { ...event, position, at } }));
        default: return [];
      }
    }));
    assert.deepEqual(whole.map(({ digest, message }) => ({ digest, message })), expected);
    const types = new Set(whole.map(({ message }) => message.type));
    assert.deepEqual([...types].sort(), ['ChainAdvanced', 'FillFailed', 'FillMatched', 'FillSettled', 'MarketOpened']);
  });

  it('is dense from 0 in each partition', () => {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const seqs = inPartition(whole, partition).map(({ seq }) => seq);
      assert.ok(seqs.length > 0);
      assert.deepEqual(seqs, seqs.map((_, i) => i));
    }
  });

  it('has all of a market in the partition of the last four bytes of its id, and each barrier once in every partition', () => {
    const barriers = new Map<string, number[]>();
    for (const { partition, message } of whole) {
      if ('marketId' in message) assert.equal(partition, Buffer.from(message.marketId.slice(2), 'hex').readUInt32BE(28) % 8);
      else barriers.set(`${message.chainId}:${message.block}`, [...barriers.get(`${message.chainId}:${message.block}`) ?? [], partition]);
    }
    assert.ok(barriers.size > 10);
    for (const partitions of barriers.values()) assert.deepEqual(partitions, [0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('does not change when it is made again', () => { assert.deepEqual(sequenced(FEED_START, outcomes), whole); });

  it('goes on from any place of any partition with the same messages', () => {
    const counts = Array.from({ length: PARTITIONS }, (_, partition) => inPartition(whole, partition).length);
    const given = fc.tuple(...counts.map((count) => fc.integer({ min: 0, max: count })));
    fc.assert(fc.property(given, fc.boolean(), (numbers, readOn) => {
      const from = positionAfter(whole.filter(({ partition, seq }) => seq < numbers[partition]!), { readOn });
      const rest = sequenced(from, outcomes);
      for (let partition = 0; partition < PARTITIONS; partition++) {
        assert.deepEqual(inPartition(rest, partition), inPartition(whole, partition).slice(numbers[partition]));
      }
    }), { numRuns: 30 });
  });

  it('goes on from where a sequencer has got to', () => {
    const sequencer = createSequencer(FEED_START);
    const cuts = [0, 1, 700, 701, 1_999];
    const first: SequencedMessage[] = [];
    for (const outcome of outcomes) {
      if (cuts.includes(outcome.position)) {
        const { partitions, markets } = sequencer.position();
        assert.deepEqual([...first, ...sequenced({ partitions, markets: new Map(markets) }, outcomes)], whole);
      }
      first.push(...sequencer.take(outcome));
    }
    assert.equal(least(sequencer.position().partitions), outcomes.length);
  });

  it('takes no outcome out of order, and no fill of a market that it has not seen open', () => {
    assert.throws(() => createSequencer(FEED_START).take(outcomes[1]!), /got outcome 1, expected 0/);
    const filled = outcomes.findIndex(({ events }) => events.some(({ type }) => type === 'FillMatched'));
    const partitions = FEED_START.partitions.map((at) => ({ ...at, position: filled }));
    assert.throws(() => createSequencer({ partitions, markets: new Map() }).take(outcomes[filled]!), /has not seen open/);
  });

  it('counts no message that is not its partition\'s next one', () => {
    const next = inPartition(whole, 3);
    const after = partitionsAfter(FEED_START.partitions, { messages: next.slice(0, 2) });
    for (const wrong of [next[1]!, next[3]!]) {
      assert.throws(() => partitionsAfter(after, { messages: [wrong] }), /gave message . of outcome \d+, expected 2/);
    }
    const back = { ...next[2]!, message: { ...next[2]!.message, position: next[1]!.message.position - 1 } };
    assert.throws(() => partitionsAfter(after, { messages: [back] }), /expected 2 of/);
    assert.throws(() => partitionsAfter(after, { messages: [{ ...next[2]!, partition: 8 }] }), /partitions 0 to 7, not 8/);
  });
});

/** Where a consumer has got to that was given these messages. With `readOn` it also knows of the outcomes without messages that follow. */
function positionAfter(given: readonly SequencedMessage[], { readOn }: { readonly readOn: boolean }): FeedPosition {
  const partitions = partitionsAfter(FEED_START.partitions, { messages: given });
  const markets = given.flatMap(({ message }) => message.type === 'MarketOpened' ? [[message.marketId, message.chainId] as const] : []);
  return { partitions: readOn ? partitions.map(readOnFrom) : partitions, markets: new Map(markets) };
}

function readOnFrom(at: PartitionPosition, partition: number): PartitionPosition {
  const next = inPartition(whole, partition)[at.nextSeq]?.message.position ?? outcomes.length;
  return next === at.position ? at : { nextSeq: at.nextSeq, position: next, done: 0 };
}
