/** Requests as a user of a lane sees them: asked once, told of in order, forgotten by its own word, owned by one process. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox, type HeldLane } from '../../command/lane/outbox.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneRequest, type Purpose } from '../../command/lane/requests.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';

const never = new AbortController().signal;
const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const request = (number: number, changes: Partial<LaneRequest> = {}): LaneRequest => (
  { id: id(number), to: '0x01', data: '0x02', gasLimit: 3n, note: { number }, ...changes });
const FEES = { maxFeePerGas: 5n, maxPriorityFeePerGas: 1n };

describe('lane: requests', () => {
  let database: TestDatabase;
  let chainId = 0;
  const open: { close(): Promise<void> }[] = [];

  before(async () => { database = await testDatabase(); });
  beforeEach(() => { chainId++; });
  afterEach(async () => { await Promise.all(open.splice(0).map((each) => each.close())); });
  after(() => database.drop());

  async function user(purpose: Purpose = 'settlement', options: { standingBy?: () => void; key?: string } = {}): Promise<HeldLaneUser> {
    const held = await openLaneUser({ url: database.url, chainId, key: 'operator', purpose, standByMs: 5, ...options }).hold(never);
    open.push(held);
    return held;
  }

  async function lane(key = 'operator', address = '0xaa'): Promise<HeldLane> {
    const outbox = createOutbox({ url: database.url, standByMs: 5 });
    const held = await outbox.hold({ chainId, key, address }, { signal: never, standingBy: () => undefined });
    open.push(held);
    return held;
  }

  const send = async (held: HeldLane, numbers: readonly number[], firstNonce = 0): Promise<void> => {
    const waiting = await held.waiting(100);
    await held.record(numbers.map((number, i) => ({
      nonce: firstNonce + i, request: waiting.find((each) => each.id === id(number)),
      attempts: [{ txHash: `0x${number}`, raw: '0x', fees: FEES, broadcast: false }],
    })));
  };

  const told = async (held: HeldLaneUser) => (await held.changes()).map(({ note, status }) => [(note as { number: number }).number, status.kind]);

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
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query({ text: 'select status, data, note from lane.requests where chain_id = $1 and forgotten order by number', values: [chainId], rowMode: 'array' });
    await client.end();
    assert.deepEqual(rows, [['ended', '', null], ['refused', '', null]]);
  });

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
    const third = openLaneUser({ url: database.url, chainId, key: 'operator', purpose: 'settlement', standByMs: 5 }).hold(gaveUp.signal);
    gaveUp.abort(new Error('no more'));
    await assert.rejects(third, /no more/);
  });

  it('the lane\'s state: undefined before there was one; then its address, gas and trouble, and since when', async () => {
    const asker = await user();
    assert.equal(await asker.state(), undefined);
    const worker = await lane();
    await worker.publish({ blockGasLimit: undefined, trouble: 'no node answers' });
    const first = await asker.state();
    await worker.publish({ blockGasLimit: 30n, trouble: 'another trouble' });
    const second = await asker.state();
    assert.deepEqual([first?.address, first?.blockGasLimit, first?.trouble?.text], ['0xaa', undefined, 'no node answers']);
    assert.deepEqual([second?.blockGasLimit, second?.trouble], [30n, { text: 'another trouble', sinceMs: first?.trouble?.sinceMs }]);
    assert.ok(second!.seenAtMs >= first!.seenAtMs && Math.abs(Date.now() - second!.seenAtMs) < 60_000);
    await worker.publish({ blockGasLimit: undefined, trouble: undefined });
    assert.deepEqual([(await asker.state())?.blockGasLimit, (await asker.state())?.trouble], [30n, undefined]);
  });

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
});
