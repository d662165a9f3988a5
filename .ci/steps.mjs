// node .ci/steps.mjs run | long [PART…]: runs the steps of CI one after the other, and sums up what passed and failed.
// A step's last line may be `N passed, N failed`; another one counts as one that passed or failed by its exit code.
import { spawn } from 'node:child_process';
import console from 'node:console';
import process from 'node:process';
import { ALL_BUT_DOCUMENTS, ALWAYS, DOCUMENTS, FIRST, LONG } from './parts.mjs';
import { digestOf, hasPassed, notePass } from './passes.mjs';

/** Characters of a failed step's output that are shown again at the end: a CI system may keep no more than that. */
const SHOWN_AGAIN = 6_000;

/** Runs a command of the shell and shows what it writes. Resolves with what passed and failed. */
async function run(name, command) {
  console.log(`\n== ${name}: ${command}`);
  const begun = Date.now();
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  let counts;
  let rest = '';
  let end = '';
  for await (const piece of child.stdout.setEncoding('utf8')) {
    process.stdout.write(piece);
    end = (end + piece).slice(-SHOWN_AGAIN);
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const [, passed, failed] = /^(\d+) passed, (\d+) failed/.exec(line) ?? [];
      if (passed !== undefined) counts = { passed: (counts?.passed ?? 0) + Number(passed), failed: (counts?.failed ?? 0) + Number(failed) };
    }
  }
  const code = child.exitCode ?? await new Promise((resolve) => { child.once('close', resolve); });
  const ok = code === 0 && (counts?.failed ?? 0) === 0;
  counts ??= { passed: 0, failed: 0 };
  // A step without counts is one; one that fails has failed at least once.
  const result = ok ? { passed: counts.passed || 1, failed: 0 } : { passed: counts.passed, failed: counts.failed || 1 };
  return { name, ok, ms: Date.now() - begun, end, ...result };
}

async function runPart(name) {
  const { command, covers } = LONG[name];
  // Files may change while it runs: what has passed is what was there before.
  const digest = digestOf(covers);
  const result = await run(name, command);
  if (result.ok) notePass(name, digest);
  return result;
}

/** All that a push runs; what documents need where nothing else has changed since that passed. */
async function runAlways() {
  const covers = (file) => !DOCUMENTS.are(file);
  if (!process.env.CI_LONG && hasPassed(ALL_BUT_DOCUMENTS, covers)) {
    const { command } = DOCUMENTS;
    return [await run('documents: all else has passed on these very files (.ci/passed/)', command)];
  }
  const digest = digestOf(covers);
  const results = [];
  for (const [name, command] of Object.entries(ALWAYS)) results.push(await run(name, command));
  if (results.every(({ ok }) => ok)) notePass(ALL_BUT_DOCUMENTS, digest);
  return results;
}

function finish(results, left = []) {
  for (const { name, end } of results.filter(({ ok }) => !ok)) console.log(`\n== The end of what failed, ${name}:\n${end}`);
  console.log('\n== How long it took:');
  for (const { name, ms, passed, failed } of results) console.log(`${(ms / 1_000).toFixed(0).padStart(7)} s  ${name} (${passed} passed, ${failed} failed)`);
  for (const name of left) console.log(`      0 s  ${name}: has passed on these very files (.ci/passed/)`);
  const sum = (key) => results.reduce((total, each) => total + each[key], 0);
  console.log(`${(sum('ms') / 1_000).toFixed(0).padStart(7)} s  all`);
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
  process.exit(results.every(({ ok }) => ok) ? 0 : 1);
}

const [mode, ...names] = process.argv.slice(2);
const results = [];
if (mode === 'run') {
  for (const [name, command] of Object.entries(FIRST)) {
    results.push(await run(name, command));
    if (!results.at(-1).ok) finish(results);
  }
  results.push(...await runAlways());
  const left = Object.keys(LONG).filter((name) => !process.env.CI_LONG && hasPassed(name, LONG[name].covers));
  for (const name of Object.keys(LONG)) if (!left.includes(name)) results.push(await runPart(name));
  finish(results, left);
} else if (mode === 'long') {
  const unknown = names.filter((name) => !(name in LONG));
  if (unknown.length > 0) {
    console.error(`there is no part ${unknown.join(', ')}; there are ${Object.keys(LONG).join(', ')}`);
    process.exit(2);
  }
  for (const name of names.length > 0 ? names : Object.keys(LONG)) results.push(await runPart(name));
  finish(results);
} else {
  console.error('node .ci/steps.mjs run | long [PART…]');
  process.exit(2);
}
