/** What every store of settlement promises, shown by intakes that run on it: Postgres', and the one in memory that the simulation uses. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { changesOf } from '../../command/settlement/feed-changes.js';
import { NOTHING_WAITS, Overtaken, type QueuedFill, type SettlementStore } from '../../command/settlement/store.js';
import { OutboxUnavailable } from '../../command/lane/requests.js';
import type { StandBy } from '../../engine/reactor.js';
import type { PartitionPosition } from '../../command/feed/sequence.js';
import { createHistory, digestAt, marketIn, spokenFeed } from '../support/feed-history.js';
import { createIntakes, dueFills, logOf, shown, shows, type Intakes } from './running-intake.js';
import { until } from '../support/until.js';

export interface IntakeAdapter {
  openStore(options: StandBy & { readonly lock?: string }): Promise<SettlementStore>;
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
  describe('the queue', () => { describeQueue(given); });
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
    await shows(running, { watermark: 1, fills: [0], nextBlock: 0 });
    feed.say([slow]);
    await shows(running, { watermark: 4, fills: [0, 1, 2, 3], nextBlock: 0 });
    feed.say([history.failed(2, red), history.settled(1, blue), history.matched(red), ...history.advanced(1, 6)]);
    await shows(running, { watermark: 5, fills: [0, 3, 4], nextBlock: 7 });
    deepEqual(await adapter().fills(), [0, 3, 4].map((fill) => ({ fill, ended: false })));
    const [, fill] = await dueFills(running);
    deepEqual(fill, {
      fill: 3, chainId: 1, price: 500_000, size: 18_446_744_073_709_551_615n, buyNumber: 6, sellNumber: 7, state: 'waiting', sinceMs: fill!.sinceMs,
      dueMs: 0, batchLimit: undefined, tries: 0,
    });
    deepEqual(running.intake.history(), { position: 9, digest: Buffer.from(digestAt(9).slice(2), 'hex') });
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
    await shows(second, { watermark: 4, fills: [0, 1, 3], nextBlock: 0 });
    deepEqual(await adapter().fills(), [0, 1, 3].map((fill) => ({ fill, ended: false })));
  });

  it('a chain\'s block counts once every partition has had it', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    const [last, ...others] = history.advanced(1, 3);
    feed.say(others);
    await until('it is written', async () => (await adapter().barriers()).length === 7);
    equal((await shown(running)).nextBlock, 0);
    feed.say([last!]);
    await shows(running, { watermark: 0, fills: [], nextBlock: 4 });
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
  it('keeps the fills of every chain, and is refused where the history has a market of another chain', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    feed.say([history.opened(far), history.matched(far), history.opened(red), history.matched(red)]);
    await shows(running, { watermark: 2, fills: [1], nextBlock: 0 });
    await shows(running, { watermark: 2, fills: [0], nextBlock: 0 }, 137);
    await running.stop();
    const both = await intakes().start(feed);
    await shows(both, { watermark: 2, fills: [0], nextBlock: 0 }, 137);
    const refused = new Error('the history has markets on chain 137');
    await both.stop();
    await rejects(intakes().start(feed, { checkChains: (chains) => { if ([...chains].includes(137)) throw refused; } }), refused);
  });

  it('follows the feed from where it is, with the markets that it has seen', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const running = await intakes().start(feed);
    feed.say([history.opened(red), history.matched(red)], 2);
    await shows(running, { watermark: 1, fills: [0], nextBlock: 0 });
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
    const store = await running.intake.held(AbortSignal.timeout(60_000));
    await adapter().endSessions();
    await until('it is noticed', () => {
      try {
        store.check();
        return false;
      } catch {
        return true;
      }
    });
    await rejects(store.counts(1), OutboxUnavailable);
    (await running.intake.held(AbortSignal.timeout(60_000))).check();
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

  it('one takes in, the other stands by and takes over; only who takes in gets the queue', async () => {
    const feed = spokenFeed();
    const history = createHistory();
    const [first, second] = [await intakes().start(feed), await intakes().start(feed)];
    deepEqual([first.intake.status().standby, second.intake.status().standby], [false, true]);
    feed.say([history.opened(red), history.matched(red)]);
    await shows(first, { watermark: 1, fills: [0], nextBlock: 0 });
    deepEqual([second.intake.watermark(), second.intake.barrier(1), await second.intake.counts(1)], [0, undefined, NOTHING_WAITS]);
    const store = await first.intake.held(AbortSignal.timeout(60_000));
    let isTaken = false;
    const next = second.intake.held(AbortSignal.timeout(60_000)).then(() => { isTaken = true; });
    equal((await store.counts(1)).waiting, 1);
    equal(isTaken, false);
    await first.stop();
    await rejects(store.counts(1), OutboxUnavailable);
    await rejects(store.due(1, { nowMs: 0, maxPauseMs: 0, withNew: true, limit: 1 }), OutboxUnavailable);
    await next;
    await shows(second, { watermark: 1, fills: [0], nextBlock: 0 });
    deepEqual(second.intake.status().standby, false);
  });

  it('what one has written the other cannot write: the positions fence it off', async () => {
    const history = createHistory();
    const messages = [history.opened(red), history.matched(red), history.opened(blue)];
    const stores = await Promise.all(['a', 'b'].map((lock) => adapter().openStore({ lock, signal: AbortSignal.timeout(60_000), standingBy: () => undefined })));
    const loaded = await Promise.all(stores.map((store) => store.load()));
    await stores[0]!.take(changesOf(loaded[0]!.progress, { messages: messages.slice(0, 2) }), 0);
    // Of its two partitions only one was moved by the other.
    await rejects(stores[1]!.take(changesOf(loaded[1]!.progress, { messages }), 0), Overtaken);
    deepEqual(await moved(), [2]);
    deepEqual(await adapter().fills(), [{ fill: 0, ended: false }]);
    const again = await stores[1]!.load();
    await stores[1]!.take(changesOf(again.progress, { messages: messages.slice(2) }), 0);
    deepEqual(await moved(), [2, 5]);
    for (const store of stores) await store.close();
  });

  it('a market or a fill that is there already is not taken in again, and nothing of its batch is', async () => {
    const history = createHistory();
    const opened = changesOf((await load()).progress, { messages: [history.opened(red), history.matched(red)] });
    const store = await adapter().openStore({ signal: never, standingBy: () => undefined });
    await store.take(opened, 0);
    await store.close();
    for (const again of [{ opened: opened.opened }, { matched: opened.matched }]) {
      const { progress } = await load();
      const changes = changesOf(progress, { messages: [], reached: 9 });
      const next = await adapter().openStore({ signal: never, standingBy: () => undefined });
      await rejects(next.take({ ...changes, ...again }, 0), OutboxUnavailable);
      await rejects(next.load(), OutboxUnavailable);
      deepEqual((await load()).progress, progress);
    }
  });
}

function describeQueue({ adapter }: Given): void {
  let store: SettlementStore;

  /** Fills 0 to 3 of chain 1 and 4 of chain 137, which came at 100; 6 has come before 5. */
  beforeEach(async () => {
    const history = createHistory();
    const come = [history.opened(red), history.opened(far), ...[red, red, red, red, far].map((market) => history.matched(market))];
    history.matched(blue);
    store = await adapter().openStore({ signal: never, standingBy: () => undefined });
    await store.take(changesOf((await store.load()).progress, { messages: [...come, history.matched(red)] }), 100);
  });
  afterEach(() => store.close());

  const query = { nowMs: 1_000, maxPauseMs: 5_000, withNew: true, limit: 10 };
  const due = async (changed: Partial<typeof query> = {}, chainId = 1) => (
    (await store.due(chainId, { ...query, ...changed })).map(({ fill }) => fill));
  const change = async (fill: number, changed: Partial<QueuedFill>) => {
    const [found] = await store.fills(1, [fill]);
    await store.change(1, [{ ...found!, ...changed }]);
  };

  it('has a chain\'s fills in order, up to a limit, and none from the watermark on', async () => {
    deepEqual([await due(), await due({ limit: 2 }), await due({}, 137), await due({}, 5)], [[0, 1, 2, 3], [0, 1], [4], []]);
    deepEqual((await store.fills(1, [3, 6, 4, 99])).map(({ fill }) => fill), [3, 6], 'asked for by their numbers');
  });

  it('keeps what is changed of a fill, whole, and of no other', async () => {
    const changed = { state: 'returned' as const, sinceMs: 200, dueMs: 700, batchLimit: 3, tries: 2 };
    await change(1, changed);
    const [first, second] = await store.fills(1, [1, 2]);
    deepEqual(first, { ...second!, fill: 1, buyNumber: 2, sellNumber: 3, ...changed });
    await store.change(1, []);
    await store.change(1, [{ ...first!, fill: 50 }]);
    deepEqual(await due(), [0, 1, 2, 3], 'what has left the queue stays away');
  });

  it('leaves out what is in a request, and what waits for a later time, unless the clock was set back', async () => {
    await change(0, { state: 'requested' });
    await change(1, { state: 'returned', dueMs: 1_001 });
    await change(2, { state: 'doubtful', dueMs: 1_000 });
    deepEqual([await due(), await due({ nowMs: 1_001 }), await due({ nowMs: 0, maxPauseMs: 999 })], [[2, 3], [1, 2, 3], [1, 2, 3]]);
    deepEqual(await due({ withNew: false, nowMs: 2_000 }), [1, 2]);
    deepEqual((await store.requested(1)).map(({ fill }) => fill), [0]);
  });

  it('counts what is in no request', async () => {
    deepEqual(await store.counts(1), { waiting: 4, returned: 0, limited: 0, oldestSinceMs: 100, nextDueMs: undefined });
    await change(0, { state: 'requested', batchLimit: 3 });
    for (const fill of [1, 2]) await change(fill, { state: 'returned', sinceMs: 10 * fill, dueMs: 1_000 * fill, batchLimit: 1, tries: 1 });
    await change(3, { state: 'doubtful', dueMs: 4_000 });
    deepEqual(await store.counts(1), { waiting: 3, returned: 2, limited: 2, oldestSinceMs: 10, nextDueMs: 1_000 });
    deepEqual(await store.counts(5), NOTHING_WAITS);
  });

  it('loses a fill that has ended, whatever its state, and one that ended early is not there any more', async () => {
    await change(0, { state: 'requested' });
    await change(1, { state: 'returned', dueMs: 5_000 });
    const { progress } = await store.load();
    const changes = changesOf(progress, { messages: [], reached: 20 });
    await store.take({ ...changes, dropped: [0, 1].map((fill) => ({ chainId: 1, fill })), ended: [{ chainId: 1, fill: 6 }] }, 300);
    deepEqual([await store.requested(1), await due(), (await store.fills(1, [0, 1, 6]))], [[], [2, 3], []]);
  });

  it('is what the next session finds', async () => {
    await change(0, { state: 'requested', tries: 1 });
    const before = await store.fills(1, [0, 1, 2, 3, 6]);
    await store.close();
    store = await adapter().openStore({ signal: never, standingBy: () => undefined });
    deepEqual(await store.fills(1, [0, 1, 2, 3, 6]), before);
  });
}
