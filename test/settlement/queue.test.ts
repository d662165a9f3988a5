/** Which fills are settled next: sequences of events for the worker, and the batches that follow. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Ending } from '../../command/lane/requests.js';
import { QUEUE_RULES, SettlementQueue, type QueueRules } from '../../command/settlement/settlement-queue.js';
import type { SettlementNote } from '../../command/settlement/submission.js';
import { bytes32 } from '../support/scenario.js';
import { unsettledFill as fill } from '../support/settlement-fills.js';

const MIN_10 = 600_000;
const mined = (block: number, succeeded = true): Ending => ({ kind: 'mined', txHash: bytes32('tx'), block, succeeded });
const lost: Ending = { kind: 'lost' };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** An engine that knows only which fills are unsettled, and a queue over it; everything is told in fill numbers. */
function story(rules: Partial<QueueRules> = {}) {
  const unsettled = new Set<number>();
  let nextFill = 0;
  let reads = 0;
  let requests = 0;
  const notes = new Map<string, SettlementNote>();
  const queue = new SettlementQueue(function* (from) {
    for (const number of [...unsettled].sort((a, b) => a - b)) {
      if (number < from) continue;
      reads++;
      yield fill(number);
    }
  }, { ...QUEUE_RULES, quietMs: Infinity, ...rules });
  const due = (at: number) => queue.due(at).map((each) => each.fill);
  const take = (fills: number[], at = 0): string => {
    const id = `request ${requests++}`;
    notes.set(id, { fills, permits: [] });
    queue.take({ id, note: notes.get(id)! }, at);
    return id;
  };
  const end = (which: string, ending: Ending, at: number) => { queue.over(which, ending, at); };
  /** The history has come to the block, and the chain has settled nothing that the history does not have. */
  const pass = (nextBlock: number, at: number) => {
    const passed = queue.pass(nextBlock, at);
    queue.looked({ asked: queue.doubtful(at), settled: new Set() }, at);
    return passed;
  };
  return {
    queue, unsettled, due, take, end,
    reads: () => reads,
    /** The engine matches `count` fills, or others' fills that this chain does not see. */
    match(count: number, at: number, seen = true) {
      for (let i = 0; i < count; i++) {
        if (seen) unsettled.add(nextFill);
        nextFill++;
      }
      queue.observe(nextFill, at);
    },
    /** Asks for the batch that is due, or its first fills, and the lane takes it; gives the request's id. */
    send(at: number, first = Infinity): string {
      const fills = due(at).slice(0, first);
      ok(fills.length > 0, 'a batch is due');
      const id = take(fills, at);
      queue.sent(id);
      return id;
    },
    fillsOf: (which: string) => notes.get(which)!.fills,
    settle: (fills: readonly number[]) => { for (const each of fills) unsettled.delete(each); },
    pass,
    /** The transaction is over in the block, and the history has passed it. */
    conclude(which: string, block: number, at: number, succeeded = true) {
      end(which, mined(block, succeeded), at);
      return pass(block + 1, at);
    },
  };
}

describe('settlement: queue: when a batch is due', () => {
  const cases: [string, { matched: [count: number, at: number][]; at: number; due: number[] }][] = [
    ['nothing has been matched', { matched: [], at: 1_000, due: [] }],
    ['fewer than 50, before 250 ms', { matched: [[3, 0]], at: 249, due: [] }],
    ['fewer than 50, after 250 ms', { matched: [[3, 0]], at: 250, due: [0, 1, 2] }],
    ['what came in the meantime goes along', { matched: [[2, 0], [2, 249]], at: 250, due: [0, 1, 2, 3] }],
    ['the oldest counts', { matched: [[2, 100], [2, 249]], at: 349, due: [] }],
    ['50 at once', { matched: [[50, 0]], at: 0, due: range(0, 50) }],
    ['49 do not', { matched: [[49, 0]], at: 0, due: [] }],
    ['50 in the end', { matched: [[30, 0], [30, 10]], at: 10, due: range(0, 50) }],
  ];
  for (const [name, { matched, at, due }] of cases) {
    it(name, () => {
      const { queue, match, due: dueAt } = story();
      for (const [count, when] of matched) match(count, when);
      deepEqual(dueAt(at), due);
      deepEqual(dueAt(at), due, 'asking changes nothing');
      equal(queue.waiting(), matched.reduce((sum, [count]) => sum + count, 0));
    });
  }

  it('the fills behind a full batch wait from when they came themselves', () => {
    const { match, send, due } = story();
    match(40, 0);
    match(20, 100);
    send(100);
    deepEqual(due(349), []);
    deepEqual(due(350), range(50, 60));
  });

  it('takes several batches one after the other, each fill once', () => {
    const { match, send, due, fillsOf } = story();
    match(120, 0);
    deepEqual([fillsOf(send(0)), fillsOf(send(0))], [range(0, 50), range(50, 100)]);
    deepEqual(due(100), []);
    deepEqual(fillsOf(send(250)), range(100, 120));
    deepEqual(due(MIN_10), []);
  });

  it('a batch that was cut short leaves the rest due at once', () => {
    const { match, send, due } = story();
    match(50, 0);
    send(0, 20);
    deepEqual(due(249), []);
    deepEqual(due(250), range(20, 50));
  });

  it('fills of other chains are passed over once', () => {
    const { match, due, reads } = story();
    match(1_000, 0, false);
    match(1, 0);
    deepEqual(due(250), [1_000]);
    const before = reads();
    due(250);
    equal(reads() - before, 1);
  });

  it('asks the engine for a batch only, however many wait', () => {
    const { match, due, reads } = story();
    match(20_000, 0);
    due(250);
    equal(reads(), 50);
  });
});

