/**
 * How anything of a process keeps going: it takes hold of what only one process may have, does a round of work, rests, and begins
 * again. A failure is told once, and the next round follows after a growing pause.
 */
import { errorText, type Report } from './report.js';
import { backoffMs, pause, type Backoff } from './waiting.js';

export interface ReactorOptions<Held> {
  /** Takes what the rounds need, and waits while another process has it. Called before the first round, and again after a loss. */
  readonly hold: () => Promise<Held>;
  /** Does what is due. Resolves with true when more may be due at once. */
  readonly round: (held: Held) => Promise<unknown>;
  /** Resolves when there may be something to do. */
  readonly rest: (held: Held) => Promise<unknown>;
  /** Gives back what was held: at the end, and after a loss. Must not throw. */
  readonly release: (held: Held) => Promise<void>;
  /** Whether what was held is lost with this error. Default: it never is. */
  readonly isLoss?: (error: unknown) => boolean;
  /** Whether a later round may succeed. With any other error the reactor ends. Default: always. */
  readonly canPass?: (error: unknown) => boolean;
  /** Called after each failure that leaves what was held. When it throws, that is a loss, too. */
  readonly failed?: (held: Held) => Promise<void>;
  readonly backoff: Backoff;
  /** As reports name it: `chain 1: the keeper`. */
  readonly who: string;
  readonly report: Report;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export interface Reactor<Held> {
  /** Resolves when the reactor has ended after `signal` and what it held is released. Rejects with an error that cannot pass. */
  readonly done: Promise<void>;
  /** What this process holds; undefined while it holds nothing, and another process may. */
  held(): Held | undefined;
  /** Why the last round failed, and since when rounds fail for this reason; undefined when it succeeded. */
  trouble(): Trouble | undefined;
}

export interface Trouble {
  readonly text: string;
  readonly sinceMs: number;
}

export function startReactor<Held>(options: ReactorOptions<Held>): Reactor<Held> {
  const running = new RunningReactor(options);
  return { done: running.run(), held: () => running.held, trouble: () => running.trouble };
}

class RunningReactor<Held> {
  held: Held | undefined;
  trouble: Trouble | undefined;
  private failures = 0;

  constructor(private readonly options: ReactorOptions<Held>) {}

  async run(): Promise<void> {
    const { signal, hold, round, rest } = this.options;
    try {
      while (!signal.aborted) {
        try {
          const held = this.held ??= await hold();
          const isMoreDue = await round(held);
          this.succeeded();
          if (isMoreDue !== true) await rest(held);
        } catch (error) {
          if (signal.aborted) break;
          await this.fails(error);
        }
      }
    } finally {
      await this.release();
    }
  }

  private succeeded(): void {
    this.failures = 0;
    if (this.trouble === undefined) return;
    this.trouble = undefined;
    this.options.report('note', `${this.options.who} goes on`);
  }

  private async fails(error: unknown): Promise<void> {
    const { signal, canPass = always, isLoss = never, failed, backoff, who, report, now } = this.options;
    if (!canPass(error)) throw error;
    const text = errorText(error);
    if (text !== this.trouble?.text) {
      this.trouble = { text, sinceMs: now() };
      report('trouble', `${who} waits: ${text}`);
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
