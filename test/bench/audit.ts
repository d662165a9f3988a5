/** An audit against a replay that decides everything again, its signature threads against the native library alone, and its memory. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import type * as Secp256k1 from 'secp256k1';
import { createKeccak256, prepareDomain, type OrderDomain } from '../../command/signing/typed-data.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { toHex } from '../../engine/records/hex.js';
import { createEngine } from '../../engine/run/engine.js';
import { audit } from '../../tools/audit/audit.js';
import { createSignaturePool, usualThreads } from '../../tools/audit/signatures/signature-pool.js';
import { openFile } from '../../tools/audit/source/file-source.js';
import { linesOf } from '../../tools/audit/source/line-splitter.js';
import { newCommand } from '../support/commands.js';
import { auditMemory } from './audit-memory.js';
import { marketCommands, mix } from './engine.js';
import { historyLines } from './history-lines.js';
import type { BenchLine } from './line.js';
import { takingTurns } from './rates.js';

const RECORDS = 100_000;
const ORDERS = 4_000;
const PER_TURN = 10_000;

const domain: OrderDomain = { name: 'Settlement', version: '1', chainId: 31_337, verifyingContract: `0x${'c0'.repeat(20)}` };
// By require: an import would also read the package's JavaScript fallback.
const secp256k1 = createRequire(import.meta.url)('secp256k1') as typeof Secp256k1;

export async function auditBench(): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  try {
    const path = join(directory, 'history.ndjson');
    await pipeline(Readable.from(historyLines([...marketCommands(), ...mix(RECORDS - 16)])), createWriteStream(path));
    const { audited, replayed } = await takingTurns({ audited: () => auditRate(path), replayed: () => replayRate(path) });
    const { pool, native } = await signatureRates();
    return [{
      name: 'audit of a file without signatures', figure: audited, unit: 'records/s',
      peer: { name: 'reading the file, deciding every command again and comparing digests', figure: replayed }, target: { ratioAtLeast: 0.9 },
    }, {
      name: `signatures of recorded orders on ${usualThreads()} threads`, figure: pool, unit: 'signatures/s of processor time',
      peer: { name: 'the native library alone on as many threads', figure: native }, target: { ratioAtLeast: 0.8 },
    }, await auditMemory(directory, domain)];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function auditRate(path: string): Promise<number> {
  const start = performance.now();
  const { passed, records } = await audit({ source: await openFile(path), threads: 0 });
  if (!passed) throw new Error('the audit of an untouched history found a difference');
  return records / (performance.now() - start) * 1_000;
}

const COMMAND = Buffer.from(',"command":');
const OUTCOME = Buffer.from(',"outcome":{"at":');

/** The least that decides everything again: no place, id, form or event is looked at. */
async function replayRate(path: string): Promise<number> {
  const start = performance.now();
  const engine = createEngine();
  for await (const lines of linesOf(createReadStream(path, { highWaterMark: 1 << 20 }))) {
    for (const line of lines) {
      const from = line.indexOf(COMMAND) + COMMAND.length;
      const { digest } = engine.step(line.subarray(from, line.indexOf(OUTCOME, from)));
      if (line.toString('latin1', line.length - 68, line.length - 2) !== digest) throw new Error('a digest differs');
    }
  }
  return engine.state.position / (performance.now() - start) * 1_000;
}

interface Signed { readonly bytes: Buffer; readonly digest: Uint8Array; readonly signature: Uint8Array; readonly recid: number }

async function signedOrders(): Promise<Signed[]> {
  const keccak256 = await createKeccak256();
  const { orderDigest } = prepareDomain(keccak256, domain);
  const key = createHash('sha256').update('bench').digest();
  const trader = toHex(keccak256(secp256k1.publicKeyCreate(key, false).subarray(1)).subarray(12));
  return Array.from({ length: ORDERS }, (_, n) => {
    const order = {
      marketId: `0x${'aa'.repeat(32)}`, trader, side: 0, outcome: 0, price: 500_000, size: String(1_000_000 + n), nonce: String(n), expiration: '1900000000',
    } as const;
    const digest = orderDigest(order);
    const { signature, recid } = secp256k1.ecdsaSign(digest, key);
    const command = newCommand('PlaceOrder', {
      at: 1_700_000_000_000, orderHash: toHex(digest), ...order, signature: `${toHex(signature)}${(27 + recid).toString(16)}`,
    });
    return { bytes: encodeCommand(command), digest, signature, recid };
  });
}

async function signatureRates(): Promise<{ readonly pool: number; readonly native: number }> {
  const orders = await signedOrders();
  const threads = usualThreads();
  const pool = createSignaturePool([domain], threads);
  const natives = Array.from({ length: threads }, () => new Worker(new URL('./native-recoveries.js', import.meta.url), { workerData: orders }));
  try {
    return await takingTurns({
      pool: () => poolRate(pool, orders),
      native: async () => {
        const busySeconds = processorTime();
        await Promise.all(natives.map((worker) => new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
          worker.postMessage(Math.ceil(PER_TURN / threads));
        })));
        return PER_TURN / busySeconds();
      },
    });
  } finally {
    await pool.close();
    for (const worker of natives) await worker.terminate();
  }
}

/** Processor time since the call, of all threads in seconds: what else runs on the machine does not count. */
function processorTime(): () => number {
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1e6;
  };
}

async function poolRate(pool: ReturnType<typeof createSignaturePool>, orders: readonly Signed[]): Promise<number> {
  const busySeconds = processorTime();
  for (let n = 0; n < PER_TURN; n++) {
    pool.add(n, orders[n % ORDERS]!.bytes, domain.chainId);
    if (n % 256 === 255) await pool.room();
  }
  if (await pool.drain() !== undefined) throw new Error('a good signature was refused');
  return PER_TURN / busySeconds();
}
