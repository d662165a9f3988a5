/** `node tools/run.mjs test/sim/planted/main`: plants one bug after the other and says how many seeds it takes to find each. */
import { parseArgs } from 'node:util';
import { findPlanted } from './find.js';
import { MUTATIONS } from './mutations.js';

const { values } = parseArgs({ options: {
  seed: { type: 'string', default: '1' }, seeds: { type: 'string', default: '100' }, steps: { type: 'string', default: '40' }, only: { type: 'string' },
} });
const numbers = values.only === undefined ? MUTATIONS.map((_, number) => number) : values.only.split(',').map(Number);
let missed = 0;
for (const number of numbers) {
  const { name, seeds, how } = await findPlanted(number, { first: Number(values.seed), most: Number(values.seeds), steps: Number(values.steps) });
  if (seeds === undefined) missed += 1;
  console.log(`${number} ${name}: ${seeds === undefined ? 'NOT FOUND' : `${seeds} seeds`}: ${how}`);
}
process.exitCode = missed > 0 ? 1 : 0;
