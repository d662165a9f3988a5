/** The fill feed's messages as bytes and headers: they come back whole, and what does not belong together is refused. */
import assert from 'node:assert/strict';
import { decodeMessage, encodeMessage, type ReceivedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { feedHistory } from '../support/feed-history.js';

const sequencer = createSequencer(FEED_START);
const messages = feedHistory(2, 1_000).outcomes.flatMap((outcome) => sequencer.take(outcome));
const fill = messages.find(({ message }) => message.type === 'FillMatched')!;

/** The message as it arrives, with something changed. */
function received(changed: Partial<ReceivedMessage> = {}, headers: ReceivedMessage['headers'] = {}): ReceivedMessage {
  const encoded = encodeMessage(fill);
  return { partition: fill.partition, value: encoded.value, ...changed, headers: { ...encoded.headers, ...headers } };
}

const textOf = (change: (text: string) => string) => Buffer.from(change(encodeMessage(fill).value.toString()));

describe('the fill feed\'s messages', () => {
  it('come back from their bytes as they were, whether headers are text or bytes', () => {
    for (const each of messages) {
      const { value, headers } = encodeMessage(each);
      const bytes = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)]));
      assert.deepEqual(decodeMessage({ partition: each.partition, value, headers }), each);
      assert.deepEqual(decodeMessage({ partition: each.partition, value, headers: bytes }), each);
    }
  });

  it('have an id each, and a market\'s id as key', () => {
    assert.equal(new Set(messages.map((each) => encodeMessage(each).headers['event-id'])).size, messages.length);
    const { key, headers } = encodeMessage(fill);
    const { message } = fill;
    assert.ok(message.type === 'FillMatched');
    assert.equal(key, message.marketId);
    assert.deepEqual({ ...headers, 'event-id': undefined }, {
      'event-id': undefined, 'seq': String(fill.seq), 'position': String(message.position), 'digest': fill.digest, 'schema': 'FillMatched/1',
      'fill': String(message.fill),
    });
    assert.match(headers['event-id'] ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const barrier = messages.find((each) => each.message.type === 'ChainAdvanced')!;
    assert.equal(encodeMessage(barrier).key, null);
    assert.equal(encodeMessage(barrier).headers['fill'], undefined);
  });

  it('are refused in another partition, with another number, digest or id', () => {
    assert.throws(() => decodeMessage(received({ partition: (fill.partition + 1) % 8 })), /do not belong together/);
    for (const headers of [{ seq: String(fill.seq + 1) }, { digest: `0x${'0'.repeat(64)}` }, { 'event-id': 'x' }, { seq: '-1' }, { seq: 'a' }]) {
      assert.throws(() => decodeMessage(received({}, headers)), /do not belong together/);
    }
    assert.throws(() => decodeMessage(received({}, { position: '0' })), /two positions/);
    assert.throws(() => decodeMessage(received({}, { seq: undefined })), /no header seq/);
  });

  it('are refused when this program does not know them, or they are malformed', () => {
    assert.throws(() => decodeMessage(received({ value: textOf((text) => text.replace('FillMatched', 'FillDoubled')) })), /unknown kind of record/);
    assert.throws(() => decodeMessage(received({ value: textOf((text) => text.replace('"v":1', '"v":2')) })), /has version 2/);
    assert.throws(() => decodeMessage(received({ value: textOf((text) => text.replace('"size":"', '"size":"x')) })), /FillMatched is malformed/);
    assert.throws(() => decodeMessage(received({ value: Buffer.from('no') })), /is not JSON/);
    assert.throws(() => decodeMessage(received({ value: Buffer.from('7') })), /one JSON object/);
    assert.throws(() => encodeMessage({ ...fill, message: { ...fill.message, at: -1 } }), /FillMatched is malformed/);
  });
});
