/** `npm run sim`: runs the simulation of one seed, or of many, and shows the smallest story of what it finds. */
import { parseArgs } from 'node:util';
import { InvariantBroken } from './invariants/world.js';
import { runSeed, type RunResult } from './run.js';
import { smallestStory } from './smallest/story.js';
import { storyOf } from './story/story-events.js';
import { prepareTools } from './world/parts.js';

const { values } = parseArgs({ options: {
  'seed': { type: 'string' }, 'steps': { type: 'string', default: '40' }, 'seeds': { type: 'string', default: '1' }, 'trace': { type: 'boolean', default: false },
  'first-failure': { type: 'boolean', default: false },
} });
const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const steps = Number(values.steps);
const print = (line: string): void => { console.log(line); };
const tools = await prepareTools();
const totals = new Map<string, number>();
const started = process.cpuUsage();
let failures = 0;
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const result = await runSeed({ tools, seed, steps, ...values.trace ? { print } : {} });
  for (const [fault, count] of result.strikes) totals.set(fault, (totals.get(fault) ?? 0) + count);
  print(lineOf(result));
  if (result.broken === undefined) continue;
  failures += 1;
  if (values['first-failure']) break;
  await explain(seed, result.broken);
}
if (!values['first-failure']) print([...totals].map(([fault, count]) => `${fault}: ${count}`).join('\n'));
const { user, system } = process.cpuUsage(started);
print(`${failures} failures in ${((user + system) / 1e6).toFixed(1)} s of processor time`);
process.exitCode = failures > 0 ? 1 : 0;

function lineOf({ seed, broken, hash, virtualMs, turns, counts: { matched, settled, failed, commands, quick, relays } }: RunResult): string {
  return `seed ${seed}: ${broken?.message.split('\n')[0]?.slice(0, 200) ?? 'good'}; ${commands} commands, ${matched} fills, ${settled} settled, ${failed} refused; quick markets: ${quick.opened} opened, ${quick.decided} decided, ${quick.resolved} resolved; `
    + `relays: ${relays.recorded} recorded, ${relays.succeeded} carried out, ${relays.failed} in vain; keeper: ${relays.keeper}; `
    + `${(virtualMs / 1_000).toFixed(0)} s of virtual time in ${turns} turns; trace ${hash.slice(0, 16)}`;
}

/** Prints the shortest story that breaks the same, and the end of its trace. */
async function explain(seed: number, broken: Error): Promise<void> {
  print(`${broken.stack}\n`);
  const what = (error: Error | undefined): string | undefined => error instanceof InvariantBroken ? error.invariant : error?.message;
  const story = await smallestStory(storyOf(seed, steps), async (shorter) => (
    what((await runSeed({ tools, seed, steps, story: shorter })).broken) === what(broken)));
  print(`the shortest story that breaks it, ${story.length} of ${steps} events:`);
  for (const { atMs, kind } of story) print(`  ${(atMs / 1_000).toFixed(3)} s: ${kind}`);
  const { latest } = await runSeed({ tools, seed, steps, story });
  print(`its trace, the last ${Math.min(60, latest.length)} lines:\n${latest.slice(-60).join('\n')}`);
}
