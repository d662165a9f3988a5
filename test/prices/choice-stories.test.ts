/** The choice in random stories: sources that stop, lag, repeat themselves, say nonsense and have wrong clocks. What must hold always, holds. */
import { equal, ok } from 'node:assert/strict';
import { createChoice, type PriceVerdict } from '../../command/prices/choice.js';
import type { Observation, SourceName } from '../../command/prices/observation.js';
import { createDice } from '../support/random-commands.js';
import { BOUNDARY_MS } from '../support/price-scene.js';

const SOURCES = ['pyth', 'coinbase', 'binance'] as const satisfies SourceName[];
const SECONDS = 400;
const STORIES = 150;
const TRUTH_E8 = 60_000n * 10n ** 8n;

interface StoryObservation {
  readonly observation: Observation;
  readonly atMs: number;
  /** The price is near the truth and the time right. */
  readonly honest: boolean;
  readonly truthE8: bigint;
}

/** What a source does for a while. */
type Mood = 'well' | 'silent' | 'lagging' | 'stuck' | 'ahead' | 'absurd now and then';
const MOODS: readonly Mood[] = ['well', 'well', 'well', 'silent', 'lagging', 'stuck', 'ahead', 'absurd now and then'];

/** The truth moves by up to 0.1 % per second. One source at a time says nonsense, never twice in a row, and not another source's nonsense. */
function story(seed: number): StoryObservation[] {
  const { below } = createDice(seed);
  const states = SOURCES.map((source, place) => ({ source, nonsense: [2, 20, 200][place]!, mood: 'well' as Mood, untilSecond: 0, absurd: false, lastMs: 0 }));
  let truthE8 = TRUTH_E8;
  return Array.from({ length: SECONDS }, (_, second) => {
    truthE8 += truthE8 * BigInt(below(2_001) - 1_000) / 1_000_000n;
    return states.flatMap((state): StoryObservation[] => {
      if (second >= state.untilSecond) {
        state.mood = 'well';
        const mood = MOODS[below(MOODS.length)]!;
        [state.mood, state.untilSecond] = [states.some((other) => other.mood === mood) && mood.startsWith('absurd') ? 'well' : mood, second + 1 + below(40)];
      }
      if (state.mood === 'silent') return [];
      const atMs = BOUNDARY_MS + second * 1_000 + below(1_000);
      const publishedAtMs = publishedAt(state, atMs, below);
      state.absurd = state.mood === 'absurd now and then' && !state.absurd && below(3) === 0;
      const moved = BigInt(below(2_001) - 1_000);
      const priceE8 = state.absurd ? truthE8 * BigInt(state.nonsense + below(state.nonsense)) / 10n : truthE8 + truthE8 * moved / 1_000_000n;
      const honest = (state.mood === 'well' || state.mood === 'absurd now and then') && !state.absurd;
      if (honest) state.lastMs = publishedAtMs;
      return [{ observation: { asset: 'BTC', source: state.source, priceE8, publishedAtMs }, atMs, honest, truthE8 }];
    });
  }).flat().sort((a, b) => a.atMs - b.atMs);
}

function publishedAt({ mood, lastMs }: { mood: Mood; lastMs: number }, atMs: number, below: (n: number) => number): number {
  if (mood === 'lagging') return atMs - 10_001 - below(20_000);
  if (mood === 'ahead') return atMs + 1_001 + below(100_000);
  return mood === 'stuck' ? lastMs : atMs - below(500);
}

function judged(told: readonly StoryObservation[]): (StoryObservation & { readonly verdict: PriceVerdict })[] {
  const choice = createChoice({ sources: SOURCES, startedAtMs: BOUNDARY_MS });
  return told.map((each) => ({ ...each, verdict: choice.observe(each.observation, each.atMs) }));
}

describe('prices: random stories of the choice', () => {
  const stories = Array.from({ length: STORIES }, (_, n) => judged(story(n + 1)));

  it('accept at most one price per second, in order, never an old one or one ahead', () => {
    for (const lines of stories) {
      let last = -1;
      for (const { observation: { publishedAtMs }, atMs, verdict } of lines) {
        if (!verdict.accepted) continue;
        const second = Math.floor(publishedAtMs / 1_000);
        ok(second > last && atMs - publishedAtMs <= 10_000 && publishedAtMs - atMs <= 1_000);
        last = second;
      }
      ok(last > 0);
    }
  });

  it('accept nothing that is far from the truth', () => {
    let absurd = 0;
    for (const { observation: { priceE8 }, honest, truthE8, verdict } of stories.flat()) {
      const off = priceE8 > truthE8 ? priceE8 - truthE8 : truthE8 - priceE8;
      if (!honest && off * 10n > truthE8) absurd += 1;
      if (verdict.accepted) ok(off * 100n <= truthE8 * 8n, `${priceE8} where the truth is ${truthE8}`);
    }
    ok(absurd > 1_000, `${absurd} absurd observations`);
  });

  it('accept a price at least every ten seconds while some source is well', () => {
    for (const lines of stories) {
      let wellSinceMs = BOUNDARY_MS;
      let honestMs = BOUNDARY_MS;
      let acceptedMs = BOUNDARY_MS;
      for (const { atMs, honest, verdict } of lines) {
        if (!honest) continue;
        if (atMs - honestMs > 2_000) wellSinceMs = atMs;
        honestMs = atMs;
        if (verdict.accepted) acceptedMs = atMs;
        else ok(atMs - Math.max(acceptedMs, wellSinceMs) <= 10_000, `nothing is accepted for ${atMs - acceptedMs} ms`);
      }
    }
  });

  it('use the best source when it has been well for long enough; only nonsense of both others can get in its way', () => {
    let [times, refused] = [0, 0];
    for (const lines of stories) {
      let wellSinceMs = BOUNDARY_MS;
      let honestMs = BOUNDARY_MS;
      for (const { observation: { source }, atMs, honest, verdict } of lines) {
        if (source === 'pyth') {
          const doubted = honest && !verdict.accepted && verdict.because === 'jump';
          if (doubted) refused += 1;
          if (!honest || doubted || atMs - honestMs > 2_000) wellSinceMs = atMs;
          honestMs = atMs;
        }
        if (!verdict.accepted || atMs - wellSinceMs < 15_000 || atMs - honestMs > 2_000) continue;
        times += 1;
        equal(source, 'pyth');
      }
    }
    ok(times > 1_000, `${times} times`);
    ok(refused < times / 100, `${refused} honest prices were refused`);
  });
});
