/** Halmos, which proves properties of byte code, and Slither, which reads sources; both in the Python environment of .ci/provers. */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { compilerInput } from '../../contracts-abi/compiler-input.js';
import { contractNames } from '../../contracts-abi/compile.js';
import { COMMITTED, ROOT, forgeEnvironment, forgeProgram, layBytecode, type Bytecode } from './forge.js';

/** `PROVERS` is the folder of their programs; `npm test` sets it. */
const PROVERS = process.env['PROVERS'] ?? '';

/** Neither can do what the other one can: products of two unknowns need integers, hashes need words. Halmos adds the path of the query. */
const SOLVERS = {
  integers: `${join(PROVERS, 'python')} ${join(ROOT, 'test/contracts/forge/cvc5_solver.py')}`,
  words: `${join(PROVERS, 'yices-smt2')} --smt2-model-format --bvconst-in-decimal`,
} as const;

// eslint-disable-next-line no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;

const BUILD = '.build/forge/symbolic';
const SYMBOLIC = 'test/contracts/forge/symbolic';

/** Halmos has forge compile: these few sources alone, and elsewhere, since it wants more of the compiler than the histories do. */
const COMPILATION = { FOUNDRY_SRC: SYMBOLIC, FOUNDRY_TEST: SYMBOLIC, FOUNDRY_OUT: BUILD, FOUNDRY_CACHE_PATH: `${BUILD}-cache` };

export interface Proof {
  readonly output: string;
  /** The checks that hold for all arguments. */
  readonly proven: readonly string[];
  /** Those with a counterexample. */
  readonly refuted: readonly string[];
}

/** Proves the checks of a contract of test/contracts/forge/symbolic/ whose names match. `name` is a folder's. Rejects when Halmos cannot run. */
export async function prove({ contract, name, bytecode = COMMITTED, checks = '', solver }: {
  readonly contract: string; readonly name: string; readonly bytecode?: Bytecode; readonly checks?: string; readonly solver: keyof typeof SOLVERS;
}): Promise<Proof> {
  const folder = `.build/forge/${name}`;
  await rm(join(ROOT, folder), { recursive: true, force: true });
  await layBytecode(join(ROOT, folder, 'code'), bytecode);
  const output = await run('halmos', [
    '--root', ROOT.replace(/\/$/, ''), '--forge-build-out', BUILD, '--contract', contract, '--match-test', `^check_.*${checks}`, '--no-status',
    '--solver-command', SOLVERS[solver], '--solver-timeout-assertion', '120s',
  ], { ...forgeEnvironment(), ...COMPILATION, FORGE_FOLDER: folder });
  if (!/^Symbolic test result: /m.test(output)) throw new Error(`halmos does not run: ${output}`);
  return { output, proven: named(output, 'PASS'), refuted: named(output, 'FAIL') };
}

export interface Finding {
  /** The detector's name. */
  readonly check: string;
  readonly impact: string;
  /** Contract.function or Contract.variable. */
  readonly place: string;
  readonly says: string;
}

/** What all of Slither's detectors say of the sources in contracts-abi/solidity/. Rejects when Slither cannot run. */
export async function findings(): Promise<Finding[]> {
  const inputs = contractNames(ROOT).map((contract) => compilerInput({ root: ROOT, contract }));
  const outputSelection = { '*': { '*': ['abi', 'userdoc', 'devdoc'], '': ['ast'] } };
  const sources = Object.fromEntries(inputs.flatMap((each) => Object.entries(each.sources)));
  const input = { ...inputs[0]!, sources, settings: { ...inputs[0]!.settings, outputSelection } };
  const path = join(ROOT, '.build', 'forge', 'sources.json');
  await layBytecode(dirname(path), {});
  await writeFile(path, JSON.stringify(input));
  const output = await run('python', ['-B', 'test/contracts/forge/findings.py', path, join(ROOT, '.ci/solc')]);
  return output.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Finding);
}

async function run(program: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = { ...process.env, ...environment, PATH: [PROVERS, dirname(forgeProgram()), process.env['PATH']].join(delimiter) };
  return await new Promise((resolve, reject) => {
    execFile(join(PROVERS, program), args, { cwd: ROOT, env, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      // Halmos ends with code 1 when a check does not hold.
      if (error !== null && (typeof error.code !== 'number' || error.code > 1 || program !== 'halmos')) {
        reject(new Error(`${program} cannot run, PROVERS=$(.ci/provers) names a folder that has it: ${error.message}`));
      } else resolve(`${stdout}${stderr}`.replaceAll(COLOURS, ''));
    });
  });
}

function named(output: string, verdict: string): string[] {
  return [...output.matchAll(new RegExp(`^\\[${verdict}\\] (\\w+)\\(`, 'gm'))].map(([, name = '']) => name);
}
