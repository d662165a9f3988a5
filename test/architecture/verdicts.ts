/** Shows that a rule can fail: what it finds, and what it accepts, in small projects made up for it. */
import assert from 'node:assert/strict';
import { projectOf, type Rule } from './project.js';

type Texts = Readonly<Record<string, string>>;

/** The rule has just one finding in these files, and it says so. */
export function finds(rule: Rule, texts: Texts, expected: RegExp): void {
  const findings = rule(projectOf(texts));
  assert.equal(findings.length, 1, `${JSON.stringify(texts)}\n${findings.join('\n')}`);
  assert.match(findings[0] ?? '', expected);
}

export function accepts(rule: Rule, texts: Texts): void {
  assert.deepEqual(rule(projectOf(texts)), [], JSON.stringify(texts));
}