describe('settlement: queue: in hand', () => {
  const endings: [string, { ending: Ending; passedAt: number }][] = [
    ['a transaction that settled nothing', { ending: mined(10), passedAt: 11 }],
    ['a transaction that reverted', { ending: mined(10, false), passedAt: 11 }],
    ['a transaction whose nonce another one used', { ending: lost, passedAt: 0 }],
  ];
  for (const [name, { ending, passedAt }] of endings) {
    it(`${name}: its fills are free when it is over and the history has passed its block`, () => {
      const { queue, match, send, end, pass, due } = story();
      match(2, 0);
      const id = send(250);
      deepEqual([due(MIN_10), queue.pass(1_000, MIN_10)], [[], []], 'not over');
      end(id, ending, MIN_10);
      if (passedAt > 0) deepEqual([queue.pass(passedAt - 1, MIN_10), due(MIN_10)], [[], []], 'the history has not passed the block');
      deepEqual(pass(passedAt, MIN_10), [{ id, note: { fills: [0, 1], permits: [] }, ending, left: [0, 1], alone: 0 }]);
      // After a transaction that left all untouched, the next one goes after a pause.
      ok(due(MIN_10 + QUEUE_RULES.pauseMs).length > 0);
    });
  }

  it('settled fills do not come back', () => {
    const { queue, match, send, settle, conclude, due } = story();
    match(3, 0);
    const id = send(250);
    settle([0, 2]);
    deepEqual(conclude(id, 7, 300), [{ id, note: { fills: [0, 1, 2], permits: [] }, ending: mined(7), left: [1], alone: 0 }]);
    deepEqual(due(300), [1]);
    deepEqual(queue.status(), { transactions: 0, inHand: 0, troubled: 1, slow: false, oldestWaitingSinceMs: 300 });
  });

  it('a fill that settles after all, while it waits for its second transaction, is forgotten', () => {
    const { queue, match, send, settle, conclude, due } = story();
    match(2, 0);
    conclude(send(250), 7, 300, false);
    settle([0, 1]);
    deepEqual([due(300), queue.waiting(), queue.status()], [[], 0, { transactions: 0, inHand: 0, troubled: 0, slow: false }]);
  });

  it('what has come back goes before what is new', () => {
    const { match, send, end, queue, due } = story({ maxFills: 4 });
    match(4, 0);
    const id = send(0);
    match(4, 10);
    end(id, lost, 20);
    queue.pass(0, 20);
    deepEqual(due(20), [0, 1, 2, 3]);
  });

  it('a request that the outbox does not have after all gives its fills back', () => {
    const { queue, match, take, due } = story();
    match(50, 0);
    take(range(0, 50), 3);
    deepEqual([due(3), queue.status()], [[], { transactions: 1, inHand: 50, troubled: 0, slow: false, askedSinceMs: 3 }]);
    queue.restore([], { nextFill: 50, nowMs: 5 });
    deepEqual([due(5), queue.status()], [range(0, 50), { transactions: 0, inHand: 0, troubled: 0, slow: false, oldestWaitingSinceMs: 5 }]);
  });

  it('a transaction can end before it was reported as sent', () => {
    const { queue, match, take, settle, pass, due } = story();
    match(50, 0);
    const id = take(range(0, 50));
    queue.over(id, mined(1), 1);
    queue.sent(id);
    settle(range(0, 49));
    deepEqual(pass(2, 2).map(({ left }) => left), [[49]]);
    deepEqual(due(2), [49]);
  });

  it('a second report that a transaction has ended changes nothing', () => {
    const { queue, match, send, end, settle, pass, conclude, due } = story();
    match(2, 0);
    const first = send(250);
    end(first, mined(1), 300);
    end(first, mined(1, false), 301);
    settle([0]);
    deepEqual(pass(2, 302).map(({ left }) => left), [[1]]);
    const second = send(302);
    end(first, mined(1), 303);
    deepEqual([queue.pass(2, 303), due(303)], [[], []]);
    settle([1]);
    deepEqual(conclude(second, 2, 304).map(({ left }) => left), [[]]);
  });

  it('several transactions can be asked for side by side, and what the lane has not taken is known', () => {
    const { queue, match, take, due, settle } = story();
    match(120, 0);
    const [first, second] = [take(due(0), 1), take(due(0), 2)];
    deepEqual([queue.status().transactions, queue.counts(), queue.status().askedSinceMs], [2, { asked: 2, open: 2 }, 1]);
    queue.sent(first);
    deepEqual([queue.counts(), queue.status().askedSinceMs], [{ asked: 1, open: 2 }, 2]);
    settle(range(0, 50));
    queue.over(first, mined(1), 11);
    deepEqual([queue.counts(), queue.pass(2, 11).map(({ left }) => left)], [{ asked: 1, open: 1 }, [[]]]);
    queue.sent(second);
    equal(queue.status().askedSinceMs, undefined);
  });

  it('a restart takes over what is on its way, and what came back before', () => {
    const { queue, match, unsettled, due } = story();
    match(200, 0);
    for (const settled of [0, 1, 2, 60]) unsettled.delete(settled);
    const found = [
      { id: 'a', note: { fills: range(3, 50), permits: [] }, askedAtMs: 7 }, { id: 'b', note: { fills: range(70, 120), permits: [] }, askedAtMs: 8 },
    ];
    const later = new SettlementQueue((from) => [...unsettled].filter((each) => each >= from).map(fill), QUEUE_RULES);
    later.restore(found, { nextFill: 200, nowMs: 1_000 });
    deepEqual(later.due(1_000).map((each) => each.fill), [...range(50, 60), ...range(61, 70), ...range(120, 151)]);
    deepEqual(later.status(), { transactions: 2, inHand: 97, troubled: 0, slow: false, askedSinceMs: 7, oldestWaitingSinceMs: 1_000 });
    queue.restore([], { nextFill: 200, nowMs: 0 });
    deepEqual(due(1_000), range(3, 53), 'nothing on its way: from the beginning');
  });

  it('after the outbox was away, what it lists decides: a fill that came back meanwhile is in the hand of the request that is still listed', () => {
    const { queue, match, send, conclude, end, due, settle } = story();
    match(2, 0);
    const id = send(250);
    deepEqual(conclude(id, 7, 300, false).map(({ left }) => left), [[0, 1]]);
    queue.restore([{ id, note: { fills: [0, 1], permits: [] }, askedAtMs: 250 }], { nextFill: 2, nowMs: 400 });
    deepEqual(due(400), [], 'it could not be forgotten');
    settle([0]);
    end(id, mined(7, false), 400);
    deepEqual([queue.pass(8, 400).map(({ left }) => left), due(400)], [[[1]], [1]]);
  });
});

