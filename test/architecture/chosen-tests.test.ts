/** Which tests run (`.mocharc.cjs`): those on go-ethereum only with GETH, and nobody who names them without it is left without a word. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const SETTINGS = fileURLToPath(new URL('../../../.mocharc.cjs', import.meta.url));

/** The files that are chosen with these settings. */
function chosen(settings: { readonly TESTS?: string; readonly GETH?: string }): readonly string[] {
  const before = process.env;
  const require = createRequire(import.meta.url);
  process.env = settings;
  try {
    return (require(SETTINGS) as { spec: readonly string[] }).spec;
  } finally {
    process.env = before;
    // It is read anew the next time.
    Reflect.deleteProperty(require.cache, SETTINGS);
  }
}

const onGeth = (file: string) => file.endsWith('.geth.test.js');

describe('architecture: the choice of tests', () => {
  it('has those on go-ethereum among all tests, and among the files of a folder, only with GETH', () => {
    for (const wanted of [{}, { TESTS: 'system/' }]) {
      const [without, with_] = [chosen(wanted), chosen({ ...wanted, GETH: '/usr/bin/geth' })];
      assert.ok(with_.some(onGeth));
      assert.deepEqual(without, with_.filter((file) => !onGeth(file)));
    }
  });

  it('has them alone as a kind', () => {
    const files = chosen({ TESTS: 'geth', GETH: '/usr/bin/geth' });
    assert.ok(files.length > 0 && files.every(onGeth));
  });

  it('says what is missing where only such tests are named without GETH', () => {
    for (const TESTS of ['geth', 'system/exchange.geth']) {
      for (const settings of [{ TESTS }, { TESTS, GETH: '' }]) assert.throws(() => chosen(settings), /these tests need go-ethereum; \.ci\/geth builds it/);
    }
  });

  it('says so of a text that is in no test\'s path', () => {
    assert.throws(() => chosen({ TESTS: 'nowhere' }), /^Error: TESTS is nowhere: expected all, unit, slow, services, chain, kafka, crash, geth, or a part/);
  });
});
