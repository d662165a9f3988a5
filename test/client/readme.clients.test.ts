/** The quick start of the client's README, run as it stands there as a program that has installed the package: in Node, and in Deno. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Wallet, id } from 'ethers';
import ts from 'typescript';
import { CLIENT } from '../support/client-packages.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PACKAGES = join(ROOT, 'node_modules');
/** By what runs a program, the arguments of Node for that. Deno may reach the exchange and the environment, and nothing else. */
const RUNTIMES = {
  Node: [],
  Deno: [join(CLIENT, 'node_modules', 'deno', 'bin.cjs'), 'run', '--no-prompt', '--node-modules-dir=manual', '--allow-net=127.0.0.1', '--allow-env'],
};
/** What stands between the outputs of two blocks. */
const NEXT = '--- next block ---';

describe('client: the quick start of its README', function () {
  this.timeout(60_000);
  let exchange: ExchangeStack;
  let directory: string;
  let source: string;
  before(async () => {
    exchange = await exchangeStack();
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-client-readme-'));
    await install();
    const readme = await readFile(join(ROOT, 'client', 'README.md'), 'utf8');
    source = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, block]) => `${block}\nconsole.log('${NEXT}');\n`).join('');
  });
  after(async () => {
    await exchange.close();
    await rm(directory, { recursive: true });
  });

  /** Puts the packages where a program finds them. */
  async function install(): Promise<void> {
    const own = join(directory, 'node_modules', 'prediction-exchange-client');
    await mkdir(own, { recursive: true });
    await symlink(join(PACKAGES, 'ethers'), join(directory, 'node_modules', 'ethers'));
    await symlink(fileURLToPath(new URL('../../client/src', import.meta.url)), join(own, 'dist'));
    const { type, exports } = JSON.parse(await readFile(join(ROOT, 'client', 'package.json'), 'utf8')) as { type: string; exports: object };
    await writeFile(join(own, 'package.json'), JSON.stringify({ type, exports }));
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  }

  for (const [runtime, command] of Object.entries(RUNTIMES)) {
    it(`does what it says, block by block, in ${runtime}`, async () => {
      const { outputText } = ts.transpileModule(source, { compilerOptions, fileName: 'quick-start.mts' });
      await writeFile(join(directory, 'quick-start.mjs'), outputText);
      const { stdout } = await promisify(execFile)(process.execPath, [...command, 'quick-start.mjs'], {
        cwd: directory, timeout: 50_000, env: {
          PATH: process.env['PATH'], HOME: directory, DENO_NO_UPDATE_CHECK: '1', EXCHANGE_URL: exchange.url,
          PRIVATE_KEY: new Wallet(id(`client: readme, ${runtime}`)).privateKey,
        },
      });
      assert.deepEqual(stdout.split(NEXT).map((each) => each.trim()).slice(0, -1), [
        'Will it rain?', 'accepted 0', 'open 0.01 10\nWill it rain? 0.01', 'true', '10', 'not_filled', 'accepted\ncancelled',
      ]);
    });
  }

  it('has the right types', async () => {
    const file = join(directory, 'quick-start.ts');
    await writeFile(file, source);
    const faults = ts.getPreEmitDiagnostics(ts.createProgram([file], compilerOptions));
    assert.deepEqual(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')), []);
  });

  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true,
    noEmit: true, skipLibCheck: true, types: ['node'], typeRoots: [join(PACKAGES, '@types')], paths: { 'prediction-exchange-client': [join(ROOT, 'client', 'src', 'client.ts')] },
  };
});
