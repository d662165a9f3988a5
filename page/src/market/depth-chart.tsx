/** A book as a curve: how many shares wait up to each price. */
import type { Level, OutcomeBook } from '../../../client/src/client.js';
import { chartPrice, shownShares } from '../figures.js';

const [WIDTH, HEIGHT] = [300, 80];

export function DepthChart({ name, book }: { readonly name: string; readonly book: OutcomeBook | undefined }) {
  const [bids, asks] = [curveOf(book?.bids), curveOf(book?.asks)];
  const most = Math.max(1, bids.at(-1)?.total ?? 0, asks.at(-1)?.total ?? 0);
  const sum = (levels: readonly Level[] | undefined): string => shownShares((levels ?? []).reduce((all, { size }) => all + size, 0n));
  return (
    <figure class="depth">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
        aria-label={`Depth of ${name}: ${sum(book?.bids)} shares bid for, ${sum(book?.asks)} offered`}
      >
        <path class="bids" d={areaOf(bids, most, 0)} />
        <path class="asks" d={areaOf(asks, most, WIDTH)} />
      </svg>
      <figcaption class="axis" aria-hidden="true"><span>0</span><span>depth of {name}</span><span>1</span></figcaption>
    </figure>
  );
}

interface Point {
  readonly price: number;
  /** Shares from the best price to this one. */
  readonly total: number;
}

function curveOf(levels: readonly Level[] | undefined): Point[] {
  let total = 0;
  return (levels ?? []).map(({ price, size }) => ({ price: chartPrice(price), total: total += Number(size) }));
}

/** From the best price to the end of the chart, in steps. */
function areaOf(points: readonly Point[], most: number, end: number): string {
  const [best] = points;
  if (best === undefined) return '';
  const x = (price: number): string => (price * WIDTH).toFixed(1);
  const y = (total: number): string => (HEIGHT - total / most * (HEIGHT - 4)).toFixed(1);
  const steps = points.map(({ price, total }) => `H${x(price)}V${y(total)}`).join('');
  return `M${x(best.price)} ${HEIGHT}${steps}H${end}V${HEIGHT}Z`;
}
