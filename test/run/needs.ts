/** What tests need that does not come with the packages, and the scripts of `.ci/` that find it, or install it where they may. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { filesThatUse } from './imports.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Need {
  readonly name: string;
  /** A test needs it that uses this support; a path below test/. */
  readonly support: string;
  /** Exits with another code than 0, and says why at the end of what it writes to standard error, where the need cannot be met. */
  readonly script: string;
  /** The variable of the environment by which tests find what the script prints. */
  readonly variable?: string;
}

export const NEEDS: readonly Need[] = [
  { name: 'Chromium', support: 'support/chromium.ts', script: '.ci/chromium', variable: 'CHROMIUM' },
  { name: 'Java and Maven', support: 'support/kafka-broker.ts', script: '.ci/java' },
  { name: 'Python', support: 'support/python-auditor.ts', script: '.ci/python', variable: 'PYTHON' },
  { name: 'Python for the client', support: 'support/python-client.ts', script: '.ci/python-client', variable: 'CLIENT_PYTHON' },
  { name: 'Halmos and Slither', support: 'support/provers.ts', script: '.ci/provers', variable: 'PROVERS' },
  { name: 'go-ethereum', support: 'support/geth.ts', script: '.ci/geth', variable: 'GETH' },
  { name: 'the client\'s packages', support: 'support/client-packages.ts', script: '.ci/client.mjs' },
];

/** A need that cannot be met here. */
export interface Unmet {
  readonly name: string;
  readonly reason: string;
  /** The test files that cannot run. */
  readonly files: readonly string[];
}

export interface Preparation {
  /** Variables for the tests. */
  readonly environment: Readonly<Record<string, string>>;
  readonly unmet: readonly Unmet[];
}

/** Meets what these test files need, one need after the other, since Debian's installer runs once at a time. Files are paths below test/. */
export async function meetNeeds(files: readonly string[], needs: readonly Need[] = NEEDS): Promise<Preparation> {
  const environment: Record<string, string> = {};
  const unmet: Unmet[] = [];
  for (const { name, support, script, variable } of needs) {
    const needing = await filesThatUse(support, files);
    if (needing.length === 0) continue;
    try {
      const { stdout } = await promisify(execFile)(script, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
      if (variable !== undefined) environment[variable] = stdout.trim();
    } catch (error) {
      const { stderr, message } = error as { stderr?: string; message: string };
      unmet.push({ name, reason: stderr?.trim().split('\n').at(-1) || message, files: needing });
    }
  }
  return { environment, unmet };
}
