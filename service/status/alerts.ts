/**
 * The alerts of the state tables as log lines: one when a value has been wrong for the alert's time, and one when that
 * is over.
 */
import { filled, isDue, wholeSeconds, type Alert, type Reading, type Sample } from '../../engine/state-table.js';
import type { Report } from '../../engine/report.js';

export interface AlertOptions {
  readonly report: Report;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

interface Due {
  readonly sinceMs: number;
  /** What was said; undefined while it has not lasted for long enough. */
  readonly said?: string;
}

/** Returns a function to call regularly with what the parts of the process say of themselves. */
export function createAlerts({ report, now }: AlertOptions): (readings: readonly Reading[]) => Promise<void> {
  let due: ReadonlyMap<string, Due> = new Map();

  /** What is due now of the alert, with what was known of it. */
  function look(alert: Alert<never>, sample: Sample, nowMs: number): readonly [string, Due] {
    const key = JSON.stringify([alert.name, sample.labels]);
    const { sinceMs, said } = due.get(key) ?? { sinceMs: nowMs };
    if (said !== undefined || nowMs - sinceMs < alert.forS * 1_000) {
      return [key, said === undefined ? { sinceMs } : { sinceMs, said }];
    }
    const means = textOf(alert.means, sample);
    report('alert', `${sample.cause === undefined ? means : `${withoutStop(means)}: ${withoutStop(sample.cause)}.`} ${textOf(alert.todo, sample)}`);
    return [key, { sinceMs, said: means }];
  }

  return async (readings) => {
    const rows = readings
      .flatMap((reading) => reading.table.rows.map(({ alerts = [] }, place) => ({ reading, place, alerts })));
    const watched = rows.filter(({ alerts }) => alerts.some(({ when }) => !('promql' in when)));
    const found = await Promise.all(watched.map(async ({ reading, place, alerts }) => ({
      alerts, samples: await reading.samples(place),
    })));
    const nowMs = now();
    const before = due;
    due = new Map(found.flatMap(({ alerts, samples }) => alerts.flatMap((alert) => (
      samples.filter(({ value, selfLogged }) => isDue(alert, value) && !selfLogged.includes(alert.name))
        .map((sample) => look(alert, sample, nowMs))))));
    for (const [key, { said, sinceMs }] of before) {
      if (said !== undefined && !due.has(key)) report('info', `over after ${wholeSeconds(nowMs - sinceMs)} s: ${said}`);
    }
  };
}

function textOf(text: string, { labels, value }: Sample): string {
  return filled(text, (place) => {
    switch (place) {
      case 'process': case 'instance': case 'job': return 'this process';
      case 'value': return String(value);
      case 'value:duration': return `${Math.round(value)} s`;
      case 'value:bytes': return `${Math.round(value / 1_000_000)} MB`;
      case 'value:percent': return `${Math.round(value * 100)} %`;
      default: return String(labels[place] ?? '');
    }
  });
}

function withoutStop(text: string): string {
  return text.endsWith('.') ? text.slice(0, -1) : text;
}
