/** `npm run sim`: runs the simulation of one seed, or of many, and shows the smallest story of what it finds. */
import { parseArgs } from 'node:util';
import { runSeed, type RunResult } from './run.js';
import { prepareTools } from './world/parts.js';

const { values } = parseArgs({ options: {
  seed: { type: 'string' }, steps: { type: 'string', default: '60' }, seeds: { type: 'string', default: '1' }, trace: { type: 'boolean', default: false },
} });
const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const steps = Number(values.steps);
const tools = await prepareTools();
const totals = new Map<string, number>();
const started = process.cpuUsage();
let failures = 0;
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const result = await runSeed({ tools, seed, steps, ...values.trace ? { print: (line) => { console.log(line); } } : {} });
  for (const [fault, count] of result.strikes) totals.set(fault, (totals.get(fault) ?? 0) + count);
  if (result.broken !== undefined) failures += 1;
  console.log(lineOf(result));
  if (result.broken !== undefined) console.log(`${result.broken.stack}\n`);
}
console.log([...totals].map(([fault, count]) => `${fault}: ${count}`).join('\n'));
const { user, system } = process.cpuUsage(started);
console.log(`${failures} failures in ${((user + system) / 1e6).toFixed(1)} s of processor time`);
process.exitCode = failures > 0 ? 1 : 0;

function lineOf({ seed, broken, hash, virtualMs, turns, figures: { matched, settled, failed, commands } }: RunResult): string {
  return `seed ${seed}: ${broken?.message.slice(0, 160) ?? 'good'}; ${commands} commands, ${matched} fills, ${settled} settled, ${failed} refused; `
    + `${(virtualMs / 1_000).toFixed(0)} s of virtual time in ${turns} turns; trace ${hash.slice(0, 16)}`;
}
