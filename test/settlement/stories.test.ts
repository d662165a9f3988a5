/** The settlement worker under random events: no fill is in two requests, none is forgotten, and all settle in the end. */
import { deepEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import type { TransactionEnding } from '../../command/lane/requests.js';
import { SettlementWorker, type Held } from '../../command/settlement/settlement-worker.js';
import { SENT, ended, mined, setScene, type SceneRequest } from './settling-scene.js';

const never = new AbortController().signal;
const lost: TransactionEnding = { kind: 'lost' };

interface Step { readonly kind: 'match' | 'send' | 'unasked' | 'refused' | 'orderMissing' | 'settled' | 'reverted' | 'starved' | 'lost' | 'restart'; readonly n: number }

describe('settlement: queue: any story', () => {
  it('no fill is in two requests, none is forgotten, and all settle in the end', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('match' as const), n: fc.integer({ min: 1, max: 20 }) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), n: fc.integer({ min: 1, max: 10 }) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('unasked' as const, 'refused' as const, 'orderMissing' as const), n: fc.nat(9) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('settled' as const, 'reverted' as const, 'starved' as const, 'lost' as const), n: fc.nat(9) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), n: fc.nat(9) }) },
    );
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), playRandomly), { numRuns: 150 });
  });
});

async function playRandomly(steps: readonly Step[]): Promise<void> {
  const scene = await setScene();
  let [nowMs, ids] = [0, 0];
  let worker: SettlementWorker;
  let held: Held;
  const reorganised = new Set<number>();
  const begin = async (): Promise<void> => {
    worker = new SettlementWorker({
      ...scene.options, now: () => nowMs, newId: () => `request ${ids++}`, signal: never, rules: { maxFills: 8 },
      timings: { laneLookMs: 0, countMs: 0, maxAsked: 2 },
      // The chain has settled every third of the fills that are asked about, in a transaction that is reorganised away before it is asked again.
      settledOnChain(fills) {
        const settled = fills.filter((fill) => fill % 3 === 0 && !reorganised.has(fill));
        for (const fill of settled) reorganised.add(fill);
        return Promise.resolve(new Set(settled));
      },
    });
    held = await worker.hold({ signal: never, standingBy: () => undefined });
  };
  const open = (): SceneRequest[] => scene.asked.filter(({ request: { id }, status }) => scene.listed.has(id) && (status.kind === 'waiting' || status.kind === 'sent'));
  const rounds = async (): Promise<void> => {
    const before = scene.asked.length;
    for (let round = 0; await worker.round(held); round++) ok(round < 1_000, 'the worker never rests');
    const there = new Set(scene.queue().map(({ fill }) => fill));
    for (const { note: { fills } } of scene.asked.slice(before)) {
      deepEqual(fills, [...fills].sort((a, b) => a - b));
      ok(fills.every((fill) => there.has(fill)), 'a fill is settled');
    }
    const inHand = open().flatMap(({ note }) => note.fills);
    deepEqual(inHand.length, new Set(inHand).size, 'a fill is in two requests');
    deepEqual(scene.queue().filter(({ state }) => state === 'requested').map(({ fill }) => fill), inHand.sort((a, b) => a - b).filter((fill) => there.has(fill)));
  };
  const finish = async (asked: SceneRequest, kind: Step['kind']): Promise<void> => {
    const { fills } = asked.note;
    scene.settle(fills.slice(0, kind === 'settled' ? undefined : kind === 'starved' ? 1 : 0));
    scene.tell(asked, ended(kind === 'lost' ? lost : mined(scene.nextBlock, kind !== 'reverted')));
    scene.nextBlock += 1;
    await rounds();
  };
  await begin();
  for (const { kind, n } of steps) {
    nowMs += 1_000_000;
    scene.fault = {};
    if (kind === 'match') scene.match(n, nowMs - 500);
    else if (kind === 'orderMissing') scene.fault = { lost: scene.queue().filter(({ fill }) => fill % 3 === n % 3).map(({ buyNumber }) => buyNumber).filter((number) => number > 0) };
    else if (kind === 'restart') await begin();
    else if (kind === 'unasked') {
      // The outbox has lost what was asked last.
      scene.listed.delete(open().at(-1)?.request.id ?? '');
      await begin();
    } else if (kind !== 'send') {
      const asked = open()[n % Math.max(1, open().length)];
      if (asked !== undefined && kind === 'refused') scene.tell(asked, { kind: 'refused', reason: 'too large' });
      else if (asked !== undefined) await finish(asked, kind);
    }
    await rounds();
    for (const asked of open()) if (asked.status.kind === 'waiting') scene.tell(asked, SENT);
  }
  scene.fault = {};
  for (let round = 0; scene.queue().length > 0; round++) {
    ok(round < 1_000, 'the rest does not settle');
    nowMs += 1_000_000;
    await rounds();
    for (const asked of open()) await finish(asked, 'settled');
  }
}
