/** The disk: when it is short of space, when it is not any more, and which failures are told as a full disk. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnded } from '../../stack/child-ended.js';
import { directoriesOf, isShort, spaceOf, watchDisks } from '../../service/machine/disk.js';
import { diskFullText, saysDiskFull } from '../../service/machine/disk-full.js';

const coded = (code: string, message = 'failed') => Object.assign(new Error(message), { code });
const ended = (lastLines: readonly string[]) => childEnded({ name: 'Postgres', pid: 7, code: 1, signal: null, lastLines });

describe('service: the disk', () => {
  for (const [wasShort, freeBytes, expected] of [
    [false, 1_000, false], [false, 999, true], [true, 1_000, true], [true, 1_249, true], [true, 1_250, false], [false, 0, true],
  ] as const) {
    it(`${freeBytes} free of 1000 ${wasShort ? 'after a shortage' : ''} is ${expected ? 'short' : 'enough'}`, () => {
      assert.equal(isShort(wasShort, freeBytes, 1_000), expected);
    });
  }

  /** Disks by their directories' names, which a test fills; undefined: it does not tell its space. */
  const scene = (disks: Record<string, { device: number; free: number } | undefined>) => {
    const lines: string[] = [];
    const watch = watchDisks({
      directories: Object.keys(disks).map((name) => ({ name, path: `/${name}` })), minFreeBytes: 10_000_000,
      report: (level, { directory }, message) => { lines.push(`${level} ${String(directory)} ${message.split(':')[0]}`); },
      spaceOf: async (path) => {
        const disk = disks[path.slice(1)];
        if (disk === undefined) throw new Error('gone');
        return { device: disk.device, freeBytes: disk.free };
      },
    });
    return { lines, watch };
  };

  it('tells a shortage and its end once each, and keeps the last figure when the disk cannot be measured', async () => {
    const disks: Parameters<typeof scene>[0] = { data: { device: 1, free: 5_000_000 } };
    const { lines, watch } = scene(disks);
    assert.deepEqual([watch.shortage(), watch.disks()], [undefined, []]);
    await watch.look();
    await watch.look();
    disks['data'] = undefined;
    await watch.look();
    assert.equal(watch.shortage(), 'the disk of data (/data) has 5 MB free and needs 10 MB');
    disks['data'] = { device: 1, free: 50_000_000 };
    await watch.look();
    assert.deepEqual([watch.shortage(), watch.disks()], [undefined, [{ directory: 'data', freeBytes: 50_000_000, minFreeBytes: 10_000_000 }]]);
    assert.deepEqual(lines, ['error data the disk is nearly full', 'info data the disk has space again']);
  });

  it('is each one that a directory is on, once, and any that is short stops the orders', async () => {
    const [one, other] = [{ device: 1, free: 50_000_000 }, { device: 2, free: 40_000_000 }];
    const disks = { data: one, postgres: other, chain: one, snapshots: other };
    const { lines, watch } = scene(disks);
    await watch.look();
    assert.deepEqual(watch.disks().map(({ directory, freeBytes }) => [directory, freeBytes]), [['data', 50_000_000], ['postgres', 40_000_000]]);
    other.free = 9_000_000;
    await watch.look();
    assert.equal(watch.shortage(), 'the disk of postgres (/postgres) has 9 MB free and needs 10 MB');
    one.free = 1_000_000;
    await watch.look();
    other.free = 50_000_000;
    await watch.look();
    assert.equal(watch.shortage(), 'the disk of data (/data) has 1 MB free and needs 10 MB');
    assert.deepEqual(lines, ['error postgres the disk is nearly full', 'error data the disk is nearly full', 'info postgres the disk has space again']);
  });

  it('is measured for every directory that a process writes to, also where one will be made', async () => {
    const directories = directoriesOf(join(tmpdir(), 'no', 'such', 'directory'));
    assert.deepEqual(directories.map(({ name }) => name), ['DATA_DIR', 'DATA_DIR/postgres', 'DATA_DIR/chain', 'DATA_DIR/snapshots']);
    const { dev } = statSync(tmpdir());
    for (const { path } of directories) {
      const { device, freeBytes } = await spaceOf(path);
      assert.ok(device === dev && freeBytes > 0, path);
    }
  });

  for (const [what, error, expected] of [
    ['a full disk by its code', coded('ENOSPC'), true], ['a full quota', coded('EDQUOT'), true], ['Postgres by SQLSTATE', coded('53100'), true],
    ['a cause', new Error('the log cannot be reached', { cause: new Error('outer', { cause: coded('53100') }) }), true],
    ['what Postgres said last', ended(['PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device']), true],
    ['a program that does not start', new Error('Postgres does not start on /data: FATAL: could not write lock file: No space left on device'), true],
    ['anything else', new Error('connection refused', { cause: coded('ECONNREFUSED') }), false], ['other last words', ended(['LOG: done']), false],
    ['no error', 'No space left', false],
  ] as const) {
    it(`recognises ${what}`, () => { assert.equal(saysDiskFull(error), expected); });
  }

  it('says what to do', async () => {
    const options = { dataDir: '/data', spaceOf: async (path: string) => ({ device: path.length, freeBytes: path === '/data/postgres' ? 4_096 : 8_192 }) };
    assert.equal(await diskFullText(coded('ENOSPC'), options),
      'disk full: the disk of DATA_DIR/postgres (/data/postgres) has 4096 bytes free; free some space and start again');
    assert.equal(await diskFullText(new Error('other'), options), undefined);
    assert.equal(await diskFullText(coded('ENOSPC'), { dataDir: '/data', spaceOf: async () => { throw new Error('no'); } }),
      'disk full: the disk of DATA_DIR (/data) cannot be measured; free some space and start again');
  });
});

describe('service: the end of a child process', () => {
  for (const [code, signal, message] of [
    [null, 'SIGKILL', 'Postgres (pid 7) was stopped: signal SIGKILL'], [2, null, 'Postgres (pid 7) has ended: exit code 2'], [null, null, 'Postgres (pid 7) has ended'],
  ] as const) {
    it(message, () => {
      const end = childEnded({ name: 'Postgres', pid: 7, code, signal, lastLines: ['LOG: the last words'] });
      assert.deepEqual([end.message, end.lastLines], [message, ['LOG: the last words']]);
    });
  }
});
