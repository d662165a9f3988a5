/**
 * Node's arguments for the service. V8 keeps new objects in two halves of 16 to 32 MiB instead of 1 to 16: what an order needs is
 * gone before it would be copied, which gives 7 % more orders per second (docs/performance.md). A program that runs cannot set
 * such sizes, so package.json and the files of `deploy/` repeat them; a test compares.
 */
export const NODE_ARGUMENTS: readonly string[] = ['--enable-source-maps', '--min-semi-space-size=16', '--max-semi-space-size=32'];
