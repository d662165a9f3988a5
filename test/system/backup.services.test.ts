/** `npm run tool -- backup` while orders are taken: restored into another Postgres, it has the same digest, and the exchange goes on there. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { decodeOutcome } from '../../engine/records/codec.js';
import { openLog } from '../../engine/log/open-log.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../stack/embedded-postgres.js';
import type { Answered } from '../support/documented-client.js';
import { alice, bob, exchangeStack, lower, type ExchangeStack, type Placed } from '../harness/exchange.js';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../../tools/backup.js', import.meta.url));

/** Reads of which each is from another read model. */
const PATHS = (market: string): readonly string[] => [
  `/api/v1/orderbook/${market}`, `/api/v1/users/${lower(alice)}/orders?chain_id=31337`, `/api/v1/users/${lower(bob)}/activity?chain_id=31337`, `/api/v1/trades/${market}`,
];

describe('system: backup and restore', () => {
  let directory: string;
  let original: ExchangeStack;
  let elsewhere: EmbeddedPostgres;
  let restored: ExchangeStack | undefined;
  let again: ExchangeStack | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-backup-'));
    original = await exchangeStack();
    elsewhere = await startEmbeddedPostgres({
      directory: join(directory, 'postgres'), log: () => undefined, settings: { shared_buffers: '64MB', min_wal_size: '80MB' },
    });
  });
  after(async () => {
    await restored?.close();
    await again?.stop();
    await original.close();
    await elsewhere.stop();
    await rm(directory, { recursive: true });
  });

  /** Runs the documented command on a log. Returns what it says. */
  async function backup(url: string, ...args: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [PROGRAM, ...args], { env: { DATABASE_URL: url, LOG_LEVEL: 'info' } });
    return stdout.trim();
  }

  /** Orders in threes: one, one that fills it, and one that rests. */
  async function trade(exchange: ExchangeStack, goOn: () => boolean): Promise<Placed[]> {
    const placed: Placed[] = [];
    while (goOn()) {
      placed.push(await exchange.place(alice, { side: 0 }), await exchange.place(bob, { side: 1 }));
      placed.push(await exchange.place(alice, { price: 1_000 }));
    }
    return placed;
  }

  async function digestAt(url: string, position: number): Promise<string> {
    const log = await openLog(url);
    const [record] = await log.read('outcomes', position, 1);
    await log.close();
    assert.ok(record !== undefined);
    return decodeOutcome(record.data).digest;
  }

  const file = () => join(directory, 'log.backup.gz');
  let earlier: readonly Placed[];

  it('is written while orders are taken, and replays to the digest of the log', async () => {
    let rounds = 0;
    earlier = await trade(original, () => rounds++ < 30);
    let writing = true;
    const trading = trade(original, () => writing);
    const said = await backup(original.databaseUrl, 'write', file()).finally(() => { writing = false; });
    const commands = Number(/: (\d+) commands/.exec(said)?.[1]);
    assert.ok((await trading).length > 0 && commands >= earlier.length, said);
    const checked = await backup('', 'check', file());
    assert.equal(/digest (0x\w+)/.exec(checked)?.[1], await digestAt(original.databaseUrl, commands - 1));
  });

  it('restored elsewhere has the same books, orders and trades, and the exchange goes on', async () => {
    await original.stop();
    const whole = join(directory, 'whole.backup');
    await backup(original.databaseUrl, 'write', whole);
    const said = await backup(elsewhere.tcpUrl, 'restore', whole);
    const digest = /digest (0x\w+)/.exec(said)?.[1];
    const refusal = await backup(original.databaseUrl, 'restore', file()).catch((error: unknown) => (error as { stderr: string }).stderr);
    assert.match(refusal, /^the log is not empty: it has \d+ commands and \d+ outcomes, which differ from .* from position \d+ on\. [^\n]+\n$/);
    // Nothing else is restored: neither read models nor outbox nor snapshots.
    restored = await exchangeStack({ LOG_URL: elsewhere.tcpUrl });
    again = await original.restart();
    const position = Number(/restored (\d+) commands/.exec(said)?.[1]) - 1;
    assert.equal(await digestAt(elsewhere.tcpUrl, position), digest);
    assert.equal(await digestAt(original.databaseUrl, position), digest);
    for (const path of PATHS(original.rain.id)) {
      const ask = (exchange: ExchangeStack) => exchange.request('GET', path, { headers: { 'X-Min-Log-Position': String(position) } });
      const here: Answered = await ask(again);
      const there: Answered = await ask(restored);
      assert.deepEqual([there.status, there.text], [200, here.text], path);
    }
    // An order from before the restore gets its first answer; new ones trade.
    const [first] = earlier;
    const repeat = await restored.request('POST', '/api/v1/orders', { body: first!.sent });
    assert.deepEqual([repeat.status, (repeat.body as { orderHash: string }).orderHash], [200, first!.orderHash]);
    let rounds = 0;
    const newer = await trade(restored, () => rounds++ < 2);
    assert.equal(newer.length, 6);
  });
});
