/** The client's streams: connections that end, positions that bind, and gaps wherever it is not proven that nothing is missing. */
import assert from 'node:assert/strict';
import { connect, type Book, type Gap, type Message } from '../../client/src/client.js';
import { problem, scriptedFetch, stream, type Step } from '../support/scripted-fetch.js';

const MARKET = `0x${'4d'.repeat(32)}` as const;
const TRADES = `trades:${MARKET}`;
const BOOK = `book:${MARKET}`;

const trade = (position: number, previous: number, more?: true) => ({ channel: TRADES, position, previous, type: 'trade', at: 1, fill: position, ...more && { more } });
const snapshot = (position: number, size: number) => ({
  channel: BOOK, position, previous: position, type: 'snapshot', at: 1, yes: { bids: [{ price: 500_000, size }], asks: [] }, no: { bids: [], asks: [] },
});
const change = (position: number, previous: number, size: number, more?: true) => ({
  channel: BOOK, position, previous, type: 'change', at: 1, levels: [{ outcome: 0, side: 0, price: 500_000, size }], ...more && { more },
});
/** Messages as the exchange sends them: the last one of a position has the id. */
const sent = (...messages: { position: number; more?: true }[]) => messages.map((message) => (
  `${message.more === true ? '' : `id: ${message.position}\n`}data: ${JSON.stringify(message)}\n\n`)).join('');
const heartbeat = (position: number) => `: ${position}\nid: ${position}\n\n`;

const client = (...steps: readonly Step[]) => {
  const { fetch, asked } = scriptedFetch(...steps, 'silence');
  return { asked, client: connect({ url: 'http://exchange.test', fetch }) };
};

/** What a reader is told up to `count` messages: positions, and gaps. */
async function told(count: number, channels: readonly string[], steps: readonly Step[], from?: number) {
  const { client: reader, asked } = client(...steps);
  const seen: (number | Gap)[] = [];
  for await (const message of reader.watch(channels, from === undefined ? {} : { from })) {
    seen.push(message.type === 'gap' ? message : message.position);
    if (seen.length === count) break;
  }
  return { seen, lastIds: asked.map(({ headers }) => headers.get('Last-Event-ID')) };
}

describe('client: streams', () => {
  it('go on after the last id that they had, however a connection ends', async () => {
    const tooSlow = `data: ${JSON.stringify({ type: 'error', code: 'too_slow', error: 'read faster' })}\n\n`;
    const { seen, lastIds } = await told(4, [TRADES], [
      stream([heartbeat(10), sent(trade(12, 8))], { position: 10 }), problem(503, 'overloaded'), new TypeError('fetch failed'),
      stream([heartbeat(15), sent(trade(17, 12))], { then: 'end' }), stream([sent(trade(20, 17)), tooSlow]), stream([sent(trade(21, 20))]),
    ]);
    assert.deepEqual(seen, [12, 17, 20, 21]);
    assert.deepEqual(lastIds, [null, '12', '12', '12', '17', '20']);
  });

  it('tell the messages of a position together: a part of them is dropped, and comes again', async () => {
    const all = sent(trade(12, 8, true), trade(12, 12, true), trade(12, 12));
    const { seen, lastIds } = await told(4, [TRADES], [
      stream([heartbeat(10), all.slice(0, all.length / 2)], { position: 10 }), stream([all, sent(trade(13, 12))]),
    ]);
    assert.deepEqual(seen, [12, 12, 12, 13]);
    assert.deepEqual(lastIds, [null, '10']);
  });

  it('say that there is a gap where a message does not come after the one before', async () => {
    const { seen } = await told(3, [TRADES], [stream([heartbeat(10), sent(trade(12, 8)), sent(trade(20, 15))], { position: 10 })]);
    assert.deepEqual(seen, [12, { type: 'gap', channel: TRADES, after: 12, missing: 15 }, 20]);
  });

  it('say so where the first message comes after one that was not told', async () => {
    const { seen } = await told(2, [TRADES], [stream([heartbeat(10), sent(trade(12, 11))], { position: 10 })]);
    assert.deepEqual(seen, [{ type: 'gap', channel: TRADES, after: 10, missing: 11 }, 12]);
  });

  it('prove the whole history from its beginning, and from any position', async () => {
    assert.deepEqual((await told(2, [TRADES], [stream([sent(trade(3, -1), trade(5, 3))])], -1)).seen, [3, 5]);
    const { seen, lastIds } = await told(1, [TRADES], [stream([sent(trade(9, 5))])], 6);
    assert.deepEqual([seen, lastIds], [[9], ['6']]);
    assert.deepEqual((await told(2, [TRADES], [stream([sent(trade(9, 7))])], 6)).seen, [{ type: 'gap', channel: TRADES, after: 6, missing: 7 }, 9]);
  });

  it('begin anew, after a gap in every channel, where the connection broke before it had a place', async () => {
    const { seen, lastIds } = await told(3, [TRADES, 'markets'], [stream([], { position: 10 }), stream([heartbeat(14), sent(trade(16, 12))], { position: 14 })]);
    const gap = (channel: string) => ({ type: 'gap', channel, after: 10, missing: undefined });
    assert.deepEqual(seen, [gap(TRADES), gap('markets'), 16]);
    assert.deepEqual(lastIds, [null, null]);
  });

  it('do the same where the exchange does not know the place: it has another history', async () => {
    const { seen, lastIds } = await told(3, [TRADES], [
      stream([heartbeat(10), sent(trade(12, 8))], { position: 10 }), ...Array.from({ length: 4 }, () => problem(404, 'not_recorded_yet')),
      stream([heartbeat(4), sent(trade(6, 3))], { position: 4 }),
    ]);
    assert.deepEqual(seen, [12, { type: 'gap', channel: TRADES, after: 12, missing: undefined }, 6]);
    assert.deepEqual(lastIds, [null, ...Array.from({ length: 4 }, () => '12'), null]);
  });

  it('give a connection up on which nothing comes', async () => {
    const { client: reader, asked } = client(stream([heartbeat(10)], { then: 'stay', position: 10 }), stream([sent(trade(12, 8))]));
    const { value } = await reader.watch([TRADES], { silenceMs: 30 }).next() as { value: Message };
    assert.deepEqual([value.position, asked.length], [12, 2]);
  });

  it('end with what no waiting mends, and with the signal\'s reason', async () => {
    await assert.rejects(told(1, [TRADES], [problem(404, 'unknown_market')]), { name: 'Refusal', code: 'unknown_market' });
    await assert.rejects(told(1, [], []), { name: 'BadArgument', argument: 'channels' });
    const leaving = new AbortController();
    const { client: reader } = client(stream([heartbeat(10), sent(trade(12, 8))], { then: 'stay', position: 10 }));
    const messages = reader.watch([TRADES], { signal: leaving.signal });
    await messages.next();
    leaving.abort(new Error('enough'));
    await assert.rejects(messages.next(), /enough/);
  });

  it('read integers exactly', async () => {
    const large = sent(trade(2, -1)).replace('"fill":2', '"fill":2,"size":18446744073709551615');
    const { client: reader } = client(stream([heartbeat(1), large], { position: 1 }));
    const { value } = await reader.watch([TRADES]).next();
    assert.equal((value as Extract<Message, { type: 'trade' }>).size, 18_446_744_073_709_551_615n);
  });
});

