/** The disk: when it is short of space, when it is not any more, and which failures are told as a full disk. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnded } from '../../service/embedded/child-ended.js';
import { freeBytesOf, isShort, watchDisk } from '../../service/conditions/disk.js';
import { diskFullText, saysDiskFull } from '../../service/conditions/disk-full.js';

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

  it('tells a shortage and its end once each, and keeps the last figure when the disk cannot be measured', async () => {
    const lines: string[] = [];
    let free: number | undefined = 5_000_000;
    const disk = watchDisk({
      directory: '/data', minFreeBytes: 10_000_000, report: (level, _, message) => { lines.push(`${level} ${message.split(':')[0]}`); },
      freeBytesOf: () => free === undefined ? Promise.reject(new Error('gone')) : Promise.resolve(free),
    });
    assert.deepEqual([disk.shortage(), disk.health()], [undefined, undefined]);
    await disk.look();
    await disk.look();
    free = undefined;
    await disk.look();
    assert.equal(disk.shortage(), 'the disk of DATA_DIR (/data) has 5 MB free and needs 10 MB');
    free = 50_000_000;
    await disk.look();
    assert.deepEqual([disk.shortage(), disk.health()], [undefined, { freeBytes: 50_000_000, minFreeBytes: 10_000_000 }]);
    assert.deepEqual(lines, ['error the disk is nearly full', 'info the disk has space again']);
  });

  it('is measured where a directory will be made', async () => {
    assert.ok(await freeBytesOf(join(tmpdir(), 'no', 'such', 'directory')) > 0);
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
    const options = { dataDir: '/data', freeBytesOf: () => Promise.resolve(4_096) };
    assert.equal(await diskFullText(coded('ENOSPC'), options), 'disk full: the disk of DATA_DIR (/data) has 4096 bytes free; free some space and start again');
    assert.equal(await diskFullText(new Error('other'), options), undefined);
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
