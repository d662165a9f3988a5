/** What the compiler is given for a contract, whole: every source and every setting that the byte code depends on, as standard JSON. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, posix } from 'node:path';

/** The release of the compiler, as block explorers name it after a `v`. */
export const COMPILER = '0.8.37+commit.f401782d';

export const SOURCES = 'contracts-abi/solidity';

/** The settings that the bytecode depends on. There is no metadata hash, so the same sources give the same bytes everywhere. */
const SETTINGS = {
  optimizer: { enabled: true, runs: 1_000_000 },
  viaIR: true,
  evmVersion: 'cancun',
  metadata: { bytecodeHash: 'none', appendCBOR: false },
} as const;

export interface CompilerInput {
  readonly language: 'Solidity';
  /** By path from the repository's root, or as imported from a package. */
  readonly sources: Readonly<Record<string, { readonly content: string }>>;
  readonly settings: typeof SETTINGS & { readonly outputSelection: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> };
}

/** The path of a contract's source from the repository's root. */
export function sourceOf(contract: string): string {
  return `${SOURCES}/${contract}.sol`;
}

/**
 * The input that compiles a contract. A contract that another one creates is compiled from the sources of its creator, so that its code
 * is the very code within the creator's. Throws when a source is missing.
 */
export function compilerInput({ root, contract, creator = contract }: { root: string; contract: string; creator?: string }): CompilerInput {
  const sources: Record<string, { content: string }> = {};
  const waiting = [sourceOf(creator)];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (sources[path] !== undefined) continue;
    const content = readSource(root, path, creator);
    sources[path] = { content };
    waiting.push(...importsOf(path, content));
  }
  return {
    language: 'Solidity', sources,
    settings: { ...SETTINGS, outputSelection: { [sourceOf(contract)]: { [contract]: ['abi', 'evm.bytecode.object'] } } },
  };
}

/** The paths that a source imports: relative ones begin at its folder. */
function importsOf(path: string, content: string): string[] {
  return [...content.matchAll(/(?:^|;)\s*import\s(?:[^"';]*\sfrom\s+)?["']([^"']+)["']/gm)]
    .map(([, to = '']) => to.startsWith('.') ? posix.join(posix.dirname(path), to) : to);
}

/** Our own sources are below the root, and `@openzeppelin/…` is where Node finds the package. */
function readSource(root: string, path: string, contract: string): string {
  try {
    return readFileSync(path.startsWith('@') ? createRequire(join(root, 'package.json')).resolve(path) : join(root, path), 'utf8');
  } catch {
    throw new Error(`${sourceOf(contract)} does not compile: ${path} is not found: install the packages with npm ci`);
  }
}
