/** How far back the read models tell what was: rows that were over before the horizon are removed where the operator has set KEEP_HISTORY_DAYS. */
import { RequestError } from '../engine/records/errors.js';
import type { RowSource, Statement } from './statement.js';

/** SQL: the first position after which the read models tell how everything was; null while nothing was removed. */
export const HORIZON = '(select position from history_horizon)';

const READ: Statement = { name: 'history_horizon', text: `select ${HORIZON} as horizon` };

/**
 * To be called after the past was read as it was after a position: the horizon is stored before anything is removed, so what was read is whole if
 * the position is not before it now. Nothing was before the first outcome (-1). Throws RequestError `history_removed`.
 */
export async function mustBeKept(db: RowSource, position: number): Promise<void> {
  const [row] = await db.rows<{ horizon: string | null }>(READ, []);
  const horizon = Number(row?.horizon ?? 0);
  if (position >= 0 && position < horizon) throw new RequestError('history_removed', `of position ${position}; the oldest that is kept is ${horizon}`);
}
