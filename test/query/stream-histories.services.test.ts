/** The streams over random histories: from every position, the same messages as in a fold of the whole history; snapshots, and the hub. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Log } from '../../engine/log/log.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { openReadModels, type Database } from '../../query/database.js';
import { orderbook } from '../../query/orders/orderbook.js';
import { beginAt, catchUpParts, type Wanted } from '../../query/streams/catch-up.js';
import { channelsOf, type Channel } from '../../query/streams/channel.js';
import { createChannels, emptyOpening } from '../../query/streams/channels.js';
import { createHub, type Reader } from '../../query/streams/hub.js';
import { messageSchemas } from '../../query/streams/message-fields.js';
import { openWebSocket } from '../../query/streams/open-web-socket.js';
import { createStreams } from '../../query/streams/streams.js';
import { createPlaces } from '../../query/places.js';
import { testDatabase } from '../support/postgres.js';
import { textsIn } from '../support/frames.js';
import { appendOutcomes, logOf, projectTo, randomOutcomes } from '../support/projected.js';
import { traderAddress } from '../support/random-commands.js';
import { removeOnce, settledAfter } from '../support/removed-history.js';
import { startShell } from '../support/shell.js';
import { connectSocket } from '../support/socket-client.js';

/** A longer search: STREAM_SEEDS=20 STREAM_LENGTH=2000. */
const SEEDS = Number(process.env['STREAM_SEEDS'] ?? 2);
const LENGTH = Number(process.env['STREAM_LENGTH'] ?? 400);
/** As each connection has one of its own. */
const ownSignal = () => new AbortController().signal;

interface Told {
  readonly channel: string;
  readonly position: number;
  readonly previous: number;
  readonly type: string;
  readonly more?: boolean;
}

