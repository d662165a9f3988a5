/**
 * Records the prices that count: observations that the choice accepts, and for a quick market's boundary what the
 * sources tell of the past.
 */
import { LogUnavailable, type Log } from '../../engine/log/log.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { LATE_PRICES_MS, MAX_PRICE_LEAD_MS, PRICE_WINDOW_MS } from '../../engine/rules/limits.js';
import type { OpenBoundary } from '../../engine/run/view.js';
import { startRounds, type Reactor } from '../../engine/reactor.js';
import { backoffMs, createBell, type Backoff } from '../../engine/waiting.js';
import type { Report } from '../../engine/report.js';
import { createChoice, type Choice, type Reason } from './choice.js';
import type { Observation, SourceName } from './observation.js';
import { pastPrice } from './past-price.js';
import type { PriceSource } from './price-source.js';

export interface PriceRecorderOptions {
  /** The best first; at least one. */
  readonly sources: readonly PriceSource[];
  readonly assets: readonly string[];
  readonly log: Pick<Log, 'append'>;
  readonly openBoundaries: () => readonly OpenBoundary[];
  /** Whether this process records; it listens in any case, so that it can take over at once. */
  readonly holds: () => boolean;
  /** The trusted time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Why the clock is not trusted; nothing is recorded then. */
  readonly doubt: () => string | undefined;
  /** How often to see whether a source is to be asked of the past, in milliseconds. Default 1 s. */
  readonly tickMs?: number;
  readonly signal: AbortSignal;
  readonly report: Report;
}

export interface RecorderStatus {
  /** Why nothing can be recorded at present; undefined when it can. */
  readonly problem: string | undefined;
  readonly assets: readonly AssetStatus[];
  /** Observations that were not recorded, by reason. */
  readonly refused: ReadonlyMap<Reason | 'clock' | 'outage', number>;
}

export interface AssetStatus {
  readonly asset: string;
  /** The source in use. */
  readonly source: SourceName;
  /**
   * When the last price that counts was published, in milliseconds since the Unix epoch; undefined before the first.
   */
  readonly lastMs: number | undefined;
}

/** An observation that counts, and waits to be recorded. */
interface Accepted {
  readonly observation: Observation;
  /** When it arrived. */
  readonly at: number;
  /** From this time of publication on, everything that its source has published about the asset has arrived. */
  readonly unbrokenSinceMs: number;
}

/** What has been asked about a boundary. */
interface BoundaryQueries {
  readonly times: number;
  readonly atMs: number;
  /** Sources that did not answer the last time. */
  readonly failed: ReadonlySet<SourceName>;
}

/** One connection of a source, as far as one asset is concerned. */
interface Listening {
  readonly connections: number;
  /** When the first observation that it brought was published. */
  readonly sinceMs: number;
}

export interface PriceRecorder {
  /** Resolves when the recorder has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  status(): RecorderStatus;
}

const TICK_MS = 1_000;
/** When the log has been away for longer, prices for charts are dropped. What a boundary needs is kept. */
const OLD_MS = 30_000;
/** Sources are asked about a boundary this long after it, when the best one has said nothing. */
const ASK_AFTER_MS = 3_000;
/** Between two questions about the past: providers allow about one request per second. */
const ASK_APART_MS = 2_500;
const ASK_AGAIN: Backoff = { firstMs: 5_000, longestMs: 3_600_000 };
const LOG_RETRY: Backoff = { firstMs: 250, longestMs: 5_000 };
/** Without a price that counts for so long somebody must look. */
const SILENT_MS = 60_000;

export function runRecorder(options: PriceRecorderOptions): PriceRecorder {
  const recorder = new RunningRecorder(options);
  return { done: recorder.done, status: () => recorder.status() };
}

class RunningRecorder {
  private readonly choice: Choice;
  private readonly bell = createBell();
  private queue: Accepted[] = [];
  /** By source and asset. */
  private readonly listening = new Map<string, Listening>();
  private readonly last = new Map<string, number>();
  private readonly refused = new Map<Reason | 'clock' | 'outage', number>();
  private readonly queries = new Map<string, BoundaryQueries>();
  private readonly silent = new Set<string>();
  private readonly startedAtMs: number;
  /** Whatever arrived before was another process's to record. */
  private recordsSinceMs: number;
  private lastAskedMs = -Infinity;
  private readonly reactor: Pick<Reactor<true>, 'done' | 'problem'>;
  readonly done: Promise<void>;

