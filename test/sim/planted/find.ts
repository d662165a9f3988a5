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

/** Tries the seeds from `first` on, `most` at most. */
export async function findPlanted(number: number, { first, most, steps }: { first: number; most: number; steps: number }): Promise<Found> {
  const { name = '' } = MUTATIONS[number] ?? {};
  const args = ['--import', new URL('./register.js', import.meta.url).href, path('../main.js'), '--seed', String(first), '--seeds', String(most), '--steps', String(steps), '--first-failure'];
  const run = promisify(execFile)(process.execPath, args, { env: { ...process.env, PLANTED: String(number) }, maxBuffer: 1 << 26 });
  const stdout = await run.then((done) => done.stdout, (error: unknown) => (error as { stdout?: string; stderr?: string }).stdout ?? '');
  const lines = stdout.split('\n').filter((line) => line.startsWith('seed '));
  const last = lines.at(-1) ?? '';
  const isFound = last !== '' && !last.includes(': good;');
  return { name, seeds: isFound ? lines.length : undefined, how: isFound ? last.slice(last.indexOf(':') + 2, last.lastIndexOf('; trace')) : `not found in ${lines.length} seeds` };
}
