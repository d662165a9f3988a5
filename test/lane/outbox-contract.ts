/** What every outbox promises to the lane that holds it and to the users who ask: Postgres', and the one in memory that the simulation uses. */
import assert from 'node:assert/strict';
import type { HeldLane, Outbox } from '../../command/lane/outbox.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneRequest, type LaneUser, type Purpose } from '../../command/lane/requests.js';

export interface OutboxAdapter {
  readonly outbox: Outbox;
  user(whose: { readonly chainId: number; readonly key: string; readonly purpose: Purpose }): LaneUser;
  /** Status, data and note of a chain's forgotten requests, in the order of asking. */
  forgotten(chainId: number): Promise<readonly unknown[]>;
  /** The server ends every session. */
  endSessions(): Promise<void>;
  close(): Promise<void>;
}

const never = new AbortController().signal;
const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const request = (number: number, changes: Partial<LaneRequest> = {}): LaneRequest => (
  { id: id(number), to: '0x01', data: '0x02', gasLimit: 3n, note: { number }, ...changes });
const FEES = { maxFeePerGas: 5n, maxPriorityFeePerGas: 1n };
const ATTEMPT = { txHash: '0xa', raw: '0x', fees: FEES, broadcast: false };
const SETTLEMENT = new Set<Purpose>(['settlement']);

interface Opened {
  user(purpose?: Purpose, options?: { standingBy?: () => void; key?: string }): Promise<HeldLaneUser>;
  lane(key?: string, address?: string, standingBy?: () => void): Promise<HeldLane>;
  adapter(): OutboxAdapter;
  chainId(): number;
}

/** Registers the tests. */
export function describeOutbox(make: () => Promise<OutboxAdapter>): void {
  let adapter: OutboxAdapter;
  let chainId = 0;
  const open: { close(): Promise<void> }[] = [];

  before(async () => { adapter = await make(); });
  beforeEach(() => { chainId++; });
  afterEach(async () => { await Promise.all(open.splice(0).map((each) => each.close())); });
  after(() => adapter.close());

  async function user(
    purpose: Purpose = 'settlement', { standingBy = () => undefined, key = 'operator' }: { standingBy?: () => void; key?: string } = {},
  ): Promise<HeldLaneUser> {
    const held = await adapter.user({ chainId, key, purpose }).hold({ signal: never, standingBy });
    open.push(held);
    return held;
  }

  async function lane(key = 'operator', address = '0xaa', standingBy: () => void = () => undefined): Promise<HeldLane> {
    const held = await adapter.outbox.hold({ chainId, key, address }, { signal: never, standingBy });
    open.push(held);
    return held;
  }

  const opened: Opened = { user, lane, adapter: () => adapter, chainId: () => chainId };
  describe('as its users see it', () => { describeUsers(opened); });
  describe('as the lane sees it', () => { describeLane(opened); });
  describe('a session', () => { describeSessions(opened); });
}

const send = async (held: HeldLane, numbers: readonly number[], firstNonce = 0): Promise<void> => {
  const waiting = await held.waiting(100);
  await held.record(numbers.map((number, i) => ({
    nonce: firstNonce + i, request: waiting.find((each) => each.id === id(number)),
    attempts: [{ txHash: `0x${number}`, raw: '0x', fees: FEES, broadcast: false }],
  })));
};

const told = async (held: HeldLaneUser) => (await held.changes()).map(({ note, status }) => [(note as { number: number }).number, status.kind]);

