/** The choice among sources: which observations are accepted, at most one per asset and second. Its rules are in docs/prices.md. */
import { MAX_PRICE_LEAD_MS } from '../../engine/rules/limits.js';
import { checkNames, type Observation, type SourceName } from './observation.js';

export type PriceVerdict = Accepted | { readonly accepted: false; readonly because: Reason };

export interface Accepted {
  readonly accepted: true;
  readonly observation: Observation;
  /** The source itself says that the price may be off by more than 0.5 %. */
  readonly degraded: boolean;
}

/**
 * Why an observation is not accepted. `old`, `ahead`: published too long ago, or in the future. `repeated`, `backwards`: not published after
 * the source's one before. `jump`: too far from both other votes; `unwitnessed`: there is no other vote. `standby`:
 * another source is in use. `second_taken`: its second, or a later one, has a price already.
 */
export type Reason = 'old' | 'ahead' | 'repeated' | 'backwards' | 'jump' | 'unwitnessed' | 'standby' | 'second_taken';

interface ChoiceRules {
  /** A source without a usable observation for longer is silent. */
  readonly silentMs: number;
  /** A source that has come back is used when it has not been silent for this time. */
  readonly steadyMs: number;
  /** The most time from an observation's publishing to its arrival. */
  readonly oldMs: number;
  /** The most time by which the provider's clock may be ahead. The engine refuses what is further ahead. */
  readonly aheadMs: number;
  /** For so long a price tells how far the next one may be. */
  readonly rememberedMs: number;
  /** How far an observation may be from another vote to agree with it, in parts per thousand. */
  readonly jumpPerMille: bigint;
  /** A larger confidence, in parts per thousand of the price, marks an observation as degraded. */
  readonly degradedPerMille: bigint;
}

const rules: ChoiceRules = {
  silentMs: 5_000, steadyMs: 10_000, oldMs: 10_000, aheadMs: MAX_PRICE_LEAD_MS, rememberedMs: 30_000, jumpPerMille: 50n, degradedPerMille: 5n,
};

export interface ChoiceOptions {
  /** The best first. */
  readonly sources: readonly SourceName[];
  /** Since when the best source could have been heard. */
  readonly startedAtMs: number;
  /** The last accepted observation of each asset, from the history. */
  readonly last?: readonly Pick<Observation, 'asset' | 'priceE8' | 'publishedAtMs'>[];
}

export interface Choice {
  /** Judges an observation that arrives at `nowMs`, which never goes backwards. */
  observe(observation: Observation, nowMs: number): PriceVerdict;
  /** The source in use for an asset at present; the next observation may change that. */
  inUse(asset: string): SourceName;
}

interface HeardPrice {
  readonly priceE8: bigint;
  readonly publishedAtMs: number;
  readonly atMs: number;
}

interface SourceState {
  /** The last observation with a good time, whether it was usable or not. */
  heard?: HeardPrice;
  usableAtMs?: number;
  /** Since when the source has been usable without a break. */
  steadySinceMs?: number;
}

interface AssetState {
  /** The source in use, by its place in the order. */
  used: number;
  readonly sources: readonly SourceState[];
  accepted?: HeardPrice;
}

/** Outputs depend on the arguments alone. */
export function createChoice({ sources: names, startedAtMs, last = [] }: ChoiceOptions): Choice {
  checkNames(names);
  const [best] = names;
  if (best === undefined) throw new Error('a choice needs a source');
  const assets = new Map<string, AssetState>();
  for (const { asset, priceE8, publishedAtMs } of last) stateOf(asset).accepted = { priceE8, publishedAtMs, atMs: publishedAtMs };

  function stateOf(asset: string): AssetState {
    const known = assets.get(asset);
    if (known !== undefined) return known;
    // The best source has the time of a silence to be heard first.
    const state: AssetState = { used: 0, sources: names.map((_, place) => place === 0 ? { usableAtMs: startedAtMs } : {}) };
    assets.set(asset, state);
    return state;
  }

  function observe(observation: Observation, nowMs: number): PriceVerdict {
    const place = names.indexOf(observation.source);
    const state = stateOf(observation.asset);
    const source = state.sources[place];
    if (source === undefined) throw new Error(`${observation.source} is not among the sources ${names.join(', ')}`);
    const fault = faultOf(observation, { state, source, nowMs, rules });
    if (fault !== undefined) return { accepted: false, because: fault };
    markUsable(source, nowMs, rules);
    state.used = usedAfter(place, state, { ...rules, nowMs });
    if (state.used !== place) return { accepted: false, because: 'standby' };
    const { priceE8, publishedAtMs, confidenceE8 = 0n } = observation;
    if (state.accepted !== undefined && secondOf(publishedAtMs) <= secondOf(state.accepted.publishedAtMs)) return { accepted: false, because: 'second_taken' };
    state.accepted = { priceE8, publishedAtMs, atMs: nowMs };
    return { accepted: true, observation, degraded: confidenceE8 * 1_000n > priceE8 * rules.degradedPerMille };
  }

  return { observe, inUse: (asset) => names[stateOf(asset).used] ?? best };
}

