/** With what arguments Node runs a process of the exchange, wherever it is started. */

/**
 * The young generation is large from the start: V8 begins with one of 1 MB again after each quiet time, and with less
 * than this, more requests are on their way whenever it is collected, and are copied. It takes up to 96 MB. And the old
 * generation of a thread is not collected below 128 MB: V8 would do so every few seconds under load, as it holds little,
 * and the main thread then shares two cores with the threads that mark.
 * `deploy/` and `package.json` have the same words; a test compares them.
 */
export const NODE_ARGUMENTS = ['--enable-source-maps', '--min-semi-space-size=32', '--max-semi-space-size=32', '--initial-old-space-size=128'] as const;
