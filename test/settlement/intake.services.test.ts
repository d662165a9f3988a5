/** The intake on a real Postgres: what it keeps, shows and gives up; starts, crashes, two at once, and a database that goes away. */
import { deepEqual, equal, match, ok, rejects, throws } from 'node:assert/strict';
import pg from 'pg';
import { ForeignIntake, runIntake, type Intake, type IntakeOptions } from '../../command/settlement/intake/intake.js';
import { laneOf } from '../../command/settlement/intake/owned-lane.js';
import { openStore, Overtaken } from '../../command/settlement/intake/store.js';
import { changesOf } from '../../command/settlement/intake/changes.js';
import { OutboxUnavailable } from '../../command/lane/requests.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeOutcome } from '../../engine/records/codec.js';
import type { SequencedMessage } from '../../command/feed/messages.js';
import { createHistory, digestAt, marketIn, spokenFeed, type SpokenFeed } from '../support/fill-feed.js';
import { appendAll, newRecord } from '../support/log-records.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

const [red, blue, far] = [marketIn(2), marketIn(5), marketIn(7, 137)];
const BACKOFF = { firstMs: 5, longestMs: 20 };

/** A log of so many outcomes, as the intake compares it with what it has. */
async function logOf(outcomes: number) {
  const log = createMemoryLog();
  await appendAll(log, 'outcomes', Array.from({ length: outcomes }, (_, i) => newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(i)))));
  return log;
}

