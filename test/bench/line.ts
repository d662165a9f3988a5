/** One figure of `npm run bench`: always a ratio to a floor or a peer that was measured in the same run. */
export interface BenchLine {
  /** What was measured, for instance `book, one market: operations a second`. */
  readonly name: string;
  readonly figure: number;
  /** The lowest and the highest of the turns whose median the figure is. */
  readonly spread?: readonly [lowest: number, highest: number];
  readonly unit: string;
  /** What it is compared with, and that one's figure in the same unit; absent for a plain limit (`at most 100 bytes`). */
  readonly peer?: { readonly name: string; readonly figure: number };
  /** The target: figure / peer at least `ratioAtLeast` and at most `ratioAtMost`, or the figure itself within bounds. */
  readonly target: { readonly ratioAtLeast?: number; readonly ratioAtMost?: number; readonly atLeast?: number; readonly atMost?: number };
}