describe('settlement: queue: trouble', () => {
  it('halves batches that revert as a whole until the culprit is alone, and settles the others', () => {
    const { match, send, settle, conclude, fillsOf, queue } = story();
    match(50, 0);
    const poison = 17;
    const sizes: number[] = [];
    for (let block = 1; queue.status().troubled + queue.waiting() !== 2 && block < 100; block++) {
      const id = send(1_000);
      const fills = fillsOf(id);
      sizes.push(fills.length);
      const reverts = fills.includes(poison);
      if (!reverts) settle(fills);
      conclude(id, block, 1_000, !reverts);
    }
    deepEqual(sizes, [50, 25, 12, 12, 6, 3, 3, 1, 1, 1, 6, 1, 25]);
  });

  it('tries a fill that reverts alone ever more rarely, while others go on', () => {
    const { queue, match, send, settle, conclude, due, fillsOf } = story({ maxFills: 1, pauseMs: 1_000, maxPauseMs: 4_000 });
    match(1, 0);
    let at = 0;
    const pauses: number[] = [];
    for (let round = 1; round <= 5; round++) {
      const [passed] = conclude(send(at), round, at, false);
      deepEqual([passed?.left, passed?.alone], [[0], round]);
      match(1, at);
      const other = send(at);
      settle(fillsOf(other));
      deepEqual(conclude(other, round, at).map(({ left }) => left), [[]], 'another fill is not held up');
      let pause = 0;
      while (due(at + pause).length === 0) pause += 500;
      pauses.push(pause);
      at += pause;
    }
    deepEqual(pauses, [1_000, 2_000, 4_000, 4_000, 4_000]);
    equal(queue.status().slow, false);
  });

  it('after eight reverted transactions in a row one at a time tries whether it is over, with growing pauses', () => {
    const { queue, match, send, end, settle, due, fillsOf, conclude } = story({ maxSlowPauseMs: 5_000 });
    match(1_000, 0);
    const sent = range(0, 12).map(() => send(0));
    sent.forEach((id) => { end(id, mined(1, false), 100); });
    queue.pass(2, 100);
    deepEqual([due(2_099), due(2_100).length, queue.status().slow], [[], 25, true]);
    const probes: number[] = [];
    let at = 2_100;
    for (let block = 2; block < 6; block++) {
      const id = send(at);
      deepEqual(due(at + MIN_10), [], 'one at a time');
      conclude(id, block, at, false);
      let pause = 0;
      while (due(at + pause).length === 0) pause += 500;
      probes.push(pause);
      at += pause;
    }
    deepEqual(probes, [4_000, 5_000, 5_000, 5_000]);
    const good = send(at);
    settle(fillsOf(good));
    conclude(good, 6, at);
    ok(due(at).length > 0);
    equal(queue.status().slow, false);
  });

  it('after one transaction that left all its fills untouched one at a time tries whether it is over, with growing pauses and whole batches', () => {
    const { queue, match, send, settle, due, fillsOf, conclude } = story({ maxSlowPauseMs: 4_000 });
    match(60, 0);
    const pauses: number[] = [];
    let at = 0;
    for (let block = 1; block <= 4; block++) {
      const [passed] = conclude(send(at), block, at);
      deepEqual([passed?.left.length, passed?.alone, queue.status().slow, queue.status().troubled], [50, 0, true, 0]);
      let pause = 0;
      while (due(at + pause).length === 0) pause += 500;
      pauses.push(pause);
      at += pause;
    }
    deepEqual(pauses, [1_000, 2_000, 4_000, 4_000]);
    const id = send(at);
    deepEqual(due(at + MIN_10), [], 'one at a time');
    settle(fillsOf(id).slice(0, 1));
    conclude(id, 5, at);
    deepEqual([queue.status().slow, due(at).length], [false, 25]);
  });

  it('when too many have come back, no further ones are taken', () => {
    const { queue, match, send, conclude, due } = story({ maxFills: 1, maxReturned: 3, slowAfter: 1_000, pauseMs: 1_000 });
    match(5, 0);
    for (let i = 0; i < 3; i++) conclude(send(0), i, 0, false);
    deepEqual(due(0), []);
    deepEqual(due(1_000), [0]);
    equal(queue.waiting(), 5);
  });

  it('what can never be sent goes in halves; a single one ever more rarely, though nothing reverted, and nothing else is slowed down', () => {
    const { queue, match, due, take } = story({ maxFills: 4, pauseMs: 1_000, slowAfter: 1 });
    match(4, 0);
    deepEqual([queue.unsendable(take(due(0)), 10), due(10), queue.status().inHand], [0, [0, 1], 0]);
    deepEqual([queue.unsendable(take(due(10)), 20), due(20)], [0, [0]]);
    deepEqual([queue.unsendable(take(due(20)), 30), due(30)], [1, [1]]);
    take(due(30));
    deepEqual([due(30), queue.status().slow], [[2, 3], false]);
    take(due(30));
    deepEqual([due(1_029), due(1_030)], [[], [0]]);
    deepEqual([queue.unsendable(take([0]), 1_030), due(3_029), due(3_030)], [2, [], [0]]);
  });

  it('what no transaction can be made with is set aside, alone and ever more rarely; what was due beside it is due at once', () => {
    const { queue, match, due, take, settle } = story({ maxFills: 4, pauseMs: 1_000 });
    match(6, 0);
    deepEqual(queue.setAside({ due: due(0), unfit: [1, 3] }, 0), [1, 3]);
    deepEqual([due(0), queue.waiting(), queue.status().troubled], [[0, 2, 4, 5], 6, 2]);
    take(due(0));
    deepEqual([due(999), due(1_000)], [[], [1]]);
    deepEqual(queue.setAside({ due: [1], unfit: [1] }, 1_000), [], 'known');
    deepEqual([due(1_000), due(2_999)], [[3], [3]]);
    settle([3]);
    deepEqual([due(2_999), due(3_000), queue.status().troubled], [[], [1], 1]);
  });

  it('a starved transaction\'s rest goes on in smaller batches', () => {
    const { match, send, settle, conclude, fillsOf } = story();
    match(50, 0);
    const first = send(0);
    settle(range(0, 10));
    conclude(first, 1, 0);
    deepEqual(fillsOf(send(0)), range(10, 35));
  });

  it('a lost transaction is nobody\'s fault', () => {
    const { queue, match, send, end, due } = story();
    match(50, 0);
    end(send(0), lost, 0);
    queue.pass(0, 0);
    deepEqual([due(0), queue.status().troubled], [range(0, 50), 0]);
  });
});
