/**
 * Readers of the streams through kills: books, trades, orders and markets that are kept from the messages alone, while
 * query processes, projections and engines are killed and Postgres is cut off, are what is read at the same positions;
 * every message comes once and after the one that it names.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet, id } from 'ethers';
import type { Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { decodeOutcome, type CommandOutcome } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import type { FillMatched } from '../../engine/records/events.js';
import { channelsOf } from '../../query/streams/channel.js';
import { createChannels, emptyOpening } from '../../query/streams/channels.js';
import { cancelHeaders, signedBody, signingOf, type SigningConfig } from '../harness/exchange.js';
import { mortalStack, type Moment, type MortalStack, type StackDeath } from '../harness/mortal-processes.js';
import { newCommand } from '../support/commands.js';
import { get } from '../support/crash-checks.js';
import { crashDelivery } from '../support/crash-traders.js';
import { SEED, extent } from '../support/extent.js';
import { readAll } from '../support/log-records.js';
import { exchangeDatabase, type TestDatabase } from '../support/postgres.js';
import { startTcpProxy, type TcpProxy } from '../support/proxies.js';
import { createRandom } from '../support/random-commands.js';
import { bookRead, startReader, type ReturningReader, type ReturningReaderOptions } from '../support/returning-reader.js';
import { ready, type StackProcess } from '../support/role-processes.js';
import type { Told } from '../support/stream-client.js';
import { until, within } from '../support/until.js';

const CHAIN = 31_337;
const MARKETS = ['rain', 'sun', 'snow'].map((question) => ({ question, id: id(`streams: ${question}`) }));
const TRADERS = ['ann', 'ben', 'cleo'].map((name) => new Wallet(id(`streams: ${name}`)));
const ALL = [
  ...MARKETS.flatMap(({ id: market }) => [`book:${market}`, `trades:${market}`]),
  ...TRADERS.map(({ address }) => `orders:${address.toLowerCase()}`), 'prices:BTC', 'markets',
];
const TYPES = [
  'change', 'trade', 'settlement', 'accepted', 'filled', 'cancelled', 'settled', 'failed', 'reinstated', 'opened', 'price',
];
const REST_MS = extent({ push: 250, long: 120 });

type Step = Moment | 'every query process dies' | 'Postgres is cut off' | 'Postgres is away';

/**
 * At any time, and where it hurts: while a batch of the read models is written, and before what was decided is in the
 * log.
 */
const STEPS: readonly Step[] = [
  { at: 'any', role: 'query', afterMs: 300 },
  { at: 'database', role: 'projections', text: 'write_trades', number: 2, answered: false },
  'Postgres is cut off',
  'every query process dies',
  { at: 'database', role: 'engine', part: 'engine', text: '"type":"FillMatched"', number: 2, answered: false },
  { at: 'any', role: 'projections', afterMs: 500 },
  'Postgres is away',
  { at: 'any', role: 'query', afterMs: 100 },
];
const ROUNDS = extent({ push: 1, long: 12 });

