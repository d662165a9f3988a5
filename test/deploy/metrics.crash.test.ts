/** A running exchange has the metrics of its state tables, with their labels; alerts and dashboard name only those. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../service/config.js';
import { allEndpoints } from '../../service/endpoints.js';
import { listedMetrics } from '../../service/status/state-tables.js';
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
    // With a Kafka that nobody answers for: the feed has its metrics all the same.
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

  it('are those of the state tables', () => {
    const listed = listedMetrics().flatMap(([, metrics]) => metrics);
    const own = (names: Iterable<string>) => [...new Set([...names].map((name) => name.replace(/_(?:bucket|count|sum)$/, '')))]
      .filter((name) => name.startsWith('exchange_')).sort();
    assert.deepEqual(own(known.keys()), own(listed.map(({ name }) => name)));
    for (const { name, labels } of listed) {
      const has = known.get(name) ?? known.get(`${name}_count`);
      if (has !== undefined && has.size > 0) assert.deepEqual([...has].sort(), [...labels].sort(), name);
    }
  });

  it('are scraped from every role\'s processes, at their port', () => {
    assert.deepEqual(scrapes.map(({ job_name: job }) => job).sort(), DEPLOYED_ROLES);
    const ports = [parseConfig(imageEnvironment()).metricsPort?.port];
    for (const { job_name: job, dns_sd_configs: found } of scrapes) {
      assert.deepEqual(found.map(({ names, port }) => ({ names, port })), ports.map((port) => ({ names: [job], port })));
    }
    for (const role of DEPLOYED_ROLES) assert.ok(rules.some(({ expr }) => expr === `absent(up{job="${role}"} == 1)`), `no alert when no ${role} process answers`);
  });
});

/** Whether a value that an expression asks for can occur. */
function isValue(label: string, value: string): boolean {
  if (label === 'job') return DEPLOYED_ROLES.includes(value);
  if (label === 'route') return allEndpoints.some(({ id }) => id === value);
  return false;
}
