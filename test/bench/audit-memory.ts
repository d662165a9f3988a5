/** The memory of `npm run audit`, signatures included, over a history and over one ten times as long: neither records nor digests are kept. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type * as Secp256k1 from 'secp256k1';
import { createKeccak256, prepareDomain, type Keccak256, type OrderDomain } from '../../command/signing/typed-data.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { toHex } from '../../engine/records/hex.js';
import { newCommand } from '../support/commands.js';
import { T0, marketCommands } from './engine.js';
import { historyLines } from './history-lines.js';
import type { BenchLine } from './line.js';

/** Ten million: AUDIT_RECORDS=10000000. */
const RECORDS = Number(process.env['AUDIT_RECORDS'] ?? 1_000_000);
const MOST_MB = 400;

const PROGRAM = fileURLToPath(new URL('../../tools/audit.js', import.meta.url));
// By require: an import would also read the package's JavaScript fallback.
const secp256k1 = createRequire(import.meta.url)('secp256k1') as typeof Secp256k1;

export async function auditMemory(directory: string, domain: OrderDomain): Promise<BenchLine> {
  const [shorter, longer] = [await peakMb(directory, domain, RECORDS / 10), await peakMb(directory, domain, RECORDS)];
  return {
    name: `peak memory of npm run audit with signatures, ${RECORDS} records`, figure: longer, unit: 'MB',
    peer: { name: `the same of ${RECORDS / 10} records`, figure: shorter }, target: { atMost: MOST_MB },
  };
}

/** The most memory that the program had, in MB. */
async function peakMb(directory: string, domain: OrderDomain, records: number): Promise<number> {
  const path = join(directory, `signed-${records}.ndjson`);
  const config = { cancelAuth: 'required', chains: [{ orderDomain: domain }] };
  await pipeline(Readable.from(lines(domain, records, config)), createWriteStream(path));
  const child = spawn(process.execPath, [PROGRAM, '--json', '--file', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let report = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => { report += text; });
  let running = true;
  const ended = new Promise<void>((resolve) => child.once('close', () => { running = false; resolve(); }));
  let peakKb = 0;
  while (running) {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    peakKb = Math.max(peakKb, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
    await Promise.race([ended, sleep(200)]);
  }
  const { passed, checks } = JSON.parse(report) as { passed: boolean; checks: { name: string; count: number }[] };
  const signed = checks.find(({ name }) => name === 'orderSignatures')?.count ?? 0;
  if (!passed || signed < records / 3) throw new Error(`the audit of ${records} records ended with ${report}`);
  return Math.round(peakKb / 1_024);
}

async function* lines(domain: OrderDomain, records: number, config: object): AsyncGenerator<string> {
  const keccak256 = await createKeccak256();
  yield `${JSON.stringify({ export: 'prediction-exchange history', v: 1, records, config })}\n`;
  yield* historyLines(signedTrades(records, { keccak256, domain }));
}

/** The markets, then pairs of signed orders that fill each other entirely and settle at once: after them nothing rests. */
function* signedTrades(records: number, { keccak256, domain }: { readonly keccak256: Keccak256; readonly domain: OrderDomain }): Generator<Buffer> {
  const markets = marketCommands();
  yield* markets;
  const { orderDigest } = prepareDomain(keccak256, domain);
  const traders = ['buyer', 'seller'].map((name) => {
    const key = createHash('sha256').update(name).digest();
    return { key, trader: toHex(keccak256(secp256k1.publicKeyCreate(key, false).subarray(1)).subarray(12)) };
  });
  for (let n = 0; n < records - markets.length; n++) {
    const [at, trade] = [T0 + n, Math.floor(n / 4)];
    if (n % 4 === 2) yield encodeCommand(newCommand('SettleFill', { at, fill: trade, txHash: `0x${trade.toString(16).padStart(64, '0')}` }));
    else if (n % 4 === 3) yield encodeCommand(newCommand('AdvanceClock', { at }));
    else {
      const { key, trader } = traders[n % 4]!;
      const order = {
        marketId: `0x${'aa'.padEnd(64, '0')}`, trader, side: (n % 4) as 0 | 1, outcome: 0, price: 500_000, size: '1000000', nonce: String(n),
        expiration: String(Math.floor(at / 1_000) + 90),
      } as const;
      const digest = orderDigest(order);
      const { signature, recid } = secp256k1.ecdsaSign(digest, key);
      yield encodeCommand(newCommand('PlaceOrder', {
        at, orderHash: toHex(digest), ...order, signature: `${toHex(signature)}${(27 + recid).toString(16)}`,
      }));
    }
  }
}
