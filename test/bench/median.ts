/** What turns of the same measurement say together. */

/** Of several figures, the median, with the lowest and the highest: a line's `figure` and `spread`. */
export function medianOf(figures: readonly number[]): { readonly figure: number; readonly spread: readonly [lowest: number, highest: number] } {
  const sorted = [...figures].sort((a, b) => a - b);
  return { figure: sorted[sorted.length >> 1] ?? NaN, spread: [sorted[0] ?? NaN, sorted.at(-1) ?? NaN] };
}
