/** A process that waits for the end of a child does not end before: the child's output may end after the child itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

const MODULE = new URL('../../stack/keep-alive.js', import.meta.url).href;

/** A process that waits for a child whose output stays open for a moment after its exit. */
function waiting(steps: string): { code: number | null; said: string } {
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', `
    import { spawn } from 'node:child_process';
    import { keepAlive } from ${JSON.stringify(MODULE)};
    const child = spawn('/bin/sh', ['-c', 'sleep 0.3 & exit 0'], { stdio: ['ignore', 'pipe', 'pipe'] });
    ${steps}
    await new Promise((resolve) => { child.once('close', resolve); });
    console.log('closed');
  `], { encoding: 'utf8' });
  return { code: status, said: stdout.trim() };
}

describe('service: a child keeps its parent running', () => {
  it('while it is waited for, from its start or again', () => {
    assert.deepEqual(waiting(''), { code: 0, said: 'closed' });
    assert.deepEqual(waiting('keepAlive(child, false); keepAlive(child, true);'), { code: 0, said: 'closed' });
  });

  it('not while it serves in the background', () => {
    assert.deepEqual(waiting('keepAlive(child, false);'), { code: 13, said: '' });
  });
});
