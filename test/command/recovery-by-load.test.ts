/** Where the signers of single orders are recovered, and that it makes no difference to what they are answered. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { recoveryByLoad } from '../../command/orders/role.js';
import type { RecoveryThread } from '../../command/signing/recovery-thread.js';
import type { SignerRecovery } from '../../command/signing/recover.js';
import { anOrder, bodyOf, orderWorld, refused, signOrder, signedBody, type OrderWorld } from '../harness/order-world.js';

const bytes = new Uint8Array();
const by = (signer: string) => ({ ok: true, signer }) as const;

describe('the signer of a single order', () => {
  let queued = 0;
  const answers: (() => void)[] = [];
  const recovery: SignerRecovery = { backend: 'native', recover: () => by('the main thread') };
  const thread: RecoveryThread = {
    recover: () => new Promise((resolve) => { answers.push(() => { resolve(by('the thread')); }); }), stop: () => Promise.resolve(),
  };
  const on = (cores: number) => recoveryByLoad({ recovery, recoveryThread: thread, cores }, () => queued);

  it('is recovered by the main thread, but by the thread while orders queue, and while one before it waits for the thread', async () => {
    const recover = on(2)!;
    const recoveredWith = (length: number) => {
      queued = length;
      return recover(bytes, bytes);
    };
    assert.deepEqual([recoveredWith(0), recoveredWith(7)], [by('the main thread'), by('the main thread')]);
    const waiting = [recoveredWith(8), recoveredWith(0), recoveredWith(500)];
    assert.equal(answers.length, 3);
    for (const answer of answers.splice(0, 2)) answer();
    assert.deepEqual(await Promise.all(waiting.slice(0, 2)), [by('the thread'), by('the thread')]);
    waiting.push(recoveredWith(0));
    for (const answer of answers) answer();
    assert.deepEqual(await Promise.all(waiting), Array(4).fill(by('the thread')));
    assert.deepEqual(recoveredWith(0), by('the main thread'));
  });

  it('is recovered at once where the thread does not take it, and then keeps nobody waiting', () => {
    const failed = { ...thread, recover: () => by('the main thread, for the thread') };
    const recover = recoveryByLoad({ recovery, recoveryThread: failed, cores: 2 }, () => queued)!;
    queued = 8;
    assert.deepEqual(recover(bytes, bytes), by('the main thread, for the thread'));
    queued = 7;
    assert.deepEqual(recover(bytes, bytes), by('the main thread'));
  });

  it('is recovered by the main thread alone on a single core, and where there is no thread', () => {
    assert.equal(on(1), undefined);
    assert.equal(recoveryByLoad({ recovery, cores: 8 }, () => 100), undefined);
  });
});

describe('orders that queue', () => {
  /** An order whose append takes long, ten that wait for it, and more; then all answers, and the nonces of the commands in the order of the log. */
  async function queue(world: OrderWorld) {
    let write: () => void = () => undefined;
    world.appending = new Promise((resolve) => { write = resolve; });
    const written = world.commands.length;
    const place = async (nonces: readonly number[]) => {
      const bodies = await Promise.all(nonces.map((nonce) => signedBody({ nonce, size: 10 })));
      const answers = bodies.map((body) => world.place(body));
      // In the first turn what came together becomes an append, where there is none.
      await setImmediate();
      await setImmediate();
      return answers;
    };
    const first = [...await place([0]), ...await place([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])];
    const wrong = world.place(bodyOf({ order: anOrder({ nonce: 11 }), signature: await signOrder(anOrder({ nonce: 12 })) }));
    const refusing = refused(wrong, 'invalid_signature', ['/signature']);
    const next = await place([13, 14, 15]);
    const twice = await place([13]);
    write();
    const answers = await Promise.all([...first, ...next, ...twice]);
    const { extra, fields } = await refusing;
    const nonces = world.commands.slice(written).map((command) => command.kind === 'PlaceOrder' && Number(command.nonce));
    return { answers, refusal: { extra, fields }, nonces };
  }

  it('are answered and written as they come, whichever thread recovers their signers', async () => {
    const [atOnce, later] = [await orderWorld({ recoversLater: true, cores: 1 }), await orderWorld({ recoversLater: true, cores: 2 })];
    const [here, there] = [await queue(atOnce), await queue(later)];
    assert.deepEqual(there, here);
    assert.deepEqual(here.nonces, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15]);
    assert.deepEqual([atOnce.recoveredLater, later.recoveredLater], [0, 5]);
  });
});