describe(`the streams through kills (SEED=${SEED})`, function () {
  this.timeout(1_800_000);
  const random = createRandom(SEED);
  const below = (n: number) => random() % n;
  const reading = new AbortController();
  const deaths: StackDeath[] = [];
  let directory: string;
  let database: TestDatabase;
  let network: TcpProxy;
  let log: Log;
  let stack: MortalStack;
  let readers: readonly ReturningReader[];
  /** All that was recorded when the traders had ended. */
  let outcomes: readonly CommandOutcome[];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-streams-'));
    database = await exchangeDatabase();
    const behind = new URL(database.url);
    network = await startTcpProxy({ host: behind.hostname, port: Number(behind.port) });
    behind.host = `127.0.0.1:${network.port}`;
    log = await openLog(database.url);
    stack = await mortalStack({
      databaseUrl: behind.href, chainUrl: 'http://127.0.0.1:9', dataDir: directory, patienceMs: 10_000,
      processes: ['api+prices', 'engine', 'engine', 'projections', 'query', 'query'],
      environment: ({ databaseUrl }) => Promise.resolve({
        DATABASE_URL: databaseUrl, CHAINS: 'none', PRICE_SOURCES: 'simulated', CANCEL_AUTH: 'required',
      }),
    });
    await record(MARKETS.map(({ id: marketId, question }, i) => newCommand('OpenMarket', {
      at: Date.now(), marketId, question, contractAddress: `0x${'e7'.repeat(19)}0${i}`, expiration: 4_000_000_000,
      chainId: CHAIN,
    })));
    await until('the markets are open', async () => {
      const { markets } = await (await fetch(`${stack.url}/api/v1/markets`)).json() as { markets?: unknown[] };
      return markets?.length === MARKETS.length;
    });
  });
  before('lives through the kills', async () => {
    const ending = new AbortController();
    readers = startReaders();
    const work = [trade(ending.signal), settle(ending.signal)];
    const unended = [...work, ...readers.map(({ done }) => done)].map((each) => each.then(() => new Promise<never>(() => undefined)));
    const broken = Promise.race([stack.failed, ...unended]);
    broken.catch(() => undefined);
    for (let round = 0; round < ROUNDS; round++) for (const step of STEPS) await Promise.race([strike(step), broken]);
    await Promise.race([until('there are prices enough', () => pricesOf(readers[0]!).length > 10), broken]);
    ending.abort();
    await within('the last requests are answered', Promise.all(work), 120);
    const commands = await log.length('commands');
    await until('all is decided', async () => await log.length('outcomes') >= commands);
    outcomes = (await readAll(log, 'outcomes')).map(({ data }) => decodeOutcome(data));
    await Promise.race([allHave(), broken]);
    reading.abort();
    await Promise.all(readers.map(({ done }) => done));
  });
  after(async () => {
    reading.abort();
    await log.close();
    await stack.close();
    await network.close();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  const record = async (commands: readonly Command[]): Promise<void> => {
    await log.append('commands', commands.map((command) => ({ id: randomUUID(), data: encodeCommand(command) })));
  };

  function startReaders(): ReturningReader[] {
    const { url } = stack;
    const { signal } = reading;
    const [first] = MARKETS;
    const book = [`book:${first!.id}`];
    const start = (name: string, more: Pick<ReturningReaderOptions, 'channels' | 'from' | 'patience'>) => (
      startReader({ name, url, signal, ...more }));
    return [
      start('everything', { channels: ALL, from: -1 }),
      start('comes and goes', { channels: ALL, patience: () => 1 + below(40) }),
      start('one book', { channels: book }),
      start('one book again', { channels: book, from: -1, patience: () => 1 + below(15) }),
      start('a trader', { channels: [`orders:${TRADERS[0]!.address.toLowerCase()}`, 'markets'], from: -1 }),
    ];
  }

  async function strike(step: Step): Promise<void> {
    // A process that cannot reach Postgres at its start ends, to be started again.
    if (typeof step === 'string') await Promise.all(stack.processes().map(({ port }) => ready(`http://127.0.0.1:${port}`)));
    const before = readers.map(({ told }) => told.length);
    if (step === 'Postgres is cut off') network.cut();
    else if (step === 'Postgres is away') {
      network.refuse();
      await sleep(1_500);
      network.accept();
    } else if (step === 'every query process dies') {
      const victims = stack.processes().filter(({ role }) => role === 'query');
      for (const { pid } of victims) process.kill(pid, 'SIGKILL');
      const isAnother = ({ port, pid }: StackProcess) => (
        stack.processes().some((each) => each.port === port && each.pid !== pid));
      await until('they live again', () => victims.every(isAnother));
    } else deaths.push(await stack.kill(step, random));
    const goOn = () => readers.every(({ told }, i) => told.length > before[i]! + 3);
    await until(() => `every reader goes on after ${JSON.stringify(step)}`, goOn, 90);
  }

  /** Orders that often meet, and cancels. */
  async function trade(signal: AbortSignal): Promise<void> {
    const signing = signingOf(await get(stack.url, '/api/v1/config', 0) as unknown as SigningConfig);
    const { deliver } = crashDelivery({ url: () => Promise.resolve(stack.url) });
    let nonce = 0;
    await Promise.all(TRADERS.map(async (wallet) => {
      const own: { orderHash: string; marketId: string }[] = [];
      while (!signal.aborted) {
        if (own.length > 3 && below(4) === 0) {
          const { orderHash, marketId } = own.splice(below(own.length), 1)[0]!;
          const headers = await cancelHeaders(signing, wallet, { orderHash });
          const path = `/api/v1/orders/${orderHash}?marketId=${marketId}`;
          const { status, body } = await deliver({ method: 'DELETE', path, headers });
          ok(status === 200 || status === 409, JSON.stringify(body));
        } else {
          const { id: marketId } = MARKETS[below(3)]!;
          const fields = {
            marketId, nonce: ++nonce, side: below(2), outcome: below(2), price: 497_000 + 1_000 * below(7),
            size: 1_000_000 + below(20_000_000),
          };
          const { status, body } = await deliver({ method: 'POST', path: '/api/v1/orders', body: await signedBody(signing, wallet, fields) });
          equal(status, 200, JSON.stringify(body));
          own.push({ orderHash: (body as { orderHash: string }).orderHash, marketId });
        }
        await sleep(below(REST_MS));
      }
    }));
  }

  /** What a chain would tell of the fills: most settle, some fail. */
  async function settle(signal: AbortSignal): Promise<void> {
    let transactions = 0;
    for await (const batch of log.follow('outcomes', 0, signal)) {
      const fills = batch.flatMap(({ data }) => matchedIn(data));
      if (fills.length === 0) continue;
      const txHash = `0x${(0x7e0000 + ++transactions).toString(16).padStart(64, '0')}`;
      const at = Date.now();
      await record([newCommand('SubmitSettlement', { at, chainId: CHAIN, txHash, fills: fills.map(({ fill }) => fill) })]);
      await sleep(below(400));
      const culprit = below(2) === 0 ? 'buyer' : 'seller';
      await record(fills.map(({ fill }): Command => below(5) > 0
        ? newCommand('SettleFill', { at, fill, txHash })
        : newCommand('FailFill', { at, fill, txHash, reason: 'buyer_insufficient_balance', culprit, countDefault: false })));
    }
  }

  /** Waits until each reader has the last message of each of its channels. */
  async function allHave(): Promise<void> {
    const last = new Map(messagesOf(outcomes).map(parsed).map(({ channel, position }) => [channel, position]));
    for (const { name, channels, kept, began } of readers) {
      const has = (channel: string) => Math.max(kept.last.get(channel) ?? -1, began() ?? -1);
      const missing = () => channels.filter((channel) => has(channel) < (last.get(channel) ?? -1));
      await until(() => `${name} has everything of ${missing().join()}`, () => missing().length === 0, 90);
    }
  }

  it('told every reader every message of the history once, in order, and nothing else', () => {
    const all = messagesOf(outcomes);
    for (const { name, channels, told, began } of readers) {
      const since = (text: string): boolean => parsed(text).position > began()!;
      const expected = all.filter((text) => channels.includes(parsed(text).channel) && since(text));
      const own = told.filter(since);
      // What was recorded later comes on top.
      deepEqual(own.slice(0, expected.length), expected, name);
      ok(own.length > 30, `${name} has ${own.length} messages`);
    }
  });

  it('gave books that were right at every position', async () => {
    let compared = 0;
    for (const { name, books } of readers) {
      for (const [market, states] of books) {
        for (const at of positionsIn(states.map(({ position }) => position), outcomes.length, below)) {
          const { levels } = states.findLast(({ position }) => position <= at)!;
          const read = bookRead(await get(stack.url, `/api/v1/orderbook/${market}?at=${at}`, 0));
          equal(levels, read, `${name}: the book of ${market} at ${at}`);
          compared += 1;
        }
      }
    }
    ok(compared > 60, `${compared} books`);
  });

  it('gave the orders, trades and markets that are read at the end', async () => {
    const [{ kept, told }] = readers as [ReturningReader];
    const end = outcomes.length - 1;
    for (const [orderHash, remaining] of kept.orders) {
      const { remainingSize, status } = await get(stack.url, `/api/v1/orders/${String(orderHash)}`, end);
      deepEqual([Number(remainingSize), status], [Number(remaining), statusOf(told, orderHash)], String(orderHash));
    }
    for (const { id: market } of MARKETS) {
      const trades = await tradesOf(stack.url, market, end);
      deepEqual(sorted(trades.map(tradeText)), sorted(tradesIn(told, market, kept)), market);
    }
    const { markets } = await get(stack.url, '/api/v1/markets', end) as { markets: readonly { id: string }[] };
    deepEqual(sorted(markets.map((market) => market.id)), sorted([...kept.markets.keys()].map(String)));
  });

  it('gave the prices that are read at the end', async () => {
    const [everything] = readers as [ReturningReader];
    const end = outcomes.length - 1;
    const prices = pricesOf(everything).filter(({ position }) => position <= end)
      .map(({ timestamp, price }) => ({ timestamp: Math.floor(Number(timestamp) / 1_000), price }));
    const last = prices.at(-1)!.timestamp;
    const { history } = await get(stack.url, '/api/v1/prices/BTC/history', end) as unknown as { history: readonly PriceRead[] };
    // It is of the last twenty minutes, and goes on.
    const read = history.filter(({ timestamp }) => timestamp <= last).map(({ timestamp, price }) => ({ timestamp, price }));
    deepEqual(read, prices.filter(({ timestamp }) => timestamp >= read[0]!.timestamp));
    ok(read.length > 5, `${read.length} prices`);
  });

  it('was all through real kills and lost connections, and ended no stream for a reason that does not pass', () => {
    deepEqual([...new Set(deaths.map(({ role }) => role))].sort(), ['engine', 'projections', 'query']);
    for (const { name, connections, codes } of readers) {
      ok(connections() >= (name === 'comes and goes' ? 5 : 2), `${name} had ${connections()} connections`);
      deepEqual([...codes].filter((code) => !['unavailable', 'not_caught_up', 'overloaded'].includes(code)), [], name);
    }
    const types = new Set(readers[0]!.told.map((text) => parsed(text).type));
    deepEqual(TYPES.filter((type) => !types.has(type)), [], 'every type came');
  });
});

