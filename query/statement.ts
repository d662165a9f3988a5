/** The parts of every read: one named statement that returns the finished JSON text and the last log position that the text includes. */
import { soleRow } from '../engine/log/postgres/connection.js';
import { RequestError, type ErrorCode } from '../engine/records/errors.js';

/** An answer: the JSON text, and the last log position that it includes (-1 while the read model is empty). */
export interface Answer {
  readonly body: string;
  readonly position: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A prepared statement: planned once per connection, under its name. One without a name is planned for its values each time: for a statement whose
 * best plan depends on them.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** Runs prepared statements in the read models. */
export interface RowSource {
  /** The rows of one prepared statement. Throws RequestError `unavailable` when Postgres cannot be reached or takes too long. */
  rows<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/** The names of the projections, as in the table `projection`: each read names the projections that it reads. */
export const PROJECTIONS = [
  'markets', 'orders', 'trades', 'positions', 'redemptions', 'resolutions', 'claims', 'prices', 'quick_markets',
] as const;
export type ProjectionName = typeof PROJECTIONS[number];

/** A statement with the columns `body` and `position`: one statement, so that both come from one snapshot. `body` is a scalar subquery's SQL. */
export function answering(name: string, projections: readonly ProjectionName[], body: string): Statement {
  return { name, text: `select ${body} as body, ${positionOf(projections)} as position` };
}

/** SQL: the time of the last outcome that the read models include, in milliseconds: every outcome before that time is included. */
export const INCLUDED_TIME = '(select at_ms from checkpoint)';

/** SQL: the last log position that the read models include; -1 before the first outcome, and while one of these projections is not among them yet. */
export function positionOf(projections: readonly ProjectionName[]): string {
  const names = projections.map((name) => `'${name}'`).join(', ');
  return `(select case when count(*) = ${projections.length} then (select position from checkpoint) else 0 end - 1 from projection where name in (${names}))`;
}

/** Runs an `answering` statement. When the body is null, throws a RequestError with the code `missing`, and with `detail` if it is given. */
export async function answer(
  db: RowSource, statement: Statement, values: readonly unknown[], missing: ErrorCode = 'not_found', detail?: (position: number) => string,
): Promise<Answer> {
  const row = soleRow(await db.rows<{ body: string | null; position: string }>(statement, values));
  if (row.body === null) throw new RequestError(missing, detail?.(Number(row.position)));
  return { body: row.body, position: Number(row.position) };
}

/** SQL: a `bytea` column as lower-case hex with `0x`. */
export function hex(column: string): string {
  return `'0x' || encode(${column}, 'hex')`;
}

/** SQL: the trades of a market, buyer or seller; the indexes of `trades` have seven bytes of the column. */
export function tradesOf(column: 'market_id' | 'buyer' | 'seller', id: string): string {
  return `substr(trades.${column}, 1, 7) = substr(${id}::bytea, 1, 7) and trades.${column} = ${id}::bytea`;
}

/** SQL: a JSON object of a select's only row, with the columns as keys; null without a row. The text has no spaces, unlike json_build_object's. */
export function jsonObject(select: string): string {
  return `(select row_to_json(object)::text from (${select}) object)`;
}

/** SQL: a JSON array of a select's rows, in their order; `[]` without rows. */
export function jsonArray(select: string): string {
  return `(select coalesce(json_agg(row_to_json(item)), '[]') from (${select}) item)`;
}

/** Hex text with `0x` as bytes, for a statement's parameter. */
export function bytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

/** A page: at most `limit` entries. `next` is the `next` of the previous page, and `cursor` says the same. */
export interface Page {
  readonly limit?: number | undefined;
  readonly next?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Listing {
  readonly name: string;
  readonly projections: readonly ProjectionName[];
  /** The key of the list in the answer. */
  readonly answered: string;
  readonly from: string;
  /** The columns of an entry. */
  readonly item: string;
  /** The condition on the rows; $2 is the `next` of the previous page. */
  readonly filter: string;
  readonly sort: string;
  /** An integer per entry, of which `next` is one, and the order of the pages by it. */
  readonly key: string;
  readonly order: 'asc' | 'desc';
}

/** $1 is the limit. The JSON is built as text, because `next` is not always present. */
export function listing({ name, projections, answered, from, item, filter, sort, key, order }: Listing): Statement {
  const next = order === 'asc' ? 'max' : 'min';
  return { name, text: `
    with page as materialized (
      select ${key} as key, row_to_json(item)::text as item
      from ${from} cross join lateral (select ${item}) item
      where ${filter}
      order by ${sort} limit $1::integer
    )
    select '{"${answered}":[' || coalesce(string_agg(item, ',' order by key ${order}), '') || '],"count":' || count(*)
        || case when count(*) = $1 then ',"next":' || ${next}(key) else '' end || '}' as body,
      case when count(*) = $1 then json_build_array(${next}(key))::text end as last, ${positionOf(projections)} as position
    from page` };
}
