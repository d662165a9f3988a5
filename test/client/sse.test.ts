/** The client's server-sent events: the same ones however the bytes are cut. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EventParser } from '../../client/src/sse.js';

const TEXT = [
  '\uFEFFretry: 2000\n\n', 'id: 7\ndata: {"a":1}\n\n', ': 9\nid: 9\n\n', 'data: first\r\ndata: second\r\n\r\n', 'event: other\rdata\rid: 12\r\r', ':\n\n', 'data:no space\n\n',
  'id: 3\0\ndata: x\n\n', 'data: not complete',
].join('');
const EVENTS = [
  { id: '7', data: '{"a":1}' }, { id: '9', data: undefined }, { id: '9', data: 'first\nsecond' }, { id: '12', data: '' }, { id: '12', data: 'no space' }, { id: '12', data: 'x' },
];

describe('client: server-sent events', () => {
  it('come with the last id, which a comment can set, and only once they are complete', () => {
    assert.deepEqual(new EventParser().take(TEXT), EVENTS);
  });

  it('are the same wherever the text is cut', () => {
    fc.assert(fc.property(fc.array(fc.nat(TEXT.length), { maxLength: 20 }), (cuts) => {
      const parser = new EventParser();
      const places = [0, ...cuts.sort((a, b) => a - b), TEXT.length];
      const events = places.slice(1).flatMap((end, i) => parser.take(TEXT.slice(places[i], end)));
      assert.deepEqual(events, EVENTS);
    }));
  });
});
