/** Price sources in tests: surroundings with a clock that stands, sources that say what a test lets them say, and a client of the stream. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { Observation, SourceName } from '../../command/prices/observation.js';
import type { PriceSource, SourcePorts } from '../../command/prices/price-source.js';
import { STREAM_TIMINGS, type StreamTimings } from '../../command/prices/providers/standing-stream.js';
import { createWatch, type Watch } from './until.js';

/** 2027-01-15 08:00:00 UTC, a boundary of quick markets. */
export const BOUNDARY_MS = 1_800_000_000_000;

export interface PriceScene {
  readonly ports: SourcePorts;
  readonly timings: StreamTimings;
  readonly clock: { nowMs: number };
  readonly observations: Observation[];
  readonly reports: string[];
  /** The pauses that the source has made, in milliseconds. */
  readonly pauses: number[];
  readonly watch: Watch;
  /** Starts the source; it is closed when the test is over. */
  begin(source: PriceSource): PriceSource;
  over(): Promise<void>;
}

/** Random numbers are all 0.5, which leaves pauses as they are. `watch` is rung when something happens: a server's, if there is one. */
export function createPriceScene(watch: Watch = createWatch()): PriceScene {
  const begun: PriceSource[] = [];
  const scene: PriceScene = {
    clock: { nowMs: BOUNDARY_MS }, observations: [], reports: [], pauses: [], watch,
    timings: STREAM_TIMINGS,
    ports: {
      now: () => scene.clock.nowMs, random: () => 0.5, fetch,
      report(level, text) { scene.reports.push(`${level}: ${text}`); watch.ring(); },
      async pause(ms) {
        scene.pauses.push(ms);
        watch.ring();
        await new Promise(setImmediate);
      },
    },
    begin(source) {
      begun.push(source);
      source.start((observation) => { scene.observations.push(observation); watch.ring(); });
      return source;
    },
    async over() { await Promise.all(begun.map((source) => source.close())); },
  };
  return scene;
}

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

export interface PriceListener {
  /** The ids of the events, in the order in which they came. */
  readonly ids: readonly number[];
  /** The statuses of the answers that were no stream. */
  readonly refusals: readonly number[];
  /** How often the stream has begun. */
  readonly streams: () => number;
  /** Resolves after the signal. */
  readonly done: Promise<void>;
}

export function listenToPrices(url: string, signal: AbortSignal): PriceListener {
  const ids: number[] = [];
  const refusals: number[] = [];
  let streams = 0;
  const parser = createParser({ onEvent: ({ id }) => { if (id !== undefined) ids.push(Number(id)); } });

  async function listen(): Promise<void> {
    const last = ids.at(-1);
    const response = await fetch(url, { signal, headers: last === undefined ? {} : { 'Last-Event-ID': String(last) } });
    if (response.status !== 200) {
      refusals.push(response.status);
      await response.text();
      return;
    }
    streams += 1;
    parser.reset();
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream()) as AsyncIterable<string>) parser.feed(piece);
  }

  async function keepListening(): Promise<void> {
    while (!signal.aborted) {
      // A stream that breaks off is opened again.
      await listen().catch(() => undefined);
      await sleep(20);
    }
  }
  return { ids, refusals, streams: () => streams, done: keepListening() };
}
