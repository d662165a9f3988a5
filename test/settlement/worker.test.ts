/** The settlement worker around its queue: what it records, what it hands over in which order, and how it bears what fails. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { Interface } from 'ethers';
import { ChainUnavailable } from '../../command/chain/chain.js';
import type { Attempt, Ending, Sender, SentTransaction, TransactionRequest } from '../../command/lane/sender.js';
import type { SettlementNote } from '../../command/settlement/settlement-queue.js';
import { runSettlement, type Settlement, type SettlementHooks, type SettlementOptions } from '../../command/settlement/settlement-worker.js';
import { settlement as artifact } from '../../contracts-abi/settlement.js';
import { encodeCommand, recordId } from '../../engine/records/codec.js';
import type { PlaceOrder, SubmitSettlement } from '../../engine/records/commands.js';
import { LogUnavailable } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import type { UnsettledFill } from '../../engine/run/unsettled-fills.js';
import { UnsendableTransaction } from '../../command/lane/signer.js';
import { address, bytes32 } from '../support/scenario.js';

const CHAIN = { chainId: 5, contracts: { settlement: address('settlement') } } as unknown as SettlementOptions['chain'];
const PERMIT = { nonce: '0', value: '1', deadline: '1900000000', v: 27 as const, r: bytes32('r'), s: bytes32('s') };
const abi = new Interface(artifact.abi);
const TICK = encodeCommand({ kind: 'AdvanceClock', v: 1, at: 0 });

interface Handed {
  readonly request: TransactionRequest;
  readonly note: SettlementNote;
  take(): SentTransaction;
  refuse(error: Error): void;
}

interface Scene {
  readonly settlement: Settlement;
  readonly hooks: SettlementHooks;
  /** What the worker has handed to the sender, in order. */
  readonly handed: Handed[];
  readonly open: SentTransaction[];
  readonly submitted: SubmitSettlement[];
  readonly reports: string[];
  readonly unsettled: Set<number>;
  nextBlock: number;
  position: number;
  fault: { catchUp?: Error; read?: Error; submit?: Error; open?: Error; lost?: readonly number[] };
  blockGasLimit: bigint | undefined;
  stopped: boolean;
  /** The engine matches fills; fill n is of the orders 2n and 2n + 1. */
  match(count: number): void;
  over(transaction: SentTransaction, ending: Ending): Promise<void>;
  stop(): Promise<void>;
}

async function setScene(
  { open = [], options = {}, fault = {}, early }: {
    open?: SentTransaction[]; options?: Partial<SettlementOptions>; fault?: Scene['fault']; early?: (hooks: SettlementHooks) => void;
  } = {},
): Promise<Scene> {
  const stopping = new AbortController();
  const log = createMemoryLog();
  await log.append('commands', Array.from({ length: 400 }, (_, i) => ({ id: recordId(`test ${i}`), data: encodeCommand(orderAt(i)) })));
  let nextFill = 0;
  const scene: Scene = {
    hooks: undefined as unknown as SettlementHooks, handed: [], open, submitted: [], reports: [], unsettled: new Set(), nextBlock: 0, position: 1_000,
    fault, blockGasLimit: undefined, stopped: false, settlement: undefined as unknown as Settlement,
    match(count) {
      for (let i = 0; i < count; i++) scene.unsettled.add(nextFill++);
    },
    async over(transaction, ending) {
      await scene.hooks.over(transaction, ending);
      scene.open.splice(scene.open.indexOf(transaction), 1);
    },
    async stop() {
      stopping.abort();
      await scene.settlement.done;
    },
  };
  const sender = scriptedSender(scene);
  const settlement = runSettlement({
    chain: CHAIN, now: Date.now, signal: stopping.signal, report: (level, text) => { scene.reports.push(`${level}: ${text}`); },
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
    submit(command) {
      if (scene.fault.submit !== undefined) return Promise.reject(scene.fault.submit);
      scene.submitted.push(command);
      return Promise.resolve();
    },
    openSender(hooks) {
      if (scene.fault.open !== undefined) return Promise.reject(scene.fault.open);
      Object.assign(scene, { hooks });
      early?.(hooks);
      return Promise.resolve(sender);
    },
    rules: { maxFills: 4, gatherMs: 5 }, timings: { pollMs: 1, retryMs: 2, maxRetryMs: 5, maxSending: 3 }, ...options,
  });
  return Object.assign(scene, { settlement });
}

