/** docs/read-models.md is what the read models give. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { projections } from '../../projections/catalogue.js';
import { READ_MODELS_FILE, readModelsDocument } from '../../tools/read-models.js';

describe('projections: the document of the read models', () => {
  it('is up to date', () => {
    assert.equal(readFileSync(READ_MODELS_FILE, 'utf8'), readModelsDocument(), 'the file is out of date: run `npm run generate`');
  });

  it('changes when a read model handles one more event', () => {
    const [first, ...others] = projections;
    assert.ok(first !== undefined);
    const more = { ...first, handles: new Set([...first.handles, 'CommandRejected'] as const) };
    const lines = readModelsDocument().split('\n');
    const changed = readModelsDocument([more, ...others]).split('\n').filter((line, i) => line !== lines[i]);
    assert.deepEqual(changed, [`| \`CommandRejected\` | x |${'  |'.repeat(others.length + 1)}`]);
  });
});
