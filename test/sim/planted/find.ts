/** Runs the simulation with a planted bug in a child process, until a seed finds it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MUTATIONS } from './mutations.js';

export interface Found {
  readonly name: string;
  /** How many seeds it took; undefined when none of them found it. */
  readonly seeds: number | undefined;
  readonly how: string;
}

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Runs the program with a planted bug. Resolves with what it printed. */
async function run(number: number, args: readonly string[]): Promise<string> {
  const all = ['--import', new URL('./register.js', import.meta.url).href, path('../main.js'), ...args];
  const ran = promisify(execFile)(process.execPath, all, { env: { ...process.env, PLANTED: String(number) }, maxBuffer: 1 << 26 });
  return ran.then(({ stdout }) => stdout, (error: unknown) => (error as { stdout?: string }).stdout ?? '');
}

/** Tries the seeds from `first` on, `most` at most. */
export async function findPlanted(number: number, { first, most, steps }: { first: number; most: number; steps: number }): Promise<Found> {
  const { name = '', breaks = '' } = MUTATIONS[number] ?? {};
  const stdout = await run(number, ['--seed', String(first), '--seeds', String(most), '--steps', String(steps), '--first-failure']);
  const lines = stdout.split('\n').filter((line) => line.startsWith('seed '));
  const last = lines.at(-1) ?? '';
  const isFound = last.includes(`: broken: ${breaks}: `);
  return { name, seeds: isFound ? lines.length : undefined, how: last === '' ? 'nothing ran' : last.slice(last.indexOf(':') + 2, last.lastIndexOf('; trace')) };
}

export interface Smallest {
  /** How many events are left. */
  readonly storyEvents: number;
  /** The last line of the smallest story's trace. */
  readonly end: string;
}

/** The smallest story of a seed that finds the bug; undefined when the seed does not. */
export async function smallestPlanted(number: number, { seed, steps }: { seed: number; steps: number }): Promise<Smallest | undefined> {
  const stdout = await run(number, ['--seed', String(seed), '--steps', String(steps)]);
  const [, storyEvents] = /^the shortest story that breaks it, (\d+) of/m.exec(stdout) ?? [];
  const end = stdout.split('\n').findLast((line) => line.includes('broken: '));
  return storyEvents === undefined || end === undefined ? undefined : { storyEvents: Number(storyEvents), end };
}