/** A sender that takes and refuses when the test says so. */
function scriptedSender(scene: Scene): Sender {
  let nonce = scene.open.length;
  return {
    address: address('key'), open: () => scene.open, blockGasLimit: () => scene.blockGasLimit,
    send: (request) => new Promise((resolve, reject) => {
      scene.handed.push({
        request, note: request.note as SettlementNote, refuse: reject,
        take() {
          const transaction = { nonce: nonce++, request, attempts: [{ txHash: bytes32(`tx${nonce}`), raw: '0x' }] };
          scene.open.push(transaction);
          resolve(transaction);
          return transaction;
        },
      });
    }),
    stop() {
      scene.stopped = true;
      for (const { refuse } of scene.handed) refuse(new Error('stopped'));
      return Promise.resolve();
    },
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
const fillsOf = (handed: readonly Handed[]) => handed.map(({ note }) => note.fills);

async function until(what: string, condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns++) {
    if (turns > 5_000) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe('settlement: worker', () => {
  let scene: Scene;
  afterEach(() => scene.stop());

  const handed = async (count: number): Promise<Handed[]> => {
    await until(`transaction ${count}`, () => scene.handed.length >= count);
    return scene.handed;
  };

  it('hands batches over in order, with the history and the gas for them', async () => {
    scene = await setScene();
    scene.match(6);
    const [first, second] = await handed(2);
    deepEqual(fillsOf([first, second]), [[0, 1, 2, 3], [4, 5]]);
    const { to, data, gasLimit } = first.request;
    const [, signatures, permits, fills, position, digest] = abi.decodeFunctionData('settleBatch', data).toArray() as [
      unknown, unknown[], unknown[], { seq: bigint }[], bigint, string];
    deepEqual(
      { to, signatures: signatures.length, permits: permits.length, fills: fills.map(({ seq }) => seq), position, digest },
      { to: CHAIN.contracts.settlement, signatures: 5, permits: 1, fills: [0n, 1n, 2n, 3n], position: 1_000n, digest: `0x${'07'.repeat(32)}` },
    );
    ok(gasLimit > 1_000_000n && gasLimit < 2n ** 24n);
  });

  it('records every attempt of its own before it is broadcast, and of nobody else\'s', async () => {
    scene = await setScene();
    scene.match(2);
    const transaction = (await handed(1))[0].take();
    const attempts: Attempt[] = [{ txHash: bytes32('first'), raw: '0x' }, { txHash: bytes32('bumped'), raw: '0x' }];
    for (const attempt of attempts) await scene.hooks.signed(attempt, transaction);
    for (const request of [{ ...transaction.request, to: address('other') }, { ...transaction.request, note: null }, { ...transaction.request, note: { fills: [] } }]) {
      await scene.hooks.signed(attempts[0], { ...transaction, request });
      await scene.hooks.over({ ...transaction, nonce: 99, request }, mined(1));
    }
    deepEqual(scene.submitted.map(({ at, ...command }) => (ok(at > 0), command)), attempts.map(({ txHash }) => (
      { kind: 'SubmitSettlement', v: 1, chainId: 5, txHash, fills: [0, 1] })));
    scene.fault.submit = new LogUnavailable(true);
    await rejects(scene.hooks.signed(attempts[0], transaction), LogUnavailable);
  });

  it('begins when the history has the final blocks, and tells what it waits for', async () => {
    scene = await setScene({ fault: { catchUp: new ChainUnavailable(5, 'connection refused') } });
    scene.match(2);
    await until('it has tried', () => scene.reports.length > 0);
    await until('it has tried again', () => scene.settlement.status().waiting === 2);
    deepEqual([scene.handed, scene.reports], [[], ['trouble: settlement waits: no node of chain 5 answers: connection refused']]);
    match(scene.settlement.status().trouble!.text, /connection refused/);
    scene.fault = {};
    (await handed(1))[0].take();
    await until('the trouble is over', () => scene.settlement.status().trouble === undefined);
    equal(scene.reports.at(-1), 'note: settlement goes on after: no node of chain 5 answers: connection refused');
  });

  for (const [what, fault] of [['the sender cannot be opened', 'open'], ['the log cannot be read', 'read']] as const) {
    it(`goes on when ${what} for a while`, async () => {
      scene = await setScene({ fault: { [fault]: new LogUnavailable(false) } });
      scene.match(2);
      await until('it is told', () => scene.reports.length > 0);
      scene.fault = {};
      deepEqual(fillsOf(await handed(1)), [[0, 1]]);
    });
  }

  it('takes back what the sender refuses, tells it once, and hands it over again', async () => {
    scene = await setScene();
    scene.match(2);
    for (let i = 0; i < 3; i++) (await handed(i + 1))[i].refuse(new Error('the gas limit is too high'));
    (await handed(4))[3].take();
    deepEqual(fillsOf(scene.handed), [[0, 1], [0, 1], [0, 1], [0, 1]]);
    await until('the trouble is over', () => scene.settlement.status().trouble === undefined);
    deepEqual(scene.reports, ['trouble: settlement waits: the gas limit is too high', 'note: settlement goes on after: the gas limit is too high']);
  });

  it('halves what can never be sent, down to one, which waits alone: the others go on', async () => {
    scene = await setScene({ options: { rules: { maxFills: 4, gatherMs: 5, pauseMs: 50, maxPauseMs: 50 } } });
    scene.match(4);
    const tried: (readonly number[])[] = [];
    for (let i = 0; tried.filter((fills) => fills.length === 1 && fills[0] === 2).length < 3; i++) {
      const { note: { fills }, refuse, take } = (await handed(i + 1))[i];
      tried.push(fills);
      if (fills.includes(2)) refuse(new UnsendableTransaction('it is too large'));
      else take();
    }
    deepEqual(tried, [[0, 1, 2, 3], [0, 1], [2, 3], [2], [3], [2], [2]]);
    const why = 'this transaction would block all that come after it: it is too large';
    deepEqual(scene.reports, [
      `trouble: chain 5: a batch of 4 fills cannot be sent and goes in smaller ones: ${why}`,
      `trouble: chain 5: a batch of 2 fills cannot be sent and goes in smaller ones: ${why}`,
      `alarm: chain 5: fill 2 cannot be sent even alone; it is tried again ever more rarely: ${why}`,
    ]);
    await until('it waits', () => scene.settlement.status().waiting === 1);
    deepEqual([scene.settlement.status().troubled, scene.settlement.status().trouble], [4, undefined]);
  });

  it('makes batches that a block has gas for, with some to spare', async () => {
    scene = await setScene({ options: { rules: { maxFills: 50, gatherMs: 5 } } });
    scene.blockGasLimit = 2_000_000n;
    scene.match(20);
    const batches = await handed(3);
    const sizes = batches.map(({ note }) => note.fills.length);
    ok(sizes.every((size) => size >= 4 && size <= 6), String(sizes));
    ok(batches.every(({ request: { gasLimit } }) => gasLimit > 1_200_000n && gasLimit <= 1_750_000n));
    deepEqual(batches.flatMap(({ note }) => note.fills), Array.from({ length: sizes.reduce((a, b) => a + b) }, (_, i) => i), 'none is left out');
  });

  it('sets fills aside whose orders are missing from the log, tells it once, and settles them when they are found', async () => {
    const lost = [3, 31, 33];
    const options = { rules: { maxFills: 4, gatherMs: 5, pauseMs: 500 }, timings: { pollMs: 1, maxSending: 10 } };
    scene = await setScene({ fault: { lost }, options });
    scene.match(18);
    deepEqual(fillsOf(await handed(4)), [[0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 17]]);
    const alarm = (fills: string, found: string) => `alarm: chain 5: fills ${fills} cannot be settled and are tried again ever more rarely; the others go on: `
      + `fills name orders that are not in the log: ${found}; the log is not what the engine has read`;
    const alarms = [alarm('1', 'position 3 of the commands has a command of kind AdvanceClock'),
      alarm('15, 16', 'position 31 of the commands has a command of kind AdvanceClock (and 1 more)')];
    deepEqual([scene.reports, scene.settlement.status().waiting, scene.settlement.status().troubled], [alarms, 3, 3]);
    scene.fault = {};
    deepEqual(fillsOf(await handed(7)).slice(4).sort(([a], [b]) => a - b), [[1], [15], [16]]);
    deepEqual(scene.reports, alarms);
  });

  it('hands over only so many at a time, and the rest when the sender has taken some', async () => {
    scene = await setScene({ options: { timings: { pollMs: 1, maxSending: 2, maxOpen: 3 } } });
    scene.match(40);
    const [first, second] = await handed(2);
    await until('the second is counted', () => scene.settlement.status().inHand === 8);
    equal(scene.handed.length, 2);
    ok(scene.settlement.status().sendingSinceMs! <= Date.now());
    const transaction = first.take();
    second.take();
    (await handed(3))[2].take();
    await until('the third is counted', () => scene.settlement.status().sendingSinceMs === undefined);
    deepEqual([scene.handed.length, scene.settlement.status().waiting], [3, 28]);
    await scene.over(transaction, mined(1));
    deepEqual(fillsOf(await handed(4))[3], [12, 13, 14, 15]);
  });

  it('uses a permit until a transaction that had it is final', async () => {
    scene = await setScene();
    scene.match(4);
    const first = (await handed(1))[0].take();
    scene.match(4);
    const second = (await handed(2))[1].take();
    deepEqual(scene.handed.map(({ note }) => note.permits), [[0], [0]]);
    await scene.over(first, mined(3, false));
    scene.nextBlock = 4;
    deepEqual((await handed(3))[2].note, { fills: [0, 1], permits: [0] }, 'the transaction reverted');
    for (const settled of [4, 5, 6, 7]) scene.unsettled.delete(settled);
    await scene.over(second, mined(4));
    scene.nextBlock = 5;
    deepEqual((await handed(4))[3].note.permits, [0], 'made before the second one was final');
    await until('the second is over', () => scene.settlement.status().inHand === 4);
    scene.match(1);
    for (const each of [0, 1, 2, 3]) scene.unsettled.delete(each);
    const note = { fills: [8], permits: [] };
    deepEqual((await handed(5))[4].note, note);
  });

  it('takes over what is on its way from before, even if the sender tells its end at once', async () => {
    const request = { to: CHAIN.contracts.settlement, data: '0x', gasLimit: 1n, note: { fills: [0, 1], permits: [] } };
    const before: SentTransaction = { nonce: 0, request, attempts: [] };
    let told: Promise<void> | undefined;
    scene = await setScene({ open: [before], early: (hooks) => { told = hooks.over(before, mined(9)); } });
    scene.match(3);
    deepEqual(fillsOf(await handed(1)), [[2]]);
    await told;
    scene.open.splice(0, 1);
    scene.nextBlock = 10;
    deepEqual(fillsOf(await handed(2))[1], [0]);
    match(scene.reports[0], /^trouble: chain 5, transaction with nonce 0 .* left 2 of 2 fills untouched/);
  });

  it('stops the sender and ends, whatever it waits for', async () => {
    scene = await setScene();
    scene.match(2);
    await handed(1);
    await scene.stop();
    ok(scene.stopped);
    let asked = false;
    scene = await setScene({ options: { catchUp: () => { asked = true; return new Promise(() => undefined); } } });
    scene.match(2);
    await until('the history is asked for', () => asked);
    await scene.stop();
    deepEqual(scene.handed, []);
  });
});
