/** tools/run.mjs: a program starts at once where nothing has changed, and never on an old build. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What the sources use. */
const NODE = 'export {};\ndeclare const console: { log(...texts: string[]): void };\ndeclare const process: { argv: string[] };\n';

describe('tools/run.mjs', () => {
  let root: string;

  before(() => {
    root = mkdtempSync(join(tmpdir(), 'prediction-exchange-start-'));
    for (const folder of ['tools', 'src/cli']) mkdirSync(join(root, folder), { recursive: true });
    copyFileSync(join(ROOT, 'tools/run.mjs'), join(root, 'tools/run.mjs'));
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    // The smallest of TypeScript's libraries, and no types of Node: the compiler starts eight times.
    const compilerOptions = { outDir: 'dist', rootDir: '.', module: 'nodenext', target: 'es2015', lib: ['es5'], types: [], skipLibCheck: true };
    write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['src'] }));
    write('package-lock.json', '{}');
    write('package.json', '{ "type": "module" }');
    write('src/program.ts', program(1));
    write('src/cli/token.ts', `${NODE}console.log("token", ...process.argv.slice(2));\n`);
  });
  after(() => { rmSync(root, { recursive: true }); });

  const write = (file: string, text: string) => { writeFileSync(join(root, file), text); };
  const program = (version: number) => `${NODE}console.log("version ${version}", ...process.argv.slice(2));\n`;
  const builtAt = () => statSync(join(root, 'dist/built-from')).mtimeMs;

  function run(...args: readonly string[]): Promise<{ code: number; output: string; errors: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [join(root, 'tools/run.mjs'), ...args], (error, output, errors) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : 1, output, errors });
      });
    });
  }

  it('compiles before the first start, and hands the arguments on', async () => {
    const { code, output, errors } = await run('src/program', '--a', 'b');
    assert.deepEqual({ code, output }, { code: 0, output: 'version 1 --a b\n' });
    assert.match(errors, /^Compiling/);
  });

  it('compiles no more while nothing changes', async () => {
    const before = builtAt();
    assert.deepEqual(await run('src/program'), { code: 0, output: 'version 1\n', errors: '' });
    assert.equal(builtAt(), before);
  });

  it('compiles when a source has changed, is new or is gone', async () => {
    write('src/program.ts', program(2));
    assert.deepEqual(await run('src/program'), { code: 0, output: 'version 2\n', errors: '' });
    for (const change of [() => { write('src/more.ts', 'export {};\n'); }, () => { rmSync(join(root, 'src/more.ts')); }]) {
      const before = builtAt();
      change();
      assert.equal((await run()).code, 0);
      assert.notEqual(builtAt(), before);
    }
  });

  it('keeps no bundle of before a compilation, which writes over its programs', async () => {
    write('dist/bundled-from', 'these sources');
    await run();
    assert.ok(existsSync(join(root, 'dist/bundled-from')));
    write('src/more.ts', 'export {};\n');
    await run();
    assert.ok(!existsSync(join(root, 'dist/bundled-from')));
  });

  it('runs nothing while a source does not compile, however often it is started', async () => {
    write('src/program.ts', `${program(3)}const x: number = 'text';\n`);
    for (let i = 0; i < 2; i++) {
      const { code, output, errors } = await run('src/program');
      assert.deepEqual({ code, output }, { code: 2, output: '' });
      assert.match(errors, /src\/program\.ts\(5,7\): error TS2322/);
      assert.equal(existsSync(join(root, 'dist/built-from')), false);
    }
    write('src/program.ts', program(3));
    assert.equal((await run('src/program')).output, 'version 3\n');
  });

  it('takes a tool by its name in a folder, and says which there are', async () => {
    assert.deepEqual(await run('src/cli/', 'token', 'list'), { code: 0, output: 'token list\n', errors: '' });
    assert.deepEqual(await run('src/cli/', 'nothing'), { code: 2, output: '', errors: 'There is no tool nothing. One of: token\n' });
    assert.deepEqual(await run('src/cli/'), { code: 2, output: '', errors: 'Which tool? One of: token\n' });
  });
});
