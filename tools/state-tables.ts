/**
 * Writes from the state tables, by `npm run generate`, Prometheus' rules and the operators' table of metrics. A test fails when one is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expressionOf, filled, type Alert } from '../engine/state-table.js';
import { allAlerts, listedMetrics, type ListedMetric } from '../service/status/state-tables.js';

const RULES_FILE = 'deploy/prometheus/rules.yml';
const OPERATIONS_FILE = 'docs/operations.md';

const [BEGIN, END] = ['<!-- From the state tables, by `npm run generate`: do not edit. -->', '<!-- The end of what is generated. -->'];

/** The generated files, by path. `read` gives a file's present text. */
export function generatedFiles(read: (path: string) => string): ReadonlyMap<string, string> {
  const document = read(OPERATIONS_FILE);
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin === -1 || end === -1) throw new Error(`${OPERATIONS_FILE} has no place for the table: the lines ${BEGIN} and ${END}`);
  return new Map([
    [RULES_FILE, rulesText()],
    [OPERATIONS_FILE, `${document.slice(0, begin)}${BEGIN}\n${tableText()}${document.slice(end)}`],
  ]);
}

function rulesText(): string {
  const groups = listedMetrics().map(([owner, metrics]) => ({ owner, alerts: allAlerts(metrics) })).filter(({ alerts }) => alerts.length > 0);
  return [
    '# Alerts on the metrics of the exchange, from its state tables by `npm run generate`: do not edit.',
    '# What each means and what to do: docs/operations.md.',
    'groups:',
    ...groups.flatMap(({ owner, alerts }) => [
      `  - name: exchange-${owner}`, '    rules:', ...alerts.flatMap(({ alert, metric }) => ruleLines(alert, metric)),
    ]),
    '',
  ].join('\n');
}

function ruleLines(alert: Alert<never>, metric: string): readonly string[] {
  const labels = Object.entries({ severity: alert.severity, ...alert.labels }).map(([name, value]) => `${name}: ${value}`).join(', ');
  return [
    `      - alert: ${alert.name}`,
    `        expr: ${quoted(expressionOf(alert, metric))}`,
    `        for: ${spanText(alert.forS)}`,
    `        labels: { ${labels} }`,
    `        annotations: { summary: ${quoted(filled(alert.means, template))}, action: ${quoted(filled(alert.todo, template))} }`,
  ];
}

/** A place of an alert's text as Prometheus fills it. */
function template(place: string): string {
  switch (place) {
    case 'value': return '{{ $value }}';
    case 'value:duration': return '{{ $value | humanizeDuration }}';
    case 'value:bytes': return '{{ $value | humanize1024 }}B';
    case 'value:percent': return '{{ $value | humanizePercentage }}';
    case 'process': return '{{ $labels.job }} at {{ $labels.instance }}';
    default: return `{{ $labels.${place} }}`;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\'', '\'\'')}'`;
}

function spanText(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

function tableText(): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    row(['of', 'metric, by label', 'what it is', 'not ready', 'alert']), '|---|---|---|---|---|',
    ...listedMetrics().flatMap(([owner, metrics]) => metrics.map((metric) => row([
      owner, [`\`${metric.name}\``, ...metric.labels].join(', '), cellText(metric.help), metric.notReady ?? '', alertsText(metric),
    ]))),
    '',
  ].join('\n');
}

function alertsText({ alerts = [] }: ListedMetric): string {
  return alerts.map((alert) => (
    `\`${alert.name}\` (${alert.severity}${conditionText(alert)}): ${cellText(filled(`${alert.means} ${alert.todo}`, placeText))}`)).join('<br>');
}

function conditionText({ when, forS }: Alert<never>): string {
  const [[compared, value] = ['promql', '']] = Object.entries(when);
  return `${compared === 'promql' ? '' : `, ${compared} ${value}`}${forS === 0 ? '' : `, for ${spanText(forS)}`}`;
}

/** A place of an alert's text in a document. */
function placeText(place: string): string {
  return place === 'process' ? 'A process' : `*${place.split(':')[0]}*`;
}

/** Documents of the same folder are linked. */
function cellText(text: string): string {
  return text.replaceAll(/\bdocs\/([\w-]+\.md)/g, '[$1]($1)').replaceAll('|', '\\|');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of generatedFiles((file) => readFileSync(join(process.cwd(), file), 'utf8'))) {
    writeFileSync(join(process.cwd(), path), text);
    process.stdout.write(`${path}\n`);
  }
}