function matchedIn(data: Uint8Array): FillMatched[] {
  return decodeOutcome(data).events.filter((event) => event.type === 'FillMatched');
}

/** Every message that the history gives, of all channels of the test. */
function messagesOf(outcomes: readonly CommandOutcome[]): string[] {
  const fold = createChannels();
  for (const channel of channelsOf(ALL)) fold.add(channel, emptyOpening(channel));
  return outcomes.flatMap((outcome, position) => fold.fold(position, outcome).map((message) => message.json(false)));
}

/** Positions of changes, those just before them, and some in between. */
function positionsIn(changes: readonly number[], end: number, below: (n: number) => number): number[] {
  // Before its first order a book has no position, and may have had no market.
  const first = changes.find((position) => position >= 0) ?? 0;
  const some = Array.from({ length: Math.min(8, changes.length) }, () => changes[below(changes.length)]!);
  const between = Array.from({ length: 4 }, () => first + below(end - first));
  const all = [...some.flatMap((position) => [position, position - 1]), ...between];
  return all.filter((position) => position >= first);
}

type Trade = Readonly<Record<string, unknown>>;
interface PriceRead { readonly timestamp: number; readonly price: number }
interface TradesPage { readonly trades: readonly Trade[]; readonly nextCursor?: string }

const pricesOf = ({ told }: ReturningReader) => told.map(parsed).filter(({ channel }) => channel === 'prices:BTC');