  constructor(private readonly options: PriceRecorderOptions) {
    const { sources, now } = options;
    this.startedAtMs = this.recordsSinceMs = now();
    this.choice = createChoice({ sources: sources.map(({ name }) => name), startedAtMs: this.startedAtMs });
    for (const source of sources) source.start((observation) => { this.hear(observation, source); });
    this.reactor = this.run();
    this.done = this.reactor.done.finally(() => Promise.all(sources.map((source) => source.close())));
  }

  status(): RecorderStatus {
    const { assets, doubt } = this.options;
    const clock = doubt();
    return {
      problem: this.reactor.problem() ?? (clock === undefined ? undefined : `the clock is not trusted: ${clock}`), refused: this.refused,
      assets: assets.map((asset) => ({ asset, source: this.choice.inUse(asset), lastMs: this.last.get(asset) })),
    };
  }

  private run(): Pick<Reactor<true>, 'done' | 'problem'> {
    const { signal, report, tickMs = TICK_MS } = this.options;
    let rung: number;
    return startRounds({
      round: async () => {
        rung = this.bell.rung();
        await this.round();
      },
      rest: async () => { if (rung === this.bell.rung()) await this.bell.wait(signal, tickMs); },
      canPass: (error) => error instanceof LogUnavailable,
      backoff: LOG_RETRY, who: 'the recorder of prices', report, signal,
    });
  }

  private hear(observation: Observation, source: PriceSource): void {
    const { now, doubt } = this.options;
    const key = `${observation.asset} ${source.name}`;
    if (doubt() !== undefined) {
      this.listening.delete(key);
      return this.count('clock');
    }
    const at = now();
    const { connections } = source.health();
    const before = this.listening.get(key);
    const listening = before?.connections === connections
      ? before
      : { connections, sinceMs: observation.publishedAtMs };
    this.listening.set(key, listening);
    const verdict = this.choice.observe(observation, at);
    if (!verdict.accepted) return this.count(verdict.because);
    this.last.set(observation.asset, observation.publishedAtMs);
    this.queue.push({ observation, at, unbrokenSinceMs: listening.sinceMs });
    this.bell.ring();
  }

  private count(reason: Reason | 'clock' | 'outage'): void {
    this.refused.set(reason, (this.refused.get(reason) ?? 0) + 1);
  }

  private async round(): Promise<void> {
    const { holds, doubt } = this.options;
    this.tellSilence();
    if (!holds()) {
      this.queue = [];
      this.recordsSinceMs = this.options.now();
      return;
    }
    this.dropOld();
    await this.recordQueue();
    const boundary = doubt() === undefined ? this.boundaryToAsk() : undefined;
    if (boundary !== undefined) await this.ask(boundary);
  }

  /**
   * Records what waits; what a source has to be asked before, and does not answer, goes on waiting with all that
   * follows about its asset.
   */
  private async recordQueue(): Promise<void> {
    const held = new Set<string>();
    for (const next of [...this.queue]) {
      if (this.options.signal.aborted) return;
      const { asset } = next.observation;
      if (held.has(asset)) continue;
      const gap = this.boundaryBefore(next);
      if (gap !== undefined && (!this.queries.has(keyOf(gap)) || this.mayAsk())) await this.ask(gap);
      if (gap !== undefined && this.boundaryBefore(next) !== undefined) {
        held.add(asset);
        continue;
      }
      await this.append(next.observation, next.at);
      this.queue = this.queue.filter((each) => each !== next);
    }
  }

  /** After an outage: drops what nobody needs any more. */
  private dropOld(): void {
    const oldest = this.options.now() - OLD_MS;
    const kept = this.queue
      .filter(({ observation }) => observation.publishedAtMs >= oldest || this.boundaryOf(observation) !== undefined);
    for (let dropped = this.queue.length - kept.length; dropped > 0; dropped--) this.count('outage');
    this.queue = kept;
  }

  /** The open boundary in whose window the observation is. */
  private boundaryOf({ asset, publishedAtMs }: Observation): OpenBoundary | undefined {
    return this.options.openBoundaries().find((boundary) => (
      boundary.asset === asset && publishedAtMs >= boundary.time * 1_000
      && publishedAtMs <= boundary.time * 1_000 + PRICE_WINDOW_MS));
  }

