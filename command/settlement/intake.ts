/**
 * Takes the fills of the feed into the queue, and out of it when they are settled or have failed. One process takes in,
 * and gives its worker the queue; the others stand by.
 */
import { backoffMs, createBell, pause, type Backoff, type Bell } from '../../engine/waiting.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { LogUnavailable, type Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import type { FillFeed } from '../feed/fill-feed.js';
import { least, type FeedBatch } from '../feed/sequence.js';
import type { StandBy } from '../../engine/reactor.js';
import { OutboxUnavailable } from '../lane/requests.js';
import { changesOf, leastBarrier, progressAfter, type Barrier, type FeedProgress } from './feed-changes.js';
import { NOTHING_WAITS, Overtaken, type QueueCounts, type SettlementStore } from './store.js';

export interface IntakeOptions {
  /** Opens the tables, as `openStore` of a database does. */
  readonly openStore: (standBy: StandBy) => Promise<SettlementStore>;
  readonly feed: FillFeed;
  readonly log: Pick<Log, 'length' | 'read'>;
  /**
   * Called with the chain of every market once the first of the history has been taken in. An error that it throws ends
   * the intake.
   */
  readonly checkChains: (ofMarkets: Iterable<number>) => void;
  readonly signal: AbortSignal;
  readonly report: Report;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /**
   * The least time from one small batch to the next, so that the next one has more messages. The first one does not
   * wait. Default 20 ms.
   */
  readonly restMs?: number;
  readonly backoff?: Backoff;
}

export interface IntakeStatus {
  /** Whether another process takes in. */
  readonly standby: boolean;
  /**
   * All messages of the outcomes below this log position have come; undefined before that is known, and while another
   * process takes in.
   */
  readonly position: number | undefined;
  /** Why nothing can be taken in at present; undefined when nothing is wrong. */
  readonly problem: string | undefined;
}

export interface Intake {
  /**
   * Resolves when the intake has ended after `signal`. Rejects with an error that trying again cannot help:
   * ForeignIntake among them.
   */
  readonly done: Promise<void>;
  /** Resolves when it is known whether this process takes in, stands by, or cannot reach what it needs. */
  readonly begun: Promise<void>;
  status(): IntakeStatus;
  /** All fills with lower numbers have come, of any chain. It grows when there is something new in the queue. */
  watermark(): number;
  /** Of the newest message. There has been a fill. */
  history(): { readonly position: number; readonly digest: Uint8Array };
  /** Of the chain's fills in the queue; none while another process takes in. Throws OutboxUnavailable. */
  counts(chainId: number): Promise<QueueCounts>;
  /** The last block up to which the chain's facts have come, in every partition; undefined before the first. */
  barrier(chainId: number): Barrier | undefined;
  /**
   * Resolves with the queue when this process takes in and has caught up with the history as it was then. Rejects with
   * the signal's reason.
   */
  held(signal: AbortSignal): Promise<SettlementStore>;
  /** Calls the listener after every change. */
  onChange(listener: () => void): void;
}

/** What is stored was made from another log than this one. */
export class ForeignIntake extends Error {
  constructor(what: string) {
    super(`${what}: the fills to settle were taken from another log; restore that log, or drop schema settlement, which the next start makes again`);
    this.name = 'ForeignIntake';
  }
}

const BACKOFF: Backoff = { firstMs: 100, longestMs: 5_000 };
/** A batch with this many messages is large enough. */
const PLENTY = 500;
/**
 * Where there are no messages, the positions are written after this many outcomes, so that the next start need not read
 * them again.
 */
const UNWRITTEN_OUTCOMES = 50_000;

/** What one session has loaded and followed. */
interface IntakeSession {
  readonly store: SettlementStore;
  progress: FeedProgress;
  readonly markets: Map<string, number>;
  /** The outcomes that there were when it loaded. */
  readonly length: number;
}

/** Starts the intake. Failures of Postgres and of the log are reported and retried. */
export function runIntake(options: IntakeOptions): Intake {
  const run = new IntakeRun(options);
  const done = run.keepRunning();
  const begun = Promise.race([done, run.begun]);
  begun.catch(() => undefined);
  return {
    done, begun,
    status: () => run.status(),
    watermark: () => run.shown?.progress.watermark ?? 0,
    history: () => run.history(),
    counts: (chainId) => run.counts(chainId),
    barrier: (chainId) => leastBarrier(run.shown?.progress.barriers.get(chainId)),
    held: (signal) => run.held(signal),
    onChange: (listener) => { run.listeners.push(listener); },
  };
}

class IntakeRun {
  readonly listeners: (() => void)[] = [];
  /**
   * What is shown: the last session that has caught up. It stays when its session ends, so that what is shown never
   * goes back.
   */
  shown: IntakeSession | undefined;
  private current: IntakeSession | undefined;
  private standby = false;
  private problem: string | undefined;
  private readonly bell: Bell = createBell();
  /** Resolves at the first sign of what this process does. */
  readonly begun: Promise<void>;
  private begin: () => void = () => undefined;

  constructor(private readonly options: IntakeOptions) {
    this.begun = new Promise((resolve) => { this.begin = resolve; });
  }

