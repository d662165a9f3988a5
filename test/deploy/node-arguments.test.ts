/** Wherever a process of the exchange is started, Node gets the same arguments. */
import { ok } from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { NODE_ARGUMENTS } from '../../service/process/node-arguments.js';

const PLACES = [
  { file: 'package.json', text: `"start": "exec node ${NODE_ARGUMENTS.join(' ')} tools/run.mjs stack/main"` },
  { file: 'deploy/Dockerfile', text: `ENTRYPOINT [${['node', ...NODE_ARGUMENTS].map((each) => `"${each}"`).join(', ')}]` },
  { file: 'deploy/systemd/prediction-exchange@.service', text: `ExecStart=/usr/bin/node ${NODE_ARGUMENTS.join(' ')} ` },
];

describe('the arguments of Node', () => {
  for (const { file, text } of PLACES) {
    it(`are in ${file}`, async () => { ok((await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8')).includes(text), text); });
  }
});
