/** How far a long piece of work is: a bar with the time left on a terminal, a line now and then elsewhere. */

export interface ProgressSink {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface AuditProgress {
  /** So many of `total` are done; a total of undefined is not known. */
  update(done: number, total: number | undefined): void;
  /** Removes the bar, so that other text can be written. */
  end(): void;
}

const TERMINAL_MS = 200;
const LINES_MS = 10_000;
const WIDTH = 30;

/** `nowMs` is a clock that never goes back. `from` is what was done before. `atOnce`: the first line comes with the first update. */
export function createProgress({ sink, nowMs, what, from = 0, atOnce = false }: {
  readonly sink: ProgressSink; readonly nowMs: () => number; readonly what: string; readonly from?: number; readonly atOnce?: boolean;
}): AuditProgress {
  const began = nowMs();
  const isTerminal = sink.isTTY === true;
  let shownMs = isTerminal || atOnce ? -Infinity : began;
  let isShown = false;
  return {
    update(done, total) {
      const now = nowMs();
      if (now - shownMs < (isTerminal ? TERMINAL_MS : LINES_MS)) return;
      shownMs = now;
      const text = progressText({ what, done, total, doneHere: done - from, seconds: (now - began) / 1_000, bar: isTerminal });
      sink.write(isTerminal ? `\r\u001b[2K${text.slice(0, (sink.columns ?? 80) - 1)}` : `${text}\n`);
      isShown = isTerminal;
    },
    end() {
      if (isShown) sink.write('\r\u001b[2K');
      isShown = false;
    },
  };
}

/** One line. `doneHere` were done in `seconds`: the time left is reckoned from that. */
export function progressText({ what, done, total, doneHere, seconds, bar }: {
  readonly what: string; readonly done: number; readonly total: number | undefined; readonly doneHere: number; readonly seconds: number;
  readonly bar: boolean;
}): string {
  const rate = seconds > 0 ? doneHere / seconds : 0;
  const speed = `${Math.round(rate).toLocaleString('en-US')}/s`;
  if (total === undefined) return `${what} ${done.toLocaleString('en-US')}, ${speed}`;
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const shown = bar ? `[${'='.repeat(Math.round(part * WIDTH)).padEnd(WIDTH)}] ` : '';
  const left = rate > 0 ? `, ${duration((total - done) / rate)} left` : '';
  return `${what} ${shown}${Math.floor(part * 100)} % (${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')}), ${speed}${left}`;
}

/** In its two largest units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [h, m, s] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h} h ${m} min` : m > 0 ? `${m} min ${s} s` : `${s} s`;
}
