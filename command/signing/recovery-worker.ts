/** The thread that recovers signers: digests with their signatures in, signers out. */
import { parentPort } from 'node:worker_threads';
import { createSignerRecovery } from './recover.js';
import { DIGEST_BYTES, READY, SIGNED_BYTES, type RecoveryMessage } from './recovery-messages.js';
import { createKeccak256 } from './typed-data.js';

if (parentPort === null) throw new Error('this file runs as a worker thread only');
const port = parentPort;
const say = (message: RecoveryMessage): void => { port.postMessage(message); };
void run();

async function run(): Promise<void> {
  const { recover } = await createSignerRecovery(await createKeccak256());
  port.on('message', (bytes: Uint8Array) => {
    say(Array.from({ length: bytes.length / SIGNED_BYTES }, (_, i) => {
      const signed = bytes.subarray(i * SIGNED_BYTES, (i + 1) * SIGNED_BYTES);
      return recover(signed.subarray(0, DIGEST_BYTES), signed.subarray(DIGEST_BYTES));
    }));
  });
  say(READY);
}
