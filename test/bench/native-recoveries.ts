/** A thread that recovers public keys with the native library and does nothing else: the floor for the audit's signature threads. */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type * as Secp256k1 from 'secp256k1';

const binding = createRequire(import.meta.url)('secp256k1/bindings.js') as typeof Secp256k1;
const orders = workerData as readonly { readonly digest: Uint8Array; readonly signature: Uint8Array; readonly recid: number }[];

parentPort?.on('message', (count: number) => {
  const key = new Uint8Array(65);
  for (let n = 0; n < count; n++) {
    const { digest, signature, recid } = orders[n % orders.length]!;
    binding.ecdsaRecover(signature, recid, digest, false, key);
  }
  parentPort?.postMessage(count);
});
