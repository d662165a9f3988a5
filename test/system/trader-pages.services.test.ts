/** The examples of the pages for traders, run as they stand there, against the whole exchange. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Wallet, id } from 'ethers';
import ts from 'typescript';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';

const PACKAGES = fileURLToPath(new URL('../../../node_modules', import.meta.url));
/** What stands between the outputs of two blocks. */
const NEXT = '--- next block ---';
const trader = new Wallet(id('exchange: a page for traders'));

/** Of the vector in docs/signing.md, which its programs read. */
const VECTOR = /```json\n([^]*?)```/.exec(readFileSync('docs/signing.md', 'utf8'))![1]!;
const { digest: DIGEST, signature: SIGNATURE } = JSON.parse(VECTOR) as { digest: string; signature: string };

/** By page: what the block under each heading prints. */
const PAGES: Readonly<Record<string, readonly (readonly [heading: string, printed: readonly string[]])[]>> = {
  orders: [
    ['Orders', []],
    ['timeInForce', ['200 0', '409 not_filled', '200 0 1000000']],
    ['postOnly', ['200 accepted']],
    ['notAfter', ['409 too_late']],
    ['selfTrade', ['200 0 1000000']],
    ['Several orders at once', ['200 200,200,400']],
    ['Some orders', ['200 200,200']],
    ['All orders', ['true cancelled']],
    ['Unless asked again in time', ['armed number disarmed null']],
    ['A smaller order', ['200 reduced 400000']],
  ],
  reading: [
    ['Reading', []],
    ['Candles', ['600000 600000 1200000 1 false']],
    ['A ticker', ['0 600000 600000 1200000']],
    ['Markets', ['true']],
    ['Pages', ['1 0 invalid_request']],
    ['Answers that many share', ['200 true 304']],
    ['What an order would do', ['true 1000000 3000000 600000 1000000', 'false invalid_price']],
    ['An account', ['unknown_chain']],
    ['Whether orders are taken', ['open null 0']],
  ],
  signing: [
    ['TypeScript', [DIGEST, SIGNATURE]],
    ['Nonces', ['5 true']],
  ],
  streams: [
    ['A book kept from the stream', ['0']],
    ['A book kept from the stream', ['2000000 2000000']],
    ['By WebSocket', ['2000000 subscribed unsubscribed']],
  ],
};

interface Block { readonly heading: string; readonly code: string }

/** The blocks of TypeScript, each with the heading above it. */
function blocksOf(page: string): Block[] {
  return [...page.matchAll(/```ts\n([^]*?)```/g)].map(({ 1: code = '', index }) => (
    { heading: [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '', code }));
}

for (const [page, expected] of Object.entries(PAGES)) {
  describe(`exchange: docs/${page}.md`, function () {
    this.timeout(120_000);
    let exchange: ExchangeStack;
    let directory: string;
    let blocks: Block[];
    before(async () => {
      exchange = await exchangeStack({ PRICE_SOURCES: 'simulated' });
      directory = await mkdtemp(join(tmpdir(), `prediction-exchange-${page}-page-`));
      await symlink(PACKAGES, join(directory, 'node_modules'));
      await writeFile(join(directory, 'package.json'), '{"type":"module"}');
      await writeFile(join(directory, 'vector.json'), VECTOR);
      blocks = blocksOf(await readFile(`docs/${page}.md`, 'utf8'));
    });
    after(async () => {
      await exchange.close();
      await rm(directory, { recursive: true });
    });

    it('has an example under each of these headings', () => {
      assert.deepEqual(blocks.map(({ heading }) => heading), expected.map(([heading]) => heading));
    });

    it('has examples whose types are right, and that do what the page says', async () => {
      const source = blocks.map(({ code }) => `${code}\nconsole.log('${NEXT}');\n`).join('');
      const file = join(directory, 'page.ts');
      await writeFile(file, source);
      assert.deepEqual(faultsOf(file), []);
      await writeFile(join(directory, 'page.mjs'), ts.transpileModule(source, { compilerOptions, fileName: 'page.mts' }).outputText);
      const env = { PATH: process.env['PATH'] ?? '', HOME: directory, EXCHANGE_URL: exchange.url, PRIVATE_KEY: trader.privateKey };
      const { stdout } = await promisify(execFile)(process.execPath, ['page.mjs'], { cwd: directory, env });
      const printed = stdout.split(NEXT).map((each) => each.split('\n').filter((line) => line !== ''));
      assert.deepEqual(expected.map(([heading], i) => [heading, printed[i]]), expected);
    });
  });
}

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true, noEmit: true,
  skipLibCheck: true, types: ['node'], typeRoots: [join(PACKAGES, '@types')],
};

/** What the compiler has to say of a file. */
function faultsOf(file: string): string[] {
  return ts.getPreEmitDiagnostics(ts.createProgram([file], compilerOptions)).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
