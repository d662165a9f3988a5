/**
 * The processes of the service, put together from the real shells: two with the roles engine and api, two with indexer, settlement and lane.
 * A process that ends by itself is started again, as its supervisor does.
 */
import { setMaxListeners } from 'node:events';
import { createChainReads } from '../../../command/chain/chain-reads.js';
import { ChainUnavailable } from '../../../command/chain/chain.js';
import { createRpc, type ChainRpc } from '../../../command/chain/rpc.js';
import { createLogFeed } from '../../../command/feed/log-feed.js';
import { createLane } from '../../../command/lane/lane.js';
import type { Lane, LaneOptions } from '../../../command/lane/lane-options.js';
import type { LaneUser } from '../../../command/lane/requests.js';
import { createCancelOrder, type CancelOrderHandler } from '../../../command/orders/cancel-order.js';
import { createCommandWriter } from '../../../command/orders/command-writer.js';
import { createPlaceOrder, type PlaceOrderHandler } from '../../../command/orders/place-order.js';
import { relaySubmissionOf } from '../../../command/relayer/note.js';
import { runIntake } from '../../../command/settlement/intake.js';
import { runSettlement, type Settlement } from '../../../command/settlement/settlement-worker.js';
import { createSettledOnChain } from '../../../command/settlement/settled-on-chain.js';
import { submissionOf } from '../../../command/settlement/submission.js';
import { createGroupCommit } from '../../../engine/log/group-commit.js';
import type { Log } from '../../../engine/log/log.js';
import { encodeCommand, recordId } from '../../../engine/records/codec.js';
import { RequestError } from '../../../engine/records/errors.js';
import { HistoryDiffers } from '../../../engine/run/history-differs.js';
import { startReplica, type Replica } from '../../../engine/run/replica.js';
import { pause } from '../../../engine/waiting.js';
import type { ChainAccess } from '../../../service/chains/chain-access.js';
import { watchChain, type ChainWatch } from '../../../service/chains/chain-watch.js';
import { startClock, type ProcessClock } from '../../../service/machine/clock.js';
import type { SharedParts } from '../../../service/process/shared-parts.js';
import { engine } from '../../../service/roles/engine.js';
import { indexer } from '../../../service/roles/indexer.js';
import { CHAIN } from '../chain/contracts.js';
import { fetchFor, NODE_URLS } from '../chain/node.js';
import { QUICK_KEY, startPrices } from '../prices/role.js';
import { RELAYER_KEY, startRelayer, type RunningRelayer } from '../relays/role.js';
import type { Carry } from '../stores/database.js';
import { openMemoryStore } from '../stores/intake.js';
import { openLogHandle } from '../stores/log-handle.js';
import { memoryLaneUser, memoryOutbox, type OutboxParts } from '../stores/outbox.js';
import { carryFor } from './carry.js';
import { OPERATOR_KEY, type WorldParts } from './parts.js';
import { SimProcess } from './process.js';
import { START_MS } from './time.js';

export const PROCESSES = ['front-0', 'front-1', 'back-0', 'back-1'] as const;
export type ProcessName = typeof PROCESSES[number];

/** How a log handle is altered, for a process whose engine is to differ. */
export type Alter = (log: Log) => Log;

export interface Running {
  readonly process: SimProcess;
  /** Its engine differs from the others', on purpose: it must end. */
  readonly differs: boolean;
  replica: Replica | undefined;
  orders: { readonly place: PlaceOrderHandler; readonly cancel: CancelOrderHandler } | undefined;
  lane: Lane | undefined;
  settlement: Settlement | undefined;
  relayer: RunningRelayer | undefined;
}

const [MAX_JUMP_MS, ACCEPT_AFTER_MS, LOOK_MS] = [5_000, 60_000, 1_000];
const [KEY, QUICK, RELAYING] = ['operator', 'quick', 'relayer'];
const POLICY = {
  bumpAfterBlocks: 3, bumpAfterMs: 5_000, rebroadcastMs: 8_000, lostAfterMs: 20_000, gapAfterMs: 20_000, maxInFlight: 6,
  maxFeePerGas: 40_000_000_000n,
};

interface Back {
  readonly log: Log;
  readonly rpc: ChainRpc;
  readonly access: ChainAccess;
  readonly clock: ProcessClock;
  readonly replica: Replica;
  readonly writerId: string;
  readonly signal: AbortSignal;
  readonly report: ChainAccess['report'];
  readonly fail: (error: unknown) => void;
}

