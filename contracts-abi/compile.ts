/** Compiles contracts-abi/solidity into the typed, committed artifacts beside this file: `npm run generate -- [--check] [Contract…]`. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import solc from 'solc';
import { artifactPath, artifactText, contractOf, type AbiEntry } from './artifact.js';
import { COMPILER, SOURCES, compilerInput, sourceOf, type CompilerInput } from './compiler-input.js';

export interface Artifact {
  readonly contract: string;
  /** From the repository's root. */
  readonly path: string;
  readonly text: string;
  /** What the compiler warns of in the contract's own sources. */
  readonly warnings: readonly string[];
}

/** The compiler package has no types of its own. */
interface Solc {
  compile(input: string): string;
  version(): string;
}

interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'info';
  readonly formattedMessage: string;
  readonly sourceLocation?: { readonly file: string };
}

export interface CompilerOutput {
  readonly errors?: readonly Diagnostic[];
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, {
    readonly abi: readonly AbiEntry[];
    readonly evm: { readonly bytecode: { readonly object: string } };
  }>>>>;
}

/**
 * Compiles the named contracts, or all in contracts-abi/solidity. The file of a contract has the contract's name; files of interfaces,
 * structs and abstract contracts give no artifact. Each contract is compiled separately, so its bytecode depends on its imports only.
 * @throws Error with the compiler's messages.
 */
export function compileContracts({ root, names = contractNames(root) }: { root: string; names?: readonly string[] }): Artifact[] {
  return names.flatMap((name) => compile(root, name) ?? []);
}

/** The names of all sources, sorted. */
export function contractNames(root: string): string[] {
  return readdirSync(join(root, SOURCES)).filter((file) => file.endsWith('.sol')).map((file) => file.slice(0, -'.sol'.length)).sort();
}

/** One sentence per artifact that is missing, differs from what its source compiles to, or has no source any more. */
export function staleArtifacts({ root, artifacts }: { root: string; artifacts: readonly Artifact[] }): string[] {
  const names = contractNames(root);
  const changed = artifacts.flatMap(({ contract, path, text }) => {
    if (!existsSync(join(root, path))) return [`${path} is missing: run npm run generate -- ${contract}`];
    return readFileSync(join(root, path), 'utf8') === text ? [] : [`${path} differs from what ${contract}.sol compiles to: run npm run generate`];
  });
  const orphans = readdirSync(join(root, 'contracts-abi')).filter((file) => file.endsWith('.ts')).flatMap((file) => {
    const contract = contractOf(readFileSync(join(root, 'contracts-abi', file), 'utf8'));
    return contract === undefined || names.includes(contract) ? [] : [`contracts-abi/${file} has no source any more: delete it`];
  });
  return [...changed, ...orphans];
}

function compile(root: string, name: string): Artifact | undefined {
  const source = sourceOf(name);
  const output = compiled(compilerInput({ root, contract: name }));
  const diagnostics = output.errors ?? [];
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(`${source} does not compile:\n${errors.map(({ formattedMessage }) => formattedMessage).join('\n')}`);
  const contract = output.contracts?.[source]?.[name];
  if (contract === undefined || contract.evm.bytecode.object === '') return undefined;
  return {
    contract: name, path: artifactPath(name),
    text: artifactText({ contract: name, source, abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` }),
    warnings: diagnostics.filter(({ sourceLocation }) => sourceLocation?.file.startsWith(SOURCES)).map(({ formattedMessage }) => formattedMessage),
  };
}

/** What the compiler says of an input. Throws when it is another release than the one that verification names. */
export function compiled(input: CompilerInput): CompilerOutput {
  const { compile: run, version } = solc as Solc;
  if (!version().startsWith(COMPILER)) throw new Error(`the compiler is ${version()}, not ${COMPILER}: change COMPILER of contracts-abi/compiler-input.ts with it`);
  return JSON.parse(run(JSON.stringify(input))) as CompilerOutput;
}

function main(root: string, options: readonly string[]): number {
  const names = options.filter((option) => !option.startsWith('-'));
  const unknown = [
    ...options.filter((option) => option.startsWith('-') && option !== '--check'), ...names.filter((name) => !contractNames(root).includes(name)),
  ];
  if (unknown.length > 0) {
    process.stderr.write(`unknown: ${unknown.join(', ')}. Known: --check, ${contractNames(root).join(', ')}\n`);
    return 2;
  }
  const artifacts = compileContracts({ root, ...(names.length > 0 ? { names } : {}) });
  for (const { warnings } of artifacts) for (const warning of warnings) process.stderr.write(`${warning}\n`);
  if (options.includes('--check')) {
    const stale = staleArtifacts({ root, artifacts });
    for (const line of stale) process.stderr.write(`${line}\n`);
    return stale.length > 0 ? 1 : 0;
  }
  for (const { path, text } of artifacts) {
    writeFileSync(join(root, path), text);
    process.stdout.write(`${path}\n`);
  }
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(process.cwd(), process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