interface Place {
  readonly state: AssetState;
  readonly source: SourceState;
  readonly nowMs: number;
  readonly rules: ChoiceRules;
}

/** Why the observation is not usable, whichever source is in use; undefined when it is. */
function faultOf({ priceE8, publishedAtMs }: Observation, { state, source, nowMs, rules }: Place): Reason | undefined {
  const ageMs = nowMs - publishedAtMs;
  if (ageMs > rules.oldMs) return 'old';
  if (ageMs < -rules.aheadMs) return 'ahead';
  const before = source.heard;
  if (before !== undefined && publishedAtMs <= before.publishedAtMs) return publishedAtMs === before.publishedAtMs ? 'repeated' : 'backwards';
  source.heard = { priceE8, publishedAtMs, atMs: nowMs };
  const witnesses = witnessesOf({ before, state, source, nowMs, rules });
  if (witnesses.some((witness) => isNear(priceE8, witness.priceE8, rules))) return undefined;
  delete source.steadySinceMs;
  return witnesses.length === 0 ? 'unwitnessed' : 'jump';
}

/**
 * The two votes beside an observation's own: the newest price of every other source that is not silent, and, in the place of a missing one,
 * the last accepted price. Where nothing has been accepted for long, the source's own price before stands in, or another source's. None
 * where there is nothing. A price near one of the two is near the median of the three, and is not the median for want of agreement.
 */
function witnessesOf({ before, state, source, nowMs, rules }: Place & { readonly before: HeardPrice | undefined }): readonly HeardPrice[] {
  const others = state.sources.filter((other) => other !== source).flatMap(({ heard }) => within(heard, nowMs, rules.silentMs));
  if (others.length >= 2) return others;
  const [standIn] = [...within(state.accepted, nowMs, rules.rememberedMs), ...within(before, nowMs, rules.rememberedMs)];
  return standIn === undefined ? others : [...others, standIn];
}

function within(heard: HeardPrice | undefined, nowMs: number, ms: number): HeardPrice[] {
  return heard !== undefined && nowMs - heard.atMs <= ms ? [heard] : [];
}

function isNear(priceE8: bigint, witnessE8: bigint, { jumpPerMille }: ChoiceRules): boolean {
  const distance = priceE8 > witnessE8 ? priceE8 - witnessE8 : witnessE8 - priceE8;
  return distance * 1_000n <= witnessE8 * jumpPerMille;
}

function markUsable(source: SourceState, nowMs: number, { silentMs }: ChoiceRules): void {
  if (source.usableAtMs === undefined || nowMs - source.usableAtMs > silentMs) delete source.steadySinceMs;
  source.steadySinceMs ??= nowMs;
  source.usableAtMs = nowMs;
}

/**
 * The source in use after a usable observation of the one at `place`. A better source is used again once it is steady. When the source in
 * use is silent, whoever speaks first takes its place; a better source that has spoken all the time is steady, so its next word counts.
 */
function usedAfter(place: number, { used, sources }: AssetState, { nowMs, silentMs, steadyMs }: ChoiceRules & { readonly nowMs: number }): number {
  const steadySinceMs = sources[place]?.steadySinceMs ?? nowMs;
  const usableAtMs = sources[used]?.usableAtMs ?? -Infinity;
  const takesOver = place < used && nowMs - steadySinceMs >= steadyMs;
  return takesOver || nowMs - usableAtMs > silentMs ? place : used;
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

/**
 * The accepted observations among those of a past time span, for a gap: each is judged as if it arrived when it was published. The best
 * source is heard last of those with equal times, when the others can already witness for it.
 */
export function chooseAmongPast(observations: readonly Observation[], options: ChoiceOptions): Accepted[] {
  const choice = createChoice(options);
  const rank = ({ source }: Observation): number => options.sources.indexOf(source);
  return [...observations].sort((a, b) => a.publishedAtMs - b.publishedAtMs || rank(b) - rank(a))
    .map((observation) => choice.observe(observation, observation.publishedAtMs)).filter((verdict) => verdict.accepted);
}
