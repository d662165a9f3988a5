/** The pictures of the growth benchmark: where a value is on an axis, what the axis says, and that any name is text. */
import assert from 'node:assert/strict';
import { drawCurve, scaleOf, tickText, type Curve } from './curve.js';

const ends = { from: 0, to: 100 };

describe('bench: curves', () => {
  it('a logarithmic axis goes from a tick at or below the least value to one at or above the most', () => {
    const ticks = (...values: number[]) => scaleOf(values, { log: true, ...ends }).ticks;
    assert.deepEqual(ticks(10, 1_000, 100_000), [10, 100, 1_000, 10_000, 100_000]);
    assert.deepEqual(ticks(17.1, 340), [10, 20, 50, 100, 200, 500]);
    assert.deepEqual(ticks(0.03, 4_200_000), [0.01, 0.1, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]);
    assert.deepEqual(ticks(7), [5, 10]);
    assert.deepEqual(ticks(10), [10, 20]);
  });

  it('a linear axis begins at 0, and goes in steps of 1, 2 or 5', () => {
    const ticks = (...values: number[]) => scaleOf(values, { log: false, ...ends }).ticks;
    assert.deepEqual(ticks(3, 8), [0, 2, 4, 6, 8]);
    assert.deepEqual(ticks(0.31), [0, 0.1, 0.2, 0.3, 0.4]);
    assert.deepEqual(ticks(1_900, 2_000), [0, 500, 1_000, 1_500, 2_000]);
    assert.deepEqual(ticks(-3, 3), [-4, -2, 0, 2, 4]);
    assert.deepEqual(ticks(0, 0), [0, 1]);
  });

  it('equal ratios are as long as each other on a logarithmic axis, equal differences on a linear one', () => {
    const logarithmic = scaleOf([1, 10_000], { log: true, ...ends });
    assert.deepEqual([1, 10, 100, 10_000].map((value) => logarithmic.place(value)), [0, 25, 50, 100]);
    const upwards = scaleOf([0, 10], { log: false, from: 300, to: 100 });
    assert.deepEqual([0, 5, 10].map((value) => upwards.place(value)), [300, 200, 100]);
  });

  it('refuses what has no place', () => {
    for (const value of [0, -1, NaN]) assert.throws(() => scaleOf([1, value], { log: true, ...ends }), /has no place for/);
    assert.throws(() => scaleOf([], { log: false, ...ends }), /without points/);
  });

  it('writes numbers short', () => {
    assert.deepEqual([0, 0.02, 5, 999, 1_000, 20_000, 100_000, 4_200_000].map(tickText), ['0', '0.02', '5', '999', '1k', '20k', '100k', '4.2M']);
  });

  const curve: Curve = {
    file: 'growth-test', title: 'a < b & c', x: { label: 'orders <x>', log: true }, y: { label: 'µs & more', log: false },
    series: [{ name: 'one </text>', points: [[10, 1], [100, 2]] }, { name: 'two & two', points: [[10, 0]] }],
  };

  it('escapes every name', () => {
    const texts = [...drawCurve(curve).matchAll(/<(?:text|title)[^>]*>([^<]*)<\//g)].map(([, content]) => content);
    for (const name of ['a &lt; b &amp; c', 'orders &lt;x&gt;', 'µs &amp; more', 'one &lt;/text&gt;', 'two &amp; two']) assert.ok(texts.includes(name), name);
  });

  it('draws a line through the points of each series, in colours of their own', () => {
    const lines = [...drawCurve(curve).matchAll(/<polyline points="([^"]*)" fill="none" stroke="([^"]*)"/g)];
    assert.deepEqual(lines.map(([, points = '']) => points.split(' ').length), [2, 1]);
    assert.equal(new Set(lines.map(([, , colour]) => colour)).size, 2);
    assert.equal([...drawCurve(curve).matchAll(/<circle /g)].length, 3);
  });
});