export class Exchange {
  readonly running = new Map<ProcessName, Running>();
  private starts = 0;
  /** Called with the error with which a process ended by itself. */
  failed: (name: ProcessName, error: Error) => void = () => undefined;

  constructor(private readonly parts: WorldParts) {}

  start(name: ProcessName, alter?: Alter): void {
    const { time, trace } = this.parts;
    const process = new SimProcess(name, time);
    const run: Running = {
      process, differs: alter !== undefined, replica: undefined, orders: undefined, lane: undefined, settlement: undefined, relayer: undefined,
    };
    this.running.set(name, run);
    trace.note(`${name} starts`);
    const number = this.starts++;
    const started = name.startsWith('front') ? this.startFront(run, number, alter) : this.startBack(run, number, alter);
    started.catch((error: unknown) => { this.ended(name, run, error as Error); });
  }

  /** Kills the process, and starts it again after a while. */
  crash(name: ProcessName, alter?: Alter): boolean {
    const run = this.running.get(name);
    if (run?.process.alive !== true) return false;
    const { time, trace } = this.parts;
    trace.note(`${name} is killed`);
    run.process.kill();
    time.after(200 + 3_000 * time.random(), () => { this.start(name, alter); });
    return true;
  }

  living(): Running[] {
    return [...this.running.values()].filter(({ process }) => process.alive);
  }

  private ended(name: ProcessName, run: Running, error: Error): void {
    if (!run.process.alive) return;
    const { strikes, trace } = this.parts;
    trace.note(`${name} ends: ${error.message}`);
    if (error instanceof HistoryDiffers && run.differs) strikes.struck(name.startsWith('front') ? 'engine differs' : 'checker differs');
    else this.failed(name, error);
    this.crash(name);
  }

  /** What every process has: a log, a clock, a replica. */
  private async shared(run: Running, { number, alter, records }: { number: number; alter: Alter | undefined; records: boolean }) {
    const { process } = run;
    const { time, trace, weather, watch } = this.parts;
    const writerId = `${process.name}:${number}`;
    const opened = openLogHandle(this.parts.store, process, this.parts);
    const log = alter === undefined ? opened : alter(opened);
    const stopping = new AbortController();
    // All that a process runs hears the one signal.
    setMaxListeners(100, stopping.signal);
    process.atEnd(() => { stopping.abort(new Error('killed')); });
    const { signal } = stopping;
    const fail = (error: unknown): void => { this.ended(process.name as ProcessName, run, error as Error); };
    const clock = await startClock({
      clocks: { wall: () => START_MS + time.now() + process.wallAheadMs, monotonic: () => performance.now(), boot: () => performance.now() },
      bounds: { maxJumpMs: MAX_JUMP_MS, acceptAfterMs: ACCEPT_AFTER_MS }, historyMs: () => run.replica?.view.time, signal, report: (_, __, text) => { trace.note(`${process.name}: ${text}`); },
      async ask() {
        const databaseMs = await process.request(() => time.now() < weather.logAwayUntilMs ? undefined : START_MS + time.now());
        return databaseMs === undefined ? { answers: false, error: 'away' } : { answers: true, value: { databaseMs, monotonicMs: performance.now() } };
      },
    });
    const timer = setInterval(() => { void clock.look(); }, LOOK_MS);
    process.atEnd(() => { clearInterval(timer); });
    const replica = await startReplica({ log, signal, ...records ? { record: { writerId } } : {} });
    replica.done.catch(fail);
    run.replica = replica;
    await replica.caughtUp;
    const report = (level: string, text: string): void => {
      trace.note(`${process.name}: ${level}: ${text}`);
      watch.reported(process.name, text);
    };
    return { log, clock, replica, signal, writerId, report, fail };
  }

