/**
 * Which nonces new transactions take, as a pure function: those after what is recorded. One wrong answer of a node must neither part
 * the lane from its chain nor stop it, so a count that jumps ahead has to prove itself, and a gap that lasts is filled.
 */
import type { Flight, Moment, Proof, View } from './flights.js';

export interface NoncePolicy {
  readonly confirmations: number;
  /** A count that nobody has recorded is believed after so many looks that agree, */
  readonly looks: number;
  /** each so long after the one before, in milliseconds. */
  readonly looksApartMs: number;
  /** A nonce that is wanted for so long, though it is not on its way, is filled. */
  readonly gapAfterMs: number;
  /** Transactions that are recorded and not mined, at most. */
  readonly maxInFlight: number;
  /** Transactions that are not over, at most. */
  readonly maxOpen: number;
}

/** A number that has been the same at several looks. */
interface Seen {
  readonly count: number;
  readonly since: Moment;
  readonly looks: number;
  /** When a look was counted last. */
  readonly countedAtMs: number;
}

/** What is remembered from look to look, and not from process to process. */
export interface NonceMemory {
  /** Nonces below this are used, though not by what is recorded; 0 where the records tell all. */
  readonly believed: number;
  /** A count beyond what is known, until it has proved itself or has been disproved. */
  readonly claim: (Seen & { readonly disproved: boolean }) | undefined;
  /** The nonce that the chain wants though nothing is on its way with it; when it `lasts`, gaps are filled from it on. */
  readonly gap: (Seen & { readonly lasts: boolean }) | undefined;
}

export const NO_MEMORY: NonceMemory = { believed: 0, claim: undefined, gap: undefined };

/** Where new transactions go. */
export type Places
  /** Nowhere at this look: there is no room, or a doubt. */
  = | { readonly kind: 'none' }
    /** At `count` nonces from `first` on, as far as there are requests. */
    | { readonly kind: 'next'; readonly first: number; readonly count: number }
    /** At each of these nonces: with requests, else empty. */
    | { readonly kind: 'fill'; readonly nonces: readonly number[] };

export interface NonceDecision {
  readonly memory: NonceMemory;
  readonly places: Places;
  readonly reports: readonly { readonly level: 'note' | 'trouble' | 'alarm'; readonly text: string }[];
}

export interface NonceRecords {
  /** The nonce after the last recorded one. */
  readonly nextNonce: number;
  /** What is not over, by nonce, after this look. */
  readonly flights: readonly Flight[];
}

/** Whether a count has to be proved before anything is concluded from it. */
export function isDoubtful(count: number, { believed }: NonceMemory, { nextNonce, flights }: NonceRecords): boolean {
  return count > Math.max(nextNonce, believed) || flights.some(({ unexplained }) => unexplained !== undefined) || isGap(count, nextNonce, flights);
}

/** The places of new transactions after a look at the chain. */
export function decideNonces(
  before: NonceMemory, { view, records, policy, nowMs }: { view: View; records: NonceRecords; policy: NoncePolicy; nowMs: number },
): NonceDecision {
  const { count } = view;
  const { nextNonce, flights } = records;
  const believed = before.believed > nextNonce && count >= before.believed ? before.believed : 0;
  const next = Math.max(nextNonce, believed);
  const memory: NonceMemory = { believed, claim: undefined, gap: undefined };
  if (count > next) return decideClaim({ ...memory, claim: before.claim }, { view, next, records, policy, nowMs });
  const gap = gapAt(before.gap, { view, next, flights, policy, nowMs });
  if (gap === undefined) return { memory, places: placesFrom(next, flights, policy), reports: [] };
  if (!gap.lasts) return { memory: { ...memory, gap }, places: { kind: 'none' }, reports: [] };
  const nonces = holes(gap.count, next, flights).filter((nonce) => nonce < gap.count + policy.maxInFlight);
  const reports = before.gap?.lasts === true
    ? []
    : [{
        level: 'alarm' as const,
        text: `the chain wants nonce ${count}, which was over or was never sent: it was reorganised beyond ${policy.confirmations} blocks, or a node `
          + `told a wrong nonce; the gap up to nonce ${nonces.at(-1) ?? count} and beyond is filled`,
      }];
  return { memory: { ...memory, gap }, places: { kind: 'fill', nonces }, reports };
}

interface Claiming {
  readonly view: View;
  readonly next: number;
  readonly records: NonceRecords;
  readonly policy: NoncePolicy;
  readonly nowMs: number;
}