  /**
   * The boundary whose price the observation would become although its source may have published an earlier one that
   * was not heard, or was another process's to record, which may have died with it: the source is asked first, again
   * when it does not answer, until the window ends.
   */
  private boundaryBefore({ observation, unbrokenSinceMs }: Accepted): OpenBoundary | undefined {
    const boundary = this.boundaryOf(observation);
    if (boundary === undefined) return undefined;
    const startMs = boundary.time * 1_000;
    const heardAll = unbrokenSinceMs < startMs && this.recordsSinceMs + MAX_PRICE_LEAD_MS < startMs;
    if (heardAll && observation.publishedAtMs < startMs + ASK_AFTER_MS) return undefined;
    const before = this.queries.get(keyOf(boundary));
    if (before === undefined) return boundary;
    return before.failed.has(observation.source) && this.options.now() <= startMs + PRICE_WINDOW_MS
      ? boundary
      : undefined;
  }

  /** The oldest boundary to ask the sources about now: the best of them has said nothing. */
  private boundaryToAsk(): OpenBoundary | undefined {
    const nowMs = this.options.now();
    const open = this.options.openBoundaries();
    const keys = new Set(open.map(keyOf));
    for (const key of this.queries.keys()) if (!keys.has(key)) this.queries.delete(key);
    if (!this.mayAsk()) return undefined;
    return open.filter((boundary) => {
      const before = this.queries.get(keyOf(boundary));
      const afterMs = nowMs - boundary.time * 1_000;
      // With a fallback's price the clock decides when the boundary is late.
      if (afterMs < ASK_AFTER_MS || (boundary.best !== undefined && afterMs >= PRICE_WINDOW_MS + LATE_PRICES_MS)) {
        return false;
      }
      return before === undefined || nowMs >= before.atMs + backoffMs(before.times, ASK_AGAIN);
    }).sort((a, b) => a.time - b.time)[0];
  }

  private mayAsk(): boolean {
    return this.options.now() >= this.lastAskedMs + ASK_APART_MS;
  }

  private async ask(boundary: OpenBoundary): Promise<void> {
    const { sources, now } = this.options;
    const { asset, time } = boundary;
    const times = (this.queries.get(keyOf(boundary))?.times ?? 0) + 1;
    this.lastAskedMs = now();
    const atMs = now();
    const { observation, failures } = await pastPrice({ asset, time, sources, nowMs: atMs });
    this.queries.set(keyOf(boundary), { times, atMs, failed: new Set(failures.keys()) });
    const moment = `${asset} at ${new Date(time * 1_000).toISOString()}`;
    if (observation !== undefined) {
      const best = this.boundaryOf(observation)?.best;
      if (best === undefined || this.rankOf(observation) < best.rank) await this.append(observation, now());
      return;
    }
    if (times > 1) return;
    const reasons = [...failures].map(([source, reason]) => `; ${source}: ${reason}`).join('');
    this.options.report('warn', `no source tells the price of ${moment} yet${reasons}; they are asked again`);
  }

  /** With the same id for the same observation, so that a retry writes nothing twice. */
  private async append(observation: Observation, at: number): Promise<void> {
    const { asset, source, priceE8, publishedAtMs } = observation;
    const rank = this.rankOf(observation);
    const command = { kind: 'RecordPrice', v: 1, at, asset, source, rank, price: String(priceE8), publishedAt: publishedAtMs } as const;
    await this.options.log.append('commands', [{ id: recordId(`RecordPrice:${asset}:${source}:${publishedAtMs}`), data: encodeCommand(command) }]);
  }

  private rankOf({ source }: Observation): number {
    return this.options.sources.findIndex(({ name }) => name === source);
  }

  private tellSilence(): void {
    const { assets, now, report } = this.options;
    for (const asset of assets) {
      const silentMs = now() - (this.last.get(asset) ?? this.startedAtMs);
      if (silentMs > SILENT_MS && !this.silent.has(asset)) {
        this.silent.add(asset);
        report('alert', `no source has had a price of ${asset} that counts for ${SILENT_MS / 1_000} s: its quick markets cannot be decided`);
      } else if (silentMs <= SILENT_MS && this.silent.delete(asset)) report('info', `there are prices of ${asset} again`);
    }
  }
}

function keyOf({ asset, time }: Pick<OpenBoundary, 'asset' | 'time'>): string {
  return `${asset} ${time}`;
}
