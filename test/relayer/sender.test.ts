/**
 * The relay sender while its outbox fails: a request of which nobody knows whether the lane has it is neither given up nor forgotten. And while
 * requests come at once: a nonce is used once.
 */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { openRelaySender } from '../../command/relayer/sender.js';
import type { RelayNote } from '../../command/relayer/note.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneRequest, type TrackedRequest } from '../../command/lane/requests.js';
import { CHAIN_ID, contracts } from '../support/relay-scene.js';
import { turnsUntil } from '../support/until.js';

const requestId = `0x${'77'.repeat(32)}`;
const note: RelayNote = { requestId, action: 'ctf-approval', owner: `0x${'11'.repeat(20)}`, goals: [], nonces: [['owner', '0']], fromBlock: 1 };

/** A lane that has sent each request as soon as it is asked. */
function sendingAtOnce(): HeldLaneUser {
  const listed: TrackedRequest[] = [];
  const list = () => Promise.resolve([...listed]);
  return {
    ask(requests) {
      listed.push(...requests.map((request): TrackedRequest => (
        { ...request, status: { kind: 'sent' }, txHashes: [`0x${'ab'.repeat(32)}`], askedAtMs: 0 })));
      return Promise.resolve();
    },
    changes: list, list, forget: () => Promise.resolve(), close: () => Promise.resolve(),
    state: () => Promise.resolve({ address: note.owner, blockGasLimit: undefined, problem: undefined, seenAtMs: 0 }),
    wait: () => new Promise((resolve) => { setImmediate(() => { resolve('timeout'); }); }),
  };
}

