/** Something that is done soon after it was asked for, but not again before the last time is over and a while has passed. */

export interface Spaced {
  soon(): void;
  stop(): void;
}

/** `work` never rejects. */
export function spaced(work: () => Promise<void>, everyMs: number): Spaced {
  let due: ReturnType<typeof setTimeout> | undefined;
  let [isRunning, isWanted, isOver] = [false, false, false];
  let lastMs = -everyMs;
  const plan = (): void => {
    if (isOver || isRunning || due !== undefined) return;
    due = setTimeout(() => { void run(); }, Math.max(0, lastMs + everyMs - performance.now()));
  };
  const run = async (): Promise<void> => {
    [due, isRunning, isWanted, lastMs] = [undefined, true, false, performance.now()];
    await work();
    isRunning = false;
    if (isWanted) plan();
  };
  return {
    soon() {
      isWanted = true;
      plan();
    },
    stop() {
      isOver = true;
      clearTimeout(due);
    },
  };
}
