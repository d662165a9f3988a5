/**
 * The log loses records under running processes: an asynchronous standby of its Postgres is promoted, an older state is restored. Every process
 * ends with a code after which nobody starts it again, and no order is answered with what has become of another one.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet, id } from 'ethers';
import { BAD_CONFIGURATION } from '../../service/exit-codes.js';
import { signedBody, signingOf, type SigningConfig } from '../harness/exchange.js';
import { exchangeDatabase } from '../support/postgres.js';
import { onDatabase } from '../support/sql.js';
import { startReplicatedPostgres } from '../support/replicated-postgres.js';
import { spawnService, type SpawnedService } from '../support/service-process.js';
import { until, within } from '../support/until.js';

const LOST = /the log has lost records: its store has \d+ (commands|outcomes) and had \d+, so positions? [\w ]+ gone; stop every process/;

interface Answer {
  readonly status: number;
  readonly text: string;
}

describe('a log that loses records', function () {
  this.timeout(120_000);
  let directory: string;
  const running: SpawnedService[] = [];
  let nonce = 0;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-lost-')); });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  afterEach(() => { for (const { child } of running.splice(0)) child.kill('SIGKILL'); });

  function start(environment: Record<string, string>): SpawnedService {
    const service = spawnService({ CHAINS: 'none', LOG_LEVEL: 'info', ...environment });
    running.push(service);
    return service;
  }

  /** Orders of one trader per side, each with its own nonce; the markets come from a process with the role `query`. */
  async function tradersAt(url: string, queryUrl = url) {
    const config = await (await fetch(`${url}/api/v1/config`)).json() as SigningConfig;
    const marketId = await until('there is a market', async () => {
      const { markets } = await (await fetch(`${queryUrl}/api/v1/markets`)).json() as { markets: { id: string }[] };
      return markets[0]?.id;
    });
    const wallets = ['buyer', 'seller'].map((name) => new Wallet(id(`lost records: ${name}`)));
    return async (side: 'buy' | 'sell', price: number, size: number): Promise<Answer> => {
      const number = side === 'buy' ? 0 : 1;
      const body = await signedBody(signingOf(config), wallets[number]!, {
        marketId, nonce: ++nonce, side: number, price, size,
      });
      const response = await fetch(`${url}/api/v1/orders`, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
      return { status: response.status, text: await response.text() };
    };
  }
  const query = (url: string, sql: string) => onDatabase(url, (client) => client.query<{ length: string }>(sql));
  const lengthAt = async (url: string): Promise<number> => (
    Number((await query(url, 'select length from log.streams where stream = 0')).rows[0]?.length ?? 0));

  async function endsForGood({ exited, lastLines }: SpawnedService, what: RegExp): Promise<void> {
    equal(await within(() => `the process ends, whose last lines are\n${lastLines().join('\n')}`, exited), BAD_CONFIGURATION, lastLines().join('\n'));
    const lines = lastLines().filter((line) => what.test(line)).map((line) => (JSON.parse(line) as { level: string }).level);
    ok(lines.includes('error') || lines.includes('fatal'), lastLines().join('\n'));
  }

  it('a standby without the last commits is promoted: the process ends, answers no order, and is not started again on less than it knew', async () => {
    const postgres = await startReplicatedPostgres();
    try {
      const settings = { DATABASE_URL: postgres.primary, DATA_DIR: join(directory, 'data') };
      const service = start(settings);
      const url = await service.listening;
      const place = await tradersAt(url);
      for (let i = 0; i < 4; i++) equal((await place('sell', 500_000, 1_000_000)).status, 200);
      const before = await lengthAt(postgres.primary);
      await until('the standby has all', async () => await lengthAt(postgres.standby) === before);
      postgres.cutReplication();
      // The first order after the failover could get this place in the log, and this answer.
      match((await place('buy', 700_000, 4_000_000)).text, /"matches":4/);
      for (let i = 0; i < 3; i++) equal((await place('buy', 100_000, 1_000_000)).status, 200);
      await postgres.failOver();
      equal(await lengthAt(postgres.primary), before);
      const answers = await Promise.all(Array.from({ length: 10 }, () => place('buy', 100_000, 1_000_000).catch(() => undefined)));
      deepEqual(answers.filter((answer) => answer !== undefined && answer.status !== 503), []);
      await endsForGood(service, LOST);
      equal(await lengthAt(postgres.primary), before, 'nothing was written to it');

      const again = start(settings);
      await endsForGood(again, /its store has \d+ commands, and the newest snapshot in .* includes \d+, so positions \d+ to \d+ are gone/);
      await rm(join(directory, 'data', 'snapshots'), { recursive: true });
      const accepted = await tradersAt(await start(settings).listening);
      match((await accepted('buy', 100_000, 1_000_000)).text, /"matches":0/);
    } finally {
      await postgres.stop();
    }
  });

  it('an older state is restored under processes of every role: all of them end', async () => {
    const database = await exchangeDatabase();
    const of = (roles: string) => start({ DATABASE_URL: database.url, ROLES: roles, DATA_DIR: join(directory, roles) });
    const services = ['engine indexer', 'projections', 'query', 'api'].map(of);
    const [, , queryUrl, apiUrl] = await Promise.all(services.map(({ listening }) => listening));
    const place = await tradersAt(apiUrl!, queryUrl);
    equal((await place('sell', 500_000, 1_000_000)).status, 200);
    await query(database.url, 'create table saved as select * from log.records; create table saved_lengths as select * from log.streams');
    for (let i = 0; i < 3; i++) equal((await place('buy', 500_000, 1_000_000)).status, 200);
    // Who does not know of what is lost serves what there is: this one has to know.
    await until('the query process knows the orders', async () => (
      (await (await fetch(`${queryUrl!}/api/v1/events?from=${await lengthAt(database.url) - 1}`)).json() as { count: number }).count === 1));
    // Nor do these tell what they know; a start asks. Without a chain only the process itself reads the log where lane, settlement and feed are.
    services.push(...['lane settlement feed', 'relayer prices'].map(of));
    await Promise.all(services.map(({ listening }) => listening));
    await query(database.url, `
      begin; truncate log.records; insert into log.records select * from saved;
      update log.streams set length = saved.length from saved_lengths saved where saved.stream = streams.stream; commit`);
    for (const service of services) await endsForGood(service, LOST);
    await database.drop();
  });
});
