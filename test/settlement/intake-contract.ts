/** What every store of the intake promises, shown by intakes that run on it: Postgres', and the one in memory that the simulation uses. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { changesOf } from '../../command/settlement/intake/changes.js';
import { laneOf } from '../../command/settlement/intake/owned-lane.js';
import { Overtaken, type IntakeStore, type StoreOptions } from '../../command/settlement/intake/store.js';
import { OutboxUnavailable, type LaneUser } from '../../command/lane/requests.js';
import type { PartitionPosition } from '../../command/feed/sequence.js';
import type { SequencedMessage } from '../../command/feed/messages.js';
import { createHistory, digestAt, marketIn, spokenFeed, type SpokenFeed } from '../support/fill-feed.js';
import { createIntakes, logOf, shown, shows, type Intakes } from './running-intake.js';
import { until } from '../support/until.js';

export interface IntakeAdapter {
  openStore(options: Pick<StoreOptions, 'signal' | 'standingBy' | 'lock'>): Promise<IntakeStore>;
  /** Of chain 1, for settlement, in the same database. */
  laneUser(): LaneUser;
  /** What is kept of fills, in the order of their numbers. */
  fills(): Promise<readonly { readonly fill: number; readonly ended: boolean }[]>;
  /** Chain and partition of every barrier. */
  barriers(): Promise<readonly unknown[]>;
  partitions(): Promise<readonly Pick<PartitionPosition, 'nextSeq' | 'position'>[]>;
  /** The server ends every session. */
  endSessions(): Promise<void>;
  close(): Promise<void>;
}

const [red, blue, far] = [marketIn(2), marketIn(5), marketIn(7, 137)];
const never = new AbortController().signal;

/** Registers the tests; each has a store of its own. */
export function describeIntake(make: () => Promise<IntakeAdapter>): void {
  let adapter: IntakeAdapter;
  let intakes: Intakes;

  beforeEach(async () => {
    adapter = await make();
    intakes = createIntakes((session) => adapter.openStore(session));
  });
  afterEach(async () => {
    await intakes.stop();
    await adapter.close();
  });

  const given: Given = { adapter: () => adapter, intakes: () => intakes };
  describe('what it keeps', () => { describeKept(given); });
  describe('what a start finds', () => { describeStarts(given); });
  describe('two at once', () => { describeTwo(given); });
}

interface Given {
  adapter(): IntakeAdapter;
  intakes(): Intakes;
}

function describeKept({ adapter, intakes }: Given): void {
  it('shows fills in order below the watermark, and drops those that settle or fail; what is reinstated comes as another fill', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    feed.say([history.opened(red), history.opened(blue), history.matched(red)]);
    const slow = history.matched(blue);
    feed.say([history.matched(red), history.matched(red)]);
    await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
    feed.say([slow]);
    await shows(running, { nextFill: 4, fills: [0, 1, 2, 3], nextBlock: 0 });
    feed.say([history.failed(2, red), history.settled(1, blue), history.matched(red), ...history.advanced(1, 6)]);
    await shows(running, { nextFill: 5, fills: [0, 3, 4], nextBlock: 7 });
    deepEqual(await adapter().fills(), [0, 3, 4].map((fill) => ({ fill, ended: false })));
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
    const first = await intakes().start(feed);
    feed.say([history.opened(red), history.opened(blue)]);
    const slow = [history.matched(blue), history.matched(blue)];
    feed.say([history.matched(red), history.matched(red)]);
    feed.say([history.settled(2, red)]);
    await until('it is written', async () => (await adapter().fills()).filter(({ ended }) => ended).length === 1);
    await first.stop();
    const second = await intakes().start(feed);
    feed.say(slow);
    await shows(second, { nextFill: 4, fills: [0, 1, 3], nextBlock: 0 });
    deepEqual(await adapter().fills(), [0, 1, 3].map((fill) => ({ fill, ended: false })));
  });

  it('a chain\'s block counts once every partition has had it', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    const [last, ...others] = history.advanced(1, 3);
    feed.say(others);
    await until('it is written', async () => (await adapter().barriers()).length === 7);
    equal(shown(running).nextBlock, 0);
    feed.say([last!]);
    await shows(running, { nextFill: 0, fills: [], nextBlock: 4 });
    equal(running.intake.barrier(137), undefined);
  });

  it('writes how far it has read also where there are no messages, so that the next start does not read it again', async () => {
    const feed = spokenFeed();
    await intakes().start(feed);
    feed.say([], 49_999);
    feed.say([], 50_000);
    await until('it is written', async () => (await adapter().partitions()).every(({ position }) => position === 50_000));
  });
}