/** The chain counts further than what is recorded: somebody else has used the key, or a node is wrong. Nothing is sent until that is known. */
function decideClaim(before: NonceMemory, { view, next, records: { flights }, policy, nowMs }: Claiming): NonceDecision {
  const known = before.claim !== undefined && before.claim.count <= view.count ? before.claim : undefined;
  const claim = known ?? { count: view.count, since: { block: view.head, ms: nowMs }, looks: 0, countedAtMs: -Infinity, disproved: false };
  const agrees = doesAgree(claim, view, policy, nowMs);
  const counted = agrees ? counting(claim, policy, nowMs) : { ...claim, looks: 0 };
  const nodeCounts = view.proof?.nodeCounts ?? [];
  const seconded = nodeCounts.length >= 2 && !isContradicted(claim.count, { finalCount: undefined, nodeCounts });
  if (seconded || counted.looks >= policy.looks) {
    const [level, text] = next === 0
      ? ['note' as const, `the key has been used before: begins at nonce ${claim.count}`]
      : ['alarm' as const, `nonces ${next} to ${claim.count - 1} were used by transactions that this lane does not know: is its key used elsewhere?`];
    const memory = { ...before, believed: claim.count, claim: undefined };
    return { memory, places: placesFrom(claim.count, flights, policy), reports: [{ level, text }] };
  }
  const disproved = claim.disproved || isDisproved(claim, view, policy);
  const reports = known === undefined
    ? [{ level: 'trouble' as const, text: `a node counts ${claim.count} transactions of the key, ${next} are known: waits until it is certain` }]
    : [];
  // A nonce that turns out used costs a request another try; one that is left out would stop all that come after it.
  const places: Places = disproved ? placesFrom(next, flights, policy) : { kind: 'none' };
  return { memory: { ...before, claim: { ...counted, disproved } }, places, reports };
}

/** Whether this look supports the claim: at final depth; and where nobody can tell that, by having lasted for as many blocks. */
function doesAgree({ count, since }: Seen, { head, proof }: View, { confirmations, gapAfterMs }: NoncePolicy, nowMs: number): boolean {
  if (proof === undefined || isContradicted(count, proof)) return false;
  if (proof.finalCount !== undefined && proof.finalCount >= count) return true;
  if (proof.finalCount === undefined) return head - since.block >= confirmations;
  // On a chain that makes blocks on demand the next one may be ours.
  return head === since.block && nowMs - since.ms >= gapAfterMs;
}

/** Whether the final block is past the first look by now, and still does not show it or another node does not. */
function isDisproved({ count, since }: Seen, { head, proof }: View, { confirmations }: NoncePolicy): boolean {
  // One more, since the count may be of a later block than the head that was read beside it.
  if (proof === undefined || head - since.block <= confirmations) return false;
  return (proof.finalCount ?? Infinity) < count || isContradicted(count, proof);
}

/** Whether one node says so against another. */
function isContradicted(claimed: number, { nodeCounts }: Proof): boolean {
  return nodeCounts.length >= 2 && nodeCounts.filter((count) => count >= claimed).length < 2;
}

/** Counts this look if it is far enough from the one before. */
function counting<T extends Seen>(seen: T, { looksApartMs }: NoncePolicy, nowMs: number): T {
  return nowMs - seen.countedAtMs >= looksApartMs ? { ...seen, looks: seen.looks + 1, countedAtMs: nowMs } : seen;
}

/** The gap at which the chain waits, or that is being filled. */
function gapAt(
  before: NonceMemory['gap'],
  { view, next, flights, policy, nowMs }: { view: View; next: number; flights: readonly Flight[]; policy: NoncePolicy; nowMs: number },
): NonceMemory['gap'] {
  const { head, count, proof } = view;
  const wanted = isGap(count, next, flights);
  if (before?.lasts === true && (count >= before.count || !wanted)) {
    const from = Math.max(count, before.count);
    return holes(from, next, flights).length === 0 ? undefined : { ...before, count: from };
  }
  if (!wanted || proof?.nodeCounts.some((other) => other > count) === true) return undefined;
  const since = before?.count === count ? before : { count, since: { block: head, ms: nowMs }, looks: 0, countedAtMs: -Infinity, lasts: false };
  const gap = counting(since, policy, nowMs);
  return { ...gap, lasts: gap.looks >= policy.looks && nowMs - gap.since.ms >= policy.gapAfterMs };
}

/** Whether nothing is on its way with the nonce that the chain wants, though later ones are recorded. A node that lags shows that, too. */
function isGap(count: number, next: number, flights: readonly Flight[]): boolean {
  return count < next && !flights.some(({ transaction }) => transaction.nonce === count);
}

/** The recorded nonces from `from` on with which nothing is on its way. */
function holes(from: number, next: number, flights: readonly Flight[]): number[] {
  const open = new Set(flights.map(({ transaction }) => transaction.nonce));
  const found: number[] = [];
  for (let nonce = from; nonce < next; nonce++) if (!open.has(nonce)) found.push(nonce);
  return found;
}

/** As many nonces as there is room for. What is mined and not yet final does not count as in flight. */
function placesFrom(first: number, flights: readonly Flight[], { maxInFlight, maxOpen }: NoncePolicy): Places {
  const unmined = flights.filter(({ minedIn }) => minedIn === undefined).length;
  const count = Math.min(maxInFlight - unmined, maxOpen - flights.length);
  return count > 0 ? { kind: 'next', first, count } : { kind: 'none' };
}

/** What the operator should know of while it lasts; undefined when all is well. */
export function doubtOf({ claim, gap }: NonceMemory): string | undefined {
  if (claim !== undefined && !claim.disproved) return `a node counts ${claim.count} transactions of the key, more than are known`;
  if (gap !== undefined) return `the chain wants nonce ${gap.count}, with which nothing is on its way`;
  return undefined;
}
