/** Nonces of the client: they rise within a program, across restarts, and when the clock goes back. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryNonceStore, nonceSource, type NonceStore } from '../../client/src/nonces.js';
import { fileNonceStore } from '../../client/src/node/nonce-file.js';

const TRADER = `0x${'aa'.repeat(20)}`;
const NOW = 1_790_000_000_000;

/** So many nonces, asked for at the same time. */
async function taken(
  count: number, { store, now = () => NOW, random = () => 0.5 }: { store: NonceStore; now?: () => number; random?: () => number },
): Promise<bigint[]> {
  const source = nonceSource(store, TRADER, now, random);
  return Promise.all(Array.from({ length: count }, () => source.next()));
}

const rises = (nonces: readonly bigint[]) => nonces.every((nonce, i) => i === 0 || nonce > nonces[i - 1]!);

describe('client: nonces', () => {
  it('rise in one millisecond, also beyond those that it has, and stay below 2^53', async () => {
    const nonces = await taken(10_000, { store: memoryNonceStore() });
    assert.ok(rises(nonces));
    assert.ok(nonces.at(-1)! < 2n ** 53n);
  });

  it('rise across restarts, however far the clock goes back', async () => {
    const store = memoryNonceStore();
    const nonces: bigint[] = [];
    for (const now of [NOW, NOW, NOW - 86_400_000, NOW + 1, 0]) nonces.push(...await taken(3, { store, now: () => now }));
    assert.ok(rises(nonces), nonces.join());
  });

  it('write to the store before the first use, and once for many', async () => {
    const saved: bigint[] = [];
    const store: NonceStore = { load: () => Promise.resolve(undefined), save: (_, nonce) => { saved.push(nonce); return Promise.resolve(); } };
    const nonces = await taken(1_000, { store });
    assert.equal(saved.length, 1);
    assert.ok(saved[0]! >= nonces.at(-1)!);
  });

  it('are not given while the store refuses', async () => {
    let refuses = true;
    const store: NonceStore = { load: () => Promise.resolve(undefined), save: () => refuses ? Promise.reject(new Error('no disk')) : Promise.resolve() };
    const source = nonceSource(store, TRADER, () => NOW);
    await assert.rejects(source.next(), /no disk/);
    refuses = false;
    assert.ok(await source.next() > 0n);
  });

  it('begin elsewhere in another program of the same millisecond', async () => {
    const firstOf = async (random: number) => (await taken(1, { store: memoryNonceStore(), random: () => random }))[0];
    assert.notEqual(await firstOf(0.1), await firstOf(0.9));
  });

  describe('in a file', () => {
    let directory: string;
    before(async () => { directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-nonces-')); });
    after(async () => { await rm(directory, { recursive: true }); });

    it('rise across restarts, for each trader', async () => {
      const path = join(directory, 'nonces.json');
      const nonces = [...await taken(3, { store: fileNonceStore(path) }), ...await taken(3, { store: fileNonceStore(path), now: () => 0 })];
      assert.ok(rises(nonces));
      await fileNonceStore(path).save('another', 5n);
      assert.deepEqual(Object.keys(JSON.parse(await readFile(path, 'utf8')) as object), [TRADER, 'another']);
    });

    it('are not begun anew where the file cannot be read', async () => {
      const path = join(directory, 'spoilt.json');
      await writeFile(path, '{"0x');
      await assert.rejects(taken(1, { store: fileNonceStore(path) }), /spoilt\.json cannot be read/);
    });
  });
});