/** All trades of a market, page by page. */
async function tradesOf(url: string, market: string, position: number): Promise<readonly Trade[]> {
  const all: Trade[] = [];
  for (let cursor = ''; ;) {
    const page = await get(url, `/api/v1/trades/${market}?limit=500${cursor}`, position) as unknown as TradesPage;
    all.push(...page.trades);
    if (page.nextCursor === undefined) return all;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

/** What has become of an order by the messages about it. */
function statusOf(told: readonly string[], orderHash: unknown): string {
  let status = 'open';
  for (const text of told) {
    if (!text.includes(`"orderHash":"${String(orderHash)}"`)) continue;
    const { type, ...fields } = parsed(text);
    if (type === 'cancelled') status = 'cancelled';
    else if (type === 'filled' && Number(fields['remainingSize']) === 0) status = 'filled';
    else if (type === 'reinstated') status = 'open';
  }
  return status;
}

function tradeText({ price, size, buyer, seller, outcome, txHash, settlementStatus }: Trade): string {
  return [price, size, buyer, seller, outcome, txHash, settlementStatus].map(String).join(' ');
}

/** The trades of a market by the messages, without those that failed. */
function tradesIn(told: readonly string[], market: string, { fills }: ReturningReader['kept']): string[] {
  return told.flatMap((text) => {
    const message = parsed(text);
    if (message.channel !== `trades:${market}` || message.type !== 'trade') return [];
    const [settlementStatus, txHash] = fills.get(message['fill'])!;
    return settlementStatus === 'failed' ? [] : [tradeText({ ...message, txHash, settlementStatus })];
  });
}

const parsed = (text: string): Told => JSON.parse(text) as Told;
const sorted = (texts: readonly string[]): string[] => [...texts].sort();
