/** When snapshots are taken: every so many commands, never two at once, one at the end, and none that another process has written. */
import { deepEqual, equal } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatDigest } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import { saveSnapshot } from '../../engine/run/snapshot-files.js';
import { createSnapshotTaker } from '../../engine/run/snapshot-taker.js';
import type { DueSnapshot } from '../../engine/run/next-snapshot.js';
import { newCommand } from '../support/commands.js';
import { START_MS } from '../support/random-commands.js';
import { turnsUntil } from '../support/until.js';

const tick = encodeCommand(newCommand('AdvanceClock', { at: START_MS }));

describe('engine: when snapshots are taken', () => {
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'taker-')); });
  afterEach(() => rm(folder, { recursive: true }));

  function setTaker(every: number) {
    const engine = createEngine();
    const reports: string[] = [];
    const begun: number[] = [];
    const ends: ((error?: Error) => void)[] = [];
    const taker = createSnapshotTaker(engine, {
      folder, every, report: (message) => { reports.push(message); },
      save: (_, position) => new Promise((resolve, reject) => {
        begun.push(position);
        ends.push((error) => { if (error === undefined) resolve(); else reject(error); });
      }),
    });
    return {
      taker, reports, begun,
      step(count: number): void {
        for (let i = 0; i < count; i++) {
          engine.step(tick);
          if (engine.state.position >= taker.dueAt) taker.takeDue();
        }
      },
      /** Resolves when so many writes have begun. */
      async writes(count: number): Promise<void> {
        await turnsUntil(`write ${count} to begin`, () => begun.length >= count);
      },
      /** Ends the oldest write that is under way, and lets all go on that follows from it. */
      async end(error?: Error): Promise<void> {
        ends.shift()!(error);
        await new Promise((resolve) => { setImmediate(resolve); });
      },
    };
  }

  it('one at a time: what falls due during a write is taken after it', async () => {
    const { begun, step, writes, end, taker } = setTaker(10);
    step(9);
    deepEqual(begun, []);
    step(1);
    await writes(1);
    step(35);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => { setImmediate(resolve); });
    deepEqual(begun, [10], 'a second one overlaps');
    await end();
    step(1);
    await writes(2);
    deepEqual(begun, [10, 46]);
    const finished = taker.finish();
    await end();
    await finished;
    deepEqual(begun, [10, 46]);
  });

  it('the end waits for the one under way, and takes a last one', async () => {
    const { begun, step, writes, end, taker } = setTaker(10);
    step(10);
    await writes(1);
    step(3);
    let isOver = false;
    const finished = taker.finish().then(() => { isOver = true; });
    deepEqual([begun, isOver], [[10], false]);
    await end();
    await writes(2);
    deepEqual([begun, isOver], [[10, 13], false]);
    await end();
    await finished;
  });

  it('one that fails is reported, and the next one is taken when it is due', async () => {
    const { begun, step, writes, end, reports } = setTaker(10);
    step(10);
    await writes(1);
    await end(new Error('the disk is full'));
    deepEqual(reports, ['a snapshot could not be written; the next start replays more commands']);
    step(10);
    await writes(2);
    deepEqual(begun, [10, 20]);
    await end();
  });

  it('none where another process has written one that is as new', async () => {
    const { begun, step, taker } = setTaker(10);
    step(5);
    await saveSnapshot(folder, 5, Buffer.from('another process'));
    await taker.finish();
    equal(begun.length, 0);
  });

  it('beside the engine once it is live, at the position where one fell due; the end stops that, and takes its own', async () => {
    const engine = createEngine();
    const [own, beside]: [number[], DueSnapshot[]] = [[], []];
    let isLive = false;
    const taker = createSnapshotTaker(engine, {
      folder, every: 10, isLive: () => isLive, report: (message) => { throw new Error(message); },
      save: (_, position) => { own.push(position); return Promise.resolve(); },
      beside: (due, signal) => new Promise((_, reject) => {
        beside.push(due);
        signal.addEventListener('abort', () => { reject(signal.reason as Error); });
      }),
    });
    const step = (count: number): void => {
      for (let i = 0; i < count; i++) {
        engine.step(tick);
        if (engine.state.position >= taker.dueAt) taker.takeDue();
      }
    };
    step(10);
    await turnsUntil('the snapshot of the history', () => own.length === 1);
    isLive = true;
    await new Promise((resolve) => { setImmediate(resolve); });
    step(10);
    const digest = formatDigest(engine.digest);
    step(3);
    await turnsUntil('the snapshot beside the engine', () => beside.length === 1);
    step(40);
    await taker.finish();
    deepEqual([own, beside], [[10, 63], [{ folder, position: 20, digest }]]);
  });
});
