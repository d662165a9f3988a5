/** Lists that come page by page, as iterators: what comes meanwhile neither repeats an entry nor hides one. */
import type { CallOptions } from './errors.js';
import type { Query, Session } from './session.js';
import { listIn } from './transport.js';

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

export interface ListParts {
  readonly path: string;
  readonly query?: Query | undefined;
  /** The name of the entries in an answer. */
  readonly key: string;
}

/** A list with `limit`, `cursor` and `nextCursor`. */
export function pagesOf<T>(
  session: Session, { path, query = {}, key }: ListParts, options: PageOptions = {},
): Pages<T> {
  const { pageSize: limit = PAGE_SIZE, ...call } = options;
  return pagesBy(async function* () {
    for (let cursor: string | undefined; ;) {
      const answer = await session.ask(path, { ...query, limit, cursor }, call);
      const entries = listIn<T>(answer, key);
      if (entries.length > 0) yield entries;
      cursor = (answer.body as { readonly nextCursor?: string }).nextCursor;
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