describe('client: a book', () => {
  const sizes = async (count: number, steps: readonly Step[]) => {
    const { client: reader, asked } = client(...steps);
    const seen: [position: number, size: bigint | undefined][] = [];
    for await (const { position, yes: { bids } } of reader.book(MARKET) as AsyncIterable<Book>) {
      seen.push([position, bids[0]?.size]);
      if (seen.length === count) break;
    }
    return { seen, lastIds: asked.map(({ headers }) => headers.get('Last-Event-ID')) };
  };

  it('is told after each position, and goes on after a lost connection', async () => {
    const { seen, lastIds } = await sizes(4, [
      stream([sent(snapshot(10, 7)), heartbeat(11), sent(change(12, 10, 9, true), change(12, 12, 8))], { position: 11 }),
      stream([sent(change(15, 12, 0)), sent(change(16, 15, 3))]),
    ]);
    assert.deepEqual(seen, [[10, 7n], [12, 8n], [15, undefined], [16, 3n]]);
    assert.deepEqual(lastIds, [null, '12']);
  });

  it('begins anew with a snapshot where a change is missing', async () => {
    const { seen, lastIds } = await sizes(2, [
      stream([sent(snapshot(10, 7)), sent(change(20, 15, 9))], { position: 10 }), stream([sent(snapshot(20, 9))], { position: 20 }),
    ]);
    assert.deepEqual(seen, [[10, 7n], [20, 9n]]);
    assert.deepEqual(lastIds, [null, null]);
  });

  it('sorts its levels, the best first', async () => {
    const of = (...prices: number[]) => prices.map((price) => ({ price, size: 1 }));
    const whole = { ...snapshot(10, 1), yes: { bids: of(3, 5, 4), asks: of(9, 7, 8) }, no: { bids: [], asks: of(2, 1) } };
    const { client: reader } = client(stream([sent(whole)], { position: 10 }));
    const { value: book } = await reader.book(MARKET).next() as { value: Book };
    const prices = (levels: Book['yes']['bids']) => levels.map(({ price }) => Number(price));
    assert.deepEqual([book.yes.bids, book.yes.asks, book.no.bids, book.no.asks].map(prices), [[5, 4, 3], [7, 8, 9], [], [1, 2]]);
  });
});
