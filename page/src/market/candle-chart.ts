/** Candles drawn by TradingView's Lightweight Charts, in the page's colours. */
import {
  CandlestickSeries, createChart, HistogramSeries, type CandlestickData, type HistogramData, type UTCTimestamp,
} from 'lightweight-charts';
import type { Candle } from '../../../client/src/answers.js';
import { chartPrice } from '../figures.js';

export interface CandleChart {
  /** Candles in the order of time, of so many seconds each. */
  show(candles: readonly Candle[], seconds: number): void;
  /** Takes the page's colours again. */
  recolour(): void;
  remove(): void;
}

export function createCandleChart(place: HTMLElement): CandleChart {
  const chart = createChart(place, {
    autoSize: true,
    // The footer names TradingView: the logo would bring a style of its own into the page, which its policy forbids.
    layout: { attributionLogo: false, fontFamily: getComputedStyle(document.body).fontFamily, fontSize: 11 },
    timeScale: { timeVisible: true, secondsVisible: false },
    rightPriceScale: { scaleMargins: { top: 0.08, bottom: 0.22 } },
    handleScroll: { vertTouchDrag: false },
  });
  const prices = chart.addSeries(CandlestickSeries, { priceFormat: { type: 'price', precision: 3, minMove: 0.001 }, borderVisible: false });
  const volumes = chart.addSeries(HistogramSeries, { priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false });
  chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
  let shownSeconds = 0;
  let quiet = '';
  return {
    show(candles, seconds) {
      prices.setData(candles.map((each): CandlestickData => ({
        time: each.start as UTCTimestamp, open: chartPrice(each.open), high: chartPrice(each.high),
        low: chartPrice(each.low), close: chartPrice(each.close),
      })));
      volumes.setData(candles.map((each): HistogramData => ({ time: each.start as UTCTimestamp, value: chartPrice(each.volume), color: quiet })));
      if (seconds !== shownSeconds && candles.length > 0) {
        shownSeconds = seconds;
        chart.timeScale().fitContent();
      }
    },
    recolour() {
      const style = getComputedStyle(document.documentElement);
      const colour = (name: string): string => style.getPropertyValue(name).trim();
      quiet = colour('--line');
      chart.applyOptions({
        layout: { background: { color: colour('--surface') }, textColor: colour('--quiet') },
        grid: { vertLines: { color: colour('--raised') }, horzLines: { color: colour('--raised') } },
        rightPriceScale: { borderColor: colour('--line') }, timeScale: { borderColor: colour('--line') },
      });
      const [up, down] = [colour('--up'), colour('--down')];
      prices.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down });
      volumes.setData(volumes.data().map((each) => ({ ...each, color: quiet } as HistogramData)));
    },
    remove() { chart.remove(); },
  };
}
