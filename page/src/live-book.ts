/** The books of a market as they change: whole at every moment that is shown, and as often as a reader can see. */
import { signal, type Signal } from '@preact/signals';
import { KeptBook, type Book } from '../../client/src/book.js';
import type { Message } from '../../client/src/client.js';
import type { Hex } from '../../client/src/vocabulary.js';

/** A book that changes more often is shown this often. */
const SHOW_EVERY_MS = 100;

export interface FollowedBook {
  readonly channel: string;
  /** The last whole book; undefined before the first one. */
  readonly book: Signal<Book | undefined>;
  /** Whether `book` is what it was before the connection was lost, and a new one has not come. */
  readonly isOld: Signal<boolean>;
  /** Its snapshot will come. */
  begins(): void;
  take(message: Message): void;
  close(): void;
}

/** Keeps the books of a market from its channel. */
export function followedBook(marketId: Hex, showEveryMs = SHOW_EVERY_MS): FollowedBook {
  const [book, isOld] = [signal<Book | undefined>(undefined), signal(false)];
  let kept = new KeptBook(marketId);
  let due: ReturnType<typeof setTimeout> | undefined;
  let shownAt = 0;
  const show = (): void => {
    due = undefined;
    shownAt = performance.now();
    book.value = kept.book();
    isOld.value = false;
  };
  return {
    channel: `book:${marketId}`, book, isOld,
    begins() {
      kept = new KeptBook(marketId);
      clearTimeout(due);
      due = undefined;
      isOld.value = book.peek() !== undefined;
    },
    take(message: Message) {
      const isWhole = kept.take(message);
      // Messages of one position belong together: what waits to be shown waits for all of them.
      clearTimeout(due);
      due = isWhole ? setTimeout(show, Math.max(0, shownAt + showEveryMs - performance.now())) : undefined;
    },
    close() { clearTimeout(due); },
  };
}