  private async startFront(run: Running, number: number, alter: Alter | undefined): Promise<void> {
    const { tools: { domain, recovery } } = this.parts;
    const { log, clock, replica, writerId, report, fail } = await this.shared(run, { number, alter, records: true });
    const role = await engine.start({
      log, logger: { warn: (text: string) => { report('warn', text); }, info: (text: string) => { report('info', text); } }, now: () => clock.now(), conditions: { clock }, machine: { lookEveryMs: LOOK_MS },
      replica: () => Promise.resolve(replica), replicaHealth: () => ({ reasons: [] }),
    } as unknown as SharedParts);
    role.failed.catch(fail);
    run.process.atEnd(() => { void role.stop(); });
    const { view, outcomeOf } = replica;
    const commits = createGroupCommit({ log, stream: 'commands', maxQueued: 1_000 });
    const submit = createCommandWriter({ commits, outcomeOf, writerId, answerWithinMs: 10_000 });
    const domainOf = (chainId: number) => chainId === CHAIN.chainId ? domain : undefined;
    const findOrder = (hash: string) => Promise.resolve(view.order(hash));
    const now = (): number => clock.now();
    run.orders = {
      place: admitted(clock, createPlaceOrder({
        view, maxOpenOrders: 1_000, minSizeOf: () => 1, domainOf, permitDigestOf: () => undefined, exposureOf: () => undefined,
        recovery, submit, findOrder,
        originalOutcome: outcomeOf, now,
      })),
      cancel: createCancelOrder({ auth: 'open', domainOf, recovery, submit, findOrder, now }),
    };
  }

  private async startBack(run: Running, number: number, alter: Alter | undefined): Promise<void> {
    const { process } = run;
    const { trace } = this.parts;
    const { log, clock, replica, writerId, signal, report, fail } = await this.shared(run, { number, alter, records: false });
    const rpc = createRpc({
      chainId: CHAIN.chainId, urls: NODE_URLS, timeoutMs: 3_000, now: () => performance.now(), report, fetch: fetchFor(process, {
        ...this.parts, broadcast: (raw) => { this.parts.watch.broadcast(raw); },
      }), signal,
    });
    const access = this.accessTo(rpc, { report, signal });
    const now = (): number => clock.now();
    // The indexer's start waits for the chain; the other roles must not wait for it.
    const role = indexer.start({
      log, now, replica: () => Promise.resolve(replica), chains: new Map([[CHAIN.chainId, access]]), replicaHealth: () => ({ reasons: [] }),
      advance: { listen: (listener: (chainId: number) => void) => { this.parts.advance.add({ process, listener }); } },
    } as unknown as SharedParts);
    role.catch(fail);
    await this.startSettling(run, { log, rpc, access, clock, replica, writerId, signal, report, fail });
    trace.note(`${process.name} works`);
  }

  private accessTo(rpc: ChainRpc, { report, signal }: Pick<ChainAccess, 'report' | 'signal'>): ChainAccess {
    const access = {
      chain: CHAIN, configured: { chain: CHAIN, rpcUrls: NODE_URLS, operatorKey: OPERATOR_KEY, pollMs: 1_000, stalledAfterMs: 120_000 },
      rpc, clientRpc: rpc,
      report, signal, collateral: () => undefined, permitDigest: () => undefined, beginning: () => ({ failures: 0 }), stop: () => Promise.resolve(),
      async begin(work: () => Promise<void>) {
        while (!signal.aborted) {
          try {
            return await work();
          } catch (error) {
            if (!(error instanceof ChainUnavailable)) throw error;
          }
          await pause(2_000, signal);
        }
      },
    };
    return access;
  }

