/** What tests need beside the packages is looked for once it is needed, and where it cannot be had, it is known which tests cannot run and why. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesThatUse } from './imports.js';
import { meetNeeds, NEEDS } from './needs.js';

const BROWSER_TEST = 'system/price-stream.services.test.ts';
const FILES = ['run/needs.test.ts', BROWSER_TEST, 'kafka/publisher.kafka.test.ts'];

describe('what tests need', () => {
  let folder: string;
  before(() => { folder = mkdtempSync(join(tmpdir(), 'prediction-exchange-needs-')); });
  after(() => { rmSync(folder, { recursive: true }); });

  function script(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  it('is known from what a test file imports, itself or through supports', async () => {
    assert.deepEqual(await filesThatUse('support/chromium.ts', FILES), [BROWSER_TEST]);
    assert.deepEqual(await filesThatUse('support/kafka-jars.ts', FILES), ['kafka/publisher.kafka.test.ts']);
    for (const { support } of NEEDS) assert.deepEqual(await filesThatUse(support, [support]), [support]);
  });

  it('is found by a script, whose answer tests get, and which does not run for nothing', async () => {
    const found = await meetNeeds(FILES, [
      { name: 'A browser', support: 'support/chromium.ts', script: script('browser', 'echo /usr/bin/browser; echo installing >&2'), variable: 'BROWSER' },
      { name: 'A node', support: 'support/geth.ts', script: script('node', 'exit 1') },
    ]);
    assert.deepEqual(found, { environment: { BROWSER: '/usr/bin/browser' }, unmet: [] });
  });

  it('cannot be met where the script fails, for the reason that the script gives', async () => {
    const support = 'support/chromium.ts';
    const { environment, unmet } = await meetNeeds(FILES, [
      { name: 'A browser', support, script: script('refusing', 'echo looking >&2; echo only root may install it >&2; exit 1'), variable: 'BROWSER' },
      { name: 'A silent one', support, script: script('silent', 'exit 3') },
    ]);
    assert.deepEqual(environment, {});
    assert.deepEqual(unmet.map(({ name, files }) => [name, files]), [['A browser', [BROWSER_TEST]], ['A silent one', [BROWSER_TEST]]]);
    assert.equal(unmet[0]!.reason, 'only root may install it');
    assert.match(unmet[1]!.reason, /Command failed: .*silent/);
  });
});