  async keepRunning(): Promise<void> {
    const { signal, report, backoff = BACKOFF } = this.options;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.runSession(() => { failures = 0; });
      } catch (error) {
        if (signal.aborted) break;
        const passing = error instanceof OutboxUnavailable || error instanceof LogUnavailable
          || error instanceof Overtaken;
        if (!passing) throw error;
        if (this.problem !== error.message) report('warn', `the intake of fills waits: ${error.message}`);
        this.problem = error.message;
        // Whether another one takes in is not known any more.
        this.standby = false;
        this.begin();
        await pause(backoffMs(Math.max(1, failures), backoff), signal);
      }
    }
  }

  status(): IntakeStatus {
    const { standby, problem } = this;
    const progress = standby ? undefined : (this.current ?? this.shown)?.progress;
    return { standby, position: progress === undefined ? undefined : least(progress.partitions), problem };
  }

  history(): { readonly position: number; readonly digest: Uint8Array } {
    const newest = this.shown?.progress.newest;
    if (newest === undefined) throw new Error('no message of the fill feed has come');
    return { position: newest.position, digest: Buffer.from(newest.digest.slice(2), 'hex') };
  }

  async counts(chainId: number): Promise<QueueCounts> {
    return this.current === undefined || this.current !== this.shown
      ? NOTHING_WAITS
      : await this.current.store.counts(chainId);
  }

  async held(signal: AbortSignal): Promise<SettlementStore> {
    while (this.shown === undefined || this.shown !== this.current) {
      signal.throwIfAborted();
      await this.bell.wait(signal, 60_000);
    }
    return this.shown.store;
  }

  /** Follows the feed over one session, until the session ends or an error occurs. */
  private async runSession(succeeded: () => void): Promise<void> {
    const { openStore, signal, feed, now, restMs = 20 } = this.options;
    const store = await openStore({ signal, standingBy: () => { this.standsBy(true); } });
    const ending = new AbortController();
    const either = AbortSignal.any([signal, ending.signal]);
    try {
      this.standsBy(false);
      const session = await this.load(store);
      this.current = session;
      void store.ended(either).then(() => { ending.abort(new OutboxUnavailable('the session of the intake has ended')); });
      this.show(session);
      this.isWell('the intake of fills goes on');
      let unwritten = 0;
      for await (const batch of feed.follow(
        { partitions: session.progress.partitions, markets: session.markets }, either,
      )) {
        const restUntilMs = performance.now() + restMs;
        unwritten = await takeIn(session, batch, { unwritten, nowMs: now() });
        this.show(session);
        succeeded();
        const small = batch.messages.length > 0 && batch.messages.length < PLENTY;
        if (small) await pause(Math.max(0, restUntilMs - performance.now()), either);
      }
      throw ending.signal.aborted ? ending.signal.reason : new LogUnavailable(false);
    } finally {
      this.current = undefined;
      ending.abort();
      this.changed();
      await store.close();
    }
  }

  private standsBy(standby: boolean): void {
    this.standby = standby;
    if (standby) this.isWell('another process takes in fills, and this one stands by');
  }

  private isWell(note: string): void {
    if (this.problem !== undefined) this.options.report('info', note);
    this.problem = undefined;
    this.begin();
  }

  private async load(store: SettlementStore): Promise<IntakeSession> {
    const { log } = this.options;
    const { progress, markets } = await store.load();
    await checkLog(log, progress);
    return { store, progress, markets: new Map(markets), length: await log.length('outcomes') };
  }

  /** Shows the session once it has caught up. */
  private show(session: IntakeSession): void {
    if (isCurrent(session)) {
      if (this.shown === undefined) this.options.checkChains(new Set(session.markets.values()));
      this.shown = session;
    }
    this.changed();
  }

  private changed(): void {
    this.bell.ring();
    for (const listener of this.listeners) listener();
  }
}

/** Whether the session has everything that the history had when it loaded. */
function isCurrent({ progress, length }: IntakeSession): boolean {
  return least(progress.partitions) >= length;
}

/** Writes a batch and then takes it over. Returns the number of outcomes that are read and not written. */
async function takeIn(
  session: IntakeSession, batch: FeedBatch,
  { unwritten, nowMs }: { readonly unwritten: number; readonly nowMs: number },
): Promise<number> {
  const before = least(session.progress.partitions);
  const changes = changesOf(session.progress, batch);
  const read = unwritten + least(changes.after.partitions) - before;
  const writes = batch.messages.length > 0 || read >= UNWRITTEN_OUTCOMES;
  if (writes) await session.store.take(changes, nowMs);
  session.progress = progressAfter(session.progress, changes);
  for (const { marketId, chainId } of changes.opened) session.markets.set(marketId, chainId);
  return writes ? 0 : read;
}

/** Throws ForeignIntake unless the log has everything that was taken in, with the same digest. */
async function checkLog(log: IntakeOptions['log'], { partitions, newest }: FeedProgress): Promise<void> {
  const needed = partitions.reduce((most, { position, done }) => Math.max(most, position + (done > 0 ? 1 : 0)), 0);
  if (needed > 0 && (await log.read('outcomes', needed - 1, 1)).length === 0) {
    throw new ForeignIntake(`${needed} outcomes have been taken in, but the log has ${await log.length('outcomes')}`);
  }
  if (newest === undefined) return;
  const [record] = await log.read('outcomes', newest.position, 1);
  if (record !== undefined && decodeOutcome(record.data).digest !== newest.digest) {
    throw new ForeignIntake(`outcome ${newest.position} has another digest than the one that was taken in`);
  }
}
