/** A market's books as they were after any outcome, from the history that the read model `orders` keeps of their levels. */
import { readLevelChanges } from '../../engine/records/level-changes.js';
import { soleRow } from '../../engine/log/postgres/connection.js';
import { bytes, type RowSource, type Statement } from '../statement.js';

/** A market's books at a position. */
export interface BookAt {
  /** The last position at which an order touched the books; -1 without one. */
  readonly last: number;
  /** Its engine time in milliseconds; 0 without one. */
  readonly at: number;
  /** The sizes of the levels, by (outcome * 2 + side) * 1000000 + price. */
  readonly levels: ReadonlyMap<number, bigint>;
  /** Whether the market was open by then. */
  readonly isMarket: boolean;
}

/**
 * What the books at the position $2 of the market $1 follow from: the newest whole books up to there, the blocks from that one on, of which the
 * first one that ends there or later has the last changes, and the changes that no block has yet.
 */
const PAST_BOOK: Statement = { name: 'past_book', text: `
  with book as materialized (select first_position as number, changes from books where market_id = $1::bytea), base as materialized (
    select position, levels from level_history
    where book = (select number from book) and position <= $2::bigint and levels is not null order by position desc limit 1
  ), blocks as (
    (select position, changes from level_history
      where book = (select number from book) and position >= coalesce((select position from base), 0) and position < $2::bigint)
    union all
    (select position, changes from level_history
      where book = (select number from book) and position >= $2::bigint order by position limit 1)
  )
  select exists (select from markets where market_id = $1::bytea and opened_position <= $2::bigint) as "isMarket",
    (select levels from base) as levels, array(select changes from blocks order by position) as blocks, (select changes from book) as newest` };

/** The books of this market after the outcome at the position, which the read models must include. */
export async function pastBook(db: RowSource, marketId: string, position: number): Promise<BookAt> {
  type Row = { isMarket: boolean; levels: Buffer | null; blocks: Buffer[]; newest: Buffer | null };
  const row = soleRow(await db.rows<Row>(PAST_BOOK, [bytes(marketId), position]));
  const levels = new Map<number, bigint>();
  let [last, at] = [-1, 0];
  for (const changes of [row.levels, ...row.blocks, row.newest]) {
    for (const change of changes === null ? [] : readLevelChanges(changes)) {
      if (change.position > position) break;
      if (change.size === 0n) levels.delete(change.place); else levels.set(change.place, change.size);
      ({ position: last, at } = change);
    }
  }
  return { last, at, levels, isMarket: row.isMarket };
}
