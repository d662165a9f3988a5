/** The alerts, the dashboard and the document for operators name only metrics that a running exchange has, with the labels that they have there. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allEndpoints } from '../../service/endpoints.js';
import { DEPLOYED_ROLES, imageEnvironment, textOf, yamlOf } from '../support/deploy-files.js';
import { namedIn, scraped } from '../support/metric-names.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}
interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const rules = yamlOf<{ groups: readonly { rules: readonly Rule[] }[] }>('deploy/prometheus/rules.yml').groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(textOf('deploy/grafana/exchange.json')) as { panels: readonly Panel[] };
const scrapes = yamlOf<{ scrape_configs: readonly { job_name: string; dns_sd_configs: readonly { names: readonly string[]; port: number }[] }[] }>(
  'deploy/prometheus/prometheus.yml').scrape_configs.filter(({ job_name: job }) => job !== 'machine');

/** What Prometheus adds to every series. */
const ADDED = ['job', 'instance'];

describe('deploy: metrics', () => {
  let directory: string;
  let service: ServiceProcess | undefined;
  let known: ReadonlyMap<string, ReadonlySet<string>>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'exchange-metrics-'));
    // With a Kafka that nobody answers for: the feed has its figures all the same.
    service = await startService({ DATA_DIR: directory, CHAIN_PORT: '0', LOG_LEVEL: 'info', KAFKA_BROKERS: '127.0.0.1:1' });
    // Series that begin with their first event: an order, and prices, of which the first ones never count.
    await fetch(`${service.url}/api/v1/orders`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    const { url } = service;
    known = await until('a price is passed over', async () => {
      const all = scraped(await (await fetch(`${url}/metrics`)).text());
      return all.get('exchange_price_observations_passed_over')?.size !== 0 && all;
    });
  });

  after(async () => {
    await service?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const check = (where: string, expression: string, told: string): void => {
    const named = namedIn(expression);
    assert.ok(named.length > 0, `${where} names no metric`);
    const labels = new Set(ADDED);
    for (const { metric, labels: used, values } of named) {
      const has = metric === 'up' ? new Set<string>() : known.get(metric);
      assert.ok(has !== undefined, `${where} names ${metric}, which the exchange does not have`);
      for (const label of used) assert.ok(has.has(label) || ADDED.includes(label), `${where}: ${metric} has no label ${label}`);
      for (const [label, value] of values) assert.ok(isValue(label, value), `${where}: no ${label} is ${value}`);
      for (const label of has) labels.add(label);
    }
    for (const [, label = ''] of told.matchAll(/\{\{ ?(?:\$labels\.)?(\w+)/g)) assert.ok(labels.has(label), `${where} tells ${label}, which is no label there`);
  };

  it('of the alerts exist', () => {
    assert.ok(rules.length > 30);
    for (const { alert, expr, annotations } of rules) check(alert, expr, Object.values(annotations).join(' ').replaceAll(/\{\{ \$value[^}]*\}\}/g, ''));
  });

  it('of the dashboard exist', () => {
    const shown = panels.filter(({ targets }) => targets !== undefined);
    assert.ok(shown.length > 20);
    for (const { title, targets = [] } of shown) for (const { expr, legendFormat } of targets) check(title, expr, legendFormat);
  });

  it('of the document for operators exist', () => {
    const named = [...new Set(textOf('docs/operations.md').match(/\bexchange_[a-z_]+[a-z]\b/g))];
    assert.ok(named.length > 5);
    assert.deepEqual(named.filter((metric) => !known.has(metric) && !known.has(`${metric}_count`)), []);
  });

  it('are scraped from every role\'s processes, at their port', () => {
    assert.deepEqual(scrapes.map(({ job_name: job }) => job).sort(), DEPLOYED_ROLES);
    for (const { job_name: job, dns_sd_configs: found } of scrapes) {
      assert.deepEqual(found.map(({ names, port }) => ({ names, port })), [{ names: [job], port: Number(imageEnvironment()['METRICS_PORT']) }]);
    }
    for (const role of DEPLOYED_ROLES) assert.ok(rules.some(({ expr }) => expr === `absent(up{job="${role}"} == 1)`), `no alert when no ${role} process answers`);
  });

  it('have alerts with different names, each in the document for operators', () => {
    const names = rules.map(({ alert }) => alert);
    assert.equal(new Set(names).size, names.length);
    const document = textOf('docs/operations.md');
    const gone = DEPLOYED_ROLES.map((role) => `Exchange${role.charAt(0).toUpperCase()}${role.slice(1)}Gone`);
    assert.deepEqual(names.filter((name) => !gone.includes(name) && !document.includes(`\`${name}\``)), []);
    assert.deepEqual([...new Set(document.match(/`Exchange\w+`/g))].map((name) => name.slice(1, -1)).filter((name) => !names.includes(name)), []);
  });
});

/** Whether a value that an expression asks for can occur. */
function isValue(label: string, value: string): boolean {
  if (label === 'job') return DEPLOYED_ROLES.includes(value);
  if (label === 'route') return allEndpoints.some(({ id }) => id === value);
  return false;
}
