/** Which fills are settled next: sequences of what happens to fills, and the requests that the worker makes. Time is what the test says. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { TransactionEnding } from '../../command/lane/requests.js';
import { QUEUE_RULES } from '../../command/settlement/rules.js';
import { SENT, ended, mined, story, type SceneRequest } from './settling-scene.js';

const MIN_10 = 600_000;
const lost: TransactionEnding = { kind: 'lost' };
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

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
    ['what came before the clock was set back', { matched: [[1, 9_000]], at: 10, due: [0] }],
  ];
  for (const [name, { matched, at, due }] of cases) {
    it(name, async () => {
      const { match, asks, status } = await story();
      for (const [count, when] of matched) match(count, when);
      deepEqual(await asks(at), due.length === 0 ? [] : [due]);
      deepEqual(await asks(at), [], 'each fill once');
      equal(status().waiting, matched.reduce((sum, [count]) => sum + count, 0) - due.length);
    });
  }

  it('the fills behind a full batch wait from when they came themselves', async () => {
    const { match, asks } = await story();
    match(40, 0);
    match(20, 100);
    deepEqual([await asks(100), await asks(349), await asks(350)], [[range(0, 50)], [], [range(50, 60)]]);
  });

  it('takes several batches one after the other, each fill once', async () => {
    const { match, asks } = await story();
    match(120, 0);
    deepEqual([await asks(0), await asks(100), await asks(250)], [[range(0, 50), range(50, 100)], [], [range(100, 120)]]);
    deepEqual(await asks(MIN_10), []);
  });

  it('when it is quiet, after 250 ms without a batch, the next fills go at once, whenever they came', async () => {
    const { match, asks } = await story({ quietMs: 250 });
    match(1, 1_000);
    deepEqual(await asks(1_000), [[0]], 'the very first');
    match(2, 1_001);
    deepEqual(await asks(1_249), []);
    match(1, 1_249);
    deepEqual([await asks(1_250), await asks(9_000)], [[[1, 2, 3]], []]);
    match(4, 9_000);
    deepEqual(await asks(9_000), [[4, 5, 6, 7]]);
  });

  it('reads the queue when something has come or is due, and not in between', async () => {
    const { match, asks, calls } = await story({ quietMs: 250 });
    const reads = async (atMs: number) => {
      calls.length = 0;
      await asks(atMs);
      return calls.filter((name) => name !== 'counts');
    };
    match(1, 0);
    deepEqual(await reads(0), ['due', 'due', 'change'], 'after it has caught up');
    deepEqual(await reads(4_000), []);
    match(1, 5_000);
    deepEqual(await reads(5_000), ['due', 'change'], 'it goes');
    deepEqual([await reads(5_001), await reads(9_000)], [[], []]);
    match(1_000, 9_000);
    const many = await reads(9_000);
    deepEqual(many.filter((name) => name === 'due').length, 21, 'a batch per read while the lane has nothing to take');
  });
});

describe('settlement: queue: in a request', () => {
  const endings: [string, { ending: TransactionEnding; passedAt: number }][] = [
    ['a transaction that settled nothing', { ending: mined(10), passedAt: 11 }],
    ['a transaction that reverted', { ending: mined(10, false), passedAt: 11 }],
    ['a transaction whose nonce another one used', { ending: lost, passedAt: 0 }],
  ];
  for (const [name, { ending, passedAt }] of endings) {
    it(`${name}: its fills are free when it is over and the history has recorded its block`, async () => {
      const scene = await story();
      scene.match(2, 0);
      await scene.asks(250);
      scene.nextBlock = 1_000;
      deepEqual([await scene.asks(MIN_10), scene.status().inHand], [[], 2], 'not over');
      scene.nextBlock = passedAt === 0 ? 0 : passedAt - 1;
      scene.tell(scene.last(), ended(ending));
      if (passedAt > 0) deepEqual([await scene.asks(MIN_10), scene.status().inHand], [[], 2], 'the history has not recorded the block');
      scene.nextBlock = passedAt;
      // After a transaction that left all untouched, the next one goes after a pause.
      const again = [...await scene.asks(MIN_10), ...await scene.asks(MIN_10 + QUEUE_RULES.pauseMs)];
      deepEqual(again.flat(), [0, 1]);
    });
  }

  it('settled fills do not come back', async () => {
    const scene = await story();
    scene.match(3, 0);
    await scene.concluded(250, { settled: [0, 2] });
    deepEqual(await scene.asks(300), [[1]]);
    deepEqual(scene.listed.size, 1, 'what is concluded is forgotten');
    deepEqual(scene.status(), { transactions: 1, inHand: 1, waiting: 0, limited: 0, slow: false });
  });

  it('a fill that settles after all, while it waits for its second transaction, is forgotten', async () => {
    const scene = await story({}, { one: true });
    scene.match(2, 0);
    await scene.concluded(250, { succeeded: false });
    scene.settle([0, 1]);
    deepEqual([await scene.asks(300), scene.status()], [[], { transactions: 0, inHand: 0, waiting: 0, limited: 0, slow: false }]);
  });

  it('what has come back goes before what is new', async () => {
    const scene = await story({ maxFills: 4 });
    scene.match(4, 0);
    await scene.asks(0);
    scene.match(3, 10);
    scene.tell(scene.last(), ended(lost));
    deepEqual(await scene.asks(20), [[0, 1, 2, 3]]);
  });

  it('a second report that a transaction has ended changes nothing', async () => {
    const scene = await story();
    scene.match(2, 0);
    await scene.asks(250);
    scene.tell(scene.last(), ended(mined(1)));
    await scene.asks(300);
    scene.tell(scene.last(), ended(mined(1, false)));
    scene.settle([0]);
    scene.nextBlock = 2;
    deepEqual(await scene.asks(302), [[1]]);
    deepEqual(scene.reports, ['warn: chain 5, settlement request request 0 '
      + `(${(mined(1) as { txHash: string }).txHash}) did not reach 1 of its 2 fills; they are sent again in smaller batches`]);
  });

  it('several requests can be open side by side, and what the lane has not taken is known', async () => {
    const scene = await story({}, { one: true });
    scene.match(120, 0);
    const [first] = await scene.asks(0);
    scene.tell(scene.last(), { kind: 'waiting' });
    deepEqual([first, await scene.asks(1)], [range(0, 50), []], 'one that the lane has not taken');
    deepEqual([scene.status().transactions, scene.status().inHand, scene.status().askedSinceMs], [1, 50, 0]);
    scene.tell(scene.last(), SENT);
    deepEqual([await scene.asks(2), scene.status().inHand], [[range(50, 100)], 100]);
  });
});

describe('settlement: queue: at a start', () => {
  const request = (id: string, fills: readonly number[]): SceneRequest => {
    const note = { fills, permits: [] };
    return { request: { id, to: '0x', data: '0x', gasLimit: 1n, note }, note, status: SENT };
  };

  it('what is in the lane\'s requests is not asked again, also when the queue does not know of them', async () => {
    const scene = await story({}, { before: [request('a', range(3, 50)), request('b', range(70, 120))] });
    scene.match(200, 0);
    scene.settle([0, 1, 2, 60]);
    await scene.restart(1_000);
    equal(scene.status().inHand, 97);
    deepEqual(await scene.asks(1_000), [[...range(50, 60), ...range(61, 70), ...range(120, 151)], range(151, 200)]);
  });

  it('a request that the outbox does not have after all gives its fills back', async () => {
    const scene = await story();
    scene.match(50, 0);
    deepEqual(await scene.asks(0), [range(0, 50)]);
    scene.listed.clear();
    await scene.restart(5);
    deepEqual(scene.queue().map(({ state }) => state), range(0, 50).map(() => 'returned'));
    deepEqual(await scene.asks(5), [range(0, 50)]);
  });

  it('a request that could not be forgotten has its fills again', async () => {
    const scene = await story({}, { one: true });
    scene.match(2, 0);
    await scene.concluded(250, { succeeded: false });
    scene.fault = { forget: new Error('cut') };
    await scene.asks(300).catch(() => undefined);
    deepEqual(scene.queue().map(({ state }) => state), ['returned', 'returned']);
    scene.fault = {};
    const { nextBlock } = scene;
    scene.nextBlock = 0;
    await scene.restart(400);
    deepEqual([await scene.asks(400), scene.queue().map(({ state }) => state)], [[], ['requested', 'requested']]);
    scene.settle([0]);
    scene.nextBlock = nextBlock;
    deepEqual(await scene.asks(400), [[1]]);
  });

  it('pauses and smaller batches are what they were', async () => {
    const scene = await story({ maxFills: 2, pauseMs: 1_000 }, { one: true });
    scene.match(2, 0);
    await scene.concluded(0, { succeeded: false });
    deepEqual(await scene.concluded(0, { succeeded: false }), [0]);
    await scene.asks(0);
    const before = scene.queue();
    await scene.restart(2);
    deepEqual(scene.queue(), before);
    deepEqual([await scene.asks(999), await scene.asks(1_000)], [[], [[0]]]);
  });
});

describe('settlement: queue: problem', () => {
  it('halves batches that revert as a whole until the culprit is alone, and settles the others', async () => {
    const scene = await story({}, { one: true });
    scene.match(50, 0);
    const poison = 17;
    const sizes: number[] = [];
    while (scene.queue().length > 1 && sizes.length < 100) {
      const [fills = []] = await scene.asks(1_000);
      sizes.push(fills.length);
      const reverts = fills.includes(poison);
      if (!reverts) scene.settle(fills);
      scene.tell(scene.last(), ended(mined(scene.nextBlock++, !reverts)));
    }
    deepEqual(sizes, [50, 25, 12, 12, 6, 3, 3, 1, 1, 1, 6, 1, 25]);
  });

  it('tries a fill that reverts alone ever more rarely, while others go on', async () => {
    const scene = await story({ maxFills: 1, pauseMs: 1_000, maxPauseMs: 4_000 }, { one: true });
    scene.match(1, 0);
    let [at, other] = [0, 1];
    const pauses: number[] = [];
    for (let round = 1; round <= 5; round++) {
      deepEqual(await scene.concluded(at, { succeeded: false }), [0]);
      scene.match(1, at);
      deepEqual(await scene.concluded(at, { settled: [other] }), [other], 'another fill is not held up');
      other++;
      deepEqual(await scene.asks(at), []);
      const { dueMs, tries } = scene.queue()[0]!;
      pauses.push(dueMs - at);
      equal(tries, round);
      deepEqual(await scene.asks(dueMs - 1), []);
      at = dueMs;
    }
    deepEqual(pauses, [1_000, 2_000, 4_000, 4_000, 4_000]);
    equal(scene.status().slow, false);
  });

  it('after eight reverted transactions in a row one at a time tries whether it is over, with growing pauses', async () => {
    const scene = await story({ maxSlowPauseMs: 5_000 });
    scene.match(600, 0);
    equal((await scene.asks(0)).length, 12);
    scene.nextBlock = 2;
    for (const asked of scene.asked) scene.tell(asked, ended(mined(1, false)));
    deepEqual([await scene.asks(100), await scene.asks(2_099), scene.status().slow], [[], [], true]);
    const probes: number[] = [];
    let at = 2_100;
    deepEqual((await scene.asks(at)).map(({ length }) => length), [25]);
    for (let block = 2; block < 6; block++) {
      deepEqual(await scene.asks(at + MIN_10), [], 'one at a time');
      scene.nextBlock = block + 1;
      scene.tell(scene.last(), ended(mined(block, false)));
      deepEqual(await scene.asks(at), []);
      let pause = 500;
      while ((await scene.asks(at + pause)).length === 0) pause += 500;
      probes.push(pause);
      at += pause;
    }
    deepEqual(probes, [4_000, 5_000, 5_000, 5_000]);
    scene.settle(scene.last().note.fills);
    scene.tell(scene.last(), ended(mined(3)));
    ok((await scene.asks(at)).length > 1, 'several at a time');
    equal(scene.status().slow, false);
  });

  it('after one transaction that left all its fills untouched one at a time tries whether it is over, with growing pauses and whole batches', async () => {
    const scene = await story({ maxSlowPauseMs: 4_000 }, { one: true });
    scene.match(60, 0);
    let at = 0;
    for (const pause of [1_000, 2_000, 4_000, 4_000]) {
      equal((await scene.concluded(at, {})).length, 50);
      deepEqual([await scene.asks(at), await scene.asks(at + pause - 1)], [[], []]);
      deepEqual([scene.status().slow, scene.status().limited], [true, 0]);
      at += pause;
    }
    await scene.concluded(at, { settled: [0] });
    deepEqual([(await scene.asks(at)).map(({ length }) => length), scene.status().slow], [[25], false]);
  });

  it('when too many have come back, no further ones are taken', async () => {
    const scene = await story({ maxFills: 1, maxReturned: 3, slowAfter: 1_000, pauseMs: 1_000 }, { one: true });
    scene.match(5, 0);
    for (const fill of [0, 1, 2]) deepEqual(await scene.concluded(0, { succeeded: false }), [fill]);
    deepEqual([await scene.asks(0), await scene.asks(1_000)], [[], [[0]]]);
  });

  it('what can never be sent goes in halves; a single one ever more rarely, though nothing reverted, and nothing else is slowed down', async () => {
    const scene = await story({ maxFills: 4, pauseMs: 1_000, slowAfter: 1 }, { one: true });
    scene.match(4, 0);
    const refuse = () => { scene.tell(scene.last(), { kind: 'refused', reason: 'too large' }); };
    deepEqual(await scene.asks(0), [[0, 1, 2, 3]]);
    refuse();
    deepEqual(await scene.asks(10), [[0, 1]]);
    refuse();
    deepEqual(await scene.asks(20), [[0]]);
    refuse();
    deepEqual([await scene.asks(30), await scene.asks(30), scene.status().slow], [[[1]], [[2, 3]], false]);
    deepEqual([await scene.asks(1_029), await scene.asks(1_030)], [[], [[0]]]);
    refuse();
    deepEqual([await scene.asks(1_030), await scene.asks(3_029), await scene.asks(3_030)], [[], [], [[0]]]);
  });

  it('what no transaction can be made with is set aside, alone and ever more rarely; what was due beside it goes at once', async () => {
    const scene = await story({ maxFills: 4, pauseMs: 1_000 });
    scene.fault = { lost: [9, 13] };
    scene.match(12, 0);
    scene.settle(range(0, 4));
    deepEqual(await scene.asks(0), [[5, 7], [8, 9, 10, 11]]);
    deepEqual(scene.status().limited, 2);
    deepEqual([await scene.asks(999), await scene.asks(1_000), scene.reports.length], [[], [], 1]);
    scene.settle([6]);
    scene.fault = {};
    deepEqual([await scene.asks(2_999), await scene.asks(3_000)], [[], [[4]]]);
  });

  it('a starved transaction\'s rest goes on in smaller batches', async () => {
    const scene = await story({}, { one: true });
    scene.match(50, 0);
    await scene.concluded(0, { settled: range(0, 10) });
    deepEqual(await scene.asks(0), [range(10, 35)]);
  });

  it('a lost transaction is nobody\'s fault', async () => {
    const scene = await story();
    scene.match(50, 0);
    await scene.asks(0);
    scene.tell(scene.last(), ended(lost));
    deepEqual([await scene.asks(0), scene.queue().map(({ batchLimit }) => batchLimit)], [[range(0, 50)], range(0, 50).map(() => undefined)]);
  });
});

describe('settlement: queue: doubts', () => {
  const rules = { gatherMs: 0, pauseMs: 1_000, maxPauseMs: 4_000 };

  it('are what a successful transaction has left and the chain has settled: they wait, and are asked about with growing pauses', async () => {
    const scene = await story(rules);
    scene.match(4, 0);
    scene.chainHas = new Set([0, 1]);
    await scene.concluded(0, {});
    deepEqual([await scene.asks(0), scene.queue().map(({ state }) => state)], [[[2, 3]], ['doubtful', 'doubtful', 'requested', 'requested']]);
    for (const [at, pause] of [[1_000, 2_000], [3_000, 4_000], [7_000, 4_000]] as const) {
      deepEqual(await scene.asks(at), []);
      deepEqual(scene.queue().slice(0, 2).map(({ dueMs }) => dueMs - at), [pause, pause]);
    }
    scene.settle([0]);
    scene.chainHas = new Set();
    deepEqual([await scene.asks(10_999), await scene.asks(11_000)], [[], [[1]]], 'its block was reorganised away');
  });

  it('are none where the history has the fill, nor after a reverted transaction', async () => {
    const scene = await story({ ...rules, maxFills: 3 }, { one: true });
    scene.match(4, 0);
    scene.chainHas = new Set([0, 1, 2, 3]);
    await scene.concluded(0, { settled: [1] });
    await scene.concluded(0, { succeeded: false });
    await scene.asks(0);
    deepEqual(scene.queue().map(({ fill, state }) => [fill, state]), [[0, 'doubtful'], [2, 'doubtful'], [3, 'returned']]);
    deepEqual(scene.last().note.fills, [3]);
  });

  it('do not slow others down when somebody\'s transaction settles them: the tokens do not refuse everybody', async () => {
    const scene = await story({ ...rules, maxFills: 2 }, { one: true });
    scene.match(4, 0);
    scene.chainHas = new Set([0]);
    await scene.concluded(0, {});
    deepEqual([await scene.asks(0), scene.status().slow], [[[1, 2]], false]);
  });

  it('are none for a process that finds their transaction on its way again', async () => {
    const scene = await story(rules, { one: true });
    scene.match(2, 0);
    scene.chainHas = new Set([0, 1]);
    await scene.concluded(0, {});
    await scene.asks(0);
    const note = { fills: [0], permits: [] };
    scene.asked.push({ request: { ...scene.last().request, id: 'found', note }, note, status: SENT });
    scene.listed.add('found');
    await scene.restart(1);
    deepEqual(scene.queue().map(({ state }) => state), ['requested', 'doubtful']);
  });
});
