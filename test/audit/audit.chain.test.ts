/** The audit tools on a real exchange with a real chain and database: under load, of its own export, and of read models changed by hand. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AuditReport } from '../../tools/audit/report.js';
import { sendAnchoredBatch, type DeployedMarket } from '../support/deployed-chain.js';
import { ONE, caughtUp, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, cancelHeaders, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { runSql } from '../support/sql.js';
import { until } from '../support/until.js';

interface Ran { readonly code: number; readonly stdout: string; readonly stderr: string }

const programOf = (tool: 'audit' | 'export') => fileURLToPath(new URL(`../../tools/${tool}.js`, import.meta.url));

function run(tool: 'audit' | 'export', ...args: string[]): Promise<Ran> {
  const program = programOf(tool);
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function reportOf(...args: string[]): Promise<AuditReport & { readonly code: number }> {
  const { code, stdout, stderr } = await run('audit', '--json', ...args);
  ok(stdout.startsWith('{'), stderr);
  return { ...JSON.parse(stdout) as AuditReport, code };
}

const statusOf = ({ checks }: AuditReport) => Object.fromEntries(checks.map(({ name, status }) => [name, status]));

describe('the audit tools on a running exchange', function () {
  this.timeout(150_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let rain: DeployedMarket;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-audit-test-'));
    node = await tradedChain();
    rain = await node.createMarket();
    exchange = await exchangeStack({}, [node.configured()]);
    await caughtUp(exchange, node);
    await node.equip(bob, { shares: BigInt(1_000 * ONE), market: rain });
    await node.equip(alice, { usdc: BigInt(1_000 * ONE) });
  });
  after(async () => {
    await exchange.close();
    await node.stop();
    await rm(directory, { recursive: true });
  });

  async function trade(): Promise<number> {
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 600_000, size: ONE });
    return (await exchange.place(alice, { marketId: rain.marketId, price: 600_000, size: ONE })).position;
  }
  const everything = () => ['--url', exchange.url, '--rpc', `31337=${node.url}`, '--database', exchange.databaseUrl];

  it('pass while the exchange trades and settles', async () => {
    const cancelled = await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 900_000 });
    const answer = await exchange.request('DELETE', `/api/v1/orders/${cancelled.orderHash}?marketId=${rain.marketId}&side=sell`, {
      headers: await cancelHeaders(exchange.signing, bob, cancelled),
    });
    equal(answer.status, 200);
    // So that one settlement is certain to be in the history, whatever of the rest is when the audit begins.
    await settled(exchange, await trade());
    let done = false;
    const load = (async () => { while (!done) await trade(); })();
    const report = await reportOf(...everything()).finally(() => { done = true; });
    await load;
    deepEqual(report.difference, null);
    deepEqual([report.code, report.passed, new Set(Object.values(statusOf(report)))], [0, true, new Set(['passed'])]);
    const counts = Object.fromEntries(report.checks.map(({ name, count }) => [name, count]));
    for (const name of ['orderSignatures', 'cancelSignatures', 'anchors', 'settledFills', 'chainFacts', 'readModels']) ok(counts[name]! > 0, name);
  });

  it('pass on an export, in words', async () => {
    const file = join(directory, 'history.ndjson.gz');
    await settled(exchange, await trade());
    equal((await run('export', '--url', exchange.url, '--out', file)).code, 0);
    const { code, stdout } = await run('audit', '--file', file, '--rpc', `31337=${node.url}`);
    deepEqual([code, stdout.includes('PASSED'), stdout.includes('not made   rows of the read models against a rebuild (no --database)')], [0, true, true], stdout);
  });

  it('end with 2 for wrong arguments, and where nobody answers', async () => {
    await Promise.all(([
      [['--url', 'ftp://here'], /expected http/], [['--url', exchange.url, '--rpc', '5=http://127.0.0.1:1'], /names no contracts on chain 5/],
    ] as const).map(async ([args, said]) => {
      const { code, stderr } = await run('audit', ...args);
      equal(code, 2, stderr);
      match(stderr, said);
    }));
    const secret = 'http-and-postgres';
    await Promise.all([
      ['--database', `postgers://u:${secret}@h/d`], [`--databse=postgres://u:${secret}@h/d`],
      ['--rpc', `31337=ws://h/${secret}`], ['--url', `http://u:${secret}@h`], ['--database', `postgres://u:${secret}@127.0.0.1:1/d`],
    ].map(async (mistyped) => {
      const { code, stdout, stderr } = await run('audit', '--url', exchange.url, ...mistyped);
      deepEqual([code, stdout, stderr.includes(secret), stderr.length > 20], [2, '', false, true], stderr);
    }));
    match((await run('audit', '--help')).stdout, /Exit codes: 0 nothing differs/);
  });

  it('leave nothing behind when they are told to end', async () => {
    const place = join(directory, 'tmp');
    await mkdir(place);
    // The tool's own Postgres runs as another user where this one is root.
    for (const each of [directory, place]) await chmod(each, 0o755);
    const child = execFile(process.execPath, [programOf('audit'), ...everything(), '--no-signatures'], { env: { ...process.env, TMPDIR: place } });
    const said: string[] = [];
    child.stderr?.on('data', (text: string) => said.push(text));
    const ended = new Promise<number | null>((resolve) => { child.on('close', resolve); });
    let isOver = false;
    void ended.then(() => { isOver = true; });
    // The folder of the chain's positions, and then that of the rebuilt read models.
    const isRebuilding = async () => (await Promise.all((await readdir(place)).map((name) => readdir(join(place, name)).catch(() => [])))).flat().includes('postgres');
    await until('the tool rebuilds read models', async () => isOver || await isRebuilding() || undefined);
    child.kill('SIGTERM');
    deepEqual([await ended, await readdir(place)], [2, []], said.join(''));
    match(said.join(''), /^interrupted while the read models were compared/m);
  });

  it('find a row of the read models that was added, changed or removed by hand, and name it', async () => {
    await settled(exchange, await trade());
    const differenceAfter = async (statement: string) => {
      await runSql(exchange.databaseUrl, statement);
      const { code, passed, difference } = await reportOf(...everything(), '--no-signatures');
      deepEqual([code, passed, difference?.check], [1, false, 'readModels']);
      return difference!;
    };
    const added = await differenceAfter(`insert into read_models.levels values ('\\x${rain.marketId.slice(2)}', 1, 0, 10, 5)`);
    deepEqual([added.place, added.expected, (added.found as { size: number }).size], [{ table: 'levels' }, null, 5]);
    await runSql(exchange.databaseUrl, 'delete from read_models.levels where price = 10');
    const changed = await differenceAfter(
      'update read_models.positions set yes_shares = yes_shares + 1 where ctid = (select min(ctid) from read_models.positions)');
    deepEqual(changed.place, { table: 'positions' });
    const { expected, found } = changed as Record<'expected' | 'found', { readonly yes_shares: number }>;
    equal(found.yes_shares, expected.yes_shares + 1);
    // The markets come before the positions, which stay as they are now.
    const removed = await differenceAfter('delete from read_models.markets');
    deepEqual([removed.place, removed.found, (removed.expected as { number: number }).number], [{ table: 'markets' }, null, 0]);
  });

  it('find what an operator\'s key settled beside the history, by its transaction', async () => {
    const digest = `0x${'ab'.repeat(32)}`;
    await caughtUp(exchange, node);
    const txHash = await sendAnchoredBatch(node, { market: rain, seq: 1_000_000n, position: 0n, digest });
    const report = await reportOf('--url', exchange.url, '--rpc', `31337=${node.url}`, '--no-signatures');
    deepEqual([report.code, report.difference?.check, report.difference?.place.txHash, report.difference?.place.position], [1, 'anchors', txHash, 0]);
  });
});
