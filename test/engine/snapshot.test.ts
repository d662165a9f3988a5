/** Snapshots: an engine that starts from one cannot be told from one that has seen the whole history. */
import { deepEqual, equal, notEqual, ok, rejects } from 'node:assert/strict';
import { mkdir, mkdtemp, open, readFile, readdir, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '../../engine/run/engine.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import { loadSnapshot, saveSnapshot } from '../../engine/run/snapshot-files.js';
import { crowd } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { histories, history, replay, restart, restartsChangeNothing } from '../support/watched-histories.js';

describe('engine snapshots', () => {
  for (const [name, profile, create] of histories) {
    it(`a restart at any point of the history of ${name} changes nothing`, () => {
      restartsChangeNothing(history(11, profile, 2_500, create), [0, 1, 777, 1_500, 2_499]);
    });
  }

  it('restarts as often as one likes', () => {
    const commands = history(12, crowd, 3_000, createChainCommands);
    let engine = createEngine();
    for (let from = 0; from < commands.length; from += 100) engine = restart(replay(engine, commands.slice(from, from + 100)));
    deepEqual(engine.digest, replay(createEngine(), commands).digest);
  });

  it('keeps working from the restored state without touching the snapshot\'s bytes', () => {
    const commands = history(13, crowd, 2_000);
    const bytes = encodeSnapshot(replay(createEngine(), commands.slice(0, 1_000)));
    const before = Buffer.from(bytes);
    const restored = decodeSnapshot(Buffer.from(bytes))!;
    replay(createEngine(restored.state, restored.digest), commands.slice(1_000));
    ok(bytes.equals(before));
  });

  it('a single flipped bit, a cut or nothing at all is not a snapshot', () => {
    const bytes = encodeSnapshot(replay(createEngine(), history(14, crowd, 500)));
    for (const at of [0, 31, 32, 100, bytes.length - 1]) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1;
      equal(decodeSnapshot(damaged), undefined, `bit flipped in byte ${at}`);
    }
    equal(decodeSnapshot(bytes.subarray(0, bytes.length - 1)), undefined);
    equal(decodeSnapshot(Buffer.alloc(0)), undefined);
  });
});

describe('snapshot files', () => {
  let directory: string;
  beforeEach(async () => { directory = await mkdtemp(join(tmpdir(), 'snapshots-')); });
  afterEach(() => rm(directory, { recursive: true }));

  const bytesAt = (length: number) => encodeSnapshot(replay(createEngine(), history(15, crowd, length)));
  const any = () => Promise.resolve(true);

  it('gives the newest one back and keeps the newest two', async () => {
    for (const position of [100, 200, 300]) await saveSnapshot(directory, position, bytesAt(position));
    equal((await loadSnapshot(directory, any))?.state.position, 300);
    deepEqual((await readdir(directory)).sort(), ['snapshot-0000000000000200.bin', 'snapshot-0000000000000300.bin']);
  });

  it('has its name only once all of it is on the disk: a power failure leaves none that is cut', async () => {
    const bytes = bytesAt(100);
    const synced: { readonly bytes: number; readonly names: readonly string[] }[] = [];
    const probe = await open(join(directory, 'probe'), 'w');
    const handles = Object.getPrototypeOf(probe) as FileHandle;
    const { sync } = handles;
    await probe.close();
    await rm(join(directory, 'probe'));
    handles.sync = async function (this: FileHandle) {
      await sync.call(this);
      synced.push({ bytes: (await this.stat()).size, names: await readdir(directory) });
    };
    try {
      await saveSnapshot(directory, 100, bytes);
    } finally {
      handles.sync = sync;
    }
    deepEqual(synced, [{ bytes: bytes.length, names: [`snapshot-0000000000000100.bin.${process.pid}.new`] }]);
    deepEqual(await readdir(directory), ['snapshot-0000000000000100.bin']);
  });

  it('one that cannot be written takes no space: half of it would be what a full disk lacks', async () => {
    await mkdir(join(directory, 'snapshot-0000000000000100.bin'));
    await rejects(saveSnapshot(directory, 100, bytesAt(100)), { code: 'EISDIR' });
    deepEqual(await readdir(directory), ['snapshot-0000000000000100.bin']);
  });

  it('passes over a damaged one, one that is not accepted, and one that was being written', async () => {
    for (const position of [100, 200]) await saveSnapshot(directory, position, bytesAt(position));
    const newest = join(directory, 'snapshot-0000000000000200.bin');
    await writeFile(join(directory, 'snapshot-0000000000000300.bin.new'), 'half');
    equal((await loadSnapshot(directory, ({ state }) => Promise.resolve(state.position < 200)))?.state.position, 100);
    await writeFile(newest, (await readFile(newest)).subarray(0, 50));
    equal((await loadSnapshot(directory, any))?.state.position, 100);
  });

  it('has none in a folder that is empty or not there', async () => {
    equal(await loadSnapshot(directory, any), undefined);
    equal(await loadSnapshot(join(directory, 'missing'), any), undefined);
  });

  it('differs from position to position', () => {
    notEqual(bytesAt(100).toString('hex'), bytesAt(101).toString('hex'));
  });
});
