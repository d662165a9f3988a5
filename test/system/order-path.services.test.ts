/** How many files of the program an order passes through, from the request to the answer: what a newcomer must read to follow one. */
import assert from 'node:assert/strict';
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { alice, exchangeStack, type ExchangeStack } from '../harness/exchange.js';

const MOST_FILES = 45;
const ORDERS = 10;
const BUILT = fileURLToPath(new URL('../../', import.meta.url));
const PRODUCT = /^(command|contracts-abi|engine|service)\//;

describe('exchange: the way of an order', () => {
  let exchange: ExchangeStack;
  before(async () => { exchange = await exchangeStack(); });
  after(() => exchange.close());

  it(`goes through at most ${MOST_FILES} files`, async () => {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const called = async () => filesOf((await session.post('Profiler.takePreciseCoverage')).result);
    // The first order compiles what the others use. What else the process does meanwhile is not called by every order.
    await exchange.place(alice, { marketId: exchange.rain.id });
    let files = await called();
    for (let order = 0; order < ORDERS; order++) {
      await exchange.place(alice, { marketId: exchange.rain.id });
      const more = await called();
      files = files.filter((file) => more.includes(file));
    }
    session.disconnect();
    assert.ok(files.includes('engine/rules/match.js') && files.includes('service/http/app.js'), 'no order was followed');
    assert.ok(files.length <= MOST_FILES, `${files.length} files: ${files.join(', ')}`);
  });
});

interface Script { readonly url: string; readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[] }

/** The program's files of which a function was called, without the directory of the build. */
function filesOf(scripts: readonly Script[]): string[] {
  const called = scripts.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)));
  const paths = called.filter(({ url }) => url.startsWith('file:')).map(({ url }) => fileURLToPath(url).replace(BUILT, ''));
  return paths.filter((path) => PRODUCT.test(path)).sort();
}
