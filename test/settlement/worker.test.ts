/** The settlement worker around its queue: its requests to the lane and their order, what it does with the answers, and failures. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { Interface } from 'ethers';
import { ChainUnavailable } from '../../command/chain/chain.js';
import {
  OutboxUnavailable, type Ending, type LaneRequest, type LaneState, type LaneUser, type RequestStatus, type TrackedRequest,
} from '../../command/lane/requests.js';
import { runSettlement, type Settlement, type SettlementOptions } from '../../command/settlement/settlement-worker.js';
import type { SettlementNote } from '../../command/settlement/submission.js';
import { settlement as artifact } from '../../contracts-abi/settlement.js';
import { encodeCommand, recordId } from '../../engine/records/codec.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { createBell } from '../../engine/waiting.js';
import { address, bytes32 } from '../support/scenario.js';
import { until } from '../support/until.js';

const CHAIN = { chainId: 5, contracts: { settlement: address('settlement') } } as unknown as SettlementOptions['chain'];
const PERMIT = { nonce: '0', value: '1', deadline: '1900000000', v: 27 as const, r: bytes32('r'), s: bytes32('s') };
const abi = new Interface(artifact.abi);
const [TICK, none] = [encodeCommand({ kind: 'AdvanceClock', v: 1, at: 0 }), () => Promise.resolve(new Set<number>())];

/** A request that the worker has asked, in the hands of a lane that does what the test says. */
interface Asked {
  readonly request: LaneRequest;
  readonly note: SettlementNote;
  status: RequestStatus;
}

type Fault = 'catchUp' | 'verify' | 'read' | 'hold' | 'ask' | 'forget' | 'changes';

interface Scene {
  readonly settlement: Settlement;
  /** What the worker has asked, in order; what it has forgotten stays here. */
  readonly asked: Asked[];
  /** What the outbox lists. */
  readonly listed: Set<string>;
  readonly reports: string[];
  readonly unsettled: Set<number>;
  nextBlock: number;
  position: number;
  fault: Partial<Record<Fault, Error>> & { lost?: readonly number[] };
  /** An ask is durable, though its answer is lost. */
  losesAnswers: boolean;
  state: LaneState | undefined;
  holds: number;
  /** The engine matches fills; fill n is of the orders 2n and 2n + 1. */
  match(count: number): void;
  /** The lane tells of a request. */
  tell(asked: Asked | undefined, status: RequestStatus): void;
  stop(): Promise<void>;
}

async function setScene(
  { before = [], options = {}, fault = {} }: { before?: Asked[]; options?: Partial<SettlementOptions>; fault?: Scene['fault'] } = {},
): Promise<Scene> {
  const stopping = new AbortController();
  const log = createMemoryLog();
  await log.append('commands', Array.from({ length: 400 }, (_, i) => ({ id: recordId(`test ${i}`), data: encodeCommand(orderAt(i)) })));
  let nextFill = 0;
  let ids = 0;
  const lane = scriptedLane();
  const scene: Scene = {
    asked: before, listed: new Set(before.map(({ request: { id } }) => id)), reports: [], unsettled: new Set(), nextBlock: 0, position: 1_000,
    fault, losesAnswers: false, state: { address: address('key'), blockGasLimit: undefined, trouble: undefined, seenAtMs: 1 }, holds: 0,
    settlement: undefined as unknown as Settlement,
    match(count) {
      for (let i = 0; i < count; i++) scene.unsettled.add(nextFill++);
    },
    tell(asked, status) {
      ok(asked !== undefined);
      asked.status = status;
      lane.changed(asked);
    },
    async stop() {
      stopping.abort();
      await scene.settlement.done;
    },
  };
  const settlement = runSettlement({
    chain: CHAIN, now: Date.now, newId: () => `request ${++ids}`, signal: stopping.signal, lane: lane.userOf(scene), checkOrder: () => undefined,
    report: (level, text) => { scene.reports.push(`${level}: ${text}`); },
    view: {
      nextFill: () => nextFill, nextBlock: () => scene.nextBlock,
      unsettled: (from) => [...scene.unsettled].filter((each) => each >= from).sort((a, b) => a - b).map(fill),
      history: () => ({ position: scene.position, digest: new Uint8Array(32).fill(7) }),
    },
    log: {
      async read(...asked) {
        if (scene.fault.read !== undefined) throw scene.fault.read;
        return (await log.read(...asked)).map((record) => scene.fault.lost?.includes(record.position) === true ? { ...record, data: TICK } : record);
      },
    },
    catchUp: () => scene.fault.catchUp === undefined ? Promise.resolve() : Promise.reject(scene.fault.catchUp),
    verify: () => scene.fault.verify === undefined ? Promise.resolve() : Promise.reject(scene.fault.verify),
    rules: { maxFills: 4, gatherMs: 5 }, timings: { pollMs: 1, retryMs: 2, maxRetryMs: 5, maxAsked: 3 }, settledOnChain: none, ...options,
  });
  return Object.assign(scene, { settlement });
}

