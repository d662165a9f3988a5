/** Lists of the portfolio: each read page by page by cursor, and its first page anew when something has changed. */
import { signal, type ReadonlySignal } from '@preact/signals';
import type { Client } from '../../../client/src/client.js';
import type { Pages } from '../../../client/src/pages.js';

export interface PagedList<T> {
  readonly rows: ReadonlySignal<readonly T[]>;
  readonly status: ReadonlySignal<'reading' | 'read'>;
  readonly error: ReadonlySignal<unknown>;
  readonly hasMore: ReadonlySignal<boolean>;
  /** Reads as many pages anew as are shown. */
  again(reader: Client): void;
  more(): void;
  close(): void;
}

/** `isWanted`: of lists that the API has for everybody, the user's own entries. */
export function pagedList<T>(
  pagesOf: (reader: Client, pageSize: number) => Pages<T>, pageSize: number, isWanted: (row: T) => boolean = () => true,
): PagedList<T> {
  const rows = signal<readonly T[]>([]);
  const status = signal<'reading' | 'read'>('reading');
  const error = signal<unknown>(undefined);
  const hasMore = signal(false);
  let source: AsyncIterator<readonly T[]> | undefined;
  let shown = 1;
  let turn = 0;

  async function read(mine: number, from: AsyncIterator<readonly T[]>, pages: number, before: readonly T[]): Promise<void> {
    status.value = 'reading';
    const found = [...before];
    try {
      for (let page = 0; page < pages; page++) {
        const { value, done } = await from.next();
        if (mine !== turn) return;
        const entries: readonly T[] = done === true ? [] : value;
        found.push(...entries.filter(isWanted));
        hasMore.value = entries.length >= pageSize;
        if (!hasMore.peek()) break;
      }
      [rows.value, error.value] = [found, undefined];
    } catch (problem) {
      if (mine !== turn) return;
      error.value = problem;
    }
    status.value = 'read';
  }

  return {
    rows, status, error, hasMore,
    again(reader) {
      source = pagesOf(reader, pageSize).byPage()[Symbol.asyncIterator]();
      void read(++turn, source, shown, []);
    },
    more() {
      if (source === undefined || status.peek() === 'reading') return;
      shown += 1;
      void read(turn, source, 1, rows.peek());
    },
    close() { turn += 1; },
  };
}
