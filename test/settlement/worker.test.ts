/** The settlement worker: its requests to the lane and their order, what it does with the answers, and failures. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { Interface } from 'ethers';
import { ChainUnavailable } from '../../command/chain/chain.js';
import { OutboxUnavailable, type RequestStatus } from '../../command/lane/requests.js';
import { runSettlement, type Settlement, type SettlementOptions } from '../../command/settlement/settlement-worker.js';
import { settlement as artifact } from '../../contracts-abi/settlement.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { until } from '../support/until.js';
import { CHAIN, SENT, ended, mined, setScene as setBareScene, type SceneRequest, type Scene } from './settling-scene.js';

const abi = new Interface(artifact.abi);
const fillsOf = (asked: readonly SceneRequest[]) => asked.map(({ note }) => note.fills);

interface RunningScene extends Scene {
  readonly settlement: Settlement;
  stop(): Promise<void>;
}

async function setScene(
  { options = {}, matched = 0, ...given }: Parameters<typeof setBareScene>[0] & { options?: Partial<SettlementOptions>; matched?: number } = {},
): Promise<RunningScene> {
  const scene = await setBareScene(given);
  scene.match(matched);
  const stopping = new AbortController();
  let ids = 0;
  const settlement = runSettlement({
    ...scene.options, now: Date.now, newId: () => `request ${++ids}`, signal: stopping.signal, rules: { maxFills: 4, gatherMs: 5 }, ...options,
    timings: { pollMs: 1, retryMs: 2, maxRetryMs: 5, maxAsked: 3, countMs: 2, ...options.timings },
  });
  return Object.assign(scene, {
    settlement,
    async stop() {
      stopping.abort();
      await settlement.done;
    },
  });
}

describe('settlement: worker', () => {
  let scene: RunningScene;
  afterEach(() => scene.stop());

  const asked = async (count: number): Promise<SceneRequest[]> => {
    await until(`request ${count}`, () => scene.asked.length >= count);
    return scene.asked;
  };
  const request = async (number: number): Promise<SceneRequest> => (await asked(number))[number - 1]!;

  it('asks for batches in order, with the history and the gas for them', async () => {
    scene = await setScene();
    scene.match(6);
    const [first, second] = [await request(1), await request(2)];
    deepEqual(fillsOf([first, second]), [[0, 1, 2, 3], [4, 5]]);
    const { to, data, gasLimit, id } = first.request;
    const [, signatures, permits, fills, position, digest] = abi.decodeFunctionData('settleBatch', data).toArray() as [
      unknown, unknown[], unknown[], { seq: bigint }[], bigint, string];
    deepEqual(
      { id, to, signatures: signatures.length, permits: permits.length, fills: fills.map(({ seq }) => seq), position, digest },
      { id: 'request 1', to: CHAIN.contracts.settlement, signatures: 5, permits: 1, fills: [0n, 1n, 2n, 3n], position: 1_000n, digest: `0x${'07'.repeat(32)}` },
    );
    ok(gasLimit > 1_000_000n && gasLimit < 2n ** 24n);
  });

  it('begins when the history has the final blocks, and tells what it waits for', async () => {
    scene = await setScene({ fault: { catchUp: new ChainUnavailable(5, 'connection refused') } });
    scene.match(2);
    await until('it has tried', () => scene.reports.length > 0);
    await until('it has tried again', () => scene.settlement.status().waiting === 2);
    deepEqual([scene.asked, scene.reports], [[], ['warn: chain 5: settlement waits: no node of chain 5 answers: connection refused']]);
    match(scene.settlement.status().problem!, /connection refused/);
    scene.fault = {};
    await request(1);
    await until('the problem is over', () => scene.settlement.status().problem === undefined);
    equal(scene.reports.at(-1), 'info: chain 5: settlement goes on');
  });

  it('asks for nothing more while the chain is not the one that the history recorded', async () => {
    scene = await setScene();
    scene.match(2);
    await request(1);
    scene.fault = { verify: new ChainUnavailable(5, 'it does not have block 7 as the history recorded it') };
    scene.match(50);
    await until('it is told', () => scene.reports.length > 0);
    deepEqual(scene.asked.length, 1);
    scene.fault = {};
    await request(2);
  });

  it('asks for nothing while the orders are not for the chain\'s contract, and does not look again once they were', async () => {
    let seen = 0;
    scene = await setScene({ options: { checkOrder: () => { if (++seen < 3) throw new Error('signed for another contract'); } } });
    scene.match(2);
    await request(1);
    scene.match(50);
    await request(2);
    deepEqual([seen, scene.reports[0]], [3, 'warn: chain 5: settlement waits: signed for another contract']);
  });

  const outage = new OutboxUnavailable(new Error('cut'));
  for (const [what, fault] of [
    ['the outbox cannot be reached', { hold: outage }], ['the log cannot be read', { read: new LogUnavailable(false) }],
    ['the outbox takes no request', { ask: outage }], ['the outbox cannot be read', { changes: outage }],
  ] as const) {
    it(`goes on when ${what} for a while`, async () => {
      scene = await setScene({ fault });
      scene.match(2);
      await until('it is told', () => scene.reports.length > 0);
      scene.fault = {};
      deepEqual(fillsOf(await asked(1)), [[0, 1]]);
      await until('the problem is over', () => scene.settlement.status().problem === undefined);
    });
  }

  it('asked and not answered: requests listed in the outbox count as sent, and no request is made twice', async () => {
    scene = await setScene();
    scene.losesAnswers = true;
    scene.match(2);
    await request(1);
    await until('it holds anew', () => scene.holds === 2);
    scene.losesAnswers = false;
    scene.match(2);
    deepEqual(fillsOf(await asked(2)), [[0, 1], [2, 3]]);
  });

  it('what cannot be forgotten is not asked for again beside it', async () => {
    scene = await setScene();
    scene.match(2);
    scene.fault = { forget: outage };
    const first = await request(1);
    scene.nextBlock = 9;
    scene.tell(first, ended(mined(3, false)));
    await until('it has tried several times', () => scene.holds > 3);
    equal(scene.asked.length, 1);
    scene.fault = {};
    deepEqual(fillsOf(await asked(3)), [[0, 1], [0], [1]]);
    ok(!scene.listed.has(first.request.id));
  });

  it('halves what can never be sent, down to one, which waits alone: the others go on', async () => {
    scene = await setScene({ options: { rules: { maxFills: 4, gatherMs: 5, pauseMs: 50, maxPauseMs: 50 } } });
    scene.match(4);
    const tried: (readonly number[])[] = [];
    for (let i = 1; tried.filter((fills) => fills.length === 1 && fills[0] === 2).length < 3; i++) {
      const next = await request(i);
      tried.push(next.note.fills);
      scene.tell(next, next.note.fills.includes(2) ? { kind: 'refused', reason: 'it is too large' } : SENT);
    }
    deepEqual(tried, [[0, 1, 2, 3], [0, 1], [2, 3], [2], [3], [2], [2]]);
    deepEqual(scene.reports, [
      'warn: chain 5: a batch of 4 fills cannot be sent; its fills go in smaller batches: it is too large',
      'warn: chain 5: a batch of 2 fills cannot be sent; its fills go in smaller batches: it is too large',
      'alert: chain 5: fill 2 cannot be sent even alone; it is tried again with growing pauses: it is too large',
    ]);
    await until('it waits', () => scene.settlement.status().waiting === 1);
    deepEqual([scene.settlement.status().limited, scene.settlement.status().problem], [1, undefined]);
    deepEqual([...scene.listed].length, 2, 'refused requests are forgotten');
  });

  it('makes batches that a block has gas for, with some to spare', async () => {
    scene = await setScene({ options: { rules: { maxFills: 50, gatherMs: 5 } } });
    scene.state = { ...scene.state!, blockGasLimit: 2_000_000n };
    scene.match(20);
    const batches = await asked(3);
    const sizes = batches.map(({ note }) => note.fills.length);
    ok(sizes.every((size) => size >= 4 && size <= 6), String(sizes));
    ok(batches.every(({ request: { gasLimit } }) => gasLimit > 1_200_000n && gasLimit <= 1_750_000n));
    deepEqual(batches.flatMap(({ note }) => note.fills), Array.from({ length: sizes.reduce((a, b) => a + b) }, (_, i) => i), 'none is left out');
  });

  it('sets fills aside whose orders are missing from the log, reports it once, and settles them when the orders are found', async () => {
    const lost = [3, 29, 31];
    const options = { rules: { maxFills: 4, gatherMs: 5, pauseMs: 500 }, timings: { pollMs: 1, maxAsked: 10 } };
    scene = await setScene({ fault: { lost }, options });
    scene.match(18);
    deepEqual(fillsOf(await asked(4)), [[0, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 16, 17]]);
    const alert = (fills: string, found: string) => `alert: chain 5: fills ${fills} cannot be settled and are tried again with growing pauses; other fills go on: `
      + `fills name orders that are not in the log: ${found}; the log is not what the engine has read`;
    const alerts = [alert('1', 'position 3 of the commands has a command of kind AdvanceClock'),
      alert('14, 15', 'position 29 of the commands has a command of kind AdvanceClock (and 1 more)')];
    deepEqual([scene.reports, scene.settlement.status().waiting, scene.settlement.status().limited], [alerts, 3, 3]);
    scene.fault = {};
    deepEqual(fillsOf(await asked(7)).slice(4).sort(([a = 0], [b = 0]) => a - b), [[1], [14], [15]]);
    deepEqual(scene.reports, alerts);
  });

  it('asks for only so many at a time, and for the rest when the lane has taken some', async () => {
    scene = await setScene({ options: { timings: { pollMs: 1, maxAsked: 2, maxOpen: 3 } } });
    scene.match(40);
    const [first, second] = [await request(1), await request(2)];
    await until('the second is counted', () => scene.settlement.status().inHand === 8);
    equal(scene.asked.length, 2);
    ok(scene.settlement.status().askedSinceMs! <= Date.now());
    scene.tell(first, SENT);
    scene.tell(second, SENT);
    scene.tell(await request(3), SENT);
    await until('the third is counted', () => scene.settlement.status().askedSinceMs === undefined);
    await until('what waits is counted', () => scene.settlement.status().waiting === 28);
    equal(scene.asked.length, 3);
    scene.tell(first, ended(mined(1)));
    deepEqual(fillsOf(await asked(4))[3], [12, 13, 14, 15]);
  });

  it('uses a permit until a transaction that had it is final', async () => {
    scene = await setScene();
    scene.match(4);
    const first = await request(1);
    scene.match(4);
    const second = await request(2);
    deepEqual(scene.asked.map(({ note }) => note.permits), [[0], [0]]);
    scene.nextBlock = 4;
    scene.tell(first, ended(mined(3, false)));
    deepEqual((await request(3)).note, { fills: [0, 1], permits: [0] }, 'the transaction reverted');
    scene.settle([4, 5, 6, 7]);
    scene.nextBlock = 5;
    scene.tell(await request(3), SENT);
    deepEqual((await request(4)).note.permits, [0], 'made before the second one was final');
    scene.tell(second, ended(mined(4)));
    await until('the second is over', () => scene.settlement.status().inHand === 4);
    scene.match(1);
    scene.settle([0, 1, 2, 3]);
    deepEqual((await request(5)).note, { fills: [8], permits: [] });
  });

  it('takes over what is on its way from before, and what ended meanwhile', async () => {
    const before = (id: string, fills: number[], status: RequestStatus): SceneRequest => {
      const note = { fills, permits: [] };
      return { request: { id, to: CHAIN.contracts.settlement, data: '0x', gasLimit: 1n, note }, note, status };
    };
    scene = await setScene({ matched: 4, before: [before('a', [0, 1], ended(mined(9, false))), before('b', [2], SENT)] });
    deepEqual(fillsOf(await asked(3)).slice(2), [[3]]);
    scene.nextBlock = 10;
    deepEqual(fillsOf(await asked(4))[3], [0]);
    match(scene.reports[0]!, /^alert: chain 5, settlement request a .* reverted as a whole; its 2 fills/);
    deepEqual([scene.listed.has('a'), scene.listed.has('b')], [false, true]);
  });

  it('tells the lane\'s problem, and its silence while it waits for it', async () => {
    scene = await setScene({ options: { timings: { pollMs: 1, laneLookMs: 2, laneSilentMs: 40 } } });
    scene.state = { ...scene.state!, problem: { text: 'no node answers', sinceMs: 5 } };
    await until('the lane\'s problem', () => scene.settlement.status().problem === 'no node answers');
    scene.state = { ...scene.state, problem: undefined };
    await until('it is over', () => scene.settlement.status().problem === undefined);
    scene.match(2);
    await request(1);
    await until('silence', () => scene.settlement.status().problem === 'no process works on the lane');
    scene.state = { ...scene.state, seenAtMs: 2 };
    scene.tell(await request(1), SENT);
    await until('it is over', () => scene.settlement.status().problem === undefined);
  });

  it('ends, whatever it waits for', async () => {
    scene = await setScene();
    scene.match(2);
    await request(1);
    await scene.stop();
    let waits = false;
    scene = await setScene({ options: { catchUp: () => { waits = true; return new Promise(() => undefined); } } });
    scene.match(2);
    await until('the history is asked for', () => waits);
    await scene.stop();
    deepEqual(scene.asked, []);
  });
});