function describeUsers({ user, lane, adapter, chainId }: Opened): void {
  it('the same id again is the same request, whatever else it says, also when it is forgotten', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([request(1)]);
    await asker.ask([request(1, { to: '0xff', priority: 9 }), request(2)]);
    assert.deepEqual(await worker.waiting(9), [1, 2].map((number) => ({ ...request(number), priority: 0, purpose: 'settlement' })));
    await worker.refuse((await worker.waiting(9)).map((each) => ({ request: each, reason: 'no' })));
    await asker.forget([id(1), id(2)]);
    await asker.ask([request(1)]);
    assert.deepEqual([await worker.waiting(9), await asker.list()], [[], []]);
  });

  it('waits for the lane by priority, then in the order of asking, of all purposes and of this key only', async () => {
    const [settlement, relay, elsewhere] = [await user(), await user('relay'), await user('quick_market', { key: 'other' })];
    await settlement.ask([request(101), request(102)]);
    await relay.ask([request(103, { priority: 1 }), request(104)]);
    await elsewhere.ask([request(105, { priority: 9 })]);
    const worker = await lane();
    assert.deepEqual((await worker.waiting(9)).map((each) => each.id), [103, 101, 102, 104].map(id));
    assert.deepEqual((await worker.waiting(2)).map((each) => each.id), [103, 101].map(id));
  });

  it('tells its user what has changed since it looked, and only its own', async () => {
    const [asker, other, worker] = [await user(), await user('relay'), await lane()];
    await asker.ask([201, 202, 203].map((number) => request(number)));
    await other.ask([request(204)]);
    assert.deepEqual(await told(asker), [[201, 'waiting'], [202, 'waiting'], [203, 'waiting']]);
    await send(worker, [201, 202, 204]);
    assert.deepEqual([await told(asker), await told(asker)], [[[201, 'sent'], [202, 'sent']], []]);
    const [first] = (await worker.load()).open;
    await worker.recordAttempt(first!, { txHash: '0xb', raw: '0x', fees: FEES, broadcast: false });
    assert.deepEqual((await asker.changes()).map(({ txHashes }) => txHashes), [['0x201', '0xb']]);
    const ending = { kind: 'mined', txHash: '0xb', block: 7, succeeded: true } as const;
    await worker.markOver([{ nonce: 0, ending }], new Set(['settlement']));
    await worker.refuse([{ request: { ...request(203), purpose: 'settlement' }, reason: 'too large' }]);
    assert.deepEqual((await asker.changes()).map(({ status }) => status), [{ kind: 'ended', ending }, { kind: 'refused', reason: 'too large' }]);
    assert.deepEqual((await other.list()).map(({ status }) => status), [{ kind: 'sent' }]);
    await asker.close();
    assert.deepEqual((await told(await user())), [[201, 'ended'], [202, 'sent'], [203, 'refused']], 'the next process is told all');
  });

  it('forgets what has ended or was refused, with its bytes, and nothing that may still be sent', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([301, 302, 303, 304].map((number) => request(number)));
    await send(worker, [301, 302]);
    await worker.markOver([{ nonce: 0, ending: { kind: 'lost' } }], new Set(['settlement']));
    await worker.refuse([{ request: { ...request(303), purpose: 'settlement' }, reason: 'no' }]);
    await asker.forget([301, 302, 303, 304].map(id));
    assert.deepEqual((await asker.list()).map(({ note, status }) => [note, status.kind]), [[{ number: 302 }, 'sent'], [{ number: 304 }, 'waiting']]);
    assert.deepEqual(await adapter().forgotten(chainId()), [['ended', '', null], ['refused', '', null]]);
  });

  it('the lane\'s state: undefined before there was one; then its address, gas and problem, and since when', async () => {
    const asker = await user();
    assert.equal(await asker.state(), undefined);
    const worker = await lane();
    await worker.publish({ blockGasLimit: undefined, problem: 'no node answers' });
    const first = await asker.state();
    await worker.publish({ blockGasLimit: 30n, problem: 'another problem' });
    const second = await asker.state();
    assert.deepEqual([first?.address, first?.blockGasLimit, first?.problem?.text], ['0xaa', undefined, 'no node answers']);
    assert.deepEqual([second?.blockGasLimit, second?.problem], [30n, { text: 'another problem', sinceMs: first?.problem?.sinceMs }]);
    assert.ok(second!.seenAtMs >= first!.seenAtMs && Math.abs(Date.now() - second!.seenAtMs) < 60_000);
    await worker.publish({ blockGasLimit: undefined, problem: undefined });
    assert.deepEqual([(await asker.state())?.blockGasLimit, (await asker.state())?.problem], [30n, undefined]);
  });
}

