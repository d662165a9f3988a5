/** The settings of a stack's processes: those of the stack, with what it has started, and none that a process would refuse. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { parseConfig, type Config } from '../../service/config.js';
import { ROLE_NAMES, type RoleName } from '../../service/process/roles.js';
import { childEnvironment } from '../../stack/child-environment.js';

type Environment = Readonly<Record<string, string | undefined>>;

const urls = { log: 'postgres://db/log', readModels: 'postgres://db/models', outbox: 'postgres://db/outbox' };
const DEV_CHAINS = join('/var/exchange', 'chain', 'chains.json');

const childOf = (environment: Environment, hasDevChain = false, roles: readonly RoleName[] = ROLE_NAMES): Record<string, string> => (
  childEnvironment(parseConfig(environment), { environment, urls, hasDevChain, keyVariables: ['POLYGON_KEY'] }, { roles, port: 8081, metricsPort: undefined }));

describe('service: the settings of a stack\'s processes', () => {
  it('name the databases and the chain that the stack has started', () => {
    assert.deepEqual(childOf({ DATA_DIR: '/var/exchange' }, true, ['query', 'api']), {
      ROLES: 'query,api', PORT: '8081', DATA_DIR: '/var/exchange', DATABASE_URL: urls.readModels, LOG_URL: urls.log, OUTBOX_URL: urls.outbox, CHAINS: DEV_CHAINS,
      CANCEL_AUTH: 'open', RATE_LIMIT_ORDERS: '0', RATE_LIMIT_READS: '0', MIN_FREE_DISK_MB: '512',
      STOP_GRACE_MS: '0', MAX_PRICE_STREAMS_PER_ADDRESS: '0', PRICE_SOURCES: 'simulated',
    });
  });

  it('keep the stack\'s chains when it has started no chain', () => {
    const database = { DATABASE_URL: urls.log };
    assert.equal(childOf(database).CHAINS, 'none');
    assert.equal(childOf({ ...database, CHAINS: 'conf/chains.json' }).CHAINS, 'conf/chains.json');
    assert.equal(childOf({ ...database, CHAINS: 'dev' }).CHAINS, 'dev', 'another process runs it');
  });

  it('have everything else of the stack\'s environment, such as the secrets that a chains file names', () => {
    const others = { POLYGON_KEY: '0x12', RPC_URL: 'https://user:secret@rpc.example', PATH: '/bin', NODE_OPTIONS: '--max-old-space-size=500', LOG_LEVEL: 'warn' };
    const child = childOf({ ...others, CHAINS: 'chains.json', DATABASE_URL: urls.log, UNSET: undefined });
    for (const [name, value] of Object.entries(others)) assert.equal(child[name], value, name);
    assert.equal('UNSET' in child, false);
  });

  it('have no secret of another role', () => {
    const keys = { POLYGON_KEY: '0x12', OTHER: 'x' };
    const kafka = { KAFKA_BROKERS: 'localhost:9092', KAFKA_USERNAME: 'u', KAFKA_PASSWORD: 'p' };
    const environment = { ...keys, ...kafka, PYTH_API_KEY: 'k', CHAINS: 'chains.json', DATABASE_URL: urls.log };
    const secretsOf = (roles: readonly RoleName[]) => {
      const child = childOf(environment, false, roles);
      assert.equal(child.OTHER, 'x');
      parseConfig(child);
      return ['POLYGON_KEY', 'PYTH_API_KEY', 'KAFKA_PASSWORD'].filter((name) => name in child);
    };
    assert.deepEqual(Object.fromEntries(ROLE_NAMES.map((role) => [role, secretsOf([role])])), {
      projections: [], engine: [], indexer: [], lane: ['POLYGON_KEY'], feed: ['KAFKA_PASSWORD'], settlement: ['KAFKA_PASSWORD'], relayer: [],
      prices: ['PYTH_API_KEY'], query: [], api: [],
    });
    assert.deepEqual(secretsOf(['settlement', 'lane']), ['POLYGON_KEY', 'KAFKA_PASSWORD']);
  });

  it('name to a process that only reads no other user of the read models\' Postgres', () => {
    const one = { log: urls.readModels, readModels: urls.readModels, outbox: urls.outbox, reads: 'postgres://reader@db/models' };
    const databases = (roles: readonly RoleName[]) => {
      const stack = { environment: {}, urls: one, hasDevChain: true, keyVariables: [] };
      const child = childEnvironment(parseConfig({}), stack, { roles, port: 1, metricsPort: undefined });
      return ['DATABASE_URL', 'LOG_URL', 'OUTBOX_URL', 'QUERY_DATABASE_URL'].map((name) => child[name]);
    };
    assert.deepEqual(databases(['query']), [one.reads, one.reads, urls.outbox, one.reads]);
    for (const roles of [['api'], ['query', 'relayer']] as const) assert.deepEqual(databases(roles), [urls.readModels, urls.readModels, urls.outbox, one.reads]);
  });

  it('name DATA_DIR by its whole path', () => {
    assert.equal(childOf({ DATA_DIR: 'some/where' }).DATA_DIR, join(process.cwd(), 'some', 'where'));
    assert.equal(childOf({}, true).CHAINS, join(process.cwd(), '.data', 'chain', 'chains.json'));
  });

  it('leave out, with the development chain, what a process with a chains file would refuse', () => {
    const environment = { DATA_DIR: '/var/exchange', EXPOSURE_CHECK: 'true', CHAIN_ID: '5', CHAIN_PORT: '0' };
    const child = childOf(environment, true);
    assert.deepEqual([child.EXPOSURE_CHECK, child.CHAIN_ID, child.CHAIN_PORT], [undefined, undefined, '0']);
    assert.equal(parseConfig(child).chains, DEV_CHAINS);
    const domain = { CHAINS: 'none', CHAIN_ID: '5' };
    assert.deepEqual(pick(childOf(domain), Object.keys(domain)), domain, 'without a chain they count');
  });

  it('have a port of their own for the metrics where the stack has', () => {
    const environment = { METRICS_PORT: '[2001:db8::1]:9100' };
    const stack = { environment, urls, hasDevChain: true, keyVariables: [] };
    const child = childEnvironment(parseConfig(environment), stack, { roles: ['api'], port: 1, metricsPort: { host: '2001:db8::1', port: 9_102 } });
    assert.equal(child.METRICS_PORT, '[2001:db8::1]:9102');
    assert.deepEqual(parseConfig(child).metricsPort, { host: '2001:db8::1', port: 9_102 });
  });

  const stacks: [what: string, environment: Environment][] = [
    ['on this machine', {}],
    ['behind a proxy', { TRUST_PROXY: '1' }],
    ['open to other machines', { HOST: '0.0.0.0', PORT: '80', RATE_LIMIT_READS: '7' }],
    ['with a database of its own', { DATABASE_URL: urls.log, CANCEL_AUTH: 'open', CHAINS: 'none', CHAIN_ID: '5', SNAPSHOT_EVERY: '5000' }],
  ];
  for (const [what, environment] of stacks) {
    it(`mean for a process what they mean for a stack ${what}`, () => {
      const stack = parseConfig(environment);
      assert.deepEqual(shared(parseConfig(childOf(environment, stack.chains === 'dev'))), shared(stack));
    });
  }
});

/** The settings that a process has as its stack has them. */
function shared(config: Config): Partial<Config> {
  const { port, dataDir, databaseUrl, logUrl, outboxUrl, chains, ...rest } = config;
  const ownOfEach = [port, dataDir, databaseUrl, logUrl, outboxUrl, chains];
  assert.ok(ownOfEach.every((each) => each !== undefined));
  return rest;
}

function pick(from: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
