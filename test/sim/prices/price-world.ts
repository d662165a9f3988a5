/** What the price sources of the world publish, what is wrong with them, and a source as one process has it: a stream over a network. */
import type { Observation } from '../../../command/prices/observation.js';
import type { PriceSource } from '../../../command/prices/price-source.js';
import { simulatedPriceE8 } from '../../../command/prices/simulated.js';
import type { SimProcess } from '../world/process.js';
import { START_MS, type VirtualTime } from '../world/time.js';
import type { Strikes } from '../world/weather.js';

export const SOURCES = ['pyth', 'coinbase', 'binance'] as const;
export type SimSourceName = typeof SOURCES[number];

export const ASSET = 'BTC';
/** A quick market's length. */
export const QUICK_INTERVAL_S = 20;
/** No quick market is wanted later: a run comes to rest when the last one is resolved. */
export const QUICK_UNTIL_MS = 18_000;
/** Nothing is published later: all boundaries are past. */
const LAST_PUBLISHED_MS = START_MS + 58_000;

interface Span { readonly fromMs: number; toMs: number }

export interface SourceState {
  /** It cannot be reached, for what it publishes and what it is asked. Virtual time, as the next. */
  awayUntilMs: number;
  lateUntilMs: number;
  /** Its prices are ten times what they are. Milliseconds since the Unix epoch. */
  readonly absurd: Span[];
  /** It publishes nothing. */
  readonly silent: Span[];
}

export interface PriceWorld {
  /** Whether the world has the prices role: every second one has, since it costs half as much as all else. */
  readonly areTraded: boolean;
  readonly sources: Readonly<Record<SimSourceName, SourceState>>;
  /** What the source publishes in a second since the Unix epoch. */
  published(name: SimSourceName, second: number): Observation | undefined;
  isAbsurd(observation: Observation): boolean;
  /** Ends every fault. */
  clearUp(nowMs: number): void;
}

const isIn = (spans: readonly Span[], ms: number): boolean => spans.some(({ fromMs, toMs }) => ms >= fromMs && ms < toMs);

export function createPriceWorld(seed: number): PriceWorld {
  const fresh = (): SourceState => ({ awayUntilMs: 0, lateUntilMs: 0, absurd: [], silent: [] });
  const sources = { pyth: fresh(), coinbase: fresh(), binance: fresh() };
  const known = new Map<string, { priceE8: bigint; publishedAtMs: number }>();
  const walked = new Map<number, bigint>();

  /** The price without what a source adds to it. */
  function walkedTo(second: number): bigint {
    let priceE8 = walked.get(second);
    if (priceE8 === undefined) walked.set(second, priceE8 = simulatedPriceE8({ seed: `${seed}`, asset: ASSET, aroundE8: 60_000n * 10n ** 8n, second }));
    return priceE8;
  }

  function drawn(name: SimSourceName, second: number): { priceE8: bigint; publishedAtMs: number } {
    const key = `${name} ${second}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const number = Math.imul(second % 100_003 + 7 * SOURCES.indexOf(name) + seed, 0x9e3779b1) >>> 0;
    const priceE8 = walkedTo(second) + BigInt(number % 1_000) * 10n ** 6n;
    // Often at the very beginning of the second, where a boundary is.
    const made = { priceE8, publishedAtMs: second * 1_000 + (number % 3 === 0 ? 0 : number % 900) };
    known.set(key, made);
    return made;
  }

  return {
    sources, areTraded: seed % 2 === 0,
    published(name, second) {
      const { priceE8, publishedAtMs } = drawn(name, second);
      const { absurd, silent } = sources[name];
      if (publishedAtMs > LAST_PUBLISHED_MS || isIn(silent, publishedAtMs)) return undefined;
      return { asset: ASSET, source: name, publishedAtMs, priceE8: isIn(absurd, publishedAtMs) ? priceE8 * 10n : priceE8 };
    },
    isAbsurd: ({ source, publishedAtMs }) => isIn(sources[source as SimSourceName].absurd, publishedAtMs),
    clearUp(nowMs) {
      for (const state of Object.values(sources)) {
        Object.assign(state, { awayUntilMs: 0, lateUntilMs: 0 });
        for (const span of [...state.absurd, ...state.silent]) span.toMs = Math.min(span.toMs, START_MS + nowMs);
      }
    },
  };
}

interface SourceParts {
  readonly time: VirtualTime;
  readonly strikes: Strikes;
  readonly prices: PriceWorld;
}

export function createSimSource(name: SimSourceName, process: SimProcess, { time, strikes, prices }: SourceParts): PriceSource {
  const state = prices.sources[name];
  let [closed, connections, connected] = [false, 1, true];
  let lastHeardMs: number | undefined;
  const secondNow = (): number => Math.floor((START_MS + time.now()) / 1_000);
  const isAway = (): boolean => {
    if (time.now() >= state.awayUntilMs) return false;
    strikes.struck('price source away', name);
    return true;
  };

  function listen(second: number, listener: (observation: Observation) => void): void {
    const atMs = (prices.published(name, second)?.publishedAtMs ?? second * 1_000) - START_MS;
    time.after(atMs - time.now() + 1 + 40 * time.random(), () => {
      if (closed || !process.alive) return;
      listen(second + 1, listener);
      // Known only now: a fault of the source may have begun or ended since the last second.
      const observation = prices.published(name, second);
      if (observation === undefined) return;
      if (isAway()) {
        connected = false;
        return;
      }
      if (!connected) [connected, connections] = [true, connections + 1];
      const late = time.now() < state.lateUntilMs;
      if (late) strikes.struck('price late', name);
      if (prices.isAbsurd(observation)) strikes.struck('absurd price', name);
      time.after(late ? 500 + 9_000 * time.random() : 0, () => {
        if (closed || !process.alive) return;
        lastHeardMs = START_MS + time.now();
        listener(observation);
      });
    });
  }

  return {
    name, url: `${name}.example`,
    start(listener) { listen(secondNow() + 1, listener); },
    close() {
      closed = true;
      return Promise.resolve();
    },
    observationsSince: (_, { fromMs, toMs }) => process.request(() => {
      if (isAway()) throw new Error('the provider is away');
      const last = Math.min(Math.floor(toMs / 1_000), secondNow());
      const first = Math.floor(fromMs / 1_000);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => prices.published(name, first + n))
        .filter((each) => each !== undefined)
        .filter(({ publishedAtMs }) => publishedAtMs >= fromMs && publishedAtMs <= toMs && publishedAtMs <= START_MS + time.now());
    }),
    health: () => ({ connected, connections, lastHeardMs, badMessages: 0, problem: undefined }),
  };
}
