// `npm test`: all tests, in two mochas at once. The crash tests wait for most of their time, and take as long as all others together.
// With TESTS set, one mocha runs what it names. Arguments go to mocha.
import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';

const MOCHA = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url));

/** Resolves with the exit code; a run that a signal has ended counts as failed. */
function start(tests, output) {
  const child = spawn(process.execPath, [MOCHA, ...process.argv.slice(2)], {
    stdio: ['ignore', output, output], env: { ...process.env, TESTS: tests, ...output === 'pipe' && process.stdout.isTTY && { FORCE_COLOR: '1' } },
  });
  // Ctrl-C reaches the children by itself.
  process.on('SIGTERM', () => { child.kill(); });
  return { child, ended: new Promise((resolve) => { child.once('exit', (code) => { resolve(code ?? 1); }); }) };
}

const { TESTS } = process.env;
if (TESTS !== undefined) {
  process.exitCode = await start(TESTS, 'inherit').ended;
} else {
  const crash = start('crash', 'pipe');
  const held = [];
  let show = (text) => { held.push(text); };
  for (const stream of [crash.child.stdout, crash.child.stderr]) stream.on('data', (text) => { show(text); });
  const others = await start('no-crash', 'inherit').ended;
  show = (text) => { process.stdout.write(text); };
  for (const text of held) show(text);
  process.exitCode = await crash.ended || others;
}
