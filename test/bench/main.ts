/**
 * `npm run bench`: every performance claim as a line, each a ratio to a floor or a peer of the same run. `--compare REVISION` measures that revision
 * and the working tree in turns. `--records N`: how many records `restart` has. Exits non-zero on a miss, and where the working tree is slower.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../stack/embedded-postgres.js';
import { auditBench } from './audit.js';
import { batchesBench } from './batches.js';
import { bookBench } from './book.js';
import { compare } from './compare/compare.js';
import { countsBench } from './compare/counts.js';
import { WORKLOADS } from './compare/workloads.js';
import { engineBench } from './engine.js';
import { feedBench } from './feed.js';
import { growthBench } from './growth.js';
import { benchHttp } from './http.js';
import type { BenchLine } from './line.js';
import { listsBench } from './lists.js';
import { logBench } from './log.js';
import { logsBench } from './logs.js';
import { ordersBench } from './orders.js';
import { pricesBench } from './prices.js';
import { projectionsBench } from './projections.js';
import { readsBench } from './reads.js';
import { restartBench } from './restart.js';
import { rolesBench } from './roles.js';
import { settlementBench } from './settlement.js';
import { signatureBench } from './signature.js';
import { streamBench } from './stream.js';
import { streamsBench } from './streams.js';
import { waitingBench } from './waiting.js';

const suites: Readonly<Record<string, () => Promise<BenchLine[]>>> = {
  book: bookBench,
  engine: engineBench,
  signature: signatureBench,
  http: () => benchHttp(),
  counts: () => countsBench({ update }),
  orders: ordersBench,
  batches: batchesBench,
  log: async () => [...await onDatabase(logBench), ...await onDatabase(logsBench)],
  feed: () => onDatabase(feedBench),
  projections: () => onDatabase(projectionsBench),
  reads: () => onDatabase((url) => readsBench(url)),
  lists: () => onDatabase(listsBench),
  restart: () => onDatabase((url) => restartBench(url, records === undefined ? undefined : countOf(records))),
  growth: () => onDatabase(growthBench),
  prices: () => onDatabase(pricesBench),
  roles: rolesBench,
  audit: auditBench,
  settlement: () => onDatabase(settlementBench),
  stream: () => onDatabase(streamBench),
  streams: () => onDatabase(streamsBench),
  waiting: () => onDatabase(waitingBench),
};

const { values: { compare: revision, update, records }, positionals: asked } = parseArgs({
  allowPositionals: true, options: { compare: { type: 'string' }, update: { type: 'boolean', default: false }, records: { type: 'string' } },
});
const unknown = asked.filter((name) => !(name in suites));
if (unknown.length > 0) throw new Error(`no benchmark is called ${unknown.join(', ')}; there are ${Object.keys(suites).join(', ')}`);

if (revision === undefined) {
  for (const [name, run] of Object.entries(suites)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    for (const line of await run()) print(name, line);
  }
} else {
  for (const name of asked.length > 0 ? asked : Object.keys(WORKLOADS)) {
    if (!await compare(name, revision, (line) => { process.stdout.write(`${line}\n`); })) process.exitCode = 1;
  }
}

function countOf(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`--records is ${text}: expected a whole number, such as 10000000`);
  return count;
}

function print(suite: string, { name, figure, spread, unit, peer, target }: BenchLine): void {
  const ratio = peer === undefined ? undefined : figure / peer.figure;
  const wanted = [
    ...target.ratioAtLeast === undefined ? [] : [{ text: `at least ${target.ratioAtLeast} times`, met: ratio !== undefined && ratio >= target.ratioAtLeast }],
    ...target.ratioAtMost === undefined ? [] : [{ text: `at most ${target.ratioAtMost} times`, met: ratio !== undefined && ratio <= target.ratioAtMost }],
    ...target.atLeast === undefined ? [] : [{ text: `at least ${target.atLeast} ${unit}`, met: figure >= target.atLeast }],
    ...target.atMost === undefined ? [] : [{ text: `at most ${target.atMost} ${unit}`, met: figure <= target.atMost }],
  ];
  const met = wanted.every((each) => each.met);
  if (!met) process.exitCode = 1;
  const verdict = wanted.length === 0 ? 'told' : met ? 'met ' : 'MISS';
  const between = spread === undefined ? '' : ` (${shown(spread[0])} to ${shown(spread[1])})`;
  const against = peer === undefined ? '' : `, ${ratio!.toFixed(2)} times ${peer.name} (${shown(peer.figure)})`;
  const goal = wanted.length === 0 ? '' : `; wanted: ${wanted.map(({ text }) => text).join(', ')}`;
  process.stdout.write(`${verdict}  ${suite}: ${name}: ${shown(figure)} ${unit}${between}${against}${goal}\n`);
}

function shown(figure: number): string {
  return figure >= 1_000 ? Math.round(figure).toLocaleString('en-US') : figure.toPrecision(3);
}

/** Each suite with a database gets a cluster of its own, durable as in production. */
async function onDatabase(run: (url: string) => Promise<BenchLine[]>): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  await chmod(directory, 0o755);
  const server = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => undefined });
  try {
    return await run(server.url);
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