function describeLane({ user, lane }: Opened): void {
  it('a nonce that was over can be recorded again, and what was recorded for it stays', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([request(601), request(602)]);
    await send(worker, [601]);
    await assert.rejects(send(worker, [602]), OutboxUnavailable, 'it is open');
    const next = await lane();
    await next.markOver([{ nonce: 0, ending: { kind: 'lost' } }], new Set(['settlement']));
    await send(next, [602]);
    const { open: transactions, nextNonce } = await next.load();
    assert.deepEqual([transactions.map(({ request: of }) => of?.id), nextNonce], [[id(602)], 1]);
    assert.deepEqual(await told(asker), [[601, 'ended'], [602, 'sent']]);
  });

  it('records all transactions or none, each with its first attempt, which no node has taken', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([701, 702, 703].map((number) => request(number)));
    await send(worker, [701], 1);
    await assert.rejects(send(worker, [702, 703]), OutboxUnavailable, 'the second nonce is open');
    const next = await lane();
    assert.deepEqual(await told(asker), [[701, 'sent'], [702, 'waiting'], [703, 'waiting']]);
    const unknown = { ...request(799), purpose: 'settlement' } as const;
    await assert.rejects(next.record([{ nonce: 2, request: unknown, attempts: [ATTEMPT] }]), OutboxUnavailable, 'nobody asked for it');
    const third = await lane();
    const later = { ...ATTEMPT, txHash: '0xb' };
    await third.record([
      { nonce: 2, request: undefined, attempts: [{ ...ATTEMPT, broadcast: true }, later] },
      { nonce: 3, request: undefined, attempts: [] },
    ]);
    const { open, nextNonce, formerAddresses, earlier } = await third.load();
    assert.deepEqual(open.map(({ nonce, request: of, attempts }) => [nonce, of?.id, attempts]), [
      [1, id(701), [{ ...ATTEMPT, txHash: '0x701' }]], [2, undefined, [ATTEMPT]]]);
    assert.deepEqual([nextNonce, formerAddresses, earlier], [3, [], 0]);
  });

  it('refuses what waits, and nothing that it has taken', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([801, 802].map((number) => request(number)));
    await send(worker, [801]);
    await worker.refuse([801, 802, 803].map((number) => ({ request: { ...request(number), purpose: 'settlement' as const }, reason: 'no' })));
    assert.deepEqual(await told(asker), [[801, 'sent'], [802, 'refused']]);
  });

  it('knows which attempts a node has taken; a nonce that is not open has no further attempt and no other ending', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([901, 902].map((number) => request(number)));
    await send(worker, [901, 902]);
    const [first, second] = (await worker.load()).open;
    await worker.recordAttempt(first!, { ...ATTEMPT, txHash: '0xb' });
    await worker.markBroadcast(['0xb', '0x902', '0xstranger']);
    const taken = async () => (await worker.load()).open.map(({ attempts }) => attempts.map(({ txHash, broadcast }) => [txHash, broadcast]));
    assert.deepEqual(await taken(), [[['0x901', false], ['0xb', true]], [['0x902', true]]]);
    await worker.markOver([{ nonce: 1, ending: { kind: 'lost' } }, { nonce: 9, ending: { kind: 'lost' } }], SETTLEMENT);
    await worker.markOver([{ nonce: 1, ending: { kind: 'mined', txHash: '0x902', block: 1, succeeded: true } }], SETTLEMENT);
    await worker.recordAttempt(second!, { ...ATTEMPT, txHash: '0xc' });
    assert.deepEqual((await asker.list()).map(({ status, txHashes }) => [status, txHashes]), [
      [{ kind: 'sent' }, ['0x901', '0xb']], [{ kind: 'ended', ending: { kind: 'lost' } }, ['0x902']]]);
    assert.deepEqual(await taken(), [[['0x901', false], ['0xb', true]]]);
  });

  it('finds what an earlier address of its key has open, and follows that through the same session', async () => {
    const [asker, worker] = [await user(), await lane('operator', '0xaa')];
    await asker.ask([1_001, 1_002].map((number) => request(number)));
    await send(worker, [1_001], 5);
    await worker.close();
    const next = await lane('operator', '0xbb');
    await send(next, [1_002]);
    const { open, nextNonce, formerAddresses } = await next.load();
    assert.deepEqual([open.map(({ nonce }) => nonce), nextNonce, formerAddresses], [[0], 1, ['0xaa']]);
    const former = next.former('0xaa');
    assert.deepEqual((await former.load()).open.map(({ nonce }) => nonce), [5]);
    await former.markOver([{ nonce: 5, ending: { kind: 'lost' } }], SETTLEMENT);
    assert.deepEqual((await next.load()).formerAddresses, []);
    assert.deepEqual(await told(asker), [[1_001, 'ended'], [1_002, 'sent']]);
  });
}

