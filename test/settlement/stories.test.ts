/** The settlement queue in any story: no fill is in two hands, none is forgotten, and all settle in the end. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import fc from 'fast-check';
import type { Ending } from '../../command/lane/sender.js';
import { QUEUE_RULES, SettlementQueue, type SettlementNote } from '../../command/settlement/settlement-queue.js';
import { bytes32 } from '../support/scenario.js';
import { unsettledFill as fill } from '../support/settlement-fills.js';

const mined = (block: number, succeeded: boolean): Ending => ({ kind: 'mined', txHash: bytes32('tx'), block, succeeded });
const lost: Ending = { kind: 'lost' };

describe('settlement: queue: any story', () => {
  it('no fill is in two hands, none is forgotten, and all settle in the end', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('match' as const), n: fc.integer({ min: 1, max: 20 }) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), n: fc.integer({ min: 1, max: 10 }) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('unsent' as const, 'unsendable' as const, 'aside' as const), n: fc.nat(9) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('settled' as const, 'reverted' as const, 'starved' as const, 'lost' as const), n: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), n: fc.constant(0) }) },
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 80 }), (steps) => { playRandomly(steps); }), { numRuns: 300 });
  });
});

interface Step { readonly kind: 'match' | 'send' | 'unsent' | 'unsendable' | 'aside' | 'settled' | 'reverted' | 'starved' | 'lost' | 'restart'; readonly n: number }

function playRandomly(steps: readonly Step[]): void {
  const unsettled = new Set<number>();
  const open = new Map<number, SettlementNote>();
  const rules = { ...QUEUE_RULES, maxFills: 8 };
  const source = (from: number) => [...unsettled].filter((each) => each >= from).sort((a, b) => a - b).map(fill);
  let queue = new SettlementQueue(source, rules);
  let [nextFill, nonce, block, at] = [0, 0, 0, 0];
  const inHand = () => [...open.values()].flatMap(({ fills }) => fills);
  const send = (most: number): boolean => {
    const fills = queue.due(at).slice(0, most).map((each) => each.fill);
    if (fills.length === 0) return false;
    deepEqual(fills, [...fills].sort((a, b) => a - b));
    const held = new Set(inHand());
    ok(fills.every((each) => unsettled.has(each) && !held.has(each)), 'a fill is in two hands, or is settled');
    open.set(nonce, { fills, permits: [] });
    queue.take(open.get(nonce)!);
    return true;
  };
  const finish = (which: number, kind: Step['kind']): void => {
    const note = open.get(which)!;
    open.delete(which);
    for (const each of note.fills.slice(0, kind === 'settled' ? undefined : kind === 'starved' ? 1 : 0)) unsettled.delete(each);
    queue.over({ nonce: which, note }, kind === 'lost' ? lost : mined(++block, kind !== 'reverted'), at);
    deepEqual(queue.pass(block + 1, at).map(({ left }) => left), [note.fills.filter((each) => unsettled.has(each))]);
  };
  for (const { kind, n } of [...steps]) {
    at += 1_000_000;
    if (kind === 'match') {
      for (let i = 0; i < n; i++) unsettled.add(nextFill++);
      queue.observe(nextFill, at - 500);
    } else if (kind === 'send') {
      if (send(n)) queue.sent(open.get(nonce)!, nonce++);
    } else if (kind === 'unsent') {
      if (send(3)) {
        queue.unsent(open.get(nonce)!, at);
        open.delete(nonce);
      }
    } else if (kind === 'unsendable') {
      if (send(8)) {
        const note = open.get(nonce)!;
        equal(queue.unsendable(note, at) > 0, note.fills.length === 1);
        open.delete(nonce);
      }
    } else if (kind === 'aside') {
      const due = queue.due(at).map((each) => each.fill);
      const unfit = due.filter((each) => each % 3 === n % 3);
      if (due.length > 0) {
        ok(queue.setAside({ due, unfit }, at).every((each) => unfit.includes(each)));
        ok(queue.due(at).every(({ fill: each }) => !unfit.includes(each)), 'what was set aside is due at once');
      }
    } else if (kind === 'restart') {
      queue = new SettlementQueue(source, rules);
      queue.restore([...open].map(([which, note]) => ({ nonce: which, note })), at);
      queue.observe(nextFill, at - 500);
    } else if (open.size > 0) {
      finish([...open.keys()][n % open.size], kind);
    }
    equal(queue.status().inHand, inHand().length);
    equal(queue.waiting(), unsettled.size - inHand().filter((each) => unsettled.has(each)).length);
  }
  for (let round = 0; unsettled.size > 0; round++) {
    ok(round < 10_000, 'the rest does not settle');
    at += 1_000_000;
    if (send(8)) queue.sent(open.get(nonce)!, nonce++);
    for (const which of [...open.keys()]) finish(which, 'settled');
  }
}
