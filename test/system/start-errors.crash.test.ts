/** What a start that cannot succeed says: one fatal line with a sentence that names the setting and what to do, no stack, and its exit code. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lockDirectory } from '../../service/machine/directory-lock.js';
import { testChain, type TestChain } from '../support/chain.js';
import { testDatabase } from '../support/postgres.js';
import { spawnService, spawnStack, type SpawnedService } from '../support/service-process.js';
import { until, within } from '../support/until.js';

type Environment = Readonly<Record<string, string>>;

const KEY = '11'.repeat(32);
const address = (digit: number): string => `0x${String(digit).repeat(40)}`;

describe('a start that cannot succeed', function () {
  this.timeout(120_000);
  let directory: string;
  let taken: Server;
  let databaseUrl: string;
  let chain: TestChain;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-errors-'));
    await chmod(directory, 0o755);
    taken = createServer();
    await new Promise<void>((resolve) => { taken.listen(0, '127.0.0.1', resolve); });
    databaseUrl = (await testDatabase()).url;
    chain = await testChain();
  });
  after(async () => {
    await new Promise((resolve) => { taken.close(resolve); });
    await chain.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  const portTaken = (): string => String((taken.address() as { port: number }).port);
  const write = (name: string, content: string): string => {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  const withDatabase = (environment: Environment): Environment => ({ DATABASE_URL: databaseUrl, CHAINS: 'none', ...environment });
  const contracts = {
    settlement: address(1), conditionalTokens: address(2), collateral: address(3), marketFactory: address(4), oracle: address(5),
    oracleResolver: address(6), quickResolver: address(7), multicall: address(8),
  };
  const chainsFile = (name: string, changes: object = {}): string => write(name, JSON.stringify({ chains: [{
    chainId: 31_337, name: 'Here', testnet: true, rpcUrls: [chain.url], contracts, confirmations: 0, startBlock: 0,
    settlementDomainName: 'Here', exposureCheck: false, operatorKey: { env: 'THE_KEY' }, ...changes,
  }] }));

  /** Waits for the end of the start; returns the message of its one fatal line. */
  async function refusal({ exited, lastLines }: SpawnedService, code: number): Promise<string> {
    const exitCode = await within('the end of the start', exited);
    const lines = lastLines();
    const fatal = lines.filter((line) => line.includes('"level":"fatal"')).map((line) => JSON.parse(line) as { msg: string });
    assert.deepEqual(lines.filter((line) => /^ +at |\\n +at /.test(line)), [], 'a stack');
    assert.equal(fatal.length, 1, lines.join('\n'));
    assert.deepEqual(Object.keys(fatal[0]!).sort(), ['at', 'level', 'msg']);
    assert.equal(exitCode, code, fatal[0]!.msg);
    return fatal[0]!.msg;
  }

  const cases: readonly (readonly [string, () => Environment | Promise<Environment>, number, RegExp])[] = [
    ['PORT is taken', () => ({ PORT: portTaken() }), 1,
      /^the exchange cannot start: 127\.0\.0\.1:\d+ is in use: stop what listens there, or set PORT to another port$/],
    ['HOST is another machine\'s', () => withDatabase({ HOST: '192.0.2.1', PORT: '8080' }), 78, /192\.0\.2\.1 is not an address of this machine .*: correct HOST$/],
    ['DATA_DIR is below a file', () => ({ DATA_DIR: join(write('file', ''), 'data') }), 78,
      /DATA_DIR cannot be used: a part of the path is not a directory \(ENOTDIR, .*\): set DATA_DIR to a directory that this user can write to/],
    ['DATA_DIR is of another Postgres', () => ({ DATA_DIR: dirname(dirname(dirname(write('old/postgres/cluster/PG_VERSION', '9\n')))) }), 78,
      /\(DATA_DIR\) was made by Postgres 9, and this program brings Postgres \d+: set DATA_DIR to another directory/],
    ['DATA_DIR has a chain of another version', () => {
      write('chain/chain/kept/state.json', '');
      return withDatabase({ CHAINS: 'dev', DATA_DIR: dirname(dirname(dirname(write('chain/chain/kept/manifest.json', '{"version":1}')))) });
    }, 78, /was made by another version of the program, or is damaged: .*move the whole data directory \(DATA_DIR, .*\) away/],
    ['DATA_DIR is in use', async () => {
      const data = join(directory, 'locked');
      mkdirSync(join(data, 'postgres'), { recursive: true });
      await lockDirectory(join(data, 'postgres'));
      return { DATA_DIR: data };
    }, 1, new RegExp(`is in use by process ${process.pid}: stop that process first, or use another directory \\(DATA_DIR\\)$`)],
    ['CHAIN_PORT is taken', () => withDatabase({ CHAINS: 'dev', CHAIN_PORT: portTaken() }), 1,
      /port \d+ of the development chain is in use: set CHAIN_PORT to another port, or to 0 for any free port$/],
    ['the certificate of EventStoreDB is not there', () => withDatabase({ LOG_URL: 'esdb://me:hidden@127.0.0.1:1?tlsCAFile=absent.crt' }), 78,
      /LOG_URL: the file of tlsCAFile \(absent\.crt\) cannot be read \(ENOENT\)/],
    ['Postgres refuses the password', () => {
      const wrong = new URL(databaseUrl);
      wrong.password = 'wrong';
      return withDatabase({ LOG_URL: wrong.href });
    }, 78, /the Postgres of LOG_URL .* does not let this user in \(password authentication failed .*\): correct user and password$/],
    ['the database does not exist', () => withDatabase({ OUTBOX_URL: new URL('/nowhere', databaseUrl).href }), 78,
      /the Postgres of OUTBOX_URL .* is not there \(.*\): create the database, or correct its name$/],
    ['the chains file is missing', () => withDatabase({ CHAINS: join(directory, 'absent.json') }), 78, /the chains file .*absent\.json \(CHAINS\) .*cannot be read \(ENOENT\)$/s],
    ['the chains file is not JSON', () => withDatabase({ CHAINS: write('bad.json', '{') }), 78, /the chains file .*bad\.json \(CHAINS\) .*it is not JSON/s],
    ['the chains file has wrong fields', () => withDatabase({ CHAINS: chainsFile('fields.json', { chainId: 'x' }), THE_KEY: KEY }), 78,
      /the chains file .*fields\.json \(CHAINS\) .*\/chains\/0\/chainId/s],
    ['the key is missing', () => withDatabase({ CHAINS: chainsFile('keyless.json') }), 78,
      /\/chains\/0\/operatorKey: the environment variable THE_KEY is not set$/],
    ['the contracts are others', () => withDatabase({ CHAINS: chainsFile('contracts.json'), THE_KEY: KEY }), 78,
      /the contracts on chain 31337 are not those of the settings:.*there is no contract at 0x1{40}.*in the chains file \(CHAINS\)$/s],
    ['the nodes are on another chain', () => withDatabase({ CHAINS: chainsFile('foreign.json', { chainId: 5 }), THE_KEY: KEY }), 78,
      /is on chain 31337 and not on chain 5: correct the chain's RPC URLs or its chain id in the chains file \(CHAINS\)$/],
    ['the catalogue is missing', () => withDatabase({ CATALOGUE: join(directory, 'absent.json') }), 78, /\(ENOENT\): correct CATALOGUE, or unset it/],
    ['the catalogue is malformed', () => withDatabase({ CATALOGUE: write('catalogue.json', '{"markets":1}') }), 78, /\(CATALOGUE\) is malformed: .*: correct the file$/],
  ];
  const begun: Promise<{ readonly message: string; readonly lines: readonly string[] }>[] = [];
  /** Two at a time, since a start has one thread: each begins when the one before the last has ended. */
  const begin = (i: number): typeof begun[number] => begun[i] ??= (async () => {
    await begun[i - 2]?.catch(() => undefined);
    const [, environment, code] = cases[i]!;
    const spawned = spawnService({ DATA_DIR: join(directory, `data-${i}`), CHAIN_PORT: '0', ...await environment() });
    return { message: await refusal(spawned, code), lines: spawned.lastLines() };
  })();
  before('begins all of them', () => { for (const i of cases.keys()) begin(i).catch(() => undefined); });
  for (const [i, [what, , , message]] of cases.entries()) {
    it(`says what to do: ${what}`, async () => {
      const { message: said, lines } = await begin(i);
      assert.match(said, message);
      assert.equal(lines.some((line) => line.includes('hidden')), false, 'a secret');
    });
  }

  it('says what to do: the history was made on another chain', async () => {
    const { url } = await testDatabase();
    const settings = { DATABASE_URL: url, CHAINS: 'none', DATA_DIR: join(directory, 'data') };
    const made = spawnService(settings);
    await made.listening;
    made.child.kill('SIGTERM');
    await within('the service stops', made.exited);
    assert.match(await refusal(spawnService({ ...settings, CHAIN_ID: '5' }), 78),
      /the history has markets on chain 31337, but the settings \(CHAINS, CHAIN_ID\) name only 5: set it back, or start with an empty database/);
  });

  it('notices a taken PORT before anything is set up, with a process per role too', async () => {
    const spawnOne = (environment: Record<string, string>) => spawnStack(environment, 1);
    for (const [spawn, what] of [[spawnService, 'the exchange'], [spawnOne, 'the stack']] as const) {
      const data = join(directory, 'untouched');
      assert.match(await refusal(spawn({ DATA_DIR: data, PORT: portTaken() }), 1), new RegExp(`^${what} cannot start: .* is in use: .* set PORT to another port$`));
      assert.equal((await readdir(directory)).includes('untouched'), false);
    }
  });

  it('shows the stack with LOG_LEVEL=debug, on a line of its own', async () => {
    const { exited, lastLines } = spawnService({ DATA_DIR: join(directory, 'data'), PORT: portTaken(), LOG_LEVEL: 'debug' });
    assert.equal(await within('the end of the start', exited), 1);
    const levels = lastLines().filter((line) => line.includes('is in use')).map((line) => JSON.parse(line) as { level: string; error?: string });
    assert.deepEqual(levels.map(({ level, error }) => [level, error?.includes('\n    at ') ?? false]), [['fatal', false], ['debug', true]]);
  });

  it('lists all faults of the settings, without a stack', async () => {
    const { exited, lastLines } = spawnService({ PORT: 'x', LOG_LEVEL: 'loud' });
    assert.equal(await within('the end of the start', exited), 78);
    assert.deepEqual(lastLines().map((line) => line.replace(/:.*/, '')), ['The configuration is wrong in 2 places', '  PORT', '  LOG_LEVEL']);
  });

  it('is none with the development chain, whose own settlement contract is logged, and no setting that does not count', async () => {
    const { url } = await testDatabase();
    const service = spawnService(withDatabase({ DATABASE_URL: url, CHAINS: 'dev', CHAIN_PORT: '0', DATA_DIR: join(directory, 'dev') }));
    const { chains: [named] } = await (await fetch(`${await service.listening}/api/v1/config`)).json() as { chains: { contracts: { settlement: string } }[] };
    const lines = service.lastLines().map((line) => JSON.parse(line) as Record<string, unknown>);
    service.child.kill('SIGTERM');
    assert.equal(await within('the service stops', service.exited), 0);
    assert.equal(lines.find(({ msg }) => msg === 'orders settle on this chain')?.['settlement'], named!.contracts.settlement);
    const starting = Object.keys(lines.find(({ msg }) => msg === 'starting') ?? {});
    assert.deepEqual(['CHAIN_PORT', 'KAFKA_TOPIC', 'PROCESSES'].map((name) => starting.includes(name)), [true, false, false]);
  });

  it('is none with a Postgres that is not there: every endpoint says so at once, without the password, and SIGTERM ends it', async () => {
    const service = spawnService(withDatabase({ DATABASE_URL: 'postgres://me:hidden@127.0.0.1:1/x', DATA_DIR: join(directory, 'absent') }));
    const url = await service.answering;
    const waits = 'waiting for the log and the read models and the outbox at 127.0.0.1:1/x: it refuses connections (ECONNREFUSED)';
    const asked = async (path: string, method = 'GET') => {
      const answer = await fetch(`${url}${path}`, { method, ...method === 'POST' ? { body: '{}' } : {} });
      return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.json() as Record<string, unknown> };
    };
    assert.deepEqual(await asked('/health/live').then(({ status }) => status), 200);
    await until('the reason is told', async () => (await asked('/health/ready')).body['reasons']?.toString() === waits);
    const { status, body } = await asked('/health/ready');
    assert.deepEqual([status, body['ready'], body['reasons']], [503, false, [waits]]);
    for (const [path, method] of [['/api/v1/orders', 'POST'], ['/api/v1/markets', 'GET'], ['/api/v1/config', 'GET'], ['/api/v1/relayer/ctf-split', 'POST']] as const) {
      const refused = await asked(path, method);
      assert.deepEqual([refused.status, refused.retryAfter], [503, '1'], path);
    }
    service.child.kill('SIGTERM');
    assert.equal(await within('the service stops', service.exited), 0);
    const lines = service.lastLines();
    assert.equal(lines.filter((line) => line.includes(waits)).length, 1, 'told once');
    assert.equal(lines.some((line) => line.includes('hidden')), false, 'a secret');
  });

  it('is none with a chain that cannot be reached: orders are taken, and their fills wait', async () => {
    const { url } = await testDatabase();
    const service = spawnService({
      DATABASE_URL: url, DATA_DIR: join(directory, 'away'), THE_KEY: KEY, CHAINS: chainsFile('away.json', { rpcUrls: ['http://127.0.0.1:1'] }),
    });
    await service.listening;
    service.child.kill('SIGTERM');
    assert.equal(await within('the service stops', service.exited), 0);
    assert.match(service.lastLines().join('\n'), /its fills wait until the chain can be reached/);
  });
});