describe('query: streams of random histories', () => {
  for (let seed = 1; seed <= SEEDS; seed++) describe(`seed ${seed}`, () => {
    let outcomes: CommandOutcome[];
    let channels: Channel[];
    let all: string[];
    let log: Log;
    let db: Database;
    let drop: () => Promise<void>;

    before(async () => {
      outcomes = randomOutcomes(seed, LENGTH);
      channels = channelsIn(outcomes);
      all = toldBy(outcomes, channels);
      log = await logOf(outcomes);
      const database = await testDatabase();
      await projectTo(outcomes.length, { url: database.url, log });
      db = await openReadModels({ url: database.url });
      drop = async () => {
        await db.close();
        await database.drop();
      };
    });
    after(() => drop());

    const messages = async (wanted: Omit<Wanted, 'signal'>, of = { log, db }): Promise<string[]> => {
      const hub = createHub({ log: of.log, onError: (error) => { throw error; } });
      const texts: string[] = [];
      const reader = collector(texts);
      const parts = catchUpParts({ hub, ...of });
      try {
        const { first, deliveries, leave } = await beginAt(parts, { ...wanted, signal: ownSignal() }, reader);
        if (first !== undefined) reader.take(first);
        for await (const delivery of deliveries) reader.take(delivery);
        leave();
      } finally {
        await hub.close();
      }
      return texts;
    };

    it('have messages of every type, each with the position of the one before', () => {
      const told = all.map((text) => JSON.parse(text) as Told);
      const last = new Map<string, number>();
      for (const { channel, position, previous } of told) {
        assert.equal(previous, last.get(channel) ?? -1);
        last.set(channel, position);
      }
      assert.deepEqual([...new Set(told.map(({ channel, type }) => `${channel.split(':')[0]} ${type}`))].sort(), TYPES);
    });

    it('have what the API documents say, and nothing else', async () => {
      const snapshots = await Promise.all(channels.map((channel) => messages({ channels: [channel], from: undefined })));
      for (const text of [...all, ...await messages({ channels, from: -1 }), ...snapshots.flat()]) {
        const told = JSON.parse(text) as Told;
        const schema = schemas.get(told.channel.replace(/:.*/, '') + told.type);
        assert.ok(schema?.(told), `${text}: ${JSON.stringify(schema?.errors)}`);
      }
    });

    it('are the same from the beginning', async () => {
      assert.deepEqual(withoutMore(await messages({ channels, from: -1 })), all);
    });

    it('are the same after every position', async () => {
      for (let from = 0; from < outcomes.length; from += SEEDS > 2 ? 1 : 3) {
        const own = channels.filter((_, i) => (i + from) % 3 === 0);
        assert.deepEqual(withoutMore(await messages({ channels: own, from })), messagesAfter(all, from, namesOf(own)), `after ${from}`);
      }
    });

    it('are the same by WebSocket, after every position, whatever else the connection has', async () => {
      const streams = createStreams({
        log, db, places: createPlaces('streams', { streams: 10, perAddress: 0 }), assets: ['BTC', 'ETH'], onError: (error) => { throw error; },
      });
      const shell = await startShell({ handlers: { openWebSocket: openWebSocket.serve({ streams }) } });
      for (let from = -1; from < outcomes.length; from += SEEDS > 2 ? 1 : 3) {
        const client = await connectSocket({ port: shell.port });
        const parts = [0, 1, 2].map((part) => ({
          from: Math.min(from + part, outcomes.length - 1), names: namesOf(channels.filter((_, i) => (i + from + 1) % 4 === part)),
        }));
        for (const part of parts) client.ask({ type: 'subscribe', channels: [...part.names], from: part.from });
        await client.until(() => client.answers.length === 3 && client.isAtPresent());
        client.leave();
        for (const part of parts) {
          const told = client.data.filter((text) => part.names.has(read(text).channel));
          assert.deepEqual(withoutMore(told), messagesAfter(all, part.from, part.names), `after ${part.from}`);
        }
      }
      await streams.close();
      await shell.stop();
    });

    it('are the same after every position that is kept where old history is removed, and refused after earlier ones', async () => {
      const settled = settledAfter(outcomes, 30);
      const told = toldBy(settled, channels);
      const { url } = await testDatabase();
      const settledLog = await logOf(settled);
      await projectTo(settled.length, { url, log: settledLog });
      const of = { log: settledLog, db: await openReadModels({ url }) };
      const { horizon } = await removeOnce({ url, log: of.log, keepMs: 15_000 });
      assert.ok(horizon.position > LENGTH / 5, JSON.stringify(horizon));
      if (seed === 1) assert.ok(horizon.fill > 10, 'hardly a fill goes');
      assert.deepEqual(withoutMore(await messages({ channels, from: -1 }, of)), told);
      await assert.rejects(messages({ channels, from: horizon.position - 1 }, of), { code: 'history_removed' });
      for (let from = horizon.position; from < settled.length; from += SEEDS > 2 ? 1 : 3) {
        const own = channels.filter((_, i) => (i + from) % 3 === 0);
        assert.deepEqual(withoutMore(await messages({ channels: own, from }, of)), messagesAfter(told, from, namesOf(own)), `after ${from}`);
      }
      await of.db.close();
    });

    it('begin with the book that is read at the same position', async () => {
      for (const channel of channels) {
        if (channel.kind !== 'book') continue;
        const [text = ''] = await messages({ channels: [channel], from: undefined });
        const { yes, no } = JSON.parse((await orderbook(db, channel)).body) as Record<string, unknown>;
        const told = JSON.parse(text) as Record<string, unknown>;
        assert.deepEqual({ type: told['type'], yes: told['yes'], no: told['no'] }, { type: 'snapshot', yes, no });
        assert.equal(told['position'], last(all, channel.name));
        assert.equal(told['previous'], told['position']);
      }
    });

    it('go on from the log to what comes, wherever a reader joins', async () => {
      const growing = await logOf(outcomes.slice(0, LENGTH / 2));
      const hub = createHub({ log: growing, onError: (error) => { throw error; } });
      const parts = catchUpParts({ hub, log: growing, db });
      const readers: { readonly from: number; readonly own: readonly Channel[]; readonly texts: string[]; leave(): void }[] = [];
      for (let end = LENGTH / 2; end < LENGTH; end += 7) {
        const from = end % 2 === 0 ? end - 1 - end % 31 : -1;
        const own = channels.filter((_, i) => (i + end) % 3 !== 0);
        const texts: string[] = [];
        const reader = collector(texts);
        const { first, deliveries, leave } = await beginAt(parts, { channels: own, from, signal: ownSignal() }, reader);
        if (first !== undefined) reader.take(first);
        const read = (async () => { for await (const delivery of deliveries) reader.take(delivery); })();
        // While the reader comes nearer, the log grows.
        await appendOutcomes(growing, outcomes.slice(end, end + 7));
        // The read models know the end already, so nobody joins before it.
        readers.push({ from, own, texts, leave });
        pending.push(read);
      }
      await Promise.all(pending.splice(0));
      await hub.reached(LENGTH - 1, 10_000);
      for (const { from, own, texts, leave } of readers) {
        assert.deepEqual(withoutMore(texts), messagesAfter(all, from, namesOf(own)), `after ${from}`);
        leave();
      }
      await hub.close();
    });
    const pending: Promise<void>[] = [];

    it('are the same for who comes back while the hub has them, which asks nobody', async () => {
      const growing = await logOf(outcomes.slice(0, LENGTH / 2));
      const hub = createHub({ log: growing, onError: (error) => { throw error; } });
      const parts = catchUpParts({ hub, log: growing, db });
      const first = await beginAt(parts, { channels, from: -1, signal: ownSignal() }, collector([]));
      for await (const { messages: some } of first.deliveries) assert.ok(some.length > 0);
      await appendOutcomes(growing, outcomes.slice(LENGTH / 2));
      await hub.reached(LENGTH - 1, 10_000);
      const nobody = { rows: () => assert.fail(), position: () => assert.fail(), waitForPosition: () => assert.fail() };
      for (let from = LENGTH / 2 - 1; from < LENGTH; from += SEEDS > 2 ? 1 : 3) {
        const own = channels.filter((_, i) => (i + from) % 3 !== 0);
        const names = new Set(own.map(({ name }) => name));
        const texts: string[] = [];
        const reader = collector(texts);
        const back = await beginAt({ ...parts, db: nobody }, { channels: own, from, signal: ownSignal() }, reader);
        if (back.first !== undefined) reader.take(back.first);
        assert.deepEqual(withoutMore(texts), all.filter((text) => {
          const { channel, position } = read(text);
          return names.has(channel) && position > from;
        }), `after ${from}`);
        back.leave();
      }
      first.leave();
      await hub.close();
    });

    it('say with each message whether the position has another one', async () => {
      const told = (await messages({ channels, from: -1 })).map((text) => JSON.parse(text) as Told);
      for (const [i, { position, more = false }] of told.entries()) assert.equal(more, told[i + 1]?.position === position);
      assert.ok(told.some(({ more }) => more));
    });
  });
});

