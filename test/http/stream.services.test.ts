/** `GET /stream` over HTTP and real read models: what a reader keeps from it alone, through lost connections and restarts, and hostile clients. */
import assert from 'node:assert/strict';
import pg from 'pg';
import type { Log } from '../../engine/log/log.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { openReadModels } from '../../query/database.js';
import { createPlaces } from '../../query/places.js';
import type { StreamOptions, Streams } from '../../query/streams/streams.js';
import { closeServer } from '../../service/http/server.js';
import { testDatabase } from '../support/postgres.js';
import { logOf, outcomesOf, randomOutcomes, startWorker } from '../support/projected.js';
import { createDice, traderAddress } from '../support/random-commands.js';
import type { RunningShell } from '../support/shell.js';
import { followBySocket, type Follower } from '../support/socket-client.js';
import { connectStream, createKeeper, type Connecting, type Kept } from '../support/stream-client.js';
import { AT, cancel, hash, opened, rest, streamWorld, type StreamWorld } from '../support/stream-world.js';
import { until } from '../support/until.js';

const SEED = Number(process.env['STREAM_SEED'] ?? 3);

describe('service: the stream', () => {
  let world: StreamWorld;
  let streams: Streams;
  let shell: RunningShell;
  let stop: () => Promise<void>;
  const clients: { leave(): void }[] = [];

  before(async () => { world = await streamWorld(); });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.leave();
    await stop();
  });
  after(() => world.close());

  const start = async (options: Partial<StreamOptions> = {}) => { ({ streams, shell, stop } = await world.serve(options)); };
  const open = async (query: string, more: Partial<Connecting> = {}) => {
    const client = await connectStream({ port: shell.port, query, ...more });
    clients.push(client);
    return client;
  };
  const append = (...outcomes: CommandOutcome[]) => world.append(...outcomes);
  const length = () => world.length();

  for (const [transport, connect] of [['server-sent events', connectStream], ['WebSocket', followBySocket]] as const) {
    it(`alone keeps what is read at the same position, through kills and restarts, by ${transport}`, async () => {
      await start();
      const outcomes = randomOutcomes(SEED, 500);
      const scene = await ownScene(await logOf(outcomes), outcomes.length, connect);
      try {
        await scene.run(createDice(SEED).below);
      } finally {
        await scene.close();
      }
    });
  }

  /** A log that grows to the given one, with its own read models, streams and readers. */
  const ownScene = async (whole: Log, count: number, connect: (connecting: Connecting) => Promise<Follower>) => {
    const records = await readAll(whole, count);
    const growing = await logOf([]);
    const database = await testDatabase();
    const ending = new AbortController();
    const own = startWorker({ url: database.url, log: growing, freshnessMs: 0, signal: ending.signal });
    await growing.append('outcomes', records.slice(0, 40).map(({ id, data }) => ({ id, data })));
    await until('the read models are there', () => own.position() >= 40 || undefined);
    const models = await openReadModels({ url: database.url });
    const markets = (await rows(database.url, 'select \'0x\' || encode(market_id, \'hex\') as id from markets order by number limit 4')).map(({ id }) => String(id));
    const query = [
      ...markets.flatMap((id) => [`book:${id}`, `trades:${id}`]), ...[0, 1, 2, 3].map((n) => `orders:${traderAddress(n)}`), 'prices:BTC', 'prices:ETH', 'markets',
    ].join();
    const follow = async (more: Omit<Connecting, 'port' | 'query'>): Promise<Follower> => {
      const client = await connect({ port: shell.port, query: `channels=${query}&from=-1`, ...more });
      clients.push(client);
      return client;
    };
    return {
      async run(below: (n: number) => number) {
        await stop();
        await start({ log: growing, db: models });
        const keeper = createKeeper();
        let client = await follow({ onData: keeper.take });
        let kills = 0;
        for (let end = 40; end < count;) {
          const next = Math.min(count, end + 1 + below(12));
          await growing.append('outcomes', records.slice(end, next).map(({ id, data }) => ({ id, data })));
          end = next;
          if (below(3) > 0) continue;
          kills += 1;
          if (below(2) === 0) await client.until(() => client.data.length > 0 || kills % 2 === 0);
          if (below(4) === 0) {
            await stop();
            await start({ log: growing, db: models });
          } else client.leave();
          await client.ended;
          keeper.reconnect();
          client = await follow({ onData: keeper.take, lastEventId: client.lastId() });
        }
        assert.ok(kills > 10);
        await client.until(() => {
          world.beats.ring();
          return Number(client.lastId()) === count - 1;
        });
        await models.waitForPosition(count - 1, { timeoutMs: 30_000 });
        await sameAsRead(database.url, keeper.kept, markets);
      },
      async close() {
        ending.abort();
        await own.done;
        await models.close();
        await database.drop();
      },
    };
  };

  it('begins with a snapshot and its position, and then has each change', async () => {
    await start();
    const [market, from] = [hash(0xaa), length()];
    await append(...outcomesOf(AT, [opened(market)], rest(from + 1, market, 100), rest(from + 2, market, 50)));
    await world.caughtUp();
    const client = await open(`channels=book:${market.toUpperCase().replace('0X', '0x')},trades:${market}`);
    assert.equal(client.response.headers['x-log-position'], String(length() - 1));
    assert.equal(client.response.headers['content-type'], 'text/event-stream; charset=utf-8');
    await client.until(() => client.lastId() === String(length() - 1));
    await append(...outcomesOf(AT, cancel(from + 1, market, 100)));
    await client.until(() => client.data.length === 2);
    assert.deepEqual(client.data.map((text) => JSON.parse(text) as unknown), [
      {
        channel: `book:${market}`, position: from + 2, previous: from + 2, type: 'snapshot', at: AT + 2_000,
        yes: { bids: [{ price: 500_000, size: 150 }], asks: [] }, no: { bids: [], asks: [] },
      },
      {
        channel: `book:${market}`, position: from + 3, previous: from + 2, type: 'change', at: AT,
        levels: [{ outcome: 0, side: 0, price: 500_000, size: 50 }],
      },
    ]);
    // Another reader's snapshot is of what the first one reads.
    const second = await open(`channels=book:${market}`);
    await second.until(() => second.data.length === 1);
    assert.deepEqual((JSON.parse(second.data[0]!) as { yes: unknown }).yes, { bids: [{ price: 500_000, size: 50 }], asks: [] });
  });

  it('tells the position at each heartbeat', async () => {
    await start();
    const client = await open('channels=markets');
    await client.until(() => client.lastId() === String(length() - 1));
    await append(...outcomesOf(AT, []));
    await client.until(() => {
      world.beats.ring();
      return client.lastId() === String(length() - 1);
    });
    assert.deepEqual(client.data, []);
    assert.ok(client.text().startsWith('retry: 2000\n\n'));
  });

  it('cuts off who does not read, with a reason, and nobody else', async () => {
    await start({ room: { bytes: 2_000_000, pieces: 1_000 }, stallMs: 300_000 });
    const [reading, deaf] = [await open('channels=markets&from=-1'), await open('channels=markets&from=-1')];
    deaf.response.pause();
    for (let n = 0; streams.cutOff() === 0; n++) {
      assert.ok(n < 200, 'it was never cut off');
      await append(...outcomesOf(AT, [opened(hash(0x1000 + n), 'x'.repeat(400_000))]));
      await reading.until(() => reading.lastId() === String(length() - 1));
    }
    deaf.response.resume();
    assert.equal(await deaf.ended, true);
    assert.deepEqual(JSON.parse(deaf.data.at(-1)!), {
      type: 'error', code: 'too_slow', error: 'more waits to be read than the exchange keeps for one reader; connect again, with the last position',
    });
    assert.deepEqual([streams.open(), streams.cutOff(), reading.response.complete], [1, 1, false]);
    // It goes on where it was.
    const again = await open('channels=markets&from=-1', { lastEventId: deaf.lastId() });
    await again.until(() => again.lastId() === String(length() - 1));
    assert.deepEqual(deaf.data.slice(0, -1).concat(again.data), reading.data);
  });

  it('ends whole when the service stops', async () => {
    await start();
    const client = await open('channels=markets');
    await client.until(() => client.lastId() === String(length() - 1));
    assert.equal(await closeServer(shell.app, shell.server, 60_000), 0);
    assert.deepEqual([await client.ended, streams.open()], [true, 0]);
  });

  it('has no more streams than there is room for', async () => {
    await start({ places: createPlaces('streams', { streams: 3, perAddress: 2 }) });
    await Promise.all([open('channels=markets'), open('channels=markets')]);
    const third = await open('channels=markets');
    assert.deepEqual([third.response.statusCode, third.response.headers['retry-after']], [429, '5']);
    clients[0]!.leave();
    await until('a place is free', () => streams.open() === 1 || undefined);
    assert.equal((await open('channels=markets')).response.statusCode, 200);
  });

  it('knows a market of which the history tells before the read models have it', async () => {
    const { db } = world;
    const id = hash(0x5eed);
    await append(...outcomesOf(AT, [opened(id)]));
    await world.caughtUp();
    let isBehind = true;
    await start({ db: {
      ...db, rows: (statement, values) => isBehind && statement.name === 'stream_markets_known' ? Promise.resolve([]) : db.rows(statement, values),
      async waitForPosition(position, patience) {
        await db.waitForPosition(position, patience);
        assert.equal(position, length() - 1);
        isBehind = false;
      },
    } });
    assert.equal((await open(`channels=trades:${id}`)).response.statusCode, 200);
    assert.equal(isBehind, false);
  });

  const unknownMarket = hash(0xeeee);
  const fifty = Array.from({ length: 51 }, (_, n) => `orders:${traderAddress(n)}`);
  const refusals: readonly (readonly [name: string, query: string, status: number, code: string, lastEventId?: string])[] = [
    ['no channels', '', 400, 'invalid_request'], ['an empty list', 'channels=', 400, 'invalid_request'],
    ['a channel that there is not', 'channels=books:1', 400, 'invalid_request'], ['markets with a name', 'channels=markets:1', 400, 'invalid_request'],
    ['an empty channel', 'channels=markets,', 400, 'invalid_request'], ['no market', 'channels=book:', 400, 'invalid_market_id'],
    ['a market that is none', 'channels=trades:0x12', 400, 'invalid_market_id'], ['an address that is none', 'channels=orders:0x12', 400, 'invalid_address'],
    ['a market that there is not', `channels=book:${unknownMarket}`, 404, 'unknown_market'], ['an asset without prices', 'channels=prices:DOGE', 404, 'unknown_asset'],
    ['51 channels', `channels=${fifty.join()}`, 400, 'invalid_request'], ['channels twice', 'channels=markets&channels=markets', 400, 'invalid_request'],
    ['a negative position', 'channels=markets&from=-2', 400, 'invalid_request'], ['a position that is no number', 'channels=markets&from=now', 400, 'invalid_request'],
    ['a fraction', 'channels=markets&from=1.5', 400, 'invalid_request'], ['a position beyond 2^53', 'channels=markets&from=9007199254740993', 400, 'invalid_request'],
    ['a position to come', 'channels=markets&from=1000000', 404, 'not_recorded_yet'], ['an id that is none', 'channels=markets', 400, 'invalid_request', 'garbage'],
    ['an id to come', 'channels=markets&from=0', 404, 'not_recorded_yet', '9000000'],
  ];
  for (const [name, query, status, code, lastEventId] of refusals) {
    it(`refuses ${name}`, async () => {
      await start();
      const { response, ended, text } = await open(query, { lastEventId });
      await ended;
      assert.deepEqual([response.statusCode, (JSON.parse(text()) as { code: string }).code, streams.open()], [status, code, 0]);
    });
  }

  it('takes 50 channels, and a channel twice as one', async () => {
    await start();
    assert.equal((await open(`channels=${fifty.slice(1).join()}`)).response.statusCode, 200);
    assert.equal((await open(`channels=${[...fifty.slice(1), fifty[1]!.toUpperCase().replace('ORDERS:0X', 'orders:0x')].join()}`)).response.statusCode, 200);
  });
});

