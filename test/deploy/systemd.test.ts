/** The systemd units and their environment files: a process for every role, each at ports of its own, where the proxy expects them. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { parseConfig } from '../../service/config.js';
import { BAD_CONFIGURATION } from '../../service/exit-codes.js';
import { STOP_TIMEOUT_MS } from '../../service/process/serve.js';
import { DEPLOYED_ROLES, SETTING_NAMES, environmentOf, isProgramRole, textOf } from '../support/deploy-files.js';

const unit = textOf('deploy/systemd/prediction-exchange@.service');
const shared = { ...environmentOf(textOf('deploy/systemd/exchange.env')), ...environmentOf(textOf('deploy/systemd/secrets.env')) };
const instances = readdirSync('deploy/systemd/instances').map((file) => {
  const name = file.replace(/\.env$/, '');
  return { name, given: { ROLES: name, ...environmentOf(textOf(`deploy/systemd/instances/${file}`)) } as Record<string, string> };
});

describe('deploy: the systemd units', () => {
  it('have an instance for every role, and a second one of some', () => {
    assert.deepEqual([...new Set(instances.map(({ given }) => given['ROLES']))].sort(), DEPLOYED_ROLES);
    for (const { name, given } of instances) assert.equal(name.replace(/-\d+$/, ''), given['ROLES']);
  });

  it('give settings that exist and that the program takes', () => {
    for (const { name, given } of instances) {
      const environment = { ...shared, ...given };
      assert.deepEqual(Object.keys(environment).filter((setting) => !SETTING_NAMES.includes(setting)), [], name);
      if (isProgramRole(given['ROLES'] ?? '')) assert.equal(parseConfig({ ...environment, CHAINS: '/run/chains.json' }).trustProxy, 1);
    }
    const own = environmentOf(unit.split(/\s+|Environment=/).join('\n'));
    assert.deepEqual(Object.keys(own).filter((setting) => ![...SETTING_NAMES, 'NODE_ENV'].includes(setting)), []);
  });

  it('give each process ports of its own', () => {
    const ports = instances.flatMap(({ given }) => [given['PORT'], given['METRICS_PORT']]);
    assert.ok(ports.every((port) => port !== undefined));
    assert.equal(new Set(ports).size, ports.length);
  });

  it('have the processes where the proxy of one machine expects them', () => {
    const proxy = textOf('deploy/proxy/machine.conf');
    const upstreams = [...proxy.matchAll(/upstream exchange_(\w+) \{([^}]*)\}/g)];
    assert.deepEqual(upstreams.map(([, role]) => role), ['api', 'query', 'relayer']);
    for (const [, role, body = ''] of upstreams) {
      const named = [...body.matchAll(/server 127\.0\.0\.1:(\d+) max_fails=0;/g)].map(([, port]) => port).sort();
      assert.deepEqual(named, instances.filter(({ given }) => given['ROLES'] === role).map(({ given }) => given['PORT']).sort(), role);
    }
  });

  it('leave a process its time to stop, and do not start again what cannot work', () => {
    const { stopGraceMs } = parseConfig({ DATABASE_URL: 'postgresql://127.0.0.1/exchange' });
    assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1_000 > stopGraceMs + 2 * STOP_TIMEOUT_MS);
    assert.match(unit, new RegExp(`^RestartPreventExitStatus=${BAD_CONFIGURATION}$`, 'm'));
  });

  it('give the keys to the lane alone', () => {
    const keysOf = (text: string) => [...text.matchAll(/^LoadCredential=(\w+-key):\/etc\/prediction-exchange\/\1$/gm)].map(([, key]) => key);
    assert.deepEqual(keysOf(unit), []);
    assert.deepEqual(keysOf(textOf('deploy/systemd/prediction-exchange@lane.service.d/keys.conf')), ['operator-key', 'relayer-key', 'quick-key']);
    assert.deepEqual(instances.filter(({ given }) => given['ROLES'] === 'lane').map(({ name }) => name), ['lane']);
  });

  it('refer to files that are there', () => {
    for (const [, file = ''] of unit.matchAll(/^EnvironmentFile=\/etc\/prediction-exchange\/([\w.-]+)$/gm)) assert.ok(existsSync(`deploy/systemd/${file}`), file);
    const entry = /^ExecStart=.* dist\/([\w/]+)\.js$/m.exec(unit)?.[1] ?? '';
    assert.ok(existsSync(`${entry}.ts`), entry);
    assert.match(unit, /^LoadCredential=secrets\.env:/m);
  });
});
