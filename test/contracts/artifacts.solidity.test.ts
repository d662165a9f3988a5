/** The committed artifacts are what the sources compile to, and the check finds one that is not. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileContracts, contractNames, staleArtifacts } from '../../contracts-abi/compile.js';
import { within } from '../support/until.js';

const root = rootAbove(fileURLToPath(new URL('.', import.meta.url)));

describe('contracts: artifacts', function () {
  this.timeout(300_000);

  it('are what the sources compile to, without a warning: npm run generate -- --check', async () => {
    const names = contractNames(root);
    for (const expected of ['ConditionalTokens', 'MarketFactory', 'Settlement']) assert.ok(names.includes(expected), expected);
    // One process for all: each that loads the compiler spends as long on translating its WebAssembly as on most of the contracts.
    assert.equal(await check(), 'exit 0');
  });

  it('that are altered, missing or without a source are found by the check', () => {
    const directory = mkdtempSync(join(tmpdir(), 'contracts-'));
    try {
      mkdirSync(join(directory, 'contracts-abi', 'solidity'), { recursive: true });
      symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
      for (const path of ['solidity/Multicall3.sol', 'solidity/TransferProbe.sol', 'multicall3.ts', 'transfer-probe.ts', 'settlement.ts']) {
        writeFileSync(join(directory, 'contracts-abi', path), readFileSync(join(root, 'contracts-abi', path)));
      }
      const multicall = join(directory, 'contracts-abi', 'multicall3.ts');
      const original = readFileSync(multicall, 'utf8');
      assert.deepEqual(contractNames(directory), ['Multicall3', 'TransferProbe']);
      const artifacts = compileContracts({ root: directory });
      const orphan = 'contracts-abi/settlement.ts has no source any more: delete it';
      assert.deepEqual(staleArtifacts({ root: directory, artifacts }), [orphan]);
      rmSync(join(directory, 'contracts-abi', 'settlement.ts'));
      const altered = 'contracts-abi/multicall3.ts differs from what Multicall3.sol compiles to: run npm run generate';
      for (const text of [original.replace('getBlockNumber', 'getBlockNumbers'), original.replace('60', '61'), `${original}\n`]) {
        writeFileSync(multicall, text);
        assert.deepEqual(staleArtifacts({ root: directory, artifacts }), [altered]);
      }
      rmSync(multicall);
      assert.deepEqual(staleArtifacts({ root: directory, artifacts }), ['contracts-abi/multicall3.ts is missing: run npm run generate -- Multicall3']);
      writeFileSync(join(directory, 'contracts-abi', 'solidity', 'Broken.sol'), 'pragma solidity 0.8.37; import "@openzeppelin/none.sol"; contract Broken {}');
      assert.throws(() => compileContracts({ root: directory, names: ['Broken'] }), /Broken\.sol does not compile:[^]*@openzeppelin\/none\.sol is not found/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('is refused an option or a contract that there is not', async () => {
    assert.match(await check('Nothing'), /^exit 2unknown: Nothing\. Known: --check, ConditionalTokens, /);
  });
});

/** Runs the check of these contracts, or of all, as `npm run generate` does, and gives its exit code and all that it says. */
async function check(...names: string[]): Promise<string> {
  const program = fileURLToPath(new URL('../../contracts-abi/compile.js', import.meta.url));
  const child = spawn(process.execPath, [program, '--check', ...names], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => { output += text; });
  const [code] = await within('the check of the contracts', once(child, 'close'), 600) as [number | null];
  return `exit ${String(code)}${output}`;
}

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}
