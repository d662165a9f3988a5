/** The settlement queue under random events: no fill is in two transactions, none is forgotten, and all settle in the end. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import fc from 'fast-check';
import type { Ending } from '../../command/lane/requests.js';
import { QUEUE_RULES, SettlementQueue } from '../../command/settlement/settlement-queue.js';
import type { SettlementNote } from '../../command/settlement/submission.js';
import { bytes32 } from '../support/scenario.js';
import { unsettledFill as fill } from '../support/settlement-fills.js';

const mined = (block: number, succeeded: boolean): Ending => ({ kind: 'mined', txHash: bytes32('tx'), block, succeeded });
const lost: Ending = { kind: 'lost' };

describe('settlement: queue: any story', () => {
  it('no fill is in two hands, none is forgotten, and all settle in the end', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('match' as const), n: fc.integer({ min: 1, max: 20 }) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), n: fc.integer({ min: 1, max: 10 }) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('unasked' as const, 'unsendable' as const, 'aside' as const), n: fc.nat(9) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('settled' as const, 'reverted' as const, 'starved' as const, 'lost' as const), n: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), n: fc.nat(9) }) },
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 80 }), (steps) => { playRandomly(steps); }), { numRuns: 300 });
  });
});

interface Step { readonly kind: 'match' | 'send' | 'unasked' | 'unsendable' | 'aside' | 'settled' | 'reverted' | 'starved' | 'lost' | 'restart'; readonly n: number }

function playRandomly(steps: readonly Step[]): void {
  const [unsettled, reorganised, open] = [new Set<number>(), new Set<number>(), new Map<string, SettlementNote>()];
  const rules = { ...QUEUE_RULES, maxFills: 8 };
  let [nextFill, known, requests, block, at] = [0, 0, 0, 0, 0];
  const source = (from: number) => [...unsettled].filter((each) => each >= from && each < known).sort((a, b) => a - b).map(fill);
  let queue = new SettlementQueue(source, rules);
  const inHand = () => [...open.values()].flatMap(({ fills }) => fills);
  const ask = (most: number): string | undefined => {
    const fills = queue.due(at).slice(0, most).map((each) => each.fill);
    if (fills.length === 0) return undefined;
    deepEqual(fills, [...fills].sort((a, b) => a - b));
    const held = new Set(inHand());
    ok(fills.every((each) => unsettled.has(each) && !held.has(each)), 'a fill is in two hands, or is settled');
    const id = `request ${requests++}`;
    const note = { fills, permits: [] };
    open.set(id, note);
    queue.take({ id, note }, at);
    return id;
  };
  const send = (most: number): void => { queue.sent(ask(most) ?? 'nothing'); };
  const restore = (): void => { queue.restore([...open].map(([id, note]) => ({ id, note, askedAtMs: at })), { nextFill: known, nowMs: at }); };
  const learn = (): void => {
    known = nextFill;
    queue.observe(known, at - 500);
  };
  const finish = (which: string, kind: Step['kind']): void => {
    const note = open.get(which)!;
    open.delete(which);
    if (kind !== 'lost') learn();
    for (const each of note.fills.slice(0, kind === 'settled' ? undefined : kind === 'starved' ? 1 : 0)) unsettled.delete(each);
    queue.over(which, kind === 'lost' ? lost : mined(++block, kind !== 'reverted'), at);
    deepEqual(queue.pass(block + 1, at).map(({ left }) => left), [note.fills.filter((each) => unsettled.has(each) && each < known)]);
    lookAtDoubts(queue, { at, every: 3, reorganised });
  };
  for (const { kind, n } of [...steps]) {
    at += 1_000_000;
    if (kind === 'match') {
      for (const each of Array.from({ length: n }, () => nextFill++)) unsettled.add(each);
      learn();
    } else if (kind === 'send') send(n);
    else if (kind === 'unasked') {
      // The outbox breaks off, and what was asked last did not get there.
      open.delete(ask(3) ?? 'nothing');
      restore();
    } else if (kind === 'unsendable') {
      const id = ask(8) ?? 'nothing';
      equal((queue.unsendable(id, at) ?? 0) > 0, open.get(id)?.fills.length === 1);
      open.delete(id);
    } else if (kind === 'aside') {
      setAside(queue, { at, isUnfit: (each) => each % 3 === n % 3 });
    } else if (kind === 'restart') {
      // Another process may have asked for fills that this one has not come to.
      known = Math.max(0, known - 2 * n);
      queue = new SettlementQueue(source, rules);
      restore();
    } else if (open.size > 0) {
      finish([...open.keys()][n % open.size]!, kind);
    }
    const free = [...unsettled].filter((each) => each < known && !inHand().includes(each));
    deepEqual([queue.status().inHand, queue.waiting()], [inHand().length, free.length]);
  }
  for (let round = 0; unsettled.size > 0; round++) {
    ok(round < 10_000, 'the rest does not settle');
    at += 1_000_000;
    learn();
    lookAtDoubts(queue, { at, reorganised });
    send(8);
    for (const which of [...open.keys()]) finish(which, 'settled');
  }
}

/** Sets aside some of the due fills, if any are due. */
function setAside(queue: SettlementQueue, { at, isUnfit }: { readonly at: number; readonly isUnfit: (fill: number) => boolean }): void {
  const due = queue.due(at).map((each) => each.fill);
  if (due.length === 0) return;
  const unfit = due.filter(isUnfit);
  ok(queue.setAside({ due, unfit }, at).every((each) => unfit.includes(each)));
  ok(queue.due(at).every(({ fill: each }) => !unfit.includes(each)), 'what was set aside is due at once');
}

interface DoubtfulLook { readonly at: number; readonly every?: number; readonly reorganised: Set<number> }

/** The chain has settled every so many of the doubtful fills, in a transaction that is reorganised away before the next look. */
function lookAtDoubts(queue: SettlementQueue, { at, every = Infinity, reorganised }: DoubtfulLook): void {
  const asked = queue.doubtful(at);
  const settled = new Set(asked.filter((each) => each % every === 0 && !reorganised.has(each)));
  for (const each of settled) reorganised.add(each);
  queue.looked({ asked, settled }, at);
  deepEqual(queue.doubtful(at), [], 'it is asked again at once');
  ok(!queue.due(at).some((each) => settled.has(each.fill)), 'what the chain has settled is due');
}