function hasEnded(held: HeldLane): boolean {
  try {
    held.check();
    return false;
  } catch (error) {
    assert.ok(error instanceof OutboxUnavailable);
    return true;
  }
}

function describeSessions({ user, lane, adapter, chainId }: Opened): void {
  it('wakes the lane when a request is made, and the user when a request changes', async () => {
    const [asker, worker] = [await user(), await lane()];
    const asked = worker.bell.wait(never, 20_000);
    await asker.ask([request(401)]);
    assert.equal(await asked, 'rung');
    await asker.changes();
    const wait = asker.wait(never, 20_000);
    await send(worker, [401]);
    assert.deepEqual([await wait, await asker.wait(never, 20_000), await told(asker)], ['rung', 'rung', [[401, 'sent']]], 'a wake-up lasts until it is looked');
    assert.equal(await asker.wait(AbortSignal.abort(), 20_000), 'aborted');
    assert.equal(await asker.wait(never, 1), 'timeout');
  });

  it('one process owns a purpose; another stands by and finds what was asked', async () => {
    const first = await user();
    let standsBy: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => { standsBy = resolve; });
    const taking = user('settlement', { standingBy: () => { standsBy(); } });
    await waiting;
    await first.ask([request(501)]);
    await first.close();
    const second = await taking;
    assert.deepEqual(await told(second), [[501, 'waiting']]);
    await assert.rejects(first.ask([request(502)]), OutboxUnavailable);
    const gaveUp = new AbortController();
    const third = adapter().user({ chainId: chainId(), key: 'operator', purpose: 'settlement' }).hold({ signal: gaveUp.signal, standingBy: () => undefined });
    gaveUp.abort(new Error('no more'));
    await assert.rejects(third, /no more/);
  });

  it('one process holds a key, by its name and by its address; another stands by and takes it when it is let go', async () => {
    const first = await lane('operator', '0xaa');
    let standing = 0;
    for (const [key, address] of [['operator', '0xbb'], ['other', '0xaa']] as const) {
      const gaveUp = new AbortController();
      const waits = adapter().outbox.hold({ chainId: chainId(), key, address }, {
        signal: gaveUp.signal,
        standingBy: () => {
          standing += 1;
          gaveUp.abort(new Error('no more'));
        },
      });
      await assert.rejects(waits, /no more/);
    }
    assert.equal(standing, 2);
    const second = lane('operator', '0xaa', () => { void first.close(); });
    await (await second).load();
    assert.throws(() => { first.check(); }, OutboxUnavailable);
  });

  it('that the server ends: the bell rings, nothing more is read or written, and the next one has what was committed', async () => {
    const [asker, worker] = [await user(), await lane()];
    await asker.ask([request(1_101)]);
    worker.check();
    await adapter().endSessions();
    while (!hasEnded(worker)) assert.equal(await worker.bell.wait(never, 20_000), 'rung');
    await assert.rejects(worker.record([{ nonce: 0, request: undefined, attempts: [ATTEMPT] }]), OutboxUnavailable);
    await assert.rejects(asker.list(), OutboxUnavailable);
    assert.deepEqual(await told(await user()), [[1_101, 'waiting']]);
    assert.deepEqual((await (await lane()).load()).open, []);
  });
}