/** A log that has whatever has been taken in, and nothing that is to be waited for. */
const anyLog: IntakeOptions['log'] = {
  length: () => Promise.resolve(0),
  read: (_stream, position) => Promise.resolve([{ position, ...newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(position))) }]),
};

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!await condition()) {
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

describe('settlement: the intake', () => {
  let database: TestDatabase;
  let url: string;
  let reports: string[];
  let stops: (() => Promise<unknown>)[];

  beforeEach(async () => {
    database = await testDatabase();
    ({ url } = database);
    [reports, stops] = [[], []];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await database.drop();
  });

  interface Running { readonly intake: Intake; stop(): Promise<void> }

  async function start(feed: IntakeOptions['feed'], { to = url, ...options }: Partial<IntakeOptions> & { readonly to?: string } = {}): Promise<Running> {
    const stopping = new AbortController();
    const intake = runIntake({
      openStore: (session) => openStore({ url: to, standByMs: 5, ...session }), feed, log: anyLog, chains: [1], checkChains: () => undefined,
      signal: stopping.signal, restMs: 0, backoff: BACKOFF,
      report: (level, text) => { reports.push(`${level}: ${text}`); }, ...options,
    });
    const stop = async () => {
      stopping.abort(new Error('the test stops it'));
      await intake.done.catch(() => undefined);
    };
    stops.push(stop);
    await intake.begun;
    return { intake, stop };
  }

  const shown = ({ intake }: Running, chainId = 1) => {
    const view = intake.view(chainId);
    return { nextFill: view.nextFill(), fills: [...view.unsettled(0)].map(({ fill }) => fill), nextBlock: view.nextBlock() };
  };
  const shows = (running: Running, expected: ReturnType<typeof shown>, chainId = 1) => until(`${JSON.stringify(expected)} is shown`, () => (
    JSON.stringify(shown(running, chainId)) === JSON.stringify(expected)));

  async function rows(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  it('shows fills in order below the watermark, and drops those that settle or fail; what is reinstated comes as another fill', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await start(feed);
    feed.say([history.opened(red), history.opened(blue), history.matched(red)]);
    const slow = history.matched(blue);
    feed.say([history.matched(red), history.matched(red)]);
    await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
    feed.say([slow]);
    await shows(running, { nextFill: 4, fills: [0, 1, 2, 3], nextBlock: 0 });
    feed.say([history.failed(2, red), history.settled(1, blue), history.matched(red), ...history.advanced(1, 6)]);
    await shows(running, { nextFill: 5, fills: [0, 3, 4], nextBlock: 7 });
    deepEqual(await rows('select fill::int, ended from settlement.fills order by fill'), [0, 3, 4].map((fill) => ({ fill, ended: false })));
    const [fill] = running.intake.view(1).unsettled(3);
    deepEqual(fill, {
      fill: 3, marketId: red.marketId, chainId: 1, outcome: 1, price: 500_000, size: 18_446_744_073_709_551_615n, cost: 9_223_372_036_854_775_808n,
      buyNumber: 6, sellNumber: 7, buyer: fill!.buyer, seller: fill!.seller,
    });
    deepEqual(running.intake.view(1).history(), { position: 9, digest: Buffer.from(digestAt(9).slice(2), 'hex') });
    deepEqual(running.intake.barrier(1)?.block, 6);
  });

  it('a fill that ends before the watermark passes it is known as come, also after a start in between', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const first = await start(feed);
    feed.say([history.opened(red), history.opened(blue)]);
    const slow = [history.matched(blue), history.matched(blue)];
    feed.say([history.matched(red), history.matched(red)]);
    feed.say([history.settled(2, red)]);
    await until('it is written', async () => (await rows('select from settlement.fills where ended')).length === 1);
    await first.stop();
    const second = await start(feed);
    feed.say(slow);
    await shows(second, { nextFill: 4, fills: [0, 1, 3], nextBlock: 0 });
    deepEqual(await rows('select fill::int, ended from settlement.fills order by fill'), [0, 1, 3].map((fill) => ({ fill, ended: false })));
  });

  it('a chain\'s block counts once every partition has had it', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await start(feed);
    const [last, ...others] = history.advanced(1, 3);
    feed.say(others);
    await until('it is written', async () => (await rows('select from settlement.barriers')).length === 7);
    equal(shown(running).nextBlock, 0);
    feed.say([last!]);
    await shows(running, { nextFill: 0, fills: [], nextBlock: 4 });
    equal(running.intake.barrier(137), undefined);
  });

  it('keeps fills of chains that it is not to settle, and shows them to whoever is', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await start(feed);
    feed.say([history.opened(far), history.matched(far), history.opened(red), history.matched(red)]);
    await shows(running, { nextFill: 2, fills: [1], nextBlock: 0 });
    deepEqual(shown(running, 137), { nextFill: 0, fills: [], nextBlock: 0 });
    await running.stop();
    const both = await start(feed, { chains: [1, 137] });
    await shows(both, { nextFill: 2, fills: [0], nextBlock: 0 }, 137);
    const refused = new Error('the history has markets on chain 137');
    await both.stop();
    await rejects(start(feed, { checkChains: (chains) => { if ([...chains].includes(137)) throw refused; } }), refused);
  });

  it('follows the feed from where it is, with the markets that it has seen', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await start(feed);
    feed.say([history.opened(red), history.matched(red)], 2);
    await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
    await running.stop();
    await start(feed, { log: await logOf(2) });
    await until('it is followed again', () => feed.followed.length === 2);
    const { partitions, markets } = feed.followed[1]!;
    deepEqual([...markets], [[red.marketId, 1]]);
    deepEqual(partitions.map(({ nextSeq, position, done }) => [nextSeq, position, done]), partitions.map((_, i) => [i === 2 ? 2 : 0, 2, 0]));
  });

  it('rests between small batches only: neither the first nor what follows a batch without messages waits', async () => {
    const [feed, history] = [spokenFeed(), createHistory()];
    const running = await start(feed, { restMs: 3_600_000 });
    feed.say([], 0);
    feed.say([history.opened(red), history.matched(red)]);
    await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
    // What comes while it rests is taken in by the next session at the latest.
    feed.say([history.matched(red)]);
    deepEqual(shown(running), { nextFill: 1, fills: [0], nextBlock: 0 });
    await running.stop();
    await shows(await start(feed), { nextFill: 2, fills: [0, 1], nextBlock: 0 });
  });

  it('writes how far it has read also where there are no messages, so that the next start does not read it again', async () => {
    const feed = spokenFeed();
    await start(feed);
    feed.say([], 49_999);
    feed.say([], 50_000);
    await until('it is written', async () => (await rows('select from settlement.partitions where position = 50000')).length === 8);
  });

  it('shows nothing before it has come to the end of the history as it was', async () => {
    const [feed, history] = [spokenFeed(), createHistory()];
    const running = await start(feed, { log: await logOf(3) });
    feed.say([history.opened(red), history.matched(red)], 2);
    await until('it is taken in', () => running.intake.status().position === 2);
    deepEqual(shown(running), { nextFill: 0, fills: [], nextBlock: 0 });
    let holds = false;
    const held = running.intake.held(AbortSignal.timeout(60_000)).then(() => { holds = true; });
    feed.say([history.settled(0, red)], 3);
    await held;
    ok(holds);
    deepEqual(shown(running), { nextFill: 1, fills: [], nextBlock: 0 });
  });

  it('ends when the log is not the one that it has taken from', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await start(feed);
    feed.say([history.opened(red), history.matched(red)]);
    await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
    await running.stop();
    await rejects(start(feed, { log: await logOf(1) }), (error) => (
      error instanceof ForeignIntake && error.message.includes('2 outcomes have been taken in, but the log has 1')));
    const other = createMemoryLog();
    await appendAll(other, 'outcomes', [0, 1, 2].map((i) => newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(i + 7)))));
    await rejects(start(feed, { log: other }), /outcome 1 has another digest .* drop schema settlement/);
    await start(feed, { log: await logOf(2) });
  });

  it('ends with an error of the feed that trying again cannot help', async () => {
    const broken = new Error('unreadable');
    // eslint-disable-next-line require-yield
    const { intake } = await start({ async* follow() { throw broken; } });
    await rejects(intake.done, broken);
  });

  describe('two at once', () => {
    it('one takes in, the other stands by and takes over; who asks the lane is who takes in', async () => {
      const feed = spokenFeed();
      const history = createHistory();
      const [first, second] = [await start(feed), await start(feed)];
      deepEqual([first.intake.status().standby, second.intake.status().standby], [false, true]);
      feed.say([history.opened(red), history.matched(red)]);
      await shows(first, { nextFill: 1, fills: [0], nextBlock: 0 });
      deepEqual(shown(second), { nextFill: 0, fills: [], nextBlock: 0 });
      const user = () => openLaneUser({ url, chainId: 1, key: 'operator', purpose: 'settlement', standByMs: 5 });
      const stopping = new AbortController();
      const held = await laneOf(first.intake, user()).hold(stopping.signal);
      let taken = false;
      const next = laneOf(second.intake, user()).hold(stopping.signal).then((each) => {
        taken = true;
        return each;
      });
      await held.changes();
      await first.stop();
      await rejects(held.changes(), OutboxUnavailable);
      await rejects(held.ask([]), OutboxUnavailable);
      await shows(second, { nextFill: 1, fills: [0], nextBlock: 0 });
      equal(taken, false);
      await held.close();
      await (await next).close();
      deepEqual(second.intake.status().standby, false);
    });

    it('what one has written the other cannot write: the positions fence it off', async () => {
      const history = createHistory();
      const messages = [history.opened(red), history.matched(red), history.opened(blue)];
      const stores = await Promise.all(['a', 'b'].map((lock) => openStore({ url, lock, signal: AbortSignal.timeout(60_000), standingBy: () => undefined })));
      const loaded = await Promise.all(stores.map((store) => store.load()));
      await stores[0]!.write(changesOf(loaded[0]!.taken, { messages: messages.slice(0, 2) }));
      // Of its two partitions only one was moved by the other.
      await rejects(stores[1]!.write(changesOf(loaded[1]!.taken, { messages })), Overtaken);
      deepEqual(await rows('select partition from settlement.partitions where next_seq > 0'), [{ partition: 2 }]);
      deepEqual(await rows('select count(*)::int from settlement.fills'), [{ count: 1 }]);
      const again = await stores[1]!.load();
      await stores[1]!.write(changesOf(again.taken, { messages: messages.slice(2) }));
      deepEqual((await rows('select partition from settlement.partitions where next_seq > 0 order by 1')).map(({ partition }) => partition), [2, 5]);
      for (const store of stores) await store.close();
    });
  });

  describe('faults', () => {
    let proxy: TcpProxy;
    let through: string;
    beforeEach(async () => {
      const target = new URL(url);
      proxy = await startTcpProxy({ host: target.hostname, port: Number(target.port) });
      target.port = String(proxy.port);
      through = target.href;
    });
    afterEach(() => proxy.close());

    const STATEMENTS = [
      'begin', 'update settlement.partitions', 'insert into settlement.markets', 'insert into settlement.fills', 'update settlement.fills',
      'delete from settlement.fills', 'insert into settlement.barriers', 'update settlement.intake', 'commit',
    ];
    for (const statement of STATEMENTS) {
      for (const fate of ['cut', 'lose-reply'] as const) {
        it(`a connection that ends at "${statement}" (${fate}) loses nothing and doubles nothing`, async () => {
          const feed = spokenFeed();
          const history = createHistory();
          const running = await start(feed, { to: through });
          feed.say([history.opened(red), history.opened(blue), history.matched(red), history.matched(red)]);
          await shows(running, { nextFill: 2, fills: [0, 1], nextBlock: 0 });
          const slow = history.matched(blue);
          feed.say([history.matched(red)]);
          await until('it is written', async () => (await rows('select from settlement.fills')).length === 3);
          let met = false;
          proxy.fate = (request) => {
            if (met || !request.includes(statement)) return 'pass';
            met = true;
            return fate;
          };
          // Something for each statement.
          const other = marketIn(1);
          const changes = [history.opened(other), history.matched(other), history.settled(0, red), history.settled(3, red)];
          const barrier = history.advanced(1, 2);
          feed.say([...changes, ...barrier.filter(({ partition }) => partition !== 5)]);
          await until('the connection has ended there', () => met);
          feed.say([slow, barrier[5]!]);
          await shows(running, { nextFill: 5, fills: [1, 2, 4], nextBlock: 3 });
          deepEqual(await rows('select fill::int, ended from settlement.fills order by fill'), [1, 2, 4].map((fill) => ({ fill, ended: false })));
          deepEqual(await rows('select partition, next_seq::int from settlement.partitions where next_seq <> 1 order by 1'),
            [[1, 3], [2, 7], [5, 3]].map(([partition, next]) => ({ partition, next_seq: next })));
        });
      }
    }

    it('a database that goes away and comes back: what was shown stays, nothing is asked meanwhile, and it goes on', async () => {
      const feed = spokenFeed();
      const history = createHistory();
      const running = await start(feed, { to: through });
      feed.say([history.opened(red), history.matched(red)]);
      await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
      const check = await running.intake.held(AbortSignal.timeout(60_000));
      check();
      proxy.refuse();
      await until('the trouble is told', () => running.intake.status().trouble !== undefined);
      throws(check, OutboxUnavailable);
      deepEqual(shown(running), { nextFill: 1, fills: [0], nextBlock: 0 });
      feed.say([history.matched(red), history.settled(0, red)]);
      proxy.accept();
      await shows(running, { nextFill: 2, fills: [1], nextBlock: 0 });
      equal(running.intake.status().trouble, undefined);
      (await running.intake.held(AbortSignal.timeout(60_000)))();
      match(reports.join('\n'), /^trouble: the intake of fills waits: the outbox is not available: .*\n[^]*note: the intake of fills goes on$/);
    });

    it('who stands by after a trouble has none, and no position that another one has left behind; what is wrong then is told', async () => {
      const [feed, history] = [spokenFeed(), createHistory()];
      const running = await start(feed, { to: through });
      feed.say([history.opened(red), history.matched(red)], 2);
      await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
      proxy.refuse();
      await until('the trouble is told', () => running.intake.status().trouble !== undefined);
      const other = await start(feed);
      await until('the other one takes in', () => other.intake.status().position === 2);
      proxy.accept();
      await until('it stands by', () => running.intake.status().standby);
      deepEqual(running.intake.status(), { standby: true, position: undefined, trouble: undefined });
      proxy.refuse();
      await until('it does not stand by any more', () => !running.intake.status().standby);
      match(running.intake.status().trouble ?? '', /^the outbox is not available: /);
      match(reports.join('\n'), /^(?:trouble: .*\n)+note: another process takes in fills, and this one stands by\ntrouble: /);
    });

    it('a session that ends while nothing comes is noticed, and another one is opened', async () => {
      const feed = spokenFeed();
      const running = await start(feed);
      const check = await running.intake.held(AbortSignal.timeout(60_000));
      await rows('select pg_terminate_backend(pid) from pg_stat_activity where application_name = \'settlement intake\' and datname = current_database()');
      await until('it is noticed', () => {
        try {
          check();
          return false;
        } catch {
          return true;
        }
      });
      (await running.intake.held(AbortSignal.timeout(60_000)))();
    });
  });

  it('has no more than a window of very many waiting fills in memory, and shows all of them in the end', async () => {
    const [feed, history]: [SpokenFeed, ReturnType<typeof createHistory>] = [spokenFeed(), createHistory()];
    const windowFills = 64;
    const running = await start(feed, { windowFills });
    const count = 3_000;
    const said: SequencedMessage[] = [history.opened(red)];
    for (let i = 0; i < count; i++) said.push(history.matched(red));
    for (let i = 0; i < said.length; i += 500) feed.say(said.slice(i, i + 500));
    await shows(running, { nextFill: windowFills, fills: Array.from({ length: windowFills }, (_, i) => i), nextBlock: 0 });
    const seen = new Set<number>();
    let [most, gone] = [0, 0];
    while (gone < count) {
      await until('the next ones are shown', () => shown(running).fills[0] === gone);
      const fills = [...running.intake.view(1).unsettled(0)].map(({ fill }) => fill);
      most = Math.max(most, fills.length);
      for (const fill of fills) seen.add(fill);
      const ending = fills.slice(0, 40);
      feed.say(ending.map((fill) => history.settled(fill, red)));
      gone += ending.length;
    }
    await shows(running, { nextFill: count, fills: [], nextBlock: 0 });
    deepEqual([seen.size, most <= windowFills], [count, true]);
  });
});
