/** The clients that three generators make from the document as it is served: they compile strictly, and trade. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { CLIENT, runOfClient, runProgram } from '../support/client-packages.js';

/** By the names of the programs in client/generators that use them. */
const GENERATORS = {
  'openapi-fetch': { program: 'openapi-typescript/bin/cli.js', args: ['openapi.json', '--output', 'generated/openapi-typescript.ts'] },
  'hey-api': {
    program: '@hey-api/openapi-ts/bin/run.js',
    args: ['--input', 'openapi.json', '--output', 'generated/hey-api', '--client', '@hey-api/client-fetch', '--no-log-file'],
  },
  'orval': { program: 'orval/dist/bin/orval.js', args: ['--config', 'orval.config.cjs'] },
} as const;

const TRADED = {
  placed: 3, isListed: true, pages: 2, refusal: 'invalid_signature', statuses: ['cancelled', 'cancelled', 'cancelled'],
};

describe('clients generated from the OpenAPI document', function () {
  this.timeout(300_000);
  let exchange: ExchangeStack;
  let folder: string;
  before(async () => {
    exchange = await exchangeStack();
    folder = await mkdtemp(join(tmpdir(), 'prediction-exchange-generated-'));
    await cp(join(CLIENT, 'generators'), folder, { recursive: true });
    await symlink(join(CLIENT, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'openapi.json'), await (await fetch(`${exchange.url}/openapi.json`)).text());
    for (const { program, args } of Object.values(GENERATORS)) await runOfClient(program, args, folder);
  });
  after(async () => {
    await exchange.close();
    await rm(folder, { recursive: true });
  });

  it('compile strictly', async () => { await runOfClient('typescript/bin/tsc', ['--project', '.'], folder); });

  for (const name of Object.keys(GENERATORS)) {
    it(`trade: ${name}`, async () => {
      const report = JSON.parse(await runProgram([join(folder, `dist/${name}.js`), exchange.url], folder)) as object;
      // Orval's waits for the end of each answer: the document's tag tells it to leave streams out.
      assert.deepEqual(report, { ...TRADED, ...name !== 'orval' && { firstMessage: 'snapshot' } });
    });
  }
});
