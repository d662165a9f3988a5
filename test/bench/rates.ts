/** Rates of contestants that take turns, so that the machine's moods meet all of them. */
import { median } from './median.js';

const ROUND_MS = 400;
const ROUNDS = 5;

/** The median rate of each contestant. One turn of a contestant resolves with its rate. */
export async function takingTurns<Name extends string>(contestants: Readonly<Record<Name, () => Promise<number>>>): Promise<Record<Name, number>> {
  const names = Object.keys(contestants) as Name[];
  const rates = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) for (const name of names) rates.get(name)!.push(await contestants[name]());
  return Object.fromEntries(names.map((name) => [name, median(rates.get(name)!)])) as Record<Name, number>;
}

/** How often the work is done per second, by this many at the same time. */
export async function perSecond(work: () => Promise<unknown>, workers = 1): Promise<number> {
  const start = performance.now();
  let calls = 0;
  await Promise.all(Array.from({ length: workers }, async () => {
    for (; performance.now() - start < ROUND_MS; calls++) await work();
  }));
  return calls / (performance.now() - start) * 1000;
}

/** How many records per second come in pages, until an empty one. `page` returns the number of records from a position on. */
export async function readingRate(page: (from: number) => Promise<number>): Promise<number> {
  const start = performance.now();
  let position = 0;
  for (let count = await page(0); count > 0; count = await page(position)) position += count;
  return position / (performance.now() - start) * 1000;
}
