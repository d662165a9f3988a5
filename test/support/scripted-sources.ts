/** Price sources that say what a test lets them say, now and of the past. */
import type { Observation, SourceName } from '../../command/prices/observation.js';
import type { PriceSource } from '../../command/prices/price-source.js';

export interface ScriptedSource extends PriceSource {
  /** Publishes a price at this time, in milliseconds; `usd` in whole dollars. */
  say(usd: number, publishedAtMs: number): void;
  /** What it tells of the past; an Error: it does not answer. */
  past: readonly (readonly [usd: number, publishedAtMs: number])[] | Error;
  /** The beginnings of the time spans that it was asked about, in milliseconds. */
  readonly asked: number[];
  /** How many there have been, as its health says. */
  connections: number;
  closed: boolean;
}

/** A source of BTC. With `firstOnly` it tells only the first observation of a time span, as Pyth does. */
export function scriptedSource(
  name: SourceName, { firstOnly = false, onAsked = () => undefined }: { readonly firstOnly?: boolean; readonly onAsked?: () => void } = {},
): ScriptedSource {
  const listeners: ((observation: Observation) => void)[] = [];
  const observation = (usd: number, publishedAtMs: number): Observation => (
    { asset: 'BTC', source: name, priceE8: BigInt(Math.round(usd * 1e8)), publishedAtMs });
  const source: ScriptedSource = {
    name, url: `told:${name}`, past: [], asked: [], connections: 1, closed: false,
    start(listener) { listeners.push(listener); },
    say(usd, publishedAtMs) { for (const listener of listeners) listener(observation(usd, publishedAtMs)); },
    observationsSince(_asset, { fromMs, toMs }) {
      source.asked.push(fromMs);
      onAsked();
      if (source.past instanceof Error) return Promise.reject(source.past);
      const told = source.past.filter(([, at]) => at >= fromMs && at <= toMs).map(([usd, at]) => observation(usd, at));
      return Promise.resolve(firstOnly ? told.slice(0, 1) : told);
    },
    health: () => ({ connected: !source.closed, connections: source.connections, lastHeardMs: undefined, badMessages: 0, problem: undefined }),
    close() {
      source.closed = true;
      return Promise.resolve();
    },
  };
  return source;
}
