/** What PromQL expressions name, and what a scrape has: enough of both languages to compare them. */

export interface Named {
  /** The series, as `exchange_http_request_seconds_bucket`. */
  readonly metric: string;
  readonly labels: readonly string[];
  /** The label values that must be equal. */
  readonly values: readonly (readonly [label: string, value: string])[];
}

const METRIC = /\b((?:exchange|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g;

/** The series that an expression selects. Labels that it groups by count for each of them. */
export function namedIn(expression: string): readonly Named[] {
  const grouping = /\bby \(([^)]*)\)/g;
  const grouped = [...expression.matchAll(grouping)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim()));
  return [...expression.replaceAll(grouping, '').matchAll(METRIC)].map(([, metric = '', selector = '']) => {
    const matchers = [...selector.matchAll(/(\w+)(=~|=)"([^"]*)"/g)];
    return {
      metric, labels: [...grouped, ...matchers.map(([, label = '']) => label)],
      values: matchers.filter(([, , operator]) => operator === '=').map(([, label = '', , value = '']) => [label, value] as const),
    };
  });
}

/** The labels that each series of a scrape has. A metric without a value yet is there with no labels. */
export function scraped(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const add = (metric: string, labels: readonly string[]) => { found.set(metric, new Set([...found.get(metric) ?? [], ...labels])); };
  for (const line of text.split('\n')) {
    const [, metric, type] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
    if (metric !== undefined && type !== 'histogram') add(metric, []);
    const [, series, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (series !== undefined) add(series, [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label));
  }
  return found;
}
