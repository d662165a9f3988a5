/**
 * The books of a market, kept from the stream: whole at every step, and begun anew by themselves where something is
 * missing.
 */
import type { components } from './openapi.js';
import { hexOf } from './arguments.js';
import { marketIdOf, type MarketReference, type Session } from './session.js';
import { Outcome, Side, type Hex } from './vocabulary.js';
import { watch, type Message, type WatchOptions } from './watch.js';

export interface Level {
  readonly price: bigint;
  readonly size: bigint;
}

/** One outcome's book. */
export interface OutcomeBook {
  /** The highest price first. */
  readonly bids: readonly Level[];
  /** The lowest price first. */
  readonly asks: readonly Level[];
}

/** The books of a market at a log position. */
export interface Book {
  readonly marketId: Hex;
  readonly position: number;
  /** The history's time in milliseconds. */
  readonly at: number;
  readonly yes: OutcomeBook;
  readonly no: OutcomeBook;
}

type Snapshot = components['schemas']['BookSnapshot'];

/** The book now, and after each change. */
export async function* followBook(
  session: Session, market: MarketReference, { signal, silenceMs }: Omit<WatchOptions, 'from'> = {},
): AsyncGenerator<Book, never> {
  const marketId = hexOf('market', marketIdOf(market), 32);
  for (;;) {
    const kept = new KeptBook(marketId);
    for await (const message of watch(session, [`book:${marketId}`], { signal, silenceMs })) {
      // What is missing cannot be had: the next connection begins with a snapshot.
      if (message.type === 'gap') break;
      if (kept.take(message)) yield kept.book();
    }
  }
}

/** A book that takes messages. */
export class KeptBook {
  private readonly sides = [Outcome.Yes, Outcome.No]
    .map(() => [new Map<bigint, bigint>(), new Map<bigint, bigint>()] as const);

  private position: number | undefined;
  private at = 0;

  constructor(private readonly marketId: Hex) {}

  /** False while the book is not whole: messages of one position belong together. */
  take(message: Message): boolean {
    if (message.type === 'snapshot') this.begin(message);
    else if (message.type === 'change' && this.position !== undefined) {
      for (const { outcome, side, price, size } of message.levels) {
        const levels = this.levels(outcome as Outcome, side as Side);
        if (size === 0n) levels.delete(price);
        else levels.set(price, size);
      }
    } else return false;
    [this.position, this.at] = [message.position, message.at];
    return message.more !== true;
  }

  book(): Book {
    if (this.position === undefined) throw new Error('a book begins with its snapshot');
    const of = (outcome: Outcome): OutcomeBook => ({
      bids: sorted(this.levels(outcome, Side.Buy), (a, b) => Number(b.price - a.price)),
      asks: sorted(this.levels(outcome, Side.Sell), (a, b) => Number(a.price - b.price)),
    });
    return { marketId: this.marketId, position: this.position, at: this.at, yes: of(Outcome.Yes), no: of(Outcome.No) };
  }

  private begin({ yes, no }: Snapshot): void {
    for (const [outcome, { bids, asks }] of [[Outcome.Yes, yes], [Outcome.No, no]] as const) {
      for (const [side, levels] of [[Side.Buy, bids], [Side.Sell, asks]] as const) {
        const kept = this.levels(outcome, side);
        kept.clear();
        for (const { price, size } of levels) kept.set(price, size);
      }
    }
  }

  private levels(outcome: Outcome, side: Side): Map<bigint, bigint> {
    const levels = this.sides[outcome]?.[side];
    if (levels === undefined) throw new Error(`there is no outcome ${String(outcome)} with a side ${String(side)}`);
    return levels;
  }
}

function sorted(levels: ReadonlyMap<bigint, bigint>, order: (a: Level, b: Level) => number): Level[] {
  return [...levels].map(([price, size]) => ({ price, size })).sort(order);
}
