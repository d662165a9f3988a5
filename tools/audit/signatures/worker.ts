/** A thread that checks signatures: batches of recorded commands in, the first fault of each batch out. */
import { parentPort, workerData } from 'node:worker_threads';
import { createKeccak256 } from '../../../command/signing/typed-data.js';
import { createSignerRecovery } from '../../../command/signing/recover.js';
import type { PlacedFault, SignatureAnswer, SignatureBatch, SignatureThreadData } from './messages.js';
import { createSignatureCheck, type SignatureCheck, type SignedCommand } from './signature-check.js';

if (parentPort === null) throw new Error('this file runs as a worker thread only');
const port = parentPort;
const { domains } = workerData as SignatureThreadData;
void run();

async function run(): Promise<void> {
  const keccak256 = await createKeccak256();
  const check = createSignatureCheck({ keccak256, recovery: await createSignerRecovery(keccak256), domains });
  port.on('message', (batch: SignatureBatch) => { answer(batch, check); });
}

function answer(batch: SignatureBatch, check: SignatureCheck): void {
  const { data, ends, positions, chains, count } = batch;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  let fault: PlacedFault | undefined;
  for (let i = 0, start = 0; i < count && fault === undefined; i++) {
    const [end = 0, chainId = -1, position = 0] = [ends[i], chains[i], positions[i]];
    const found = check(JSON.parse(bytes.toString('utf8', start, end)) as SignedCommand, chainId < 0 ? undefined : chainId);
    if (found !== undefined) fault = { ...found, position };
    start = end;
  }
  const message: SignatureAnswer = { batch, fault };
  port.postMessage(message, [data.buffer, ends.buffer, positions.buffer, chains.buffer]);
}
