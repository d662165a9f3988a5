/** `npm run audit -- --url URL`: audits a running exchange, or an exported history, from position 0. docs/audit.md says what it checks. */
import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import type { Rpc } from '../command/chain/chain.js';
import { createRpc } from '../command/chain/rpc.js';
import { isBytes32 } from '../engine/records/hex.js';
import { audit } from './audit/audit.js';
import type { Stage } from './audit/audit-options.js';
import { CannotAudit } from './audit/difference.js';
import { printable } from './audit/printable.js';
import { createProgress } from './audit/progress.js';
import { reportText } from './audit/report.js';
import { readDescription, type DescribedExchange } from './audit/source/described.js';
import { openFile } from './audit/source/file-source.js';
import { openService, type ServiceSourceOptions } from './audit/source/service-source.js';
import type { AuditSource } from './audit/source/source.js';
import { databaseUrl, httpUrl, integer } from '../service/settings.js';
import { DIFFERS, EXIT_CODES, PASSED, runProgram } from './audit/exit-codes.js';
import { argument } from './terminal/tool.js';

interface Options {
  readonly url?: string;
  readonly file?: string;
  readonly config?: string;
  readonly rpc: ReadonlyMap<number, readonly string[]>;
  readonly database?: string;
  readonly json?: true;
  readonly checkpoint?: string;
  readonly threads?: number;
  readonly signatures: boolean;
  readonly unsignedCancels?: true;
  readonly passOverAnchor: ReadonlySet<string>;
  readonly passOverFill: ReadonlySet<string>;
}

/** A wait is told of at once, since nothing else happens meanwhile. */
const STAGES: Readonly<Record<Stage, { readonly what: string; readonly atOnce?: boolean }>> = {
  'records': { what: 'records' }, 'blocks': { what: 'blocks' }, 'read models': { what: 'read models' },
  'tail': { what: 'waiting for the tail, which the chain anchors: records', atOnce: true },
};

const program = new Command('audit')
  .description('Replays the whole history with an own engine and checks every record, signature, anchor and fill; reports the first difference.')
  .option('--url <url>', 'a running exchange', argument(httpUrl))
  .option('--file <path>', 'a file of npm run tool -- export, or a download of /api/v1/events as NDJSON, compressed with gzip or not')
  .option('--config <path>', 'with --file: a saved answer of /api/v1/config, for a file that does not say its signing domains')
  .option('--rpc <chain=url>', 'a node of a chain, as 137=https://host; repeat it for other chains or nodes', rpcs, new Map<number, readonly string[]>())
  .option('--database <url>', 'the database of the read models, which are compared with a rebuild; only reads', argument(databaseUrl))
  .option('--json', 'print the report as JSON')
  .option('--checkpoint <path>', 'keep the progress there, and go on from it')
  .option('--threads <count>', 'threads that check signatures; default: all cores but one', argument(integer(1, 256)))
  .option('--no-signatures', 'do not check signatures')
  .option('--unsigned-cancels', 'accept cancels without a signature, also where the service says that they need one')
  .option('--pass-over-anchor <hash>', 'a transaction whose anchor you know to be false; repeat it for others. Any other that the history passes over is a difference', hashes, new Set<string>())
  .option('--pass-over-fill <hash>', 'a transaction whose fills you know to be false; repeat it for others. Any other that the history passes over is a difference', hashes, new Set<string>())
  .addHelpText('after', EXIT_CODES)
  .action(run);
void runProgram(program, process.argv);

async function run(options: Options): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { interrupted.abort(); });
  const bars = new Map<string, ReturnType<typeof createProgress>>();
  const say = (text: string): void => {
    for (const bar of bars.values()) bar.end();
    process.stderr.write(`${printable(text)}\n`);
  };
  try {
    const source = await open(options, { report: say, signal: interrupted.signal });
    const report = await audit({
      source, rpcs: nodesOf(options.rpc, say), threads: options.signatures ? options.threads : 0, unsignedCancels: options.unsignedCancels === true,
      passedOverAnchors: options.passOverAnchor, passedOverFills: options.passOverFill, databaseUrl: options.database, signal: interrupted.signal,
      checkpoint: options.checkpoint === undefined ? undefined : { path: options.checkpoint },
      onProgress(stage, done, total) {
        const bar = bars.get(stage) ?? createProgress({ ...STAGES[stage], sink: process.stderr, nowMs: () => performance.now(), from: done });
        bars.set(stage, bar);
        bar.update(done, total);
      },
    });
    for (const bar of bars.values()) bar.end();
    process.stdout.write(options.json === true ? `${JSON.stringify(report)}\n` : reportText(report));
    process.exitCode = report.passed ? PASSED : DIFFERS;
  } finally {
    for (const bar of bars.values()) bar.end();
  }
}

async function open({ url, file, config }: Options, waiting: Pick<ServiceSourceOptions, 'report' | 'signal'>): Promise<AuditSource> {
  if ((url === undefined) === (file === undefined)) throw new CannotAudit('give either --url or --file');
  if (config !== undefined && file === undefined) throw new CannotAudit('--config goes with --file: a service says itself what --config would');
  if (file !== undefined) return await openFile(file, config === undefined ? undefined : await descriptionIn(config));
  return await openService({ url: url ?? '', ...waiting });
}

async function descriptionIn(path: string): Promise<DescribedExchange> {
  try {
    return readDescription(JSON.parse(await readFile(path, 'utf8')), path);
  } catch (error) {
    throw error instanceof CannotAudit ? error : new CannotAudit(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function rpcs(text: string, before: ReadonlyMap<number, readonly string[]>): ReadonlyMap<number, readonly string[]> {
  const [, chain = '', url = ''] = /^(\d{1,15})=(https?:\/\/.+)$/.exec(text) ?? [];
  if (url === '') throw new InvalidArgumentError('expected CHAIN_ID=URL, as 137=https://host');
  return new Map([...before, [Number(chain), [...before.get(Number(chain)) ?? [], url]]]);
}

function hashes(text: string, before: ReadonlySet<string>): ReadonlySet<string> {
  if (!isBytes32(text)) throw new InvalidArgumentError('expected the hash of a transaction: 0x and 64 hex digits');
  return new Set([...before, text.toLowerCase()]);
}

function nodesOf(urls: Options['rpc'], say: (text: string) => void): ReadonlyMap<number, Rpc> {
  return new Map([...urls].map(([chainId, each]) => [chainId, createRpc({
    chainId, urls: each, now: () => performance.now(), report: (level, text) => { if (level !== 'info') say(text); },
  })]));
}
