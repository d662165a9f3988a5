/** The examples of docs/orders.md, run as they stand there, against the whole exchange. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Wallet, id } from 'ethers';
import ts from 'typescript';
import { exchangeStack, type ExchangeStack } from '../support/exchange-stack.js';

const PACKAGES = fileURLToPath(new URL('../../../node_modules', import.meta.url));
/** What stands between the outputs of two blocks. */
const NEXT = '--- next block ---';
const trader = new Wallet(id('exchange: orders page'));

/** What the block under each heading prints. */
const EXPECTED: readonly (readonly [heading: string, printed: readonly (string | RegExp)[]])[] = [
  ['Orders', []],
  ['timeInForce', ['200 0', '409 not_filled', '200 0 1000000']],
  ['postOnly', ['200 accepted']],
  ['notAfter', ['409 too_late']],
  ['selfTrade', ['200 0 1000000']],
];

interface Block { readonly heading: string; readonly code: string }

/** The blocks of TypeScript, each with the heading above it. */
function blocksOf(page: string): Block[] {
  return [...page.matchAll(/```ts\n([^]*?)```/g)].map(({ 1: code = '', index }) => (
    { heading: [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '', code }));
}

describe('exchange: the page about orders', function () {
  this.timeout(120_000);
  let exchange: ExchangeStack;
  let directory: string;
  let blocks: Block[];
  before(async () => {
    exchange = await exchangeStack({ PRICE_SOURCES: 'simulated' });
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-orders-page-'));
    await symlink(PACKAGES, join(directory, 'node_modules'));
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    blocks = blocksOf(await readFile('docs/orders.md', 'utf8'));
  });
  after(async () => {
    await exchange.close();
    await rm(directory, { recursive: true });
  });

  it('has an example under each of these headings', () => {
    assert.deepEqual(blocks.map(({ heading }) => heading), EXPECTED.map(([heading]) => heading));
  });

  it('has examples whose types are right, and that do what the page says', async () => {
    const source = blocks.map(({ code }) => `${code}\nconsole.log('${NEXT}');\n`).join('');
    const file = join(directory, 'orders.ts');
    await writeFile(file, source);
    assert.deepEqual(faultsOf(file), []);
    await writeFile(join(directory, 'orders.mjs'), ts.transpileModule(source, { compilerOptions, fileName: 'orders.mts' }).outputText);
    const env = { PATH: process.env['PATH'] ?? '', HOME: directory, EXCHANGE_URL: exchange.url, PRIVATE_KEY: trader.privateKey };
    const { stdout } = await promisify(execFile)(process.execPath, ['orders.mjs'], { cwd: directory, env });
    const printed = stdout.split(NEXT).map((each) => each.split('\n').filter((line) => line !== ''));
    EXPECTED.forEach(([heading, lines], i) => {
      assert.equal(printed[i]?.length, lines.length, `${heading}: ${printed[i]?.join(' | ')}`);
      lines.forEach((line, n) => {
        const told = printed[i]?.[n] ?? '';
        if (typeof line === 'string') assert.equal(told, line, heading);
        else assert.match(told, line, heading);
      });
    });
  });
});

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true, noEmit: true,
  skipLibCheck: true, types: ['node'], typeRoots: [join(PACKAGES, '@types')],
};

/** What the compiler has to say of a file. */
function faultsOf(file: string): string[] {
  return ts.getPreEmitDiagnostics(ts.createProgram([file], compilerOptions)).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
