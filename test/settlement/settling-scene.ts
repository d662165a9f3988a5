/** A settlement worker over the queue in memory, with a lane that takes, refuses and ends requests when the test says so. */
import { ok } from 'node:assert/strict';
import {
  OutboxUnavailable, type TransactionEnding, type LaneRequest, type PublishedLaneState, type LaneUser, type RequestStatus, type TrackedRequest,
} from '../../command/lane/requests.js';
import type { QueueRules } from '../../command/settlement/rules.js';
import { SettlementWorker, type Held, type SettlementOptions } from '../../command/settlement/settlement-worker.js';
import type { QueuedFill, SettlementStore } from '../../command/settlement/store.js';
import type { SettlementNote } from '../../command/settlement/submission.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { createBell } from '../../engine/waiting.js';
import { createDatabase } from '../harness/memory/database.js';
import { createIntakeTables, openMemoryStore, queuedFill } from '../harness/memory/intake.js';
import { newCommand } from '../support/commands.js';
import { address, bytes32 } from '../support/scenario.js';

export const CHAIN = { chainId: 5, contracts: { settlement: address('settlement') } } as SettlementOptions['chain'];
const PERMIT = { nonce: '0', value: '1', deadline: '1900000000', v: 27 as const, r: bytes32('r'), s: bytes32('s') };
const TICK = encodeCommand(newCommand('AdvanceClock', { at: 0 }));
const never = new AbortController().signal;

export const mined = (block: number, succeeded = true): TransactionEnding => ({ kind: 'mined', txHash: bytes32('tx'), block, succeeded });
export const ended = (ending: TransactionEnding): RequestStatus => ({ kind: 'ended', ending });
export const SENT: RequestStatus = { kind: 'sent' };

/** A request that the worker has asked. */
export interface SceneRequest {
  readonly request: LaneRequest;
  readonly note: SettlementNote;
  status: RequestStatus;
}

export type Fault = 'catchUp' | 'verify' | 'read' | 'hold' | 'ask' | 'forget' | 'changes';

export interface Scene {
  readonly options: Omit<SettlementOptions, 'signal' | 'newId' | 'now'>;
  /** What the worker has asked, in order; what it has forgotten stays here. */
  readonly asked: SceneRequest[];
  /** What the outbox lists. */
  readonly listed: Set<string>;
  readonly reports: string[];
  /** The calls of the store, by name, in order. */
  readonly calls: string[];
  /** All blocks below it are recorded in the history. */
  nextBlock: number;
  position: number;
  fault: Partial<Record<Fault, Error>> & { lost?: readonly number[] };
  /** An ask is durable, though its answer is lost. */
  losesAnswers: boolean;
  state: PublishedLaneState | undefined;
  holds: number;
  /** What the chain has settled and the history does not have. */
  chainHas: ReadonlySet<number>;
  /** The engine matches fills; fill n is of the orders 2n and 2n + 1. */
  match(count: number, atMs?: number): void;
  /** The history has them as settled or failed. */
  settle(fills: readonly number[]): void;
  /** The fills of the queue, in order. */
  queue(): readonly QueuedFill[];
  /** The lane tells of a request. */
  tell(asked: SceneRequest | undefined, status: RequestStatus): void;
}

export async function setScene({ before = [], fault = {} }: { before?: SceneRequest[]; fault?: Scene['fault'] } = {}): Promise<Scene> {
  const log = createMemoryLog();
  await log.append('commands', Array.from({ length: 400 }, (_, i) => ({ id: recordId(`test ${i}`), data: encodeCommand(orderAt(i)) })));
  const [database, tables, lane] = [createDatabase(), createIntakeTables(), scriptedLane()];
  const calls: string[] = [];
  const parts = { database, tables, carry: async <T>(_: string, work: () => T) => work() };
  const store = counted(await openMemoryStore(parts, { signal: never, standingBy: () => undefined }), calls);
  const faulty = async (name: Fault): Promise<void> => { if (scene.fault[name] !== undefined) throw scene.fault[name]; };
  const scene: Omit<Scene, 'options'> = {
    asked: before, listed: new Set(before.map(({ request: { id } }) => id)), reports: [], calls, nextBlock: 0, position: 1_000, fault,
    losesAnswers: false, state: { address: address('key'), blockGasLimit: undefined, problem: undefined, seenAtMs: 1 }, holds: 0, chainHas: new Set(),
    match(count, atMs = 0) {
      const fills = new Map(tables.rows.fills);
      const { watermark } = tables.rows;
      for (let number = watermark; number < watermark + count; number++) fills.set(number, { ...fillOf(number, atMs), over: false });
      tables.rows = { ...tables.rows, fills, watermark: watermark + count };
    },
    settle(numbers) {
      tables.rows = { ...tables.rows, fills: new Map([...tables.rows.fills].filter(([fill]) => !numbers.includes(fill))) };
    },
    queue: () => [...tables.rows.fills.values()].map(queuedFill).sort((a, b) => a.fill - b.fill),
    tell(asked, status) {
      ok(asked !== undefined);
      asked.status = status;
      lane.changed(asked);
    },
  };
  return Object.assign(scene, {
    options: {
      chain: CHAIN, lane: lane.userOf(scene), checkOrder: () => undefined, report: (level, text) => { scene.reports.push(`${level}: ${text}`); },
      intake: {
        held: () => Promise.resolve(store), watermark: () => tables.rows.watermark,
        history: () => ({ position: scene.position, digest: new Uint8Array(32).fill(7) }),
        barrier: () => scene.nextBlock === 0 ? undefined : { block: scene.nextBlock - 1, blockHash: bytes32('block') },
        status: () => ({ standby: false, position: 0, problem: undefined }),
      },
      log: {
        async read(...asked) {
          await faulty('read');
          const isLost = ({ position }: { readonly position: number }) => scene.fault.lost?.includes(position) === true;
          return (await log.read(...asked)).map((record) => isLost(record) ? { ...record, data: TICK } : record);
        },
      },
      catchUp: () => faulty('catchUp'), verify: () => faulty('verify'),
      settledOnChain: (fills) => Promise.resolve(new Set(fills.filter((fill) => scene.chainHas.has(fill)))),
    } satisfies Scene['options'],
  });
}

