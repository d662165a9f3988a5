/** How roles tell that they cannot go on: a promise that rejects, and never resolves. */

/** For roles that nothing can end. */
export const neverFails = new Promise<never>(() => undefined);

/** The work's end as a failure: a worker that ends by itself, even without an error, must not leave its process running without it. */
export function failureOf(done: Promise<unknown>): Promise<never> {
  return done.then(() => neverFails);
}
