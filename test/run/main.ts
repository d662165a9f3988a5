/**
 * `npm test`: runs the tests in several mocha processes and says at the end how many passed and failed; a few files that have
 * failed run once more. `TESTS` chooses kinds, or files by a part of their path; `--grep TEXT` chooses tests by their names.
 * `npm run test:long` (`--long`) runs the tests that a push shortens, whole.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { filesThatUse } from './imports.js';
import { meetNeeds, type Unmet } from './needs.js';
import { failureText, fileLine, lastAttempts, summary, total, type Failure, type LeftOut, type Part } from './report.js';
import { runBatch } from './run-batch.js';
import { aloneOf, selectTests, type Batch, type Stage } from './selection.js';
import { filesToRepeat } from './second-attempt.js';
import { startShared } from './shared.js';

const { values: { grep, long } } = parseArgs({ options: { grep: { type: 'string' }, long: { type: 'boolean', default: false } } });
const { TESTS: wanted = '', CI: ci = '', SEED: seed = String(Math.floor(Math.random() * 2 ** 31)) } = process.env;
const print = (text: string): void => { process.stdout.write(`${text}\n`); };
const began = Date.now();
const failures: Failure[] = [];
const parts: Part[] = [];

if (long) print(`SEED=${seed} npm run test:long`);
const stages = stagesOf(await testFiles());
const files = stages.flatMap(({ batches }) => batches.flatMap((batch) => batch.files.flat()));
const { environment: found, unmet } = await meetNeeds(files);
const shared = await startShared(files);
const environment = { ...process.env, ...found, ...shared.environment, ...long ? { TEST_LONG: 'yes', SEED: seed } : {} };
parts.push({ name: 'getting what the tests need', ms: Date.now() - began, counts: new Map() });
for (const stage of stages) parts.push(...await runStage(stage));
for (const file of filesToRepeat(failures, files)) parts.push(...await runShown({ ...aloneOf(file), name: `${file} once more, alone` }));
const leftOut = ci === '' ? await Promise.all(unmet.map(countLeftOut)) : [];
await shared.close();
if (ci !== '' && unmet.length > 0) parts.push(refuseToLeaveOut());
parts.push({ name: 'all', ms: Date.now() - began, counts: new Map() });
const { passed, failed } = total(lastAttempts(parts).values());
const hasRun = passed > 0;
if (!hasRun) print('No test has passed.');
print(summary({ failures, parts, leftOut }));
process.exitCode = hasRun && failed === 0 ? 0 : 1;

/** Paths below test/, from the sources: an earlier build may have left others. */
async function testFiles(): Promise<string[]> {
  const sources = readdirSync(fileURLToPath(new URL('../../../test', import.meta.url)), { recursive: true, encoding: 'utf8' });
  const tests = sources.filter((file) => file.endsWith('.test.ts'));
  return long ? await filesThatUse('support/extent.ts', tests) : tests;
}

/** Ends this process where TESTS names none. */
function stagesOf(tests: readonly string[]): ReturnType<typeof selectTests> {
  try {
    return selectTests(tests, wanted);
  } catch (error) {
    print((error as Error).message);
    process.exit(2);
  }
}

/** A stage that has more batches than run at once is one part of the report. */
async function runStage({ name, atOnce, batches }: Stage): Promise<readonly Part[]> {
  const begun = Date.now();
  const ended: Part[] = [];
  const waiting = batches.map(canRun).filter((batch) => batch.files.length > 0).values();
  await Promise.all(Array.from({ length: atOnce }, async () => { for (const batch of waiting) ended.push(...await runShown(batch)); }));
  if (batches.length <= atOnce) return ended;
  return [{ name, ms: Date.now() - begun, counts: new Map(ended.flatMap(({ counts }) => [...counts])) }];
}

function canRun(batch: Batch): Batch {
  const isUnmet = (file: string) => unmet.some((each) => each.files.includes(file));
  return { ...batch, files: batch.files.map((together) => together.filter((file) => !isUnmet(file))).filter((together) => together.length > 0) };
}

async function runShown(batch: Batch): Promise<readonly Part[]> {
  return await runBatch({
    batch, environment, args: grep === undefined ? [] : ['--grep', grep],
    onEnded: (file) => { print(fileLine(file, grep !== undefined || files.length <= 5)); },
    onFailure: fail,
  });
}

function fail(failure: Failure): void {
  failures.push(failure);
  print(failureText(failure));
}

/** How many tests are left out: mocha counts them without running them. */
async function countLeftOut({ name, reason, files: needing }: Unmet): Promise<LeftOut> {
  const parts = await runBatch({ batch: { name, processes: 1, files: [needing] }, environment, args: ['--dry-run'] });
  return { reason: `they need ${name}: ${reason}`, files: needing, tests: total(lastAttempts(parts).values()).passed };
}

/** Where CI is set, what cannot run has failed. */
function refuseToLeaveOut(): Part {
  for (const { name, reason, files: needing } of unmet) fail({ file: needing.join(', '), title: `need ${name}, and with CI set nothing is left out`, text: reason });
  const name = 'tests that cannot run here';
  return { name, ms: 0, counts: new Map([[name, { passed: 0, failed: unmet.length }]]) };
}
