/**
 * How every part of a process keeps going: it takes hold of what only one process may have, does a round of work,
 * rests, and begins again. A failure is reported once, and the next round follows after a growing pause.
 */
import { errorText, type Report, type ReportLevel } from './report.js';
import { backoffMs, pause, type Backoff } from './waiting.js';

export interface RoundsOptions {
  /** Does what is due. Resolves with true when more may be due at once. */
  readonly round: () => Promise<unknown>;
  /** Resolves when there may be something to do. Absent: a round waits until it has something to do. */
  readonly rest?: () => Promise<unknown>;
  /** Whether a later round may succeed. With any other error the reactor ends. Default: always. */
  readonly canPass?: (error: unknown) => boolean;
  /** How a failure is reported: undefined for one that belongs to the usual work. Default: as a warning. */
  readonly level?: (error: unknown) => ReportLevel | undefined;
  readonly backoff: Backoff;
  /** As reports name it: `chain 1: the keeper`. */
  readonly who: string;
  readonly report: Report;
  readonly signal: AbortSignal;
}

export interface ReactorOptions<Held> extends Omit<RoundsOptions, 'round' | 'rest'> {
  /**
   * Takes what the rounds need, and waits while another process has it. Called before the first round, and again after
   * a loss.
   */
  readonly hold: (standBy: StandBy) => Promise<Held>;
  readonly round: (held: Held) => Promise<unknown>;
  readonly rest?: (held: Held) => Promise<unknown>;
  /** Gives back what was held: at the end, and after a loss. Must not throw. */
  readonly release: (held: Held) => Promise<void>;
  /** Whether what was held is lost with this error. Default: it never is. */
  readonly isLoss?: (error: unknown) => boolean;
  /** Called after each failure that leaves what was held. When it throws, that is a loss, too. */
  readonly failed?: (held: Held) => Promise<void>;
}

/** How to wait for what another process has. */
export interface StandBy {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** To be called once when another process has it. */
  readonly standingBy: () => void;
}

export interface Reactor<Held> {
  /**
   * Resolves when the reactor has ended after `signal` and what it held is released. Rejects with an error that cannot
   * pass.
   */
  readonly done: Promise<void>;
  /** What this process holds; undefined while it holds nothing, and another process may. */
  held(): Held | undefined;
  /** Whether another process has what this one waits for. */
  standsBy(): boolean;
  /** Why the last round failed; undefined when it succeeded. */
  problem(): string | undefined;
}

export function startReactor<Held>(options: ReactorOptions<Held>): Reactor<Held> {
  const running = new RunningReactor(options);
  return {
    done: running.run(), held: () => running.held, standsBy: () => running.standsBy, problem: () => running.problem,
  };
}

/** A reactor for what any number of processes may do at the same time. */
export function startRounds(options: RoundsOptions): Pick<Reactor<true>, 'done' | 'problem'> {
  return startReactor<true>({ ...options, hold: () => Promise.resolve(true), release: () => Promise.resolve() });
}

class RunningReactor<Held> {
  held: Held | undefined;
  standsBy = false;
  problem: string | undefined;
  private failures = 0;

  constructor(private readonly options: ReactorOptions<Held>) {}

  async run(): Promise<void> {
    const { signal, round, rest, canPass = always } = this.options;
    try {
      while (!signal.aborted) {
        try {
          const held = this.held ??= await this.hold();
          const isMoreDue = await round(held);
          this.succeeded();
          if (isMoreDue !== true) await rest?.(held);
        } catch (error) {
          if (signal.aborted && error === signal.reason) break;
          if (!canPass(error)) throw error;
          if (signal.aborted) break;
          await this.fails(error);
        }
      }
    } finally {
      await this.release();
    }
  }

  private async hold(): Promise<Held> {
    const { hold, signal, who, report } = this.options;
    try {
      return await hold({
        signal,
        standingBy: () => {
          this.standsBy = true;
          this.problem = undefined;
          report('info', `${who} stands by: another process does this`);
        },
      });
    } finally {
      this.standsBy = false;
    }
  }

  private succeeded(): void {
    this.failures = 0;
    if (this.problem === undefined) return;
    this.problem = undefined;
    this.options.report('info', `${this.options.who} goes on`);
  }

  private async fails(error: unknown): Promise<void> {
    const { signal, level = asWarning, isLoss = never, failed, backoff, who, report } = this.options;
    const text = errorText(error);
    const told = level(error);
    if (told !== undefined && text !== this.problem) {
      this.problem = text;
      report(told, `${who} waits: ${text}`);
    }
    if (isLoss(error)) await this.release();
    else if (this.held !== undefined) await failed?.(this.held).catch(() => this.release());
    await pause(backoffMs(++this.failures, backoff), signal);
  }

  private async release(): Promise<void> {
    const { held } = this;
    this.held = undefined;
    if (held !== undefined) await this.options.release(held);
  }
}

const always = (): boolean => true;
const never = (): boolean => false;
const asWarning = () => 'warn' as const;
