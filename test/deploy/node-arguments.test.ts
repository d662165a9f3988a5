/** Every way to start the service gives Node the same arguments. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { NODE_ARGUMENTS } from '../../service/node-arguments.js';

const WANTED = NODE_ARGUMENTS.join(' ');

const textOf = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };

describe('Node\'s arguments', () => {
  it('are those of the npm scripts', () => {
    assert.equal(scripts['start'], `exec node ${WANTED} tools/run.mjs service/main`);
    assert.equal(scripts['start:roles'], `exec node ${WANTED} tools/run.mjs service/cli/start-roles`);
  });

  it('are those of the image', () => {
    const [, list = ''] = /^ENTRYPOINT (.*)$/m.exec(textOf('deploy/Dockerfile')) ?? [];
    assert.deepEqual(JSON.parse(list), ['node', ...NODE_ARGUMENTS]);
  });

  it('are those of systemd\'s unit', () => {
    assert.match(textOf('deploy/systemd/prediction-exchange@.service'), new RegExp(`^ExecStart=/usr/bin/node ${WANTED} --env-file`, 'm'));
  });
});
