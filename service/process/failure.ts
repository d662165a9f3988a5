/** How a role reports that it cannot continue: a promise that may reject and never resolves. */

/** For roles that cannot fail after their start. */
export const neverFails = new Promise<never>(() => undefined);

/** The work's failure: rejects when the work rejects, and never resolves, not even when the work does. */
export function failureOf(done: Promise<unknown>): Promise<never> {
  return done.then(() => neverFails);
}

/** A failure that its owner tells: rejects at the first call of `reject`, and never resolves. */
export function rejection(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<never>((_resolve, rejectPromise) => { reject = rejectPromise; });
  promise.catch(() => undefined);
  return { promise: Promise.race([promise, neverFails]), reject };
}
