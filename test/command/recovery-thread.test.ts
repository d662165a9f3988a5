/** The thread that recovers signers: the same answers as the calling thread's, whatever becomes of the thread. */
import assert from 'node:assert/strict';
import { SigningKey, getBytes, id } from 'ethers';
import { createSignerRecovery, type SignerRecovery } from '../../command/signing/recover.js';
import { createRecoveryThread, type RecoveryThread } from '../../command/signing/recovery-thread.js';
import { createKeccak256 } from '../../command/signing/typed-data.js';
import { until } from '../support/until.js';

const digest = getBytes(id('a digest'));
const signature = getBytes(new SigningKey(id('a trader')).sign(digest).serialized);
const [badV, noPoint] = [Uint8Array.from(signature).fill(2, 64), Uint8Array.from(signature).fill(0, 0, 31).fill(5, 31, 32)];

describe('the thread that recovers signers', () => {
  let recovery: SignerRecovery;
  let thread: RecoveryThread;
  const reports: string[] = [];
  const start = (...program: [URL?]) => createRecoveryThread(recovery, (level, text) => { reports.push(`${level}: ${text}`); }, ...program);
  /** Whether the thread takes a signature, and not this one. */
  const takes = (of: RecoveryThread) => of.recover(digest, badV) instanceof Promise;
  before(async () => {
    recovery = await createSignerRecovery(await createKeccak256());
    thread = start();
  });
  after(() => thread.stop());

  it('answers at once while it starts', () => {
    assert.deepEqual(thread.recover(digest, signature), recovery.recover(digest, signature));
  });

  it('answers in order, as the calling thread would', async () => {
    await until('the thread takes signatures', () => takes(thread));
    const given = [signature, badV, noPoint, signature.with(64, signature[64] === 27 ? 28 : 27), signature];
    const answered = await Promise.all(given.map((each) => thread.recover(digest, each)));
    assert.deepEqual(answered, given.map((each) => recovery.recover(digest, each)));
    assert.deepEqual(answered.map(({ ok }) => ok), [true, false, false, true, true]);
  });

  it('is spared what is more than a thousand, until it has caught up', async () => {
    const first = Array.from({ length: 1_000 }, () => thread.recover(digest, badV));
    assert.deepEqual(thread.recover(digest, signature), recovery.recover(digest, signature));
    assert.deepEqual(new Set((await Promise.all(first)).map(({ ok }) => ok)), new Set([false]));
    assert.equal(takes(thread), true);
  });

  it('leaves what waits when it is stopped, and what comes later, to the calling thread', async () => {
    const waiting = thread.recover(digest, signature);
    assert.ok(waiting instanceof Promise);
    await thread.stop();
    assert.deepEqual(await waiting, recovery.recover(digest, signature));
    assert.deepEqual(thread.recover(digest, signature), recovery.recover(digest, signature));
    assert.deepEqual(reports, []);
  });

  it('tells when it fails, and leaves everything to the calling thread', async () => {
    const failing = start(new URL('data:text/javascript,'
      + 'import { parentPort } from "node:worker_threads"; parentPort.on("message", () => { throw new Error("broken"); }); parentPort.postMessage("ready");'));
    await until('the thread takes a signature', () => takes(failing));
    await until('it has failed', () => reports.length > 0);
    assert.deepEqual(await Promise.all([failing.recover(digest, signature)]), [recovery.recover(digest, signature)]);
    await until('it takes no signatures any more', () => !takes(failing));
    assert.deepEqual(reports, ['warn: the thread that recovers signers has failed (broken): the main thread recovers them until the next start']);
    await failing.stop();
  });
});