async function readAll(log: Log, count: number) {
  const records = [];
  while (records.length < count) records.push(...await log.read('outcomes', records.length, 1_000));
  return records;
}

async function rows(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set search_path to read_models');
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** What the reader keeps is what the tables have, of which the reads are made. */
async function sameAsRead(url: string, kept: Kept, markets: readonly string[]): Promise<void> {
  const ids = markets.map((id) => Buffer.from(id.slice(2), 'hex'));
  const sorted = (entries: Iterable<readonly unknown[]>) => [...entries].map((entry) => JSON.stringify(entry)).sort();
  const levels = await rows(url, 'select \'0x\' || encode(market_id, \'hex\') as market, outcome, side, price, size::float8 as size from levels where market_id = any($1)', [ids]);
  assert.deepEqual(sorted(kept.levels), sorted(levels.map(({ market, outcome, side, price, size }) => [[market, outcome, side, price].join(' '), size])));
  const fills = await rows(url, `
    select number::integer as number, (array['matched', 'pending', 'confirmed', 'failed'])[settlement + 1] as status,
      coalesce('0x' || encode(tx_hash, 'hex'), '') as hash, failure_reason as reason
    from trades where market_id = any($1)`, [ids]);
  assert.deepEqual(sorted(kept.fills), sorted(fills.map(({ number, status, hash: tx, reason }) => [number, [status, tx, reason]])));
  const traders = [0, 1, 2, 3].map((n) => Buffer.from(traderAddress(n).slice(2), 'hex'));
  const orders = await rows(url, 'select \'0x\' || encode(order_hash, \'hex\') as hash, remaining::float8 as remaining from orders where trader = any($1)', [traders]);
  assert.deepEqual(sorted(kept.orders), sorted(orders.map(({ hash: order, remaining }) => [order, remaining])));
  const prices = await rows(url, `
    select distinct on (asset) asset, price::float8 as price, published_at_ms::float8 as at from prices order by asset, published_at_ms desc, position`);
  assert.deepEqual(sorted(kept.prices), sorted(prices.map(({ asset, price, at }) => [asset, [price, at]])));
  assert.ok(kept.levels.size > 3 && kept.fills.size > 20 && kept.orders.size > 50 && kept.markets.size > 3);
}
