/** What turns of the same measurement say together. */

export function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[figures.length >> 1] ?? NaN;
}

/** Of several figures, the median, with the lowest and the highest: a line's `figure` and `spread`. */
export function medianOf(figures: readonly number[]): { readonly figure: number; readonly spread: readonly [lowest: number, highest: number] } {
  return { figure: median(figures), spread: [Math.min(...figures), Math.max(...figures)] };
}