function describeStarts({ adapter, intakes }: Given): void {
  it('keeps fills of chains that it is not to settle, and shows them to whoever is', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    feed.say([history.opened(far), history.matched(far), history.opened(red), history.matched(red)]);
    await shows(running, { nextFill: 2, fills: [1], nextBlock: 0 });
    deepEqual(shown(running, 137), { nextFill: 0, fills: [], nextBlock: 0 });
    await running.stop();
    const both = await intakes().start(feed, { chains: [1, 137] });
    await shows(both, { nextFill: 2, fills: [0], nextBlock: 0 }, 137);
    const refused = new Error('the history has markets on chain 137');
    await both.stop();
    await rejects(intakes().start(feed, { checkChains: (chains) => { if ([...chains].includes(137)) throw refused; } }), refused);
  });

  it('follows the feed from where it is, with the markets that it has seen', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    feed.say([history.opened(red), history.matched(red)], 2);
    await shows(running, { nextFill: 1, fills: [0], nextBlock: 0 });
    await running.stop();
    await intakes().start(feed, { log: await logOf(2) });
    await until('it is followed again', () => feed.followed.length === 2);
    const { partitions, markets } = feed.followed[1]!;
    deepEqual([...markets], [[red.marketId, 1]]);
    deepEqual(partitions.map(({ nextSeq, position, done }) => [nextSeq, position, done]), partitions.map((_, i) => [i === 2 ? 2 : 0, 2, 0]));
  });

  it('a session that ends while nothing comes is noticed, and another one is opened', async () => {
    const feed = spokenFeed();
    const running = await intakes().start(feed);
    const check = await running.intake.held(AbortSignal.timeout(60_000));
    await adapter().endSessions();
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

  it('has no more than a window of very many waiting fills in memory, and shows all of them in the end', async () => {
    const [feed, history]: [SpokenFeed, ReturnType<typeof createHistory>] = [spokenFeed(), createHistory()];
    const windowFills = 64;
    const running = await intakes().start(feed, { windowFills });
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
}

function describeTwo({ adapter, intakes }: Given): void {
  const moved = async (): Promise<number[]> => (await adapter().partitions()).flatMap(({ nextSeq }, partition) => nextSeq > 0 ? [partition] : []);

  async function load() {
    const store = await adapter().openStore({ signal: never, standingBy: () => undefined });
    const loaded = await store.load();
    await store.close();
    return loaded;
  }

  it('one takes in, the other stands by and takes over; who asks the lane is who takes in', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const [first, second] = [await intakes().start(feed), await intakes().start(feed)];
    deepEqual([first.intake.status().standby, second.intake.status().standby], [false, true]);
    feed.say([history.opened(red), history.matched(red)]);
    await shows(first, { nextFill: 1, fills: [0], nextBlock: 0 });
    deepEqual(shown(second), { nextFill: 0, fills: [], nextBlock: 0 });
    const user = () => adapter().laneUser();
    const stopping = new AbortController();
    const held = await laneOf(first.intake, user()).hold({ signal: stopping.signal, standingBy: () => undefined });
    let taken = false;
    const next = laneOf(second.intake, user()).hold({ signal: stopping.signal, standingBy: () => undefined }).then((each) => {
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
    const stores = await Promise.all(['a', 'b'].map((lock) => adapter().openStore({ lock, signal: AbortSignal.timeout(60_000), standingBy: () => undefined })));
    const loaded = await Promise.all(stores.map((store) => store.load()));
    await stores[0]!.write(changesOf(loaded[0]!.taken, { messages: messages.slice(0, 2) }));
    // Of its two partitions only one was moved by the other.
    await rejects(stores[1]!.write(changesOf(loaded[1]!.taken, { messages })), Overtaken);
    deepEqual(await moved(), [2]);
    deepEqual(await adapter().fills(), [{ fill: 0, ended: false }]);
    const again = await stores[1]!.load();
    await stores[1]!.write(changesOf(again.taken, { messages: messages.slice(2) }));
    deepEqual(await moved(), [2, 5]);
    for (const store of stores) await store.close();
  });

  it('a market or a fill that is there already is not taken in again, and nothing of its batch is', async () => {
    const history = createHistory();
    const opened = changesOf((await load()).taken, { messages: [history.opened(red), history.matched(red)] });
    const store = await adapter().openStore({ signal: never, standingBy: () => undefined });
    await store.write(opened);
    await store.close();
    for (const again of [{ opened: opened.opened }, { matched: opened.matched }]) {
      const { taken } = await load();
      const changes = changesOf(taken, { messages: [], reached: 9 });
      const next = await adapter().openStore({ signal: never, standingBy: () => undefined });
      await rejects(next.write({ ...changes, ...again }), OutboxUnavailable);
      await rejects(next.load(), OutboxUnavailable);
      deepEqual((await load()).taken, taken);
    }
  });
}