/** A lane that takes, refuses and ends requests when the test says so, behind an outbox that fails when it says so. */
function scriptedLane() {
  const bell = createBell();
  let changes: Asked[] = [];
  const tracked = ({ request: { id, note }, status }: Asked): TrackedRequest => ({ id, note, status, txHashes: [], askedAtMs: 7 });
  return {
    changed(asked: Asked): void {
      changes.push(asked);
      bell.ring();
    },
    userOf: (scene: Scene): LaneUser => ({
      async hold() {
        const failing = (fault: Fault): void => { if (scene.fault[fault] !== undefined) throw scene.fault[fault]; };
        failing('hold');
        scene.holds++;
        let first = true;
        const listed = (asked: readonly Asked[]) => asked.filter(({ request: { id } }) => scene.listed.has(id)).map(tracked);
        return {
          async ask(requests) {
            failing('ask');
            for (const request of requests) {
              scene.listed.add(request.id);
              scene.asked.push({ request, note: request.note as SettlementNote, status: { kind: 'waiting' } });
            }
            if (scene.losesAnswers) throw new OutboxUnavailable(new Error('cut'));
          },
          async changes() {
            failing('changes');
            const told = first ? scene.asked : changes;
            first = false;
            changes = [];
            return listed(told);
          },
          list: async () => listed(scene.asked),
          async forget(forgotten) {
            failing('forget');
            for (const id of forgotten) scene.listed.delete(id);
          },
          state: async () => scene.state,
          wait: (signal, timeoutMs) => changes.length > 0 ? Promise.resolve('rung') : bell.wait(signal, timeoutMs),
          close: async () => undefined,
        };
      },
    }),
  };
}

function orderAt(position: number): PlaceOrder {
  return {
    kind: 'PlaceOrder', v: 1, at: position, orderHash: bytes32(`o${position}`), marketId: bytes32('market'), trader: address(`t${position}`),
    side: position % 2 as 0 | 1, outcome: 0, price: 1, size: '10', nonce: String(position), expiration: '1900000000', signature: `0x${'ab'.repeat(65)}`,
    ...position === 0 ? { permit: PERMIT } : {},
  };
}

function fill(number: number): UnsettledFill {
  return {
    fill: number, marketId: bytes32('market'), chainId: 5, outcome: 0, price: 1, size: 10n, cost: 1n, buyNumber: number < 8 ? 0 : 2 * number,
    sellNumber: 2 * number + 1, buyer: address('b'), seller: address('s'),
  };
}

const mined = (block: number, succeeded = true): Ending => ({ kind: 'mined', txHash: bytes32('tx'), block, succeeded });
const ended = (ending: Ending): RequestStatus => ({ kind: 'ended', ending });
const fillsOf = (asked: readonly Asked[]) => asked.map(({ note }) => note.fills);

