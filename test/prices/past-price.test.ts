/** The price of a boundary from what the sources tell of the past: the first of the best source, with a witness, or none. */
import { deepEqual } from 'node:assert/strict';
import { pastPrice } from '../../command/prices/past-price.js';
import { scriptedSource, type ScriptedSource } from '../support/price-scene.js';

const T = 1_800_000_000;
const at = (ms: number): number => T * 1_000 + ms;
type PricePoints = readonly (readonly [usd: number, ms: number])[];

/** `source usd milliseconds after the boundary`, or undefined. */
async function found(told: readonly [pyth: PricePoints | Error, coinbase: PricePoints | Error], nowMs = at(60_000)): Promise<string | undefined> {
  const sources: ScriptedSource[] = [scriptedSource('pyth', { firstOnly: true }), scriptedSource('coinbase')];
  sources.forEach((source, i) => {
    const past = told[i]!;
    source.past = past instanceof Error ? past : past.map(([usd, ms]) => [usd, at(ms)] as const);
  });
  const { observation } = await pastPrice({ asset: 'BTC', time: T, sources, nowMs });
  return observation && `${observation.source} ${Number(observation.priceE8) / 1e8} ${observation.publishedAtMs - T * 1_000}`;
}

describe('prices: the price of a past moment', () => {
  const gone = new Error('gone');
  for (const [what, pyth, coinbase, price] of [
    ['the best source\'s first at or after it', [[100, -3_000], [101, 0], [102, 1_000]], [[99, 0]], 'pyth 101 0'],
    ['also when another one\'s is earlier', [[100, -3_000], [101, 900]], [[99, -900], [99, 10]], 'pyth 101 900'],
    ['a witness may be another source', [[101, 500]], [[100, -500], [100, 400]], 'pyth 101 500'],
    ['the next source\'s, when the best one does not answer', gone, [[99, -2_000], [98, 200], [97, 1_200]], 'coinbase 98 200'],
    ['the next source\'s, when the best one has nothing', [], [[99, -2_000], [98, 200]], 'coinbase 98 200'],
    ['not an absurd one', [[100, -3_000], [1, 200]], [[99, -1_000], [99, 100], [99, 1_100]], 'coinbase 99 1100'],
    ['at the window\'s end', [], [[100, -3_000], [101, 15_000]], 'coinbase 101 15000'],
    ['none after it', [[100, 15_001]], [[100, 15_001], [100, 16_000]], undefined],
    ['none without a witness', [[101, 100]], [], undefined],
    ['none when nobody answers', gone, gone, undefined],
  ] as [string, PricePoints | Error, PricePoints | Error, string | undefined][]) {
    it(what, async () => { deepEqual(await found([pyth, coinbase]), price); });
  }

  it('does not ask beyond the present', async () => {
    deepEqual(await found([[[100, -3_000], [101, 5_000]], []], at(4_999)), undefined);
  });

  it('names the sources that did not answer', async () => {
    const source = scriptedSource('binance');
    source.past = new Error('429');
    deepEqual(await pastPrice({ asset: 'BTC', time: T, sources: [source], nowMs: at(60_000) }), { observation: undefined, failures: new Map([['binance', '429']]) });
  });
});
