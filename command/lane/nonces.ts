/**
 * Decides, as a pure function, which nonces new transactions take: normally the nonces after the recorded ones. A
 * node's wrong answer must not stop the lane or make it skip nonces. So a transaction count above the recorded nonces
 * must be proved, and a gap that lasts is filled.
 */
import type { ReportLevel } from '../../engine/report.js';
import type { OpenTransaction, LaneMoment, Proof, View } from './open-transactions.js';

export interface NoncePolicy {
  readonly confirmations: number;
  /** A count above the recorded nonces is believed after this many looks in agreement. */
  readonly looks: number;
  /** The least time between two such looks, in milliseconds. */
  readonly looksApartMs: number;
  /** A gap is filled after this time, in milliseconds. */
  readonly gapAfterMs: number;
  /** The most transactions that are recorded but not mined. */
  readonly maxInFlight: number;
  /** The most transactions that are not over. */
  readonly maxOpen: number;
}

/** A transaction count that several looks in a row have shown. */
interface Seen {
  readonly count: number;
  readonly since: LaneMoment;
  readonly looks: number;
  /** When a look was counted last. */
  readonly countedAtMs: number;
}

/** What is remembered between looks. A new process starts without it. */
export interface NonceMemory {
  /** Nonces below this one are used, by transactions that are not recorded; 0 when there are none. */
  readonly believed: number;
  /** A count above the known nonces that is not proved yet. */
  readonly claim: (Seen & { readonly disproved: boolean }) | undefined;
  /** The chain's next nonce when no open transaction has it. Once it `lasts`, gaps are filled from it on. */
  readonly gap: (Seen & { readonly lasts: boolean }) | undefined;
}

export const NO_MEMORY: NonceMemory = { believed: 0, claim: undefined, gap: undefined };

/** The nonces of new transactions. */
export type FreeNonces
  /** None at this look: there is no room, or the count is in doubt. */
  = | { readonly kind: 'none' }
    /** Up to `count` nonces from `first` on, one per request. */
    | { readonly kind: 'next'; readonly first: number; readonly count: number }
    /** Each of these nonces: with requests first, then with empty transactions. */
    | { readonly kind: 'fill'; readonly nonces: readonly number[] };

export interface NonceDecision {
  readonly memory: NonceMemory;
  readonly places: FreeNonces;
  readonly reports: readonly { readonly level: ReportLevel; readonly text: string }[];
}

export interface NonceRecords {
  /** The nonce after the last recorded one. */
  readonly nextNonce: number;
  /** The transactions that are not over after this look, by nonce. */
  readonly openTransactions: readonly OpenTransaction[];
}

/** Whether a count must be proved before anything is concluded from it. */
export function isDoubtful(
  count: number, { believed }: NonceMemory, { nextNonce, openTransactions }: NonceRecords,
): boolean {
  return count > Math.max(nextNonce, believed) || openTransactions.some(({ unexplained }) => unexplained !== undefined)
    || isGap(count, nextNonce, openTransactions);
}

