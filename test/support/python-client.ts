/** The Python client of client/python as its users run it: programs in Python with its packages, and what they say. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { within } from './until.js';

export const PYTHON_CLIENT = 'client/python';

export interface Ran {
  readonly code: number | null;
  /** Both outputs. */
  readonly output: string;
}

export interface PythonProgram {
  readonly child: ChildProcess;
  /** Resolves with the line when the program has written one that matches, also before. */
  said(what: RegExp): Promise<string>;
  readonly ended: Promise<Ran>;
}

/**
 * Starts Python in the client's folder. `CLIENT_PYTHON` names a Python with the packages of its requirements; absent:
 * python3. With `source`, programs import the client from its sources.
 */
export function startPython(
  args: readonly string[], { source = true, environment = {}, input }: {
    readonly source?: boolean; readonly environment?: Readonly<Record<string, string>>; readonly input?: string;
  } = {},
): PythonProgram {
  const child = spawn(process.env['CLIENT_PYTHON'] ?? 'python3', ['-B', ...args], {
    cwd: PYTHON_CLIENT, stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', PYTHONUTF8: '1',
      ...source && { PYTHONPATH: 'src' }, ...environment,
    },
  });
  child.stdin.end(input ?? '');
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const output of [child.stdout, child.stderr]) {
    createInterface(output).on('line', (line) => {
      lines.push(line);
      for (const look of [...waiting]) look();
    });
  }
  const ended = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (lines.some((line) => /ModuleNotFoundError/.test(line))) {
        const what = 'CLIENT_PYTHON=$(.ci/python-client) names a Python that has the packages';
        reject(new Error(`${what}:\n${lines.join('\n')}`));
      } else resolve({ code, output: lines.map((line) => `${line}\n`).join('') });
    });
  });
  ended.catch(() => undefined);
  const said = (what: RegExp): Promise<string> => within(`Python says ${what}`, new Promise((resolve, reject) => {
    const look = (): void => {
      const found = lines.find((line) => what.test(line));
      if (found === undefined) return;
      waiting.delete(look);
      resolve(found);
    };
    waiting.add(look);
    look();
    ended.then(({ code }) => { reject(new Error(`it ended with ${code}:\n${lines.join('\n')}`)); }, reject);
  }), 120);
  return { child, said, ended };
}

/** Runs Python until it ends. */
export async function runPython(...given: Parameters<typeof startPython>): Promise<Ran> {
  return await startPython(...given).ended;
}
