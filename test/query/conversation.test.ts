/** The conversation of a WebSocket: one request after the other, and none before the answer to the one before was taken. */
import assert from 'node:assert/strict';
import type { Wanted } from '../../query/streams/catch-up.js';
import { createBacklog } from '../../query/streams/backlog.js';
import { createConversation } from '../../query/streams/conversation.js';
import { frames } from '../../query/streams/message.js';
import { createStreamReader } from '../../query/streams/stream-reader.js';
import { textsIn } from '../support/frames.js';
import { turnsUntil } from '../support/until.js';

/** Subscriptions that begin at once, at position 7. */
function scene() {
  const reader = createStreamReader({ form: frames, cutOff: () => undefined, ended: () => undefined, backlog: createBacklog() });
  const wanted: string[][] = [];
  const subscribed = new Set<string>();
  const conversation = createConversation({
    connection: {
      reader,
      subscriptions: {
        has: ({ name }) => subscribed.has(name), size: () => subscribed.size, room: () => Promise.resolve(),
        drop: (channels) => { for (const { name } of channels) subscribed.delete(name); },
        begin: () => Promise.reject(new Error('not asked for')), isCatchingUp: () => false, next: () => Promise.resolve(undefined), leave: () => undefined,
      },
      subscribe({ channels, begun }: Wanted) {
        wanted.push(channels.map(({ name }) => name));
        for (const { name } of channels) subscribed.add(name);
        begun?.({ position: 7, first: undefined, deliveries: none(), drop: () => undefined, leave: () => undefined });
        return Promise.resolve(7);
      },
    },
    signal: new AbortController().signal, onError: (error) => { throw error; },
  });
  const ask = (request: object) => { conversation.hear(Buffer.from(JSON.stringify(request))); };
  const answer = async () => {
    const { value } = await reader.next() as { value: Buffer };
    return textsIn(value).map((text) => JSON.parse(text) as unknown)[0];
  };
  return { reader, wanted, conversation, ask, answer };
}

// eslint-disable-next-line @typescript-eslint/no-empty-function -- nothing is to be had from the log
async function* none() {}

describe('query: a conversation by WebSocket', () => {
  it('carries out a request when the answer before has been taken, and answers in the order of the requests', async () => {
    const { reader, wanted, ask, answer } = scene();
    for (const asset of ['A', 'B', 'C']) ask({ type: 'subscribe', channels: [`prices:${asset}`] });
    ask({ type: 'unsubscribe', channels: ['prices:B'] });
    await turnsUntil('the first one is carried out', () => reader.isWaiting());
    for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
    assert.deepEqual(wanted, [['prices:A']]);
    for (const asset of ['A', 'B', 'C']) assert.deepEqual(await answer(), { type: 'subscribed', channels: [`prices:${asset}`], position: 7 });
    assert.deepEqual(await answer(), { type: 'unsubscribed', channels: ['prices:B'] });
    assert.deepEqual(wanted, [['prices:A'], ['prices:B'], ['prices:C']]);
  });

  it('ends when too many requests wait', async () => {
    const { wanted, conversation, ask, answer } = scene();
    for (let n = 0; n <= 101; n++) ask({ type: 'subscribe', channels: [`prices:A${n}`] });
    const why = { code: 'rate_limited', text: 'at most 100 messages whose answers were not read' };
    assert.deepEqual(conversation.ending(), why);
    assert.deepEqual(await answer(), { type: 'error', code: why.code, error: why.text });
    ask({ type: 'subscribe', channels: ['markets'] });
    assert.ok(wanted.length <= 1);
  });
});
