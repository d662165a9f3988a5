/** The relay sender when one bearer token asks for very much: others are next. */
import assert from 'node:assert/strict';
import { openRelaySender } from '../../command/relayer/sender.js';
import type { RelayNote } from '../../command/relayer/note.js';
import type { HeldLaneUser, TrackedRequest } from '../../command/lane/requests.js';
import { CHAIN_ID, contracts } from '../support/relay-scene.js';
import { turnsUntil } from '../support/until.js';

const HASH = `0x${'ab'.repeat(32)}`;

/** A sender over a lane that signs only when it is told to. */
function scene({ answerWithinMs = 60_000 } = {}) {
  const stop = new AbortController();
  const listed: TrackedRequest[] = [];
  let changed: TrackedRequest[] = [];
  const session: HeldLaneUser = {
    ask(requests) {
      listed.push(...requests.map(({ id, note }): TrackedRequest => ({ id, note, status: { kind: 'waiting' }, txHashes: [], askedAtMs: 0 })));
      return Promise.resolve();
    },
    changes: () => Promise.resolve(changed.splice(0)), list: () => Promise.resolve([...listed]),
    forget: () => Promise.resolve(), close: () => Promise.resolve(),
    state: () => Promise.resolve({ address: contracts.collateral, blockGasLimit: undefined, problem: undefined, seenAtMs: 0 }),
    wait: () => new Promise((resolve) => { setImmediate(() => { resolve('timeout'); }); }),
  };
  const recorded: string[] = [];
  const sender = openRelaySender({
    chainId: CHAIN_ID, signal: stop.signal, now: () => Math.round(performance.now()), report: () => undefined,
    lane: { hold: () => Promise.resolve(session) },
    history: {
      open: () => [], nextBlock: () => 0, catchUp: () => Promise.resolve(),
      record(command) {
        recorded.push(command.kind);
        return Promise.resolve({ position: recorded.length, taken: true });
      },
    },
    endings: { contracts, relayer: contracts.collateral } as never, timings: { answerWithinMs },
  });
  const names = () => listed.map(({ note }) => (note as RelayNote).owner);
  let signed = 0;
  return {
    sender, names, recorded,
    send(token: string, owner: string) {
      const requestId = `${token} ${owner}`;
      const note: RelayNote = { requestId, action: 'ctf-approval', owner: requestId, goals: [], nonces: [[requestId, '0']], fromBlock: 1 };
      return sender.send({ note, token, claims: [], call: { to: contracts.conditionalTokens, data: '0x' }, gasLimit: 1n, recheck: () => Promise.resolve() });
    },
    /** The lane signs the oldest requests that it has not signed. */
    sign(count: number): void {
      changed = listed.slice(signed, signed += count).map((request) => ({ ...request, status: { kind: 'sent' }, txHashes: [HASH] }));
    },
    async stop() {
      stop.abort();
      await sender.done;
    },
  };
}

describe('relayer: a sender that one token asks for very much', () => {
  it('has few requests wait for the lane, and lets another token in as the next one', async () => {
    const { sender, names, send, sign, stop } = scene();
    await turnsUntil('the sender is ready', () => sender.problem() === undefined);
    const many = Promise.allSettled(Array.from({ length: 250 }, (_, i) => send('greedy', String(i))));
    await turnsUntil('the lane has some', () => names().length === 8);
    const honest = send('honest', 'ann');
    assert.equal(names().length, 8, 'nothing more until the lane signs');
    sign(2);
    await turnsUntil('two more are in', () => names().length === 10);
    assert.deepEqual(names().slice(8), ['greedy 8', 'honest ann']);
    sign(8);
    assert.equal(await honest, HASH);
    await stop();
    const results = await many;
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 9);
  });

  it('does not record what has waited too long for its turn: the client may ask again', async () => {
    const { sender, names, recorded, send, stop } = scene({ answerWithinMs: 40 });
    await turnsUntil('the sender is ready', () => sender.problem() === undefined);
    const sent = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => send('greedy', String(i))));
    const reasons = sent.map((each) => each.status === 'rejected' ? String(each.reason).replace(/^.*: /, '') : '');
    assert.deepEqual(reasons.sort(), [
      ...Array<string>(2).fill('many requests wait for the lane, and this one has not been taken'),
      ...Array<string>(8).fill('the lane has not signed the transaction yet'),
    ]);
    assert.deepEqual([names().length, recorded.length], [8, 8]);
    await stop();
  });
});
