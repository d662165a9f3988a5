/** A wait in tests for what is only some turns of the event loop away, much less than a poll of `until`: with a limit and a name, too. */
export async function turnsUntil(what: string, isSo: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!await isSo()) {
    if (performance.now() > end) throw new Error(`never came within ${patienceMs / 1_000} s: ${what}`);
    await new Promise(setImmediate);
  }
}