describe('settlement: worker', () => {
  let scene: Scene;
  afterEach(() => scene.stop());

  const asked = async (count: number): Promise<Asked[]> => {
    await until(`request ${count}`, () => scene.asked.length >= count);
    return scene.asked;
  };
  const request = async (number: number): Promise<Asked> => (await asked(number))[number - 1]!;
  const SENT: RequestStatus = { kind: 'sent' };

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
    deepEqual([scene.asked, scene.reports], [[], ['trouble: chain 5: settlement waits: no node of chain 5 answers: connection refused']]);
    match(scene.settlement.status().trouble!, /connection refused/);
    scene.fault = {};
    await request(1);
    await until('the trouble is over', () => scene.settlement.status().trouble === undefined);
    equal(scene.reports.at(-1), 'note: chain 5: settlement goes on');
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
    deepEqual([seen, scene.reports[0]], [3, 'trouble: chain 5: settlement waits: signed for another contract']);
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
      await until('the trouble is over', () => scene.settlement.status().trouble === undefined);
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
      'trouble: chain 5: a batch of 4 fills cannot be sent; its fills go in smaller batches: it is too large',
      'trouble: chain 5: a batch of 2 fills cannot be sent; its fills go in smaller batches: it is too large',
      'alarm: chain 5: fill 2 cannot be sent even alone; it is tried again with growing pauses: it is too large',
    ]);
    await until('it waits', () => scene.settlement.status().waiting === 1);
    deepEqual([scene.settlement.status().troubled, scene.settlement.status().trouble], [4, undefined]);
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
    const lost = [3, 31, 33];
    const options = { rules: { maxFills: 4, gatherMs: 5, pauseMs: 500 }, timings: { pollMs: 1, maxAsked: 10 } };
    scene = await setScene({ fault: { lost }, options });
    scene.match(18);
    deepEqual(fillsOf(await asked(4)), [[0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 17]]);
    const alarm = (fills: string, found: string) => `alarm: chain 5: fills ${fills} cannot be settled and are tried again with growing pauses; other fills go on: `
      + `fills name orders that are not in the log: ${found}; the log is not what the engine has read`;
    const alarms = [alarm('1', 'position 3 of the commands has a command of kind AdvanceClock'),
      alarm('15, 16', 'position 31 of the commands has a command of kind AdvanceClock (and 1 more)')];
    deepEqual([scene.reports, scene.settlement.status().waiting, scene.settlement.status().troubled], [alarms, 3, 3]);
    scene.fault = {};
    deepEqual(fillsOf(await asked(7)).slice(4).sort(([a = 0], [b = 0]) => a - b), [[1], [15], [16]]);
    deepEqual(scene.reports, alarms);
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
    deepEqual([scene.asked.length, scene.settlement.status().waiting], [3, 28]);
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
    for (const settled of [4, 5, 6, 7]) scene.unsettled.delete(settled);
    scene.nextBlock = 5;
    scene.tell(await request(3), SENT);
    deepEqual((await request(4)).note.permits, [0], 'made before the second one was final');
    scene.tell(second, ended(mined(4)));
    await until('the second is over', () => scene.settlement.status().inHand === 4);
    scene.match(1);
    for (const each of [0, 1, 2, 3]) scene.unsettled.delete(each);
    deepEqual((await request(5)).note, { fills: [8], permits: [] });
  });

  it('takes over what is on its way from before, and what ended meanwhile', async () => {
    const before = (id: string, fills: number[], status: RequestStatus): Asked => {
      const note = { fills, permits: [] };
      return { request: { id, to: CHAIN.contracts.settlement, data: '0x', gasLimit: 1n, note }, note, status };
    };
    scene = await setScene({ before: [before('a', [0, 1], ended(mined(9, false))), before('b', [2], SENT)] });
    scene.match(4);
    deepEqual(fillsOf(await asked(3)).slice(2), [[3]]);
    scene.nextBlock = 10;
    deepEqual(fillsOf(await asked(4))[3], [0]);
    match(scene.reports[0]!, /^alarm: chain 5, settlement request a .* reverted as a whole; its 2 fills/);
    deepEqual([scene.listed.has('a'), scene.listed.has('b')], [false, true]);
  });

  it('tells the lane\'s trouble, and its silence while it waits for it', async () => {
    scene = await setScene({ options: { timings: { pollMs: 1, laneLookMs: 2, laneSilentMs: 40 } } });
    scene.state = { ...scene.state!, trouble: { text: 'no node answers', sinceMs: 5 } };
    await until('the lane\'s trouble', () => scene.settlement.status().trouble === 'no node answers');
    scene.state = { ...scene.state, trouble: undefined };
    await until('it is over', () => scene.settlement.status().trouble === undefined);
    scene.match(2);
    await request(1);
    await until('silence', () => scene.settlement.status().trouble === 'no process works on the lane');
    scene.state = { ...scene.state, seenAtMs: 2 };
    scene.tell(await request(1), SENT);
    await until('it is over', () => scene.settlement.status().trouble === undefined);
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
