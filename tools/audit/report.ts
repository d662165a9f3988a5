/** What an audit reports, as an object with a documented shape (docs/audit.md, "The report") and as text. */
import { checkTitles, type CheckName, type Difference } from './difference.js';
import { printable } from './printable.js';

/**
 * `passed`: all of `count` agree. `different`: this check found the difference. `stopped`: `count` agree, and the audit ended at a difference
 * elsewhere. `not made`: nothing was compared; `reason` says why.
 */
export type CheckStatus = 'passed' | 'different' | 'stopped' | 'not made';

export interface CheckReport {
  readonly name: CheckName;
  readonly title: string;
  readonly status: CheckStatus;
  readonly count: number;
  /** Why it was not made, or not for all. */
  readonly reason?: string;
}

export interface AuditReport {
  readonly v: 1;
  /** Where the history came from. */
  readonly source: string;
  /** Whether nothing differs. */
  readonly passed: boolean;
  /** How many records agree with the engine, from position 0, and the digest after them. */
  readonly records: number;
  readonly digest: string;
  /** The position of the checkpoint that the audit went on from; 0 without one. */
  readonly resumedAt: number;
  readonly checks: readonly CheckReport[];
  readonly difference: Difference | null;
  /** What a reader should know beside it: what is open, unsigned, or behind the audited end. */
  readonly notes: readonly string[];
  readonly seconds: number;
}

const CHECK_NAMES = Object.keys(checkTitles) as CheckName[];

/** The reports of all checks. `notMade` says why a check was not made; `partly` why it was not made for all. */
export function checkReports({ counts, notMade, partly = {}, difference }: {
  readonly counts: Readonly<Partial<Record<CheckName, number>>>;
  readonly notMade: Readonly<Partial<Record<CheckName, string>>>;
  readonly partly?: Readonly<Partial<Record<CheckName, string>>>;
  readonly difference: Difference | undefined;
}): CheckReport[] {
  return CHECK_NAMES.map((name): CheckReport => {
    const title = checkTitles[name];
    const count = counts[name] ?? 0;
    const reason = notMade[name] ?? partly[name];
    const told = reason === undefined ? {} : { reason };
    if (difference?.check === name) return { name, title, status: 'different', count, ...told };
    if (notMade[name] !== undefined) return { name, title, status: 'not made', count: 0, ...told };
    return { name, title, status: difference === undefined ? 'passed' : 'stopped', count, ...told };
  });
}

const SIGNS: Readonly<Record<CheckStatus, string>> = { 'passed': 'ok       ', 'different': 'DIFFERENT', 'stopped': 'so far ok', 'not made': 'not made ' };

/** The report for people. */
export function reportText(report: AuditReport): string {
  const { source, checks, difference, notes, records, digest, passed, seconds, resumedAt } = report;
  const resumed = resumedAt === 0 ? '' : `; those before position ${resumedAt} were checked before the checkpoint was written`;
  return [
    `Audit of ${source}: ${records.toLocaleString('en-US')} records from position 0, digest ${digest}${resumed}`, '',
    ...checks.map(({ title, status, count, reason }) =>
      `${SIGNS[status]}  ${status === 'not made' ? '' : `${count.toLocaleString('en-US')} `}${title}${reason === undefined ? '' : ` (${reason})`}`),
    ...notes.length === 0 ? [] : ['', ...notes.map((note) => `note: ${note}`)],
    ...difference === null ? [] : ['', ...differenceText(difference)],
    '', `${passed ? 'PASSED' : 'NOT PASSED: something differs'} (${Math.round(seconds)} s)`, '',
  ].map(printable).join('\n');
}

function differenceText({ check, place, what, means, expected, found }: Difference): string[] {
  return [
    'THE FIRST DIFFERENCE', `  what:     ${what}`, `  means:    ${means}`, `  check:    ${check}`,
    `  place:    ${Object.entries(place).map(([name, value]) => `${name} ${value}`).join(', ')}`,
    ...expected === undefined ? [] : [`  expected: ${shown(expected)}`], ...found === undefined ? [] : [`  found:    ${shown(found)}`],
  ];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
