/** Simulated prices: the same everywhere and always for a seed and a second, and a walk that looks like one. */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict';
import { createSimulated, simulatedPriceE8 } from '../../command/prices/simulated.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import { BOUNDARY_MS, createPriceScene, type PriceScene } from '../support/price-scene.js';

const SECOND = BOUNDARY_MS / 1_000;
const aroundE8 = { BTC: 6_000_000_000_000n, ETH: 300_000_000_000n };

describe('prices: simulated', () => {
  let scene: PriceScene;
  beforeEach(() => { scene = createPriceScene(); });
  afterEach(async () => { await scene.over(); });

  const create = (seed = 'seed'): PriceSource => createSimulated({ aroundE8, seed, ports: scene.ports });
  const price = (second: number, asset: 'BTC' | 'ETH' = 'BTC', seed = 'seed'): bigint => simulatedPriceE8({ seed, asset, aroundE8: aroundE8[asset], second });

  it('are what they were: histories of development stacks go on with them', () => {
    deepEqual([0, 1, 2, 3, 900].map((after) => price(SECOND + after)), KNOWN);
  });

  it('depend on seed and asset', () => {
    notEqual(price(SECOND), price(SECOND, 'BTC', 'another seed'));
    notEqual(price(SECOND) - aroundE8.BTC, (price(SECOND, 'ETH') - aroundE8.ETH) * 20n);
  });

  it('stay near, move by little per second, and end quarters of an hour both up and down', () => {
    const day = Array.from({ length: 20_000 }, (_, n) => price(SECOND + n));
    const share = (part: bigint, of: bigint): number => Number(part * 1_000_000n / of);
    for (const [n, each] of day.entries()) {
      ok(Math.abs(share(each - aroundE8.BTC, aroundE8.BTC)) < 31_000);
      if (n > 0) ok(Math.abs(share(each - day[n - 1]!, each)) < 240);
    }
    const quarters = Array.from({ length: 200 }, (_, n) => price(SECOND + (n + 1) * 900) - price(SECOND + n * 900));
    const ups = quarters.filter((moved) => moved > 0n).length;
    ok(ups > 60 && ups < 140, `${ups} of 200 quarters of an hour go up`);
    ok(quarters.every((moved) => moved !== 0n));
  });

  it('come once per second and asset, at its beginning, and leave out what was slept through', async () => {
    scene.clock.nowMs = BOUNDARY_MS + 400;
    const source = scene.begin(create());
    const come = (count: number): Promise<void> => scene.watch.until(`observation ${count}`, () => scene.observations.length >= count);
    await come(2);
    await scene.watch.until('pauses', () => scene.pauses.length >= 3);
    scene.clock.nowMs = BOUNDARY_MS + 1_000;
    await come(4);
    scene.clock.nowMs = BOUNDARY_MS + 7_999;
    await come(6);
    deepEqual(scene.observations, [0, 1, 7].flatMap((after) => (['BTC', 'ETH'] as const).map((asset) => (
      { asset, source: 'simulated', priceE8: price(SECOND + after, asset), publishedAtMs: BOUNDARY_MS + after * 1_000 }))));
    equal(scene.pauses[0], 600);
    deepEqual(source.health(), { connected: true, connections: 1, lastHeardMs: BOUNDARY_MS + 7_999, badMessages: 0, problem: undefined });
  });

  it('can all be told later, the same in every process', async () => {
    const span = { fromMs: BOUNDARY_MS + 1, toMs: BOUNDARY_MS + 3_000 };
    const found = await create().observationsSince('BTC', span);
    deepEqual(found, [1, 2, 3].map((after) => ({ asset: 'BTC', source: 'simulated', priceE8: price(SECOND + after), publishedAtMs: BOUNDARY_MS + after * 1_000 })));
    deepEqual(await create().observationsSince('BTC', span), found);
    deepEqual(await create().observationsSince('DOGE', span), []);
    deepEqual(await create().observationsSince('BTC', { fromMs: 2_000, toMs: 1_000 }), []);
  });

  it('stop when the source is closed', async () => {
    const source = scene.begin(create());
    await source.close();
    const { length } = scene.observations;
    scene.clock.nowMs += 60_000;
    await new Promise(setImmediate);
    equal(scene.observations.length, length);
  });
});

/** Of BTC with the seed `seed`, in the first seconds and after a quarter of an hour. */
const KNOWN = [6_009_481_891_312n, 6_008_847_530_761n, 6_009_037_873_775n, 6_008_399_916_836n, 6_016_229_662_442n];
