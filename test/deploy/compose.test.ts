/** The image and the compose file name settings, roles, ports and files that exist, and every role has a container. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { READER } from '../../projections/schema.js';
import { allEndpoints } from '../../service/endpoints.js';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import { logUrlOf, parseConfig } from '../../service/config.js';
import { STOP_TIMEOUT_MS } from '../../service/process/serve.js';
import { DEPLOYED_ROLES, SETTING_NAMES, environmentOf, imageEnvironment, instructions, isProgramRole, textOf, yamlOf } from '../support/deploy-files.js';

interface Service {
  readonly build?: object;
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly restart?: string;
  readonly healthcheck?: object;
  readonly profiles?: readonly string[];
  readonly stop_grace_period?: string;
  readonly depends_on?: readonly string[] | Readonly<Record<string, object>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly (string | { readonly source: string; readonly target: string })[];
  readonly command?: readonly string[];
  readonly networks?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
  readonly networks: object;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const compose = yamlOf<Compose>('deploy/compose.yaml');
const services = Object.entries(compose.services);
const processes = services.filter(([, { build }]) => build !== undefined);
const made = madeSecrets();
const secretSettings = environmentOf(made['exchange.env'] ?? '');

describe('deploy: the compose file', () => {
  it('has a container for every role, with the role\'s name', () => {
    assert.deepEqual(processes.map(([name]) => name).sort(), DEPLOYED_ROLES);
    for (const [name, { environment }] of processes) assert.equal(environment?.['ROLES'], name);
  });

  it('gives every process settings that exist and that the program takes', () => {
    for (const [name, { environment = {} }] of processes) {
      assert.deepEqual(Object.keys({ ...environment, ...secretSettings }).filter((setting) => !SETTING_NAMES.includes(setting)), [], name);
      if (!isProgramRole(name)) continue;
      const own = Object.fromEntries(Object.entries(environment).map(([setting, value]) => [setting, byDefault(value)]));
      const { roles, trustProxy, cancelAuth } = parseConfig({ ...imageEnvironment(), ...own, ...secretSettings });
      assert.deepEqual({ roles, trustProxy, cancelAuth }, { roles: [name], trustProxy: 1, cancelAuth: 'required' });
    }
  });

  it('keeps secrets in files: no setting that holds one is in the file itself', () => {
    assert.doesNotMatch(textOf('deploy/compose.yaml'), /:\/\/[^\s/]*@|[A-Z]_(?:PASSWORD|KEY): /);
    for (const [name, { environment = {} }] of processes) {
      for (const secret of ['DATABASE_URL', 'LOG_URL', 'OUTBOX_URL', 'PYTH_API_KEY']) assert.ok(!(secret in environment), `${name} has ${secret}`);
    }
  });

  it('gives the keys to the lane alone', () => {
    const holders = processes.flatMap(([name, { secrets = [] }]) => secrets.map(nameOf).filter((secret) => secret.endsWith('-key')).map((secret) => `${name} ${secret}`));
    assert.deepEqual(holders, ['lane operator-key', 'lane relayer-key', 'lane quick-key']);
  });

  it('gives the role query only the user who may only read, the others that one for their reads', () => {
    const { command, secrets } = compose.services['query'] ?? {};
    assert.deepEqual([command?.[0], secrets], ['--env-file=/run/secrets/query.env', ['query.env', 'chains.json']]);
    const { DATABASE_URL: own = '', ...others } = environmentOf(made['query.env'] ?? '');
    assert.equal(own, secretSettings['QUERY_DATABASE_URL']);
    const { username, password } = new URL(own);
    assert.match(`${username} ${password}`, /^query_login [\da-f]{48}$/);
    assert.deepEqual(others, {});
    assert.ok(made['query-user.sql']?.includes(`create role ${username} login connection limit 200 password '${password}' in role ${READER};`));
  });

  it('lets a process stop in its own time', () => {
    const { stopGraceMs } = parseConfig(secretSettings);
    for (const [name, { stop_grace_period: grace = '10s' }] of processes) assert.ok(Number.parseInt(grace, 10) * 1_000 > stopGraceMs + 2 * STOP_TIMEOUT_MS, name);
  });

  it('asks for no more copies of the topic than there are brokers', () => {
    for (const [name, { environment = {} }] of processes) {
      if (!isProgramRole(name)) continue;
      const { kafkaBrokers, kafkaReplication } = parseConfig({ KAFKA_BROKERS: environment['KAFKA_BROKERS'], KAFKA_REPLICATION: environment['KAFKA_REPLICATION'] });
      assert.equal(kafkaReplication, services.filter(([, { image }]) => image.startsWith('apache/kafka:')).length, name);
      assert.ok(kafkaBrokers.every((broker) => broker.split(':')[0] as string in compose.services), name);
    }
  });

  it('restarts everything, and knows what is healthy', () => {
    for (const [name, { restart, healthcheck, build, profiles }] of services) {
      assert.equal(restart, 'unless-stopped', name);
      assert.ok(build !== undefined || healthcheck !== undefined || profiles !== undefined, `${name} has no health check`);
    }
  });

  it('refers to services, volumes, networks, secrets and files that are there', () => {
    for (const [name, { depends_on: needed = [], volumes = [], secrets = [], networks = [] }] of services) {
      for (const each of Array.isArray(needed) ? needed as string[] : Object.keys(needed)) assert.ok(each in compose.services, `${name} needs ${each}`);
      for (const each of networks) assert.ok(each in compose.networks, `${name} is in ${each}`);
      for (const each of secrets.map(nameOf)) assert.ok(each in compose.secrets, `${name} has ${each}`);
      for (const [source = ''] of volumes.map((each) => each.split(':'))) {
        const isThere = source.startsWith('./') ? existsSync(`deploy/${source}`) : source === '/' ? name === 'node-exporter' : source in compose.volumes;
        assert.ok(isThere, `${name} mounts ${source}`);
      }
    }
    const known = [...textOf('deploy/make-secrets').matchAll(/[\w-]+(?:\.\w+)?/g)].map(([word]) => word);
    for (const [name, { file }] of Object.entries(compose.secrets)) assert.ok(file === `./secrets/${name}` && known.includes(name), `make-secrets does not know ${name}`);
  });
});

describe('deploy: the compose file with the log in KurrentDB', () => {
  const overlay = yamlOf<Compose>('deploy/compose.kurrentdb.yaml');

  it('names the log to every process, which waits for it, and adds nothing but the server', () => {
    const { kurrentdb, ...changed } = overlay.services;
    assert.deepEqual(Object.keys(changed).sort(), DEPLOYED_ROLES);
    for (const [name, { environment = {}, depends_on: needed = {} }] of Object.entries(changed)) {
      assert.deepEqual([Object.keys(environment), Object.keys(needed)], [['LOG_URL'], ['kurrentdb']], name);
      const { nodes, tls, user } = parseEventStoreUrl(logUrlOf(parseConfig({ ...secretSettings, ...environment }), ''));
      assert.deepEqual({ nodes, tls, user }, { nodes: [{ host: 'kurrentdb', port: 2_113 }], tls: false, user: undefined }, name);
    }
    assert.ok(kurrentdb?.restart === 'unless-stopped' && kurrentdb.healthcheck !== undefined);
    assert.ok(kurrentdb.networks?.every((each) => each in compose.networks));
    assert.deepEqual(kurrentdb.volumes?.map((each) => each.split(':')[0]), Object.keys(overlay.volumes));
  });

  it('is not needed: without it the log is in Postgres', () => {
    assert.equal(logUrlOf(parseConfig(secretSettings), 'the read models\' database'), 'the read models\' database');
  });
});

describe('deploy: the image', () => {
  const { port, metricsPort } = parseConfig(imageEnvironment());

  it('sets settings that exist', () => {
    assert.deepEqual(Object.keys(imageEnvironment()).filter((name) => ![...SETTING_NAMES, 'NODE_ENV'].includes(name)), []);
  });

  it('is asked for its health where it answers, at the ports that the others use', () => {
    assert.deepEqual(instructions('EXPOSE'), [`${port} ${metricsPort?.port}`]);
    const [health = ''] = instructions('HEALTHCHECK');
    const path = /127\.0\.0\.1:\$\{process\.env\.PORT\}([\w/]+)/.exec(health)?.[1];
    assert.deepEqual(allEndpoints.filter((endpoint) => endpoint.path === path).map(({ id }) => id), ['getLiveness']);
    assert.match(textOf('deploy/proxy/compose.conf'), new RegExp(`default \\$exchange_role:${port};`));
  });

  it('runs as an ordinary user, with a Node that CI tries', () => {
    assert.deepEqual(instructions('USER'), ['1000:1000']);
    const version = /^ARG NODE_IMAGE=node:(\d+)-/m.exec(textOf('deploy/Dockerfile'))?.[1] ?? '';
    assert.match(textOf('.ci/node24'), new RegExp(`"\\$package@${version}"`));
  });

  it('is built from every folder of sources but the tests, and of the clients from the page\'s', () => {
    const { include } = JSON.parse(textOf('tsconfig.json')) as { include: string[] };
    const folders = new Set(include.map((path) => path.split('/', 1)[0]!));
    folders.delete('test');
    const taken = textOf('.dockerignore').split('\n').filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    assert.deepEqual(taken.sort(), [...folders, 'client/src', 'package.json', 'package-lock.json', 'tsconfig.json'].sort());
  });
});

/** What make-secrets writes, in a folder of its own. */
function madeSecrets(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'prediction-exchange-secrets-'));
  try {
    copyFileSync('deploy/make-secrets', join(folder, 'make-secrets'));
    execFileSync(join(folder, 'make-secrets'), { stdio: 'ignore' });
    const files = readdirSync(join(folder, 'secrets'));
    return Object.fromEntries(files.map((name) => [name, textOf(join(folder, 'secrets', name))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function nameOf(secret: string | { readonly source: string }): string {
  return typeof secret === 'string' ? secret : secret.source;
}

/** What `${NAME:-default}` is without NAME. */
function byDefault(value: string): string {
  return value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
}
