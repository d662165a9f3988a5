/** Lists that come page by page, as iterators: what comes meanwhile neither repeats an entry nor hides one. */
import type { CallOptions } from './errors.js';
import type { Query, Session } from './session.js';

/** The entries of a list, one after the other; the next page is asked for when it is needed. */
export interface Pages<T> extends AsyncIterable<T> {
  /** The same, page by page. */
  byPage(): AsyncIterable<readonly T[]>;
  /** At most so many entries, as a list. */
  take(count: number): Promise<T[]>;
}

export interface PageOptions extends CallOptions {
  /** The most entries of a page. */
  readonly pageSize?: number;
}

/** Every list takes so many at least. */
const PAGE_SIZE = 100;

export interface ListParts<T> {
  readonly path: string;
  readonly query?: Query | undefined;
  /** The entries of a page. */
  readonly entriesOf: (body: Readonly<Record<string, unknown>>) => readonly T[];
}

/** A list with `limit`, `cursor` and `nextCursor`. */
export function pagesOf<T>(
  session: Session, { path, query = {}, entriesOf }: ListParts<T>, options: PageOptions = {},
): Pages<T> {
  const { pageSize: limit = PAGE_SIZE, ...call } = options;
  return pagesBy(async function* () {
    for (let cursor: string | undefined; ;) {
      const body = await session.get<Readonly<Record<string, unknown>>>(path, { ...query, limit, cursor }, call);
      const entries = entriesOf(body);
      if (entries.length > 0) yield entries;
      cursor = body['nextCursor'] as string | undefined;
      if (cursor === undefined) return;
    }
  });
}

export function pagesBy<T>(byPage: () => AsyncIterable<readonly T[]>): Pages<T> {
  async function* entries(): AsyncGenerator<T> {
    for await (const page of byPage()) yield* page;
  }
  return {
    byPage, [Symbol.asyncIterator]: entries,
    async take(count) {
      const taken: T[] = [];
      if (count <= 0) return taken;
      for await (const entry of entries()) if (taken.push(entry) >= count) break;
      return taken;
    },
  };
}
