/** The streams with thousands of readers: what they cost when all come back, what slow ones hold, who waits for whom. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { Log } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { createBell } from '../../engine/waiting.js';
import { createPlaces } from '../../query/places.js';
import { channelsOf } from '../../query/streams/channel.js';
import { createHub, type Hub, type Reader } from '../../query/streams/hub.js';
import { createStreams, type StreamOptions, type Streams } from '../../query/streams/streams.js';
import { emptyOpening } from '../../query/streams/channels.js';
import type { Sink, Source } from '../../service/api/endpoint.js';
import { addressOf, answeringModels, appendOrders, MARKET } from '../support/stream-scene.js';
import { turnsUntil } from '../support/until.js';

const BOOK = `book:${MARKET}`;
const READERS = 2_000;

/** A reader as the shell has one: asks for pieces until they flow. `takes`: false when it takes no more. */
class Client {
  readonly pieces: Uint8Array[] = [];
  isOver = false;
  private known = '';
  private read = 0;
  private go: (() => void) | undefined;

  constructor(private readonly source: Source, public takes = true) { void this.ask(); }

  get text(): string {
    if (this.read < this.pieces.length) this.known += Buffer.concat(this.pieces.slice(this.read)).toString();
    this.read = this.pieces.length;
    return this.known;
  }

  get positions(): number[] {
    return [...this.text.matchAll(/"position":(\d+)/g)].map(([, position]) => Number(position));
  }

  get lastId(): number { return Number([...this.text.matchAll(/^id: (-?\d+)$/gm)].at(-1)?.[1] ?? -1); }

  resume(): void {
    this.takes = true;
    const { go } = this;
    this.go = undefined;
    go?.();
  }

  leave(): void { void this.source.return?.(); }

  private async ask(): Promise<void> {
    const sink: Sink = {
      write: (piece) => {
        this.pieces.push(piece);
        return this.takes;
      },
      onDrain: (call) => { this.go = call; },
      end: () => { this.isOver = true; },
    };
    while (this.source.flow?.(sink) !== true) {
      const { done, value } = await this.source.next();
      if (done === true) return;
      this.pieces.push(value as Uint8Array);
      if (!this.takes) await new Promise<void>((resolve) => { this.go = resolve; });
    }
  }
}

