/** The state tables: their names, and what is generated from them. */
import assert from 'node:assert/strict';
import { allAlerts, listedMetrics } from '../../service/status/state-tables.js';
import { generatedFiles } from '../../tools/state-tables.js';
import { textOf } from '../support/deploy-files.js';
import { namedIn } from '../support/metric-names.js';

const metrics = listedMetrics().flatMap(([, each]) => each);
const alerts = allAlerts(metrics);

describe('service: state tables', () => {
  it('give Prometheus\' rules and the operators\' table, which are up to date', () => {
    for (const [path, text] of generatedFiles(textOf)) assert.equal(textOf(path), text, `${path} is out of date: run \`npm run generate\``);
  });

  it('have different names of metrics and alerts, in the form that Prometheus takes', () => {
    for (const names of [metrics.map(({ name }) => name), alerts.map(({ alert }) => alert.name)]) assert.deepEqual([...new Set(names)], names);
    for (const { name, help } of metrics) {
      assert.match(name, /^[a-z][a-z0-9_]*$/);
      assert.match(help, /^\w.*[^.]$/, name);
    }
  });

  it('have alerts of the metric that they stand at', () => {
    for (const { alert, metric } of alerts) {
      if (!('promql' in alert.when)) continue;
      const named = namedIn(alert.when.promql).map((each) => each.metric.replace(/_(?:bucket|count)$/, ''));
      assert.ok(named.includes(metric), `${alert.name} is not about ${metric}`);
    }
  });
});
