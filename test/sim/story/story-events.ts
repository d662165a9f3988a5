/** A story: what traders do and what goes wrong, one event after the other, all of it from a seed. */
import { createRandom } from '../../support/random-commands.js';

/** How often each kind comes, relative to the others. */
const WEIGHTS = {
  'order': 40, 'order twice': 5, 'order again': 6, 'cancel': 6, 'batch': 5, 'cancel several': 3, 'cancel all': 3, 'cancel after': 4, 'reduce': 5, 'transfer': 2, 'spend': 2, 'cancel on chain': 2, 'cancel all on chain': 1, 'resolve': 0.4,
  'crash': 9, 'engine differs': 1, 'checker differs': 1, 'settings of another exchange': 1.5, 'log outage': 2, 'log fate': 6, 'disk full': 1.5, 'slow readers': 2,
  'node away': 2, 'all nodes away': 0.7, 'node loses requests': 2, 'node loses replies': 3, 'node lags': 2, 'node counts wrongly': 2, 'node hides receipts': 1.5, 'node on stale branch': 1.5,
  'swallow broadcasts': 2, 'reorganisation': 5, 'drop transactions': 2, 'revert': 3, 'stop batch': 2, 'fees rise': 3, 'chain stalls': 1.5, 'clock jumps': 2, 'outbox cut': 6,
  'cut at fee bump': 2, 'outbox restart': 1.5, 'lose wake-ups': 2, 'price source away': 2.5, 'prices late': 1.5, 'absurd prices': 1.5, 'price source silent': 1.5, 'no prices over a boundary': 2,
} as const;

/** What there is besides where traders relay. */
const RELAY_WEIGHTS = { 'relay': 30, 'propose': 8, 'read models behind': 4 } as const;

export type StoryEventKind = keyof typeof WEIGHTS | keyof typeof RELAY_WEIGHTS;
const FAVOURABLE = Object.keys(WEIGHTS) as readonly StoryEventKind[];
const ALWAYS: readonly StoryEventKind[] = ['order', 'order twice', 'order again', 'batch', 'reduce', 'relay', 'propose'];

/** Whether traders relay: every eighth seed, among those with prices, since the relayer and its lane cost much of the time. */
export const hasRelays = (seed: number): boolean => seed % 8 === 4;

export interface StoryEvent {
  readonly atMs: number;
  readonly kind: StoryEventKind;
  /** Everything else about it comes from this number, so that it stays the same when others are left out. */
  readonly seed: number;
}

/** The mean time between two events, in milliseconds. */
const MEAN_GAP_MS = 900;
/** The first order is sent when the processes have started. */
const FIRST_MS = 6_000;

export function storyOf(seed: number, steps: number): readonly StoryEvent[] {
  const random = createRandom(seed ^ 0x5eed);
  const weights = Object.entries({ ...WEIGHTS, ...hasRelays(seed) ? RELAY_WEIGHTS : {} }) as [StoryEventKind, number][];
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  // Some stories have few kinds of faults: otherwise each hides the others.
  const favoured = FAVOURABLE.filter(() => random() % 3 === 0);
  const isIn = (kind: StoryEventKind): boolean => ALWAYS.includes(kind) || seed % 3 === 0 || favoured.includes(kind) || (kind === 'read models behind' && favoured.includes('outbox cut'));
  const choose = (): StoryEventKind => {
    let rest = (random() / 0x1_0000_0000) * total;
    return weights.find(([, weight]) => (rest -= weight) < 0)?.[0] ?? 'order';
  };
  let atMs = FIRST_MS;
  return Array.from({ length: steps }, () => {
    atMs += (random() / 0x1_0000_0000) * 2 * MEAN_GAP_MS;
    const kind = choose();
    return { atMs, kind: isIn(kind) ? kind : 'order', seed: random() };
  });
}
