/** Foundry's forge on the contracts' byte code: runs the Solidity tests of test/contracts/forge/ from a seed that repeats them. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { oncePerRun } from './once-per-run.js';

/** The repository, from which forge runs. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const FOLDER = join(ROOT, '.build', 'forge');

/** By their names in Solidity. */
export type Bytecode = Readonly<Record<string, string>>;

/** What is committed, as 0x hex. */
export const COMMITTED: Bytecode = {
  ConditionalTokens: conditionalTokens.bytecode, MarketFactory: marketFactory.bytecode, OptimisticOracle: optimisticOracle.bytecode,
  Settlement: settlement.bytecode, TestUSDC: testUsdc.bytecode,
};

export interface Tested {
  /** Whether every test has passed. */
  readonly passed: boolean;
  readonly output: string;
  /** How often each thing was done, over all histories. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface Histories {
  readonly seed: number;
  /** Distinguishes the runs of a test; a folder's name. */
  readonly name: string;
  readonly bytecode?: Bytecode;
  readonly runs: number;
  /** Whether a failing history is made shorter before it is shown, which takes its time. */
  readonly shrinks?: boolean;
}

/** Runs random histories against the invariants. Rejects when forge cannot run. */
export async function runHistories({ seed, name, bytecode = COMMITTED, runs, shrinks = true }: Histories): Promise<Tested> {
  const folder = join(FOLDER, name);
  await rm(folder, { recursive: true, force: true });
  await layBytecode(join(folder, 'code'), bytecode);
  const { code, output } = await forge(['test', '--match-contract', 'ExchangeTest', '--fuzz-seed', `0x${seed.toString(16)}`, '-vv'], {
    FORGE_FOLDER: `.build/forge/${name}`, FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR: join(folder, 'failures'),
    FOUNDRY_INVARIANT_RUNS: String(runs), ...!shrinks && { FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT: '0' },
  });
  if (!/^Ran \d+ tests? for /m.test(output)) throw new Error(`forge does not run: ${output}`);
  return { passed: code === 0, output, counts: await countsIn(join(folder, 'counts')) };
}

/** The longer texts in the Solidity of the tests: what an invariant says when it fails is one of them, or has one in it. */
export async function textsOfInvariants(): Promise<readonly string[]> {
  const folder = join(ROOT, 'test', 'contracts', 'forge');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sol'));
  const sources = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return sources.flatMap((source) => [...source.matchAll(/"([^"\n]{9,})"/g)].map(([, text = '']) => text));
}

/** Runs forge with the project's settings. Resolves with its exit code and all that it has written. */
export async function forge(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<{ code: number; output: string }> {
  const env = { ...process.env, ...forgeEnvironment(), ...environment };
  return await new Promise((resolve, reject) => {
    execFile(forgeProgram(), args, { cwd: ROOT, env, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(new Error(`forge cannot run: ${error.message}`));
      else resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` });
    });
  });
}

/** Where forge finds its settings and the compiler. */
export function forgeEnvironment(): Readonly<Record<string, string>> {
  return { FOUNDRY_CONFIG: join(ROOT, 'test/contracts/forge/foundry.toml'), FOUNDRY_SOLC: join(ROOT, '.ci/solc'), NO_COLOR: '1' };
}

/** Writes byte code as forge's `getCode` reads it. */
export async function layBytecode(folder: string, bytecode: Bytecode): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [contract, code] of Object.entries(bytecode)) {
    await writeFile(join(folder, `${contract}.json`), JSON.stringify({ abi: [], bytecode: { object: code } }));
  }
}

/** SEED, or a new one for each run of the tests: a second attempt has the same. */
export async function seedOfRun(): Promise<number> {
  const given = process.env['SEED'];
  const seed = Number(given ?? await readFile(await oncePerRun('forge-seed', (path) => writeFile(path, String(Math.floor(Math.random() * 2 ** 31)))), 'utf8'));
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`SEED is ${given}: expected a whole number from 0`);
  return seed;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64' };

/** The path of the program. Throws when it is not installed. */
export function forgeProgram(): string {
  const name = `@foundry-rs/forge-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'forge');
  } catch (cause) {
    throw new Error(`no forge for this system (${name} is not installed): npm ci installs it`, { cause });
  }
}

/** The sums of a file that each history has appended lines to: a name, a tab, a number. */
async function countsIn(path: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const text = await readFile(path, 'utf8').catch(() => '');
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [name = '', number] = line.split('\t');
    counts.set(name, (counts.get(name) ?? 0) + Number(number));
  }
  return counts;
}
