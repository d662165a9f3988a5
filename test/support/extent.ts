/**
 * How much a test does. A push runs a part of what takes long, the same each time; `npm run test:long` runs all of it, from a seed that it prints and
 * that `SEED` repeats. Whatever imports this file is a part of that run.
 */

/** Whether this is `npm run test:long`. */
export const isLong = process.env['TEST_LONG'] === 'yes';

/** What random stories begin with. */
export const SEED = Number(process.env['SEED'] ?? 20_261_121);
if (!Number.isSafeInteger(SEED) || SEED < 0) throw new Error(`SEED is ${process.env['SEED']}: expected a whole number from 0`);

/** How many cases, kills or steps, or which of them. */
export function extent<T>({ push, long }: { readonly push: T; readonly long: T }): T {
  return isLong ? long : push;
}
