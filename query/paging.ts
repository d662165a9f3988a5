/** Pages of a list: each full page has a cursor, which leads to the next one whatever is added meanwhile. */
import { RequestError, type ErrorCode } from '../engine/records/errors.js';
import { Type } from '../engine/records/schema-types.js';
import { inQuery } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';
import { soleRow } from '../engine/log/postgres/connection.js';
import type { Answer, Page, RowSource, Statement } from './statement.js';

/** The values by which a list is sorted, of the last entry of a page. Amounts beyond 2^53 are decimal text, ids hex text. */
export type PageKey = readonly (string | number | null)[];

/** What a value of a key has to be; `none` allows null besides a whole number. */
export type KeyPart = 'number' | 'digits' | 'hex' | 'none';

const PARTS: Readonly<Record<KeyPart, (value: unknown) => boolean>> = {
  number: (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
  digits: (value) => typeof value === 'string' && /^\d{1,78}$/.test(value),
  hex: (value) => typeof value === 'string' && /^0x([0-9a-f]{2}){1,32}$/.test(value),
  none: (value) => value === null || PARTS.number(value),
};

const NO_CURSOR = 'is not a cursor of this list; send `nextCursor` of the page before unchanged, with the same other parameters, or leave it out for the first page';

/** The parameter; its text is checked by `keyAfter`, which knows the list. */
export const cursor = inQuery('cursor', kind.optional(kind.text(Type.String({ pattern: '^[A-Za-z0-9_-]{1,400}$' }))), {
  description: 'Where the page begins. Send `nextCursor` of the page before.', example: 'WyJ0cmFkZXMiLDQyMTdd',
});

export const NextCursor = Type.Optional(Type.String({
  description: 'Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be empty.',
}));

/** The parameters of a list that had pages of `byDefault` entries at most before it had cursors: absent, its answer is as it was. */
export const pageParameters = (bounds: { readonly byDefault: number; readonly max: number }) => ({
  limit: inQuery('limit', kind.optional({ ...kind.upTo(bounds.max), schema: { ...kind.upTo(bounds.max).schema, default: bounds.byDefault } }), {
    description: 'The highest number of entries in a page.', example: Math.min(100, bounds.max),
  }),
  cursor,
});

/** What a request for a page of a list has. */
export interface PageRequest {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Whether the request is one for a page; else the answer is the one without cursors. */
export function isPaged({ limit, cursor: text }: PageRequest): boolean {
  return limit !== undefined || text !== undefined;
}

/** The cursor of the page after an entry with this key. */
export function cursorAfter(list: string, key: PageKey): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

/**
 * The key in a cursor of this list; undefined without a cursor. Throws RequestError `invalid_request` for any text that is not a cursor of this
 * list.
 */
export function keyAfter(list: string, parts: readonly KeyPart[], text: string | undefined): PageKey | undefined {
  if (text === undefined) return undefined;
  const [of, ...key] = contentOf(text);
  if (of === list && key.length === parts.length && parts.every((part, i) => PARTS[part](key[i]))) return key as PageKey;
  throw new RequestError('invalid_request', '', [{ field: '/cursor', message: NO_CURSOR }]);
}

function contentOf(text: string): readonly unknown[] {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(text)) return [];
  try {
    const content: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}

/** A page that ended with an entry of this key, or at the list's end. */
interface PageRow {
  readonly body: string | null;
  readonly position: string;
  /** JSON text of the last entry's key; null where the page is not full. */
  readonly last: string | null;
  /** Whether nothing can change on this page any more; null where that is not known. */
  readonly closed?: boolean | null;
}

/** Of an answer that never changes: a client may keep it for a year. */
export const FOREVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** Runs the statement of a page, with the columns of PageRow; its body is a JSON object, to which `nextCursor` is added where `list` is given. */
export async function page(
  db: RowSource, { list, statement, values, missing = 'not_found' }: {
    readonly list: string | undefined; readonly statement: Statement; readonly values: readonly unknown[]; readonly missing?: ErrorCode;
  },
): Promise<Answer> {
  const { body, position, last, closed } = soleRow(await db.rows<PageRow>(statement, values));
  if (body === null) throw new RequestError(missing);
  const text = last === null || list === undefined
    ? body
    : `${body.slice(0, -1)},"nextCursor":${JSON.stringify(cursorAfter(list, JSON.parse(last) as PageKey))}}`;
  return { body: text, position: Number(position), ...closed === true && { headers: FOREVER } };
}

/** A page of a `listing`, whose $2 is the key at the end of the page before, from `next` or from the cursor. `more` are its further parameters. */
export function pageOfListing(
  db: RowSource, statement: Statement, { list, byDefault, more = [], ...asked }: Page & {
    readonly list: string; readonly byDefault: number; readonly more?: readonly unknown[];
  },
): Promise<Answer> {
  const [before = asked.next ?? null] = keyAfter(list, ['number'], asked.cursor) ?? [];
  return page(db, { list: isPaged(asked) ? list : undefined, statement, values: [asked.limit ?? byDefault, before, ...more] });
}
