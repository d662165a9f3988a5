/**
 * What a part of the exchange says of itself, in one table: readiness, metrics, alerts in Prometheus and in the log,
 * and the page for operators come from it. A part has one state, or several that its labels tell apart, such as one per
 * chain.
 */

/** Log records that a part may lag behind and still be ready. */
export const MAX_READY_LAG = 10_000;

/** A metric as its readers know it. */
export interface Metric<S = never> {
  /** Its name. Names never change: dashboards and alerts of operators have them. */
  readonly name: string;
  /** One sentence for operators, without its full stop. */
  readonly help: string;
  readonly alerts?: readonly Alert<S>[];
}

export interface StateTable<S> {
  /** What tells the states of the part apart, by the label's name. */
  readonly labels?: Readonly<Record<string, (state: S) => string | number>>;
  /** Where `/health/ready` shows the states; absent: it does not. */
  readonly shows?: Shown;
  /** Why the process is not ready while the state is not known; absent: then it is ready all the same. */
  readonly unknown?: string;
  readonly rows: readonly Row<S>[];
}

export interface Shown {
  /** The key in the answer. Tables with the same key show what they have of a chain as one entry. */
  readonly part: string;
  /** Only the first state, instead of the list of all. */
  readonly single?: boolean;
  /** The fields that are shown, with their descriptions. */
  readonly schema: { readonly properties: Readonly<Record<string, unknown>> };
  readonly description?: string;
}

export interface Row<S> extends Metric<S> {
  /** Undefined while it is not known. */
  readonly value: (state: S) => number | undefined;
  /** When it makes the process not ready. */
  readonly notReady?: {
    /** In words, for operators. */
    readonly when: string;
    /** The reasons as `/health/ready` gives them; empty when there is none. */
    readonly reasons: (state: S) => readonly string[];
  };
  /** What is known of the cause, for the alert in the log. */
  readonly cause?: (state: S) => string | null | undefined;
}

/** When somebody must act. A comparison is also told in the log of the process whose value it is. */
export interface Alert<S> {
  /** Its name in Prometheus. */
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  /**
   * How the value compares, or an expression of Prometheus, where it takes the values of several processes or moments.
   */
  readonly when: { readonly is: number } | { readonly above: number } | { readonly below: number } | { readonly promql: string };
  /** How long that must last. */
  readonly forS: number;
  /** Labels that the alert has besides those of the metric. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * What it means and what to do, in sentences. Filled in are labels, `{value}`, `{value:duration}`, `{value:bytes}`,
   * `{value:percent}`, `{process}`, and Prometheus' own `{job}` and `{instance}`.
   */
  readonly means: string;
  readonly todo: string;
  /** Whether the part itself logs it, with more than a value can say. */
  readonly selfLogged?: (state: S) => boolean;
}

/** A value of a row, with what belongs to it. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly cause: string | undefined;
  /** The alerts that the part has logged itself. */
  readonly selfLogged: readonly string[];
}

/** A part at work: its table, and its state at each moment. */
export interface Reading {
  readonly table: StateTable<never>;
  /** The values of the row at this place of the table. */
  samples(row: number): Promise<readonly Sample[]>;
  /** What `/health/ready` says of the part; `shown` is undefined while the state is not known. */
  readiness(): Promise<{ readonly reasons: readonly string[]; readonly shown: readonly object[] | undefined }>;
}

type MaybePromise<T> = T | Promise<T>;

/** `read` gives the states; undefined while they are not known. */
export function reading<S extends object>(
  table: StateTable<S>, read: () => MaybePromise<readonly S[] | undefined>,
): Reading {
  const { labels = {}, rows, shows, unknown } = table;
  const labelsOf = (state: S) => (
    Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, value(state)])));
  return {
    table,
    async samples(place) {
      const row = rows[place];
      if (row === undefined) return [];
      return (await read() ?? []).flatMap((state): readonly Sample[] => {
        const value = row.value(state);
        if (value === undefined) return [];
        const selfLogged = row.alerts?.filter((alert) => alert.selfLogged?.(state)).map(({ name }) => name) ?? [];
        return [{ labels: labelsOf(state), value, cause: row.cause?.(state) ?? undefined, selfLogged }];
      });
    },
    async readiness() {
      const states = await read();
      if (states === undefined) return { reasons: unknown === undefined ? [] : [unknown], shown: undefined };
      return {
        reasons: states.flatMap((state) => rows.flatMap(({ notReady }) => notReady?.reasons(state) ?? [])),
        shown: shows === undefined ? undefined : states.map((state) => fieldsOf(state, shows)),
      };
    },
  };
}

function fieldsOf(state: object, { schema }: Shown): object {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name in schema.properties));
}

/** The condition in Prometheus' language. */
export function expressionOf({ when }: Pick<Alert<never>, 'when'>, metric: string): string {
  if ('promql' in when) return when.promql;
  if ('is' in when) return `${metric} == ${when.is}`;
  return 'above' in when ? `${metric} > ${when.above}` : `${metric} < ${when.below}`;
}

/** Whether a value of one process fulfils the condition; false where one process cannot know. */
export function isDue({ when }: Pick<Alert<never>, 'when'>, value: number): boolean {
  if ('promql' in when) return false;
  if ('is' in when) return value === when.is;
  return 'above' in when ? value > when.above : value < when.below;
}

/** The text with its places filled; `fill` gets what is between the braces. */
export function filled(text: string, fill: (place: string) => string): string {
  return text.replaceAll(/\{([\w:]+)\}/g, (_, place: string) => fill(place));
}

const MAX_TEXT = 500;

/** A text for an answer: at most 500 characters, null for undefined. */
export function shortText(text: string | undefined): string | null {
  return text?.slice(0, MAX_TEXT) ?? null;
}

/** Milliseconds as whole seconds, at least 0, since clocks may be set back. */
export function wholeSeconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1_000));
}