const TYPES = [
  'book change', 'markets disputed', 'markets expired', 'markets halved', 'markets opened', 'markets proposed', 'markets rejected', 'markets resolved',
  'orders accepted', 'orders cancelled', 'orders failed', 'orders filled', 'orders reduced', 'orders reinstated', 'orders settled',
  'prices price', 'trades settlement', 'trades trade',
];

/** Of each message, by the kind of its channel and its type; without further fields. */
const ajv = new Ajv2020({ strict: false });
const schemas = new Map(Object.entries(messageSchemas).flatMap(([kind, each]) => each.map((schema) => {
  const { type } = schema.properties as unknown as { readonly type: { readonly const: string } };
  return [kind + type.const, ajv.compile({ ...schema, additionalProperties: false })] as const;
})));

function channelsIn(outcomes: readonly CommandOutcome[]): Channel[] {
  const markets = outcomes.flatMap(({ events }) => events.flatMap((event) => event.type === 'MarketOpened' ? [event.marketId] : [])).slice(0, 6);
  return channelsOf([
    ...markets.flatMap((market) => [`book:${market}`, `trades:${market}`]), ...[0, 1, 2].map((n) => `orders:${traderAddress(n)}`),
    'prices:BTC', 'prices:ETH', 'markets',
  ]);
}

/** The messages of all outcomes. */
function toldBy(outcomes: readonly CommandOutcome[], channels: readonly Channel[]): string[] {
  const fold = createChannels();
  for (const channel of channels) fold.add(channel, emptyOpening(channel));
  return outcomes.flatMap((outcome, position) => fold.fold(position, outcome).map((message) => message.json(false)));
}

function collector(texts: string[]): Reader {
  return {
    take: ({ frames }) => { texts.push(...textsIn(frames)); },
    beat: () => undefined,
    end: ({ text }) => { throw new Error(text); },
  };
}

function namesOf(channels: readonly Channel[]): ReadonlySet<string> {
  return new Set(channels.map(({ name }) => name));
}

/** Those of the channels after a position. */
function messagesAfter(all: readonly string[], from: number, names: ReadonlySet<string>): string[] {
  return all.filter((text) => {
    const { channel, position } = read(text);
    return names.has(channel) && position > from;
  });
}

/** Messages that were read before: each test compares the same ones at hundreds of positions. */
const known = new Map<string, Told>();

function read(text: string): Told {
  let told = known.get(text);
  if (told === undefined) known.set(text, told = JSON.parse(text) as Told);
  return told;
}

function withoutMore(texts: readonly string[]): string[] {
  return texts.map((text) => text.replace(/,"more":true\}$/, '}'));
}

function last(texts: readonly string[], channel: string): number {
  return texts.map((text) => JSON.parse(text) as Told).findLast((each) => each.channel === channel)?.position ?? -1;
}
