/** How a role reports that it cannot continue: a promise that may reject and never resolves. */

/** For roles that cannot fail after their start. */
export const neverFails = new Promise<never>(() => undefined);

/** The work's failure: rejects when the work rejects, and never resolves, not even when the work does. */
export function failureOf(done: Promise<unknown>): Promise<never> {
  return done.then(() => neverFails);
}
