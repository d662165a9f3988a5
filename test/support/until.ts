/** Waits in tests: each has a limit, and says what it waited for when that has passed. */
export async function until<T>(what: string, find: () => T | undefined | Promise<T | undefined>, patienceMs = 60_000): Promise<T> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`never came within ${patienceMs / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