/** The nonces of new transactions after a look at the chain, the new memory, and what to report. */
export function decideNonces(
  before: NonceMemory,
  { view, records, policy, nowMs }: { view: View; records: NonceRecords; policy: NoncePolicy; nowMs: number },
): NonceDecision {
  const { count } = view;
  const { nextNonce, openTransactions } = records;
  const believed = before.believed > nextNonce && count >= before.believed ? before.believed : 0;
  const next = Math.max(nextNonce, believed);
  const memory: NonceMemory = { believed, claim: undefined, gap: undefined };
  if (count > next) return decideClaim({ ...memory, claim: before.claim }, { view, next, records, policy, nowMs });
  const gap = gapAt(before.gap, { view, next, openTransactions, policy, nowMs });
  if (gap === undefined) return { memory, places: placesFrom(next, openTransactions, policy), reports: [] };
  if (!gap.lasts) return { memory: { ...memory, gap }, places: { kind: 'none' }, reports: [] };
  const nonces = holes(gap.count, next, openTransactions).filter((nonce) => nonce < gap.count + policy.maxInFlight);
  const reports = before.gap?.lasts === true
    ? []
    : [{
        level: 'alert' as const,
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

/**
 * The count is above the recorded nonces: somebody else used the key, or a node is wrong. No new transaction is made
 * until that is known.
 */
function decideClaim(
  before: NonceMemory, { view, next, records: { openTransactions }, policy, nowMs }: Claiming,
): NonceDecision {
  const known = before.claim !== undefined && before.claim.count <= view.count ? before.claim : undefined;
  const claim = known ?? {
    count: view.count, since: { block: view.head, ms: nowMs }, looks: 0, countedAtMs: -Infinity, disproved: false,
  };
  const agrees = doesAgree(claim, view, policy, nowMs);
  const counted = agrees ? counting(claim, policy, nowMs) : { ...claim, looks: 0 };
  const nodeCounts = view.proof?.nodeCounts ?? [];
  const seconded = nodeCounts.length >= 2 && !isContradicted(claim.count, { finalCount: undefined, nodeCounts });
  if (seconded || counted.looks >= policy.looks) {
    const [level, text] = next === 0
      ? ['info' as const, `the key has been used before: begins at nonce ${claim.count}`]
      : ['alert' as const, `nonces ${next} to ${claim.count - 1} were used by transactions that this lane does not know: is its key used elsewhere?`];
    const memory = { ...before, believed: claim.count, claim: undefined };
    return { memory, places: placesFrom(claim.count, openTransactions, policy), reports: [{ level, text }] };
  }
  const disproved = claim.disproved || isDisproved(claim, view, policy);
  const reports = known === undefined
    ? [{ level: 'warn' as const, text: `a node counts ${claim.count} transactions of the key, ${next} are known: waits until it is certain` }]
    : [];
  // A nonce that turns out to be used costs its request another try; a nonce that is left out would stop all later
  // ones.
  const places: FreeNonces = disproved ? placesFrom(next, openTransactions, policy) : { kind: 'none' };
  return { memory: { ...before, claim: { ...counted, disproved } }, places, reports };
}

/**
 * Whether this look supports the claim: the final block shows the count, or, without its state, the claim has lasted
 * `confirmations` blocks.
 */
function doesAgree(
  { count, since }: Seen, { head, proof }: View, { confirmations, gapAfterMs }: NoncePolicy, nowMs: number,
): boolean {
  if (proof === undefined || isContradicted(count, proof)) return false;
  if (proof.finalCount !== undefined && proof.finalCount >= count) return true;
  if (proof.finalCount === undefined) return head - since.block >= confirmations;
  // On a chain with blocks on demand, no further block may come before this lane sends something.
  return head === since.block && nowMs - since.ms >= gapAfterMs;
}

/**
 * Whether the final block is later than the claim's first look, and the final block or another node does not show the
 * count.
 */
function isDisproved({ count, since }: Seen, { head, proof }: View, { confirmations }: NoncePolicy): boolean {
  // One block more, since the count may come from a later block than the head of the same look.
  if (proof === undefined || head - since.block <= confirmations) return false;
  return (proof.finalCount ?? Infinity) < count || isContradicted(count, proof);
}

/** Whether there are several nodes and at most one of them shows the claimed count. */
function isContradicted(claimed: number, { nodeCounts }: Proof): boolean {
  return nodeCounts.length >= 2 && nodeCounts.filter((count) => count >= claimed).length < 2;
}

/** Counts this look if enough time has passed since the last counted one. */
function counting<T extends Seen>(seen: T, { looksApartMs }: NoncePolicy, nowMs: number): T {
  return nowMs - seen.countedAtMs >= looksApartMs ? { ...seen, looks: seen.looks + 1, countedAtMs: nowMs } : seen;
}

interface GapLook {
  readonly view: View;
  readonly next: number;
  readonly openTransactions: readonly OpenTransaction[];
  readonly policy: NoncePolicy;
  readonly nowMs: number;
}

/** The gap at which the chain waits, or which is being filled; undefined when there is none. */
function gapAt(
  before: NonceMemory['gap'], { view, next, openTransactions, policy, nowMs }: GapLook,
): NonceMemory['gap'] {
  const { head, count, proof } = view;
  const wanted = isGap(count, next, openTransactions);
  if (before?.lasts === true && (count >= before.count || !wanted)) {
    const from = Math.max(count, before.count);
    return holes(from, next, openTransactions).length === 0 ? undefined : { ...before, count: from };
  }
  if (!wanted || proof?.nodeCounts.some((other) => other > count) === true) return undefined;
  const since = before?.count === count
    ? before
    : { count, since: { block: head, ms: nowMs }, looks: 0, countedAtMs: -Infinity, lasts: false };
  const gap = counting(since, policy, nowMs);
  return { ...gap, lasts: gap.looks >= policy.looks && nowMs - gap.since.ms >= policy.gapAfterMs };
}

/**
 * Whether later nonces are recorded but no open transaction has the chain's next nonce. A node that lags shows that as
 * well.
 */
function isGap(count: number, next: number, openTransactions: readonly OpenTransaction[]): boolean {
  return count < next && !openTransactions.some(({ transaction }) => transaction.nonce === count);
}

/** The recorded nonces from `from` on that no open transaction has. */
function holes(from: number, next: number, openTransactions: readonly OpenTransaction[]): number[] {
  const open = new Set(openTransactions.map(({ transaction }) => transaction.nonce));
  const found: number[] = [];
  for (let nonce = from; nonce < next; nonce++) if (!open.has(nonce)) found.push(nonce);
  return found;
}

/** As many nonces as there is room for. Transactions that are mined but not final do not count as in flight. */
function placesFrom(
  first: number, openTransactions: readonly OpenTransaction[], { maxInFlight, maxOpen }: NoncePolicy,
): FreeNonces {
  const unmined = openTransactions.filter(({ minedIn }) => minedIn === undefined).length;
  const count = Math.min(maxInFlight - unmined, maxOpen - openTransactions.length);
  return count > 0 ? { kind: 'next', first, count } : { kind: 'none' };
}

/** The present doubt about nonces, for the lane's status; undefined when there is none. */
export function doubtOf({ claim, gap }: NonceMemory): string | undefined {
  if (claim !== undefined && !claim.disproved) return `a node counts ${claim.count} transactions of the key, more than are known`;
  if (gap !== undefined) return `the chain wants nonce ${gap.count}, with which nothing is on its way`;
  return undefined;
}
