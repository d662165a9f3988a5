/** Alertmanager's example: every alert reaches somebody, what silences others exists, and its secrets are in files that compose has. */
import assert from 'node:assert/strict';
import { textOf, yamlOf } from '../support/deploy-files.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}
interface Route {
  readonly receiver: string;
  readonly matchers?: readonly string[];
  readonly routes?: readonly Route[];
}
interface Inhibition {
  readonly source_matchers: readonly string[];
  readonly target_matchers: readonly string[];
  readonly equal?: readonly string[];
}
interface Alertmanager {
  readonly route: Route;
  readonly inhibit_rules: readonly Inhibition[];
  readonly receivers: readonly { readonly name: string }[];
}

const FILES = ['rules.yml', 'machines.yml'];
const rules = FILES.flatMap((file) => yamlOf<{ groups: readonly { rules: readonly Rule[] }[] }>(`deploy/prometheus/${file}`).groups.flatMap((group) => group.rules));
const alertmanager = yamlOf<Alertmanager>('deploy/prometheus/alertmanager.yml');
const compose = yamlOf<{
  services: Readonly<Record<string, { secrets?: readonly string[]; volumes?: readonly string[]; profiles?: readonly string[] }>>;
}>('deploy/compose.yaml');

describe('deploy: alerts', () => {
  it('go to a receiver by their severity, critical ones to two', () => {
    const { route: { routes = [], receiver }, receivers } = alertmanager;
    assert.deepEqual([receiver, ...routes.map((each) => each.receiver)].filter((name) => !receivers.some((each) => each.name === name)), []);
    for (const { alert, labels } of rules) {
      const reached = routes.filter(({ matchers = [] }) => matchers.every((matcher) => matches(matcher, labels))).map((each) => each.receiver);
      assert.deepEqual(reached, labels['severity'] === 'critical' ? ['pager', 'operators'] : ['operators'], alert);
    }
  });

  it('that silence others exist, as do those, and none silences itself', () => {
    // The other labels are those of the metrics.
    const matching = (matchers: readonly string[]) => rules.filter(({ alert, labels }) => (
      matchers.filter((matcher) => matcher.startsWith('alertname')).every((matcher) => matches(matcher, { ...labels, alertname: alert }))));
    for (const { source_matchers: source, target_matchers: target } of alertmanager.inhibit_rules) {
      const [sources, targets] = [matching(source), matching(target)];
      assert.ok(sources.length > 0 && targets.length > 0, source.join());
      assert.deepEqual(sources.filter((each) => targets.includes(each)).map(({ alert }) => alert), []);
      for (const [, names = ''] of [...source, ...target].join('\n').matchAll(/alertname=~?"([\w|]+)"/g)) {
        assert.deepEqual(names.split('|').filter((name) => !rules.some(({ alert }) => alert === name)), []);
      }
    }
  });

  it('silence what follows from them, and nothing that has another cause', () => {
    const chain = '1';
    for (const [source, target, isSilenced] of [
      [{ alertname: 'ExchangeDatabaseSilent', database: 'log' }, { alertname: 'ExchangeOrdersFail' }, true],
      [{ alertname: 'ExchangeDatabaseSilent', database: 'outbox' }, { alertname: 'ExchangeOrdersFail' }, false],
      [{ alertname: 'ExchangeEngineGone', job: 'engine' }, { alertname: 'ExchangeReadModelBehind', job: 'projections' }, true],
      [{ alertname: 'ExchangeEngineGone', job: 'engine' }, { alertname: 'ExchangeOrdersFail' }, false],
      [{ alertname: 'ExchangeNoLane', key: 'operator', chain }, { alertname: 'ExchangeFillsWait', chain }, true],
      [{ alertname: 'ExchangeNoLane', key: 'relayer', chain }, { alertname: 'ExchangeFillsWait', chain }, false],
      [{ alertname: 'ExchangeNoLane', key: 'operator', chain }, { alertname: 'ExchangeFillsWait', chain: '2' }, false],
      [{ alertname: 'ExchangeLaneBlocked', key: 'quick', chain }, { alertname: 'ExchangeQuickMarketsBlocked', chain }, true],
      [{ alertname: 'ExchangeLaneBlocked', key: 'quick', chain }, { alertname: 'ExchangeRelayerBlocked', chain }, false],
    ] as const) assert.equal(silences(source, target), isSilenced, `${JSON.stringify(source)} ${JSON.stringify(target)}`);
  });

  it('that a role is gone carry the role, by which they silence its others', () => {
    const gone = rules.filter(({ alert }) => alert.endsWith('Gone'));
    assert.deepEqual(gone.map(({ labels }) => labels['job']), gone.map(({ expr }) => /up\{job="(\w+)"\}/.exec(expr)?.[1]));
    assert.ok(alertmanager.inhibit_rules.some(({ source_matchers: [source], equal }) => source === 'alertname=~"Exchange.+Gone"' && equal?.includes('job') === true));
  });

  it('are read and sent by the monitoring profile, whose secrets are in files', () => {
    const { prometheus, alertmanager: service } = compose.services;
    assert.ok(prometheus?.volumes?.some((each) => each.startsWith('./prometheus:')));
    assert.deepEqual(yamlOf<{ rule_files: readonly string[] }>('deploy/prometheus/prometheus.yml').rule_files, FILES);
    const used = [...textOf('deploy/prometheus/alertmanager.yml').matchAll(/_file: \/run\/secrets\/([\w-]+)$/gm)].map(([, name]) => name);
    assert.ok(used.length > 0);
    assert.deepEqual([...used].sort(), [...service?.secrets ?? []].sort());
    assert.doesNotMatch(textOf('deploy/prometheus/alertmanager.yml'), /https?:\/\/|_(?:url|key|password|token): /);
  });

  it('of the machines are in the document for operators', () => {
    const document = textOf('docs/operations.md');
    for (const { alert } of rules.filter((each) => each.alert.startsWith('Machine'))) assert.ok(document.includes(`\`${alert}\``), alert);
  });
});

/** Whether the first alert, while it fires, keeps the second one from being told. */
function silences(source: Readonly<Record<string, string>>, target: Readonly<Record<string, string>>): boolean {
  return alertmanager.inhibit_rules.some(({ source_matchers: sources, target_matchers: targets, equal = [] }) => (
    sources.every((matcher) => matches(matcher, source)) && targets.every((matcher) => matches(matcher, target))
    && equal.every((name) => source[name] === target[name])));
}

/** Whether an alert's labels match `name="value"`, `name!="value"`, `name=~"pattern"` or `name!~"pattern"`. */
function matches(matcher: string, labels: Readonly<Record<string, string>>): boolean {
  const [, name = '', operator = '', value = ''] = /^(\w+)(=~|!~|!=|=)"(.*)"$/.exec(matcher) ?? assert.fail(matcher);
  const own = labels[name] ?? '';
  const isLike = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(own) : own === value;
  return operator.startsWith('!') ? !isLike : isLike;
}
