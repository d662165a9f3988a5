/** Approximate arrival times of fills (64 marks, the oldest two merged); never later than the true one. */

export function createArrivals() {
  const marks: { readonly upTo: number; readonly atMs: number }[] = [];
  let seen = 0;
  return {
    add(nextFill: number, atMs: number): void {
      if (nextFill <= seen) return;
      seen = nextFill;
      marks.push({ upTo: nextFill, atMs });
      const [oldest, second] = marks;
      if (marks.length > 64 && oldest !== undefined && second !== undefined) marks.splice(0, 2, { upTo: second.upTo, atMs: oldest.atMs });
    },
    at: (fill: number, unseen: number): number => marks.find(({ upTo }) => fill < upTo)?.atMs ?? unseen,
    dropBelow(fill: number): void {
      while ((marks[0]?.upTo ?? Infinity) <= fill) marks.shift();
    },
  };
}
