/** The pictures of `npm run bench -- growth`: curves as SVG, on a white ground of their own, so that they read on a dark page, too. */

/** A picture of the growth benchmark: test/bench/curve.ts */
export interface Curve {
  /** The file's name below docs/pictures/, without `.svg`. */
  readonly file: string;
  readonly title: string;
  /** Both axes are logarithmic where `log`; labels with their unit. */
  readonly x: { readonly label: string; readonly log: boolean };
  readonly y: { readonly label: string; readonly log: boolean };
  readonly series: readonly { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }[];
}

const WIDTH = 640;
const [LEFT, RIGHT] = [60, WIDTH - 30];
const [TITLE_Y, LINE, PLOT, BELOW] = [26, 18, 260, 50];
/** Okabe's and Ito's, which people with any sight of colours tell apart. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000'];

/** The curve as an SVG picture. Throws RangeError where a logarithmic axis would have a value that is not above 0, and where there are no points. */
export function drawCurve({ title, x, y, series }: Curve): string {
  const points = series.flatMap((each) => each.points);
  const top = TITLE_Y + LINE * (series.length + 2);
  const bottom = top + PLOT;
  const across = scaleOf(points.map(([value]) => value), { log: x.log, from: LEFT, to: RIGHT });
  const up = scaleOf(points.map(([, value]) => value), { log: y.log, from: bottom, to: top });
  const height = bottom + BELOW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="13" fill="#333" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" rx="6" fill="#fff"/>`,
    text({ x: LEFT, y: TITLE_Y }, title, 'font-size="15" font-weight="bold"'),
    ...series.flatMap(({ name }, n) => [
      `<path d="M${LEFT} ${legendY(n) - 4}h24" stroke="${colour(n)}" stroke-width="3"/>`, text({ x: LEFT + 32, y: legendY(n) }, name),
    ]),
    text({ x: 8, y: top - 10 }, y.label),
    ...up.ticks.flatMap((value) => [
      `<path d="M${LEFT} ${round(up.place(value))}H${RIGHT}" stroke="#ddd"/>`,
      text({ x: LEFT - 8, y: round(up.place(value) + 4) }, tickText(value), 'text-anchor="end"'),
    ]),
    ...across.ticks.flatMap((value) => [
      `<path d="M${round(across.place(value))} ${bottom}v5" stroke="#333"/>`,
      text({ x: round(across.place(value)), y: bottom + 20 }, tickText(value), 'text-anchor="middle"'),
    ]),
    `<path d="M${LEFT} ${bottom}H${RIGHT}" stroke="#333"/>`,
    text({ x: RIGHT, y: bottom + 40 }, x.label, 'text-anchor="end"'),
    ...series.flatMap((each, n) => {
      const places = each.points.map(([right, high]) => [round(across.place(right)), round(up.place(high))] as const);
      return [
        `<polyline points="${places.map((place) => place.join()).join(' ')}" fill="none" stroke="${colour(n)}" stroke-width="2"/>`,
        ...places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour(n)}"/>`),
      ];
    }),
    '</svg>', '',
  ].join('\n');
}

export interface Scale {
  /** In ascending order; the first and the last one enclose all values. */
  readonly ticks: readonly number[];
  /** Where a value is between the axis's two ends. */
  place(value: number): number;
}

/** The axis for these values, from one place to the other. Throws RangeError. */
export function scaleOf(values: readonly number[], { log, from, to }: { readonly log: boolean; readonly from: number; readonly to: number }): Scale {
  if (values.length === 0) throw new RangeError('a curve without points has no axes');
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ticks = log ? logarithmicTicks(least, most) : linearTicks(Math.min(0, least), most);
  const measure = log ? Math.log10 : (value: number) => value;
  const [low, high] = [measure(ticks[0] ?? 0), measure(ticks.at(-1) ?? 0)];
  return { ticks, place: (value) => from + (to - from) * (measure(value) - low) / (high - low) };
}

/** Above this ratio of the axis's ends only powers of ten are marked; below, also twice and five times as much. */
const MANY = 200;

function logarithmicTicks(least: number, most: number): number[] {
  if (!(least > 0)) throw new RangeError(`a logarithmic axis has no place for ${least}`);
  const [first, last] = [Math.floor(Math.log10(least)) - 1, Math.ceil(Math.log10(most)) + 1];
  const steps = most / least > MANY ? [1] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, n) => steps.map((step) => Number(`${step}e${first + n}`))).flat();
  const low = all.findLastIndex((tick) => tick <= least);
  return all.slice(low, Math.max(all.findIndex((tick) => tick >= most), low + 1) + 1);
}

function linearTicks(low: number, high: number): number[] {
  const wanted = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = power * ([1, 2, 5].find((times) => times * power >= wanted) ?? 10);
  const [first, last] = [Math.floor(low / step), Math.max(Math.ceil(high / step), 1)];
  return Array.from({ length: last - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)));
}

/** A number on an axis: three digits, with `k` for thousands and `M` for millions. */
export function tickText(value: number): string {
  const [size, suffix] = Math.abs(value) >= 1e6 ? [1e6, 'M'] : Math.abs(value) >= 1e3 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / size).toPrecision(3))}${suffix}`;
}

function text({ x, y }: { readonly x: number; readonly y: number }, content: string, attributes = ''): string {
  return `<text x="${x}" y="${y}"${attributes === '' ? '' : ` ${attributes}`}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function legendY(n: number): number {
  return TITLE_Y + LINE * (n + 1) + 4;
}

function colour(n: number): string {
  return COLOURS[n % COLOURS.length] ?? '#000';
}

/** To a tenth of a pixel, so that a picture changes only where it looks otherwise. */
function round(place: number): number {
  return Math.round(place * 10) / 10;
}
