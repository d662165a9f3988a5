/** Tells the same thing at most once per minute: an outage fails every read, and one log line says so. */

const EVERY_MS = 60_000;
/** Texts differ by server and fault, so there are few of them. */
const TEXTS_KEPT = 100;

/** Passes on each text that was not passed on within the last minute. `now`: a monotonic clock in milliseconds. */
export function seldom(tell: (text: string) => void, now: () => number): (text: string) => void {
  const toldAtMs = new Map<string, number>();
  return (text) => {
    if (now() - (toldAtMs.get(text) ?? -Infinity) < EVERY_MS) return;
    if (toldAtMs.size >= TEXTS_KEPT) toldAtMs.clear();
    toldAtMs.set(text, now());
    tell(text);
  };
}