describe('query: streams under load', () => {
  let log: Log;
  let asked: string[];
  let streams: Streams;
  const beats = createBell();
  const clients: Client[] = [];

  beforeEach(async () => {
    log = createMemoryLog();
    asked = [];
    await appendOrders(log, 20);
    start();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.leave();
    await streams.close();
  });

  const untilBeat = async (_ms: number, stop?: AbortSignal) => { await beats.wait(stop!, 3_600_000); };
  /** The log as the streams have it, with its reads counted. */
  const counted = (): Log => ({
    ...log,
    read: (...range) => {
      asked.push('log.read');
      return log.read(...range);
    },
    length: (stream) => {
      asked.push('log.length');
      return log.length(stream);
    },
  });
  const start = (options: Partial<StreamOptions> = {}): void => {
    streams = createStreams({
      log: counted(), db: answeringModels(log, (name) => { asked.push(name); }), assets: [], stallMs: 3_600_000,
      places: createPlaces('streams', { streams: 10_000, perAddress: 0 }), onError: (error) => { throw error; },
      pause: untilBeat, ...options,
    });
  };
  const open = async (channels: string, from?: number, takes = true): Promise<Client> => {
    const query = { channels: channelsOf(channels.split(',')), from };
    const { stream } = await streams.follow(query, { ip: '127.0.0.1', signal: new AbortController().signal });
    const client = new Client(stream[Symbol.asyncIterator](), takes);
    clients.push(client);
    return client;
  };
  const openAll = (count: number, channels: string, from?: number) => (
    Promise.all(Array.from({ length: count }, () => open(channels, from))));
  /** Looks at each reader until it has the position, and then no more: thousands are read at every turn else. */
  const untilAll = async (all: readonly Client[], position: number) => {
    let having = 0;
    await turnsUntil(`all have ${position}`, () => {
      while (all[having]?.text.includes(`"position":${position},`) === true) having++;
      return having === all.length;
    });
  };

  it('cost no query when all readers come back after a proxy has restarted, and get the same bytes', async () => {
    const before = await openAll(READERS, BOOK);
    await untilAll(before, await appendOrders(log, 5));
    const last = before[0]!.lastId;
    for (const client of before) client.leave();
    assert.equal(streams.open(), 0);
    const meanwhile = await appendOrders(log, 10);
    await setImmediate();
    asked = [];
    const back = await openAll(READERS, BOOK, last);
    const end = await appendOrders(log, 1);
    await untilAll(back, end);
    assert.deepEqual(asked, []);
    assert.deepEqual(back[0]!.positions, Array.from({ length: end - last }, (_, n) => last + 1 + n));
    assert.equal(meanwhile, end - 1);
    assert.ok(back.every(({ text }) => text === back[0]!.text));
    // What waits in sockets for thousands is one buffer.
    assert.ok(back.every(({ pieces }) => pieces.at(-1) === back[0]!.pieces.at(-1)));
  });

  it('look a channel up once for each position when all come back after the process has restarted', async () => {
    const end = await appendOrders(log, 10);
    const [first] = await Promise.all([25, 27].map((from) => openAll(READERS / 2, BOOK, from)));
    await untilAll(clients, await appendOrders(log, 1));
    assert.deepEqual(first![0]!.positions, Array.from({ length: end + 1 - 25 }, (_, n) => 26 + n));
    const counts = new Map(asked.map((name) => [name, asked.filter((each) => each === name).length]));
    const told = JSON.stringify([...counts]);
    assert.equal(counts.get('past_book'), 2, told);
    assert.ok(counts.get('log.read')! <= 10, told);
  });

  it('keep a bounded number of messages and of channels for those who may come back', async () => {
    const hub = createHub({
      log, onError: (error) => { throw error; }, recent: { messages: 500, bytes: 100_000 }, pause: untilBeat,
    });
    await hub.start();
    const leaves = accounts(0).map((channel) => hub.join([channel], silent, emptyOpening));
    const position = await log.length('outcomes');
    for (let n = 0; n < 1_000; n++) await appendOrders(log, 3, n % 50);
    await hub.reached(position + 2_999, 60_000);
    const { messages, bytes } = hub.kept();
    assert.ok(messages > 100 && messages <= 500 && bytes > 20_000 && bytes <= 100_000, JSON.stringify(hub.kept()));
    for (const leave of leaves) leave();
    // Each time others.
    for (let n = 50; n < 3_000; n += 50) {
      for (const channel of accounts(n)) hub.join([channel], silent, emptyOpening)();
      assert.ok(hub.kept().channels <= 1_000);
    }
    assert.ok(hub.kept().channels >= 900);
    await untilForgotten(hub);
    assert.deepEqual(hub.kept(), { messages: 0, bytes: 0, channels: 0 });
    await hub.close();
  });

  /** The channels of 50 traders. */
  const accounts = (first: number) => (
    channelsOf(Array.from({ length: 50 }, (_, n) => `orders:${addressOf(first + n)}`)));
  const untilForgotten = (hub: Hub) => turnsUntil('all is forgotten', () => {
    beats.ring();
    return hub.kept().channels === 0;
  });

  it('hold no more for 5,000 who do not read than all may leave, and cut off who has left the most', async () => {
    await streams.close();
    const bytesOfAll = 2_000_000;
    start({ bytesOfAll });
    // Each with channels of its own, so that what waits for one is not what waits for another.
    const readers = await Promise.all(Array.from({ length: 5_000 }, (_, n) => open(`${BOOK},orders:${addressOf(n)}`)));
    const [reading] = readers as [Client];
    await turnsUntil('all are at the present', () => readers.every(({ pieces }) => pieces.length > 1));
    for (const client of readers.slice(1)) client.takes = false;
    for (let n = 0; n < 10; n++) {
      const end = await appendOrders(log, 20);
      await turnsUntil('who reads has it', () => reading.lastId === end);
      assert.ok(streams.waiting() <= bytesOfAll, `${streams.waiting()} bytes wait`);
    }
    assert.ok(streams.waiting() > bytesOfAll / 2);
    assert.ok(streams.cutOff() > 1_000 && streams.cutOff() < 5_000);
    for (const client of readers) client.resume();
    const ended = () => readers.filter(({ isOver }) => isOver);
    await turnsUntil('those who were cut off have ended', () => ended().length === streams.cutOff());
    assert.ok(ended().every(({ text }) => text.endsWith('connect again, with the last position"}\n\n')));
    assert.equal(streams.waiting(), 0);
    assert.equal(reading.isOver, false);
  });

  it('let a limited number of readers be on their way from the past, and the others wait', async () => {
    await appendOrders(log, 500);
    const opening = Array.from({ length: 300 }, () => open(BOOK, -1, false));
    await turnsUntil('as many as may have begun', () => clients.length === 256);
    for (let n = 0; n < 100; n++) await setImmediate();
    assert.equal(clients.length, 256);
    // Those who arrive make way for the others.
    await turnsUntil('all have begun', () => {
      for (const client of clients) client.resume();
      return clients.length === 300;
    });
    await Promise.all(opening);
    for (const client of clients) client.resume();
    await untilAll(clients, await appendOrders(log, 1));
  });

  it('read the log once for readers of the past who are at the same place', async () => {
    const end = await appendOrders(log, 980);
    asked = [];
    const readers = await openAll(100, BOOK, -1);
    await untilAll(readers, end);
    for (const { positions } of readers) assert.deepEqual(positions, Array.from({ length: end + 1 }, (_, n) => n));
    assert.ok(asked.filter((name) => name === 'log.read').length <= 100, `${asked.length} reads`);
  });

  it('give live readers what comes before those who replay have more than a few slices', async () => {
    for (let n = 0; n < 20; n++) await appendOrders(log, 1_000);
    const live = await open(BOOK);
    await turnsUntil('it lives', () => live.pieces.length > 0);
    const replaying = await openAll(20, BOOK, -1);
    await turnsUntil('they are on their way', () => replaying.every(({ pieces }) => pieces.length > 2));
    const slices = () => replaying.reduce((sum, { pieces }) => sum + pieces.length, 0);
    for (let n = 0; n < 20; n++) {
      const before = slices();
      const end = await appendOrders(log, 1);
      await turnsUntil('it has it', () => live.lastId === end);
      assert.ok(slices() - before <= 10, `${slices() - before} slices`);
    }
    assert.ok(replaying.every(({ lastId }) => lastId < 20_000), 'they were still on their way');
  });
});

const silent: Reader = { take: () => undefined, beat: () => undefined, end: () => undefined };