function counted(store: SettlementStore, calls: string[]): SettlementStore {
  const noted = <Args extends unknown[], T>(name: string, call: (...args: Args) => T) => (...args: Args): T => {
    calls.push(name);
    return call(...args);
  };
  return {
    ...store, due: noted('due', store.due), fills: noted('fills', store.fills), counts: noted('counts', store.counts),
    change: noted('change', store.change),
  };
}

/** Behind an outbox that fails when the scene says so. */
function scriptedLane() {
  const bell = createBell();
  let changes: SceneRequest[] = [];
  const tracked = ({ request: { id, note }, status }: SceneRequest): TrackedRequest => ({ id, note, status, txHashes: [], askedAtMs: 7 });
  return {
    changed(asked: SceneRequest): void {
      changes.push(asked);
      bell.ring();
    },
    userOf: (scene: Omit<Scene, 'options'>): LaneUser => ({
      async hold() {
        const failing = (fault: Fault): void => { if (scene.fault[fault] !== undefined) throw scene.fault[fault]; };
        failing('hold');
        scene.holds++;
        let first = true;
        const listed = (asked: readonly SceneRequest[]) => asked.filter(({ request: { id } }) => scene.listed.has(id)).map(tracked);
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
  return newCommand('PlaceOrder', {
    at: position, orderHash: bytes32(`o${position}`), marketId: bytes32('market'), trader: address(`t${position}`),
    side: position % 2 as 0 | 1, outcome: 0, price: 1, size: '10', nonce: String(position), expiration: '1900000000',
    signature: `0x${'ab'.repeat(65)}`, ...position === 0 ? { permit: PERMIT } : {},
  });
}

function fillOf(number: number, atMs: number): QueuedFill {
  return {
    fill: number, chainId: 5, price: 1, size: 10n, buyNumber: number < 8 ? 0 : 2 * number % 400, sellNumber: (2 * number + 1) % 400, state: 'waiting', sinceMs: atMs,
    dueMs: 0, batchLimit: undefined, tries: 0,
  };
}

export interface Story extends Scene {
  /** The fills of each request that the worker makes when its rounds run at this time. The lane takes them. */
  asks(atMs: number): Promise<(readonly number[])[]>;
  /** The same, one request, whose transaction is over in the next block when the history has recorded it. */
  concluded(atMs: number, ending: { readonly settled?: readonly number[]; readonly succeeded?: boolean }): Promise<readonly number[]>;
  last(): SceneRequest;
  status: SettlementWorker['status'];
  /** What the worker of another process makes of the same queue and the same outbox. */
  restart(atMs: number): Promise<void>;
}

/** As many requests as are due are asked, unless `one`: then one at a time. */
export async function story(
  rules: Partial<QueueRules> = {}, { one = false, before }: { one?: boolean; before?: SceneRequest[] } = {},
): Promise<Story> {
  const scene = await setScene(before === undefined ? {} : { before });
  let [nowMs, ids] = [0, 0];
  let worker: SettlementWorker;
  let held: Held;
  const story: Omit<Story, keyof Scene> = {
    async asks(atMs) {
      nowMs = atMs;
      const before = scene.asked.length;
      for (let round = 0; await worker.round(held); round++) {
        ok(round < 1_000, 'the worker never rests');
        if (one && scene.asked.length > before) break;
        for (const asked of scene.asked.slice(before)) if (asked.status.kind === 'waiting') scene.tell(asked, SENT);
      }
      for (const asked of scene.asked.slice(before)) if (asked.status.kind === 'waiting') scene.tell(asked, SENT);
      return scene.asked.slice(before).map(({ note }) => note.fills);
    },
    async concluded(atMs, { settled = [], succeeded = true }) {
      const [fills = []] = await story.asks(atMs);
      scene.settle(settled);
      scene.tell(scene.asked.at(-1), ended(mined(scene.nextBlock++, succeeded)));
      return fills;
    },
    last: () => scene.asked.at(-1)!,
    status: () => worker.status(),
    async restart(atMs) {
      nowMs = atMs;
      worker = new SettlementWorker({
        ...scene.options, now: () => nowMs, newId: () => `request ${ids++}`, signal: never, rules: { quietMs: Infinity, ...rules },
        timings: { laneLookMs: 0, countMs: 0, maxAsked: one ? 1 : 1_000, maxOpen: one ? 1_000 : 10_000 },
      });
      held = await worker.hold({ signal: never, standingBy: () => undefined });
    },
  };
  await story.restart(0);
  return Object.assign(scene, story);
}
