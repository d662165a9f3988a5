/**
 * The Python client by itself: its own tests, its types, its types of answers against the API's document, and the
 * package that is built of it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allEndpoints } from '../../service/endpoints.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { PYTHON_CLIENT, runPython } from '../support/python-client.js';

describe('the client in Python', function () {
  this.timeout(240_000);
  let directory: string;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-python-')); });
  after(() => rm(directory, { recursive: true }));

  async function succeeds(args: readonly string[], options?: Parameters<typeof runPython>[1]): Promise<string> {
    const { code, output } = await runPython(args, options);
    assert.equal(code, 0, output);
    return output;
  }

  it('passes its own tests', async () => {
    assert.match(await succeeds(['-m', 'pytest']), /^\d{2,} passed in /m);
  });

  it('has types that hold, in its sources, examples and tests', async () => {
    const output = await succeeds(['-m', 'mypy', '--cache-dir', directory]);
    assert.match(output, /^Success: no issues found in \d{2,} source files$/m);
  });

  it('is formatted and linted', async () => {
    await succeeds(['-m', 'ruff', 'check', '--no-cache']);
    await succeeds(['-m', 'ruff', 'format', '--check', '--no-cache']);
  });

  it('has the types of answers that the API\'s document has', async () => {
    const document = JSON.stringify(openapiDocument(allEndpoints, '1.2.3'));
    const written = await succeeds(['answers_from_openapi.py'], { input: document });
    assert.equal(written, await readFile(join(PYTHON_CLIENT, 'src/prediction_exchange/answers.py'), 'utf8'),
      'client/python/write-answers writes them anew');
  });

  it('is built into a package that has its types with it, and works from there', async () => {
    const offline = ['--quiet', '--no-deps', '--no-build-isolation', '--no-index'];
    await succeeds(['-m', 'pip', 'wheel', ...offline, '--wheel-dir', directory, '.']);
    const wheels = (await readdir(directory)).filter((name) => name.endsWith('.whl'));
    assert.deepEqual(wheels, ['prediction_exchange-0.1.0-py3-none-any.whl']);
    const program = [
      'import sys, zipfile', 'sys.path.insert(0, sys.argv[1])', 'import prediction_exchange as client',
      'print(client.__file__, len(client.__all__))',
      'print("prediction_exchange/py.typed" in zipfile.ZipFile(sys.argv[1]).namelist())',
    ].join('\n');
    const output = await succeeds(['-c', program, join(directory, wheels[0]!)], { source: false });
    assert.match(output, /\.whl\/prediction_exchange\/__init__\.py \d+\nTrue\n$/);
  });
});
