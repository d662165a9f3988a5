/** The prices of an outcome as candles; the chart's script is loaded when one is first shown. */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal, useSignalEffect } from '@preact/signals';
import type { Candle } from '../../../client/src/answers.js';
import type { Interval } from '../../../client/src/reads.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { exchange } from '../exchange.js';
import { shownPrice } from '../figures.js';
import { Refused } from '../refusal.js';
import { isDark } from '../theme.js';
import type { CandleChart } from './candle-chart.js';
import type { MarketFeed } from './market-feed.js';

const INTERVALS: readonly Interval[] = ['1m', '5m', '15m', '1h', '1d'];
const SECONDS: Readonly<Record<Interval, number>> = { '1m': 60, '5m': 300, '15m': 900, '1h': 3_600, '1d': 86_400 };
const CANDLES = 500;

export function PriceChart({ id, feed }: { readonly id: Hex; readonly feed: MarketFeed }) {
  const [interval, outcome] = [useSignal<Interval>('5m'), useSignal<0 | 1>(0)];
  const [candles, error] = [useSignal<readonly Candle[]>([]), useSignal<unknown>(undefined)];
  useSignalEffect(() => {
    const wanted = { interval: interval.value, outcome: outcome.value };
    // Whatever has been traded or taken back changes candles.
    if (feed.traded.value === 0) return undefined;
    const leaving = new AbortController();
    exchange.peek().read.candles(id, wanted, { signal: leaving.signal, pageSize: CANDLES }).take(CANDLES).then((found) => {
      [candles.value, error.value] = [found.toSorted((a, b) => a.start - b.start), undefined];
    }, (problem: unknown) => { if (!leaving.signal.aborted) error.value = problem; });
    return () => { leaving.abort(); };
  });
  const last = candles.value.at(-1);
  return (
    <section class="panel" aria-labelledby="price-title">
      <div class="row spread">
        <h2 id="price-title">Price of {outcome.value === 0 ? 'YES' : 'NO'}</h2>
        <div class="row">
          <Choices label="Outcome" of={[[0, 'YES'], [1, 'NO']]} value={outcome.value} onChoose={(chosen) => { outcome.value = chosen; }} />
          <Choices label="Interval" of={INTERVALS.map((each) => [each, each])} value={interval.value} onChoose={(chosen) => { interval.value = chosen; }} />
        </div>
      </div>
      <Refused error={error.value} />
      <Drawing candles={candles.value} seconds={SECONDS[interval.value]} label={`Candles of ${interval.value}: the last price is ${shownPrice(last?.close)}`} />
    </section>
  );
}

interface ChoicesProps<T> {
  readonly label: string;
  readonly of: readonly (readonly [value: T, title: string])[];
  readonly value: T;
  readonly onChoose: (value: T) => void;
}

function Choices<T extends string | number>({ label, of, value, onChoose }: ChoicesProps<T>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {of.map(([each, title]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => { onChoose(each); }}>{title}</button>
      ))}
    </div>
  );
}

interface DrawingProps {
  readonly candles: readonly Candle[];
  readonly seconds: number;
  readonly label: string;
}

function Drawing({ candles, seconds, label }: DrawingProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useSignal<CandleChart | undefined>(undefined);
  const drawn = chart.value;
  const dark = isDark.value;
  useEffect(() => {
    let isLeft = false;
    let made: CandleChart | undefined;
    void import('./candle-chart.js').then(({ createCandleChart }) => {
      if (!isLeft && place.current !== null) chart.value = made = createCandleChart(place.current);
    });
    return () => {
      isLeft = true;
      made?.remove();
    };
  }, [chart]);
  useEffect(() => { drawn?.recolour(); }, [drawn, dark]);
  useEffect(() => { drawn?.show(candles, seconds); }, [drawn, candles, seconds]);
  return (
    <div class="chart">
      <div ref={place} class="canvas" role="img" aria-label={label} />
      {candles.length === 0 ? <p class="hint over">No trade yet.</p> : null}
    </div>
  );
}