describe('relayer: the sender of requests', () => {
  it('does not give up a request whose way to the lane is in doubt, and finds it in the outbox', async () => {
    const stop = new AbortController();
    const recorded: string[] = [];
    const listed: TrackedRequest[] = [];
    let letGo: (() => void) | undefined;
    /** The first session ends when it is asked: the outbox has the request, and the answer is lost. */
    const session = (fails: boolean): HeldLaneUser => {
      let dead = false;
      let gate = Promise.resolve();
      let rounds = 0;
      const alive = () => { if (dead) throw new OutboxUnavailable(new Error('cut')); };
      return {
        ask(requests: readonly LaneRequest[]) {
          listed.push(...requests.map(({ id }) => ({ id, note, status: { kind: 'sent' as const }, txHashes: [`0x${'ab'.repeat(32)}`], askedAtMs: 0 })));
          dead = fails;
          return fails ? Promise.reject(new OutboxUnavailable(new Error('cut'))) : Promise.resolve();
        },
        async changes() {
          alive();
          return Promise.resolve([...listed]);
        },
        list: () => Promise.resolve([...listed]),
        forget: () => Promise.resolve(),
        async state() {
          alive();
          // From the second round on, the first session's rounds wait here while the request is sent.
          if (fails && ++rounds === 2) gate = new Promise((resolve) => { letGo = resolve; });
          await gate;
          return { address: note.owner, blockGasLimit: undefined, problem: undefined, seenAtMs: rounds };
        },
        wait: () => new Promise((resolve) => { setImmediate(() => { resolve('timeout'); }); }),
        close: () => Promise.resolve(),
      };
    };
    let sessions = 0;
    const open = new Set<string>();
    const sender = openRelaySender({
      chainId: CHAIN_ID, signal: stop.signal, now: () => 1_000, report: () => undefined,
      lane: { hold: () => Promise.resolve(session(++sessions === 1)) },
      history: {
        open: () => [...open].map((id) => ({ requestId: id, claims: [] })), nextBlock: () => 0, catchUp: () => Promise.resolve(),
        record(command) {
          recorded.push(command.kind);
          if (command.kind === 'RequestRelay') open.add(command.requestId); else open.delete(command.requestId);
          return Promise.resolve({ position: recorded.length, taken: true });
        },
      },
      endings: { contracts, relayer: note.owner } as never,
    });
    const until = async (holds: () => boolean) => { while (!holds()) await new Promise((resolve) => { setImmediate(resolve); }); };
    await until(() => sender.problem() === undefined);
    await until(() => letGo !== undefined);
    await assert.rejects(sender.send({ note, claims: [], call: { to: contracts.conditionalTokens, data: '0x' }, gasLimit: 1n, recheck: () => Promise.resolve(), token: 't' }), /the outbox does not answer/);
    letGo!();
    await until(() => sessions === 2 && sender.problem() === undefined);
    assert.equal(await sender.find(requestId), `0x${'ab'.repeat(32)}`);
    assert.deepEqual(recorded, ['RequestRelay'], 'nothing was ended');
    stop.abort();
    await sender.done;
  });

  it('does not give up what another process has taken since this one has lost the lane', async () => {
    const stop = new AbortController();
    const other = `0x${'88'.repeat(32)}`;
    const recorded: string[] = [];
    const open = new Set([requestId]);
    const ending = { kind: 'mined' as const, txHash: `0x${'ab'.repeat(32)}`, block: 0, succeeded: true };
    const ended: TrackedRequest = { id: 'one', note, status: { kind: 'ended', ending }, txHashes: [ending.txHash], askedAtMs: 0 };
    let [isLost, isOver] = [false, false];
    const session: HeldLaneUser = {
      changes: () => isLost ? Promise.reject(new OutboxUnavailable(new Error('cut'))) : Promise.resolve([ended]),
      state: () => Promise.resolve({ address: note.owner, blockGasLimit: undefined, problem: undefined, seenAtMs: 0 }),
      ask: () => Promise.resolve(), list: () => Promise.resolve([]), forget: () => Promise.resolve(), close: () => Promise.resolve(),
      wait: () => new Promise((resolve) => { setImmediate(() => { resolve('timeout'); }); }),
    };
    let holds = 0;
    const sender = openRelaySender({
      chainId: CHAIN_ID, signal: stop.signal, now: () => 1_000, report: () => undefined,
      lane: {
        hold: () => {
          if (holds++ === 0) return Promise.resolve(session);
          isOver = true;
          return new Promise((_, reject) => { stop.signal.addEventListener('abort', () => { reject(new Error('stopped')); }); });
        },
      },
      history: {
        open: () => [...open].map((id) => ({ requestId: id, claims: [] })), nextBlock: () => 1, catchUp: () => Promise.resolve(),
        record(command) {
          recorded.push(`${command.kind} ${command.requestId}`);
          return Promise.resolve({ position: 0, taken: true });
        },
      },
      endings: {
        contracts, relayer: note.owner,
        reads: {
          // While the chain is asked how the first request has ended, another process becomes the sender and takes a request.
          funds() {
            isLost = true;
            open.add(other);
            return Promise.reject(new Error('no node answers'));
          },
        },
      } as never,
    });
    while (!isOver) await new Promise((resolve) => { setImmediate(resolve); });
    assert.deepEqual(recorded, []);
    stop.abort();
    await sender.done;
  });

  it('does not give up what another process takes while the outbox\'s answer is on its way', async () => {
    const stop = new AbortController();
    const recorded: string[] = [];
    const open = new Set<string>();
    let [reads, holds] = [0, 0];
    const session: HeldLaneUser = {
      changes() {
        // The second answer is the last one of this session: it was given before another process became the sender and took a request.
        if (++reads === 2) open.add(requestId);
        return reads > 2 ? Promise.reject(new OutboxUnavailable(new Error('cut'))) : Promise.resolve([]);
      },
      state: () => Promise.resolve({ address: note.owner, blockGasLimit: undefined, problem: undefined, seenAtMs: 0 }),
      ask: () => Promise.resolve(), list: () => Promise.resolve([]), forget: () => Promise.resolve(), close: () => Promise.resolve(),
      wait: () => Promise.resolve('timeout'),
    };
    const sender = openRelaySender({
      chainId: CHAIN_ID, signal: stop.signal, now: () => 1_000, report: () => undefined,
      lane: {
        hold: () => ++holds === 1
          ? Promise.resolve(session)
          : new Promise((_, reject) => { stop.signal.addEventListener('abort', () => { reject(new Error('stopped')); }); }),
      },
      history: {
        open: () => [...open].map((id) => ({ requestId: id, claims: [] })), nextBlock: () => 0, catchUp: () => Promise.resolve(),
        record(command) {
          recorded.push(`${command.kind} ${command.requestId}`);
          return Promise.resolve({ position: 0, taken: true });
        },
      },
      endings: { contracts, relayer: note.owner } as never,
    });
    await turnsUntil('this process stands by', () => holds === 2);
    stop.abort();
    await sender.done;
    assert.deepEqual(recorded, []);
  });

  it('takes one of two requests with the same nonce that come at once', async () => {
    const stop = new AbortController();
    const recorded: string[] = [];
    const session = sendingAtOnce();
    const sender = openRelaySender({
      chainId: CHAIN_ID, signal: stop.signal, now: () => 1_000, report: () => undefined, lane: { hold: () => Promise.resolve(session) },
      history: {
        open: () => [], nextBlock: () => 0, catchUp: () => Promise.resolve(),
        async record({ requestId: id }) {
          recorded.push(id);
          await new Promise((resolve) => { setImmediate(resolve); });
          return { position: recorded.length, taken: true };
        },
      },
      endings: { contracts, relayer: note.owner } as never,
    });
    await turnsUntil('the sender is ready', () => sender.problem() === undefined);
    const other: RelayNote = { ...note, requestId: `0x${'88'.repeat(32)}`, nonces: [['token', '4'], ...note.nonces] };
    // Both have passed the relayer's own check of used nonces before either is sent.
    for (const { nonces } of [note, other]) sender.refuseUsed(nonces);
    const send = (each: RelayNote) => sender.send({ note: each, claims: [], call: { to: contracts.conditionalTokens, data: '0x' }, gasLimit: 1n, recheck: () => Promise.resolve(), token: 't' });
    const [first, second] = await Promise.allSettled([send(note), send(other)]);
    stop.abort();
    await sender.done;
    assert.deepEqual(first, { status: 'fulfilled', value: `0x${'ab'.repeat(32)}` });
    assert.ok(second.status === 'rejected' && second.reason instanceof RequestError && second.reason.code === 'relay_already_used', JSON.stringify(second));
    const asked = (await session.list()).map((each) => (each.note as RelayNote).requestId);
    assert.deepEqual([recorded, asked], [[requestId], [requestId]]);
  });

  it('tells of the owner\'s requests that it took before one, so that two at once do not keep each other out', async () => {
    const stop = new AbortController();
    let recorded = 0;
    const session = sendingAtOnce();
    const sender = openRelaySender({
      chainId: CHAIN_ID, signal: stop.signal, now: () => 1_000, report: () => undefined, lane: { hold: () => Promise.resolve(session) },
      history: {
        open: () => [], nextBlock: () => 0, catchUp: () => Promise.resolve(), record: () => Promise.resolve({ position: recorded++, taken: true }),
      },
      endings: { contracts, relayer: note.owner } as never,
    });
    await turnsUntil('the sender is ready', () => sender.problem() === undefined);
    const owners = [note.owner, `0x${'22'.repeat(20)}`, note.owner, note.owner];
    const notes = owners.map((owner, i): RelayNote => ({ ...note, owner, requestId: `request ${i}`, nonces: [['space', String(i)]] }));
    const openOf = (requestId: string) => sender.openOf(note.owner, requestId).map((each) => each.requestId);
    const found: string[][] = [];
    await Promise.all(notes.map((each) => sender.send({
      note: each, claims: [], call: { to: contracts.conditionalTokens, data: '0x' }, gasLimit: 1n, token: 't',
      recheck: async () => {
        await new Promise((resolve) => { setImmediate(resolve); });
        if (each.owner === note.owner) found.push(openOf(each.requestId));
      },
    })));
    assert.deepEqual(found, [[], ['request 0'], ['request 0', 'request 2']]);
    assert.deepEqual(openOf('another'), ['request 0', 'request 2', 'request 3']);
    stop.abort();
    await sender.done;
  });

  it('ends a request that the history forbids once it has the request, without the lane', async () => {
    const stop = new AbortController();
    const recorded: unknown[] = [];
    const asked: unknown[] = [];
    const session: HeldLaneUser = {
      changes: () => Promise.resolve([]), list: () => Promise.resolve([]), forget: () => Promise.resolve(), close: () => Promise.resolve(),
      state: () => Promise.resolve({ address: note.owner, blockGasLimit: undefined, problem: undefined, seenAtMs: 0 }),
      ask(requests) {
        asked.push(...requests);
        return Promise.resolve();
      },
      wait: () => new Promise((resolve) => { setImmediate(() => { resolve('timeout'); }); }),
    };
    const sender = openRelaySender({
      chainId: CHAIN_ID, signal: stop.signal, now: () => 1_000, report: () => undefined, lane: { hold: () => Promise.resolve(session) },
      history: {
        open: () => [], nextBlock: () => 0, catchUp: () => Promise.resolve(),
        record(command) {
          recorded.push(command.kind === 'EndRelay' ? { txHash: command.txHash, results: command.results } : command.kind);
          return Promise.resolve({ position: 0, taken: true });
        },
      },
      endings: { contracts, relayer: note.owner } as never,
    });
    while (sender.problem() !== undefined) await new Promise((resolve) => { setImmediate(resolve); });
    const recheck = () => Promise.reject(new RequestError('relay_cover_needed', 'they need 5'));
    const order = { note: { ...note, goals: [{ kind: 'merge' as const, owner: note.owner, marketId: requestId, amount: '5' }] }, claims: [] };
    await assert.rejects(sender.send({ ...order, call: { to: contracts.conditionalTokens, data: '0x' }, gasLimit: 1n, recheck, token: 't' }), { code: 'relay_cover_needed' });
    assert.deepEqual(recorded, ['RequestRelay', {
      txHash: undefined, results: [{ succeeded: false, reason: 'relay_cover_needed: they need 5' }],
    }]);
    assert.deepEqual([asked, sender.status().open], [[], 0]);
    stop.abort();
    await sender.done;
  });
});
