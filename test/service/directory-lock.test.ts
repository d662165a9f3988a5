/** A directory has one owner at a time, and none as soon as its owner has ended, however that ended. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DirectoryInUse, lockDirectory } from '../../service/machine/directory-lock.js';
import { within } from '../support/until.js';

const MODULE = new URL('../../service/machine/directory-lock.js', import.meta.url).href;

describe('directory lock', () => {
  let directory: string;
  let children: ChildProcess[];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'prediction-exchange-lock-'));
    children = [];
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  });

  /** A node process that runs the program, which has `lockDirectory` and `directory`. */
  function elsewhere(program: string) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', `
      import { lockDirectory } from ${JSON.stringify(MODULE)};
      const directory = ${JSON.stringify(directory)};
      ${program}
    `], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  }

  const refused = (error: unknown) => error instanceof DirectoryInUse && error.message.includes(`by process ${process.pid}:`);

  it('refuses the directory to all others until it is released, and leaves nothing behind', async () => {
    const release = await lockDirectory(directory);
    await assert.rejects(lockDirectory(directory), refused);
    assert.deepEqual(readdirSync(directory), ['lock']);
    release();
    assert.deepEqual(readdirSync(directory), []);
    const next = await lockDirectory(directory);
    release();
    await assert.rejects(lockDirectory(directory), refused, 'a second release is of nobody else\'s lock');
    next();
  });

  it('gives the directory to one of many who ask at once', async () => {
    const asked = await Promise.allSettled(Array.from({ length: 50 }, () => lockDirectory(directory)));
    const releases = asked.flatMap((each) => each.status === 'fulfilled' ? [each.value] : []);
    assert.equal(releases.length, 1);
    for (const release of releases) release();
  });

  it('takes a lock file that nobody has locked as free, whatever process number is in it', async () => {
    writeFileSync(join(directory, 'lock'), String(process.ppid));
    (await lockDirectory(directory))();
  });

  it('is free at once after the kill -9 of its owner, though a child of the owner lives', async () => {
    const owner = elsewhere(`
      import { spawn } from 'node:child_process';
      await lockDirectory(directory);
      const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore', detached: true });
      console.log(child.pid);
      setInterval(() => {}, 1_000);
    `);
    const child = Number((await owner.lines.next()).value);
    try {
      await assert.rejects(lockDirectory(directory), new RegExp(`by process ${owner.child.pid}:`));
      const ended = once(owner.child, 'exit');
      owner.child.kill('SIGKILL');
      await within('the owner is dead', ended);
      process.kill(child, 0);
      (await lockDirectory(directory))();
    } finally {
      process.kill(child, 'SIGKILL');
    }
  });

  it('has never two owners, while processes take and release it as fast as they can', async () => {
    const contenders = Array.from({ length: 3 }, () => elsewhere(`
      import { mkdirSync, rmdirSync } from 'node:fs';
      for (let owned = 0; owned < 200;) {
        const release = await lockDirectory(directory).catch((error) => {
          if (error.name !== 'DirectoryInUse') throw error;
        });
        if (release === undefined) continue;
        mkdirSync(directory + '/owned');
        rmdirSync(directory + '/owned');
        release();
        owned += 1;
      }
      console.log('done');
    `));
    assert.deepEqual(await Promise.all(contenders.map(async ({ lines }) => (await lines.next()).value as unknown)), ['done', 'done', 'done']);
    assert.deepEqual(readdirSync(directory), []);
  });
});