  private async startSettling(run: Running, back: Back): Promise<void> {
    const { log, rpc, access, clock, signal, report, fail } = back;
    const { process } = run;
    const { time, database, outbox: tables, intake: intakeTables } = this.parts;
    const now = (): number => clock.now();
    const carry = carryFor(process, this.parts);
    // The server misses a process some time after its end; what the process had sent is still carried out.
    process.atEnd(() => { time.after(400 + 2_500 * time.random(), () => { database.endOf(carry); }); });
    const outbox = { database, tables, carry, now: () => START_MS + time.now() };
    const key = { chainId: CHAIN.chainId, key: KEY };
    const intake = runIntake({
      feed: createLogFeed(log), log, now, checkChains: () => undefined, signal, report,
      openStore: (session) => openMemoryStore({ database, tables: intakeTables, carry }, session),
    });
    intake.done.catch(fail);
    const cursor = () => {
      const barrier = intake.barrier(CHAIN.chainId);
      return barrier === undefined ? undefined : { ...barrier, nextBlock: barrier.block + 1, nextLog: 0 };
    };
    const watch = watchChain({ access, view: { cursor }, askToAdvance: () => { this.askToAdvance(process); }, now: () => performance.now() });
    intake.onChange(() => { watch.stepped(); });
    const lanes = { chain: CHAIN, rpc, outbox: memoryOutbox(outbox), now: () => Math.round(performance.now()), report, signal, policy: POLICY };
    await createLane({ ...lanes, key: QUICK, privateKey: QUICK_KEY, announce: () => Promise.resolve() });
    run.lane = await createLane({
      ...lanes, key: KEY, privateKey: OPERATOR_KEY,
      async announce({ txHash }, { note }) {
        const command = submissionOf(note, { chainId: CHAIN.chainId, txHash, at: now() });
        await log.append('commands', [{ id: recordId(`settlement:${CHAIN.chainId}:${txHash}`), data: encodeCommand(command) }]);
      },
    });
    if (this.parts.prices.areTraded) {
      const seen = this.watchReplica(process, back);
      this.startPrices(process, back, { seen, carry, lane: memoryLaneUser(outbox, { ...key, key: QUICK, purpose: 'quick_market' }) });
      if (this.parts.relays) run.relayer = await this.startRelaying(process, back, { seen, lanes, outbox });
    }
    let requests = 0;
    run.settlement = runSettlement({
      chain: CHAIN, log, report, now, signal, intake, lane: memoryLaneUser(outbox, { ...key, purpose: 'settlement' }),
      settledOnChain: createSettledOnChain(CHAIN, createChainReads(CHAIN, rpc)), catchUp: () => watch.catchUp(), verify: () => watch.verify(),
      newId: () => recordId(`request:${process.name}:${this.starts}:${requests++}`), checkOrder: () => undefined, timings: { pollMs: 500, laneLookMs: 1_000 },
    });
  }

  /** The roles of prices and of the relayer see the chain through the replica, whoever holds the intake. */
  private watchReplica(process: SimProcess, { access, replica }: Back): ChainWatch {
    const watch = watchChain({ access, view: replica.view, askToAdvance: () => { this.askToAdvance(process); }, now: () => performance.now() });
    replica.onStep(() => { watch.stepped(); });
    return watch;
  }

  private startPrices(process: SimProcess, back: Back, { seen, lane, carry }: { seen: ChainWatch; lane: LaneUser; carry: Carry }): void {
    const { clock, replica } = back;
    const { database, tools: { keccak256 } } = this.parts;
    startPrices(process, this.parts, {
      ...back, chain: CHAIN, view: replica.view, database, carry, lane, keccak256, verify: () => seen.verify(),
      now: () => clock.now(), doubt: () => clock.doubt(),
    });
  }

  private async startRelaying(process: SimProcess, back: Back, { seen, lanes, outbox }: {
    readonly seen: ChainWatch; readonly lanes: Omit<LaneOptions, 'key' | 'privateKey' | 'announce'>; readonly outbox: OutboxParts;
  }): Promise<RunningRelayer> {
    const { clock, log } = back;
    const { chainId } = CHAIN;
    await createLane({
      ...lanes, key: RELAYING, privateKey: RELAYER_KEY,
      async announce({ txHash }, { purpose, note }) {
        if (purpose !== 'relay') return;
        const command = relaySubmissionOf(note, { chainId, txHash, at: clock.now() });
        await log.append('commands', [{ id: recordId(`relay:${chainId}:${txHash}`), data: encodeCommand(command) }]);
      },
    });
    return startRelayer(process, {
      ...back, chain: CHAIN, watch: seen, model: this.parts.relayModel, tools: this.parts.tools, now: () => clock.now(), doubt: () => clock.doubt(),
      lane: (purpose) => memoryLaneUser(outbox, { chainId, key: RELAYING, purpose }),
    });
  }

  private askToAdvance(from: SimProcess): void {
    for (const { process, listener } of this.parts.advance) {
      void from.request(() => { if (process.alive) listener(CHAIN.chainId); });
    }
  }
}

/** Orders are stamped only while the clock is trusted, as the api role does it. */
function admitted(clock: ProcessClock, handler: PlaceOrderHandler): PlaceOrderHandler {
  return async (...asked) => {
    const doubt = clock.doubt();
    if (doubt !== undefined) throw new RequestError('clock_untrusted', doubt, [], { retryAfterS: 5 });
    return handler(...asked);
  };
}
