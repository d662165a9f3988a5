/**
 * Whether the read models were made from this log: it may have lost outcomes that they include, and have others in
 * their place.
 */
import type { Log } from '../engine/log/log.js';
import { decodeOutcome } from '../engine/records/codec.js';
import type { Query } from './projection.js';
import { READ_MODELS } from './schema.js';

/**
 * The log does not have what the read models were made from: it was replaced, or the database belongs to another
 * exchange.
 */
export class ForeignReadModels extends Error {
  constructor(what: string) {
    super(`the read models include ${what}: they were made from another log; `
      + `restore that log, or drop schema ${READ_MODELS}, which the next start makes again`);
    this.name = 'ForeignReadModels';
  }
}

const NEWEST_ORDER = { name: 'newest_order', text: 'select number, order_hash from orders order by number desc limit 1' };

/**
 * Throws ForeignReadModels when the checkpoint is beyond the log's end, or when the log does not accept the newest order
 * of the read models, if they have orders, where they have it. Throws LogUnavailable.
 */
export async function checkSameLog({ log, position, hasOrders, query }: {
  log: Log;
  /** Of the checkpoint. */
  position: number;
  hasOrders: boolean;
  query: Query;
}): Promise<void> {
  const length = await log.length('outcomes');
  if (position > length) throw new ForeignReadModels(`${position} outcomes, but the log has ${length}`);
  if (!hasOrders) return;
  const [row] = await query<[string, Buffer]>(NEWEST_ORDER, []);
  if (row === undefined) return;
  const [number, hash] = [Number(row[0]), `0x${row[1].toString('hex')}`];
  const [record] = await log.read('outcomes', number, 1);
  const { events } = record === undefined ? { events: [] } : decodeOutcome(record.data);
  if (events.some((event) => event.type === 'OrderAccepted' && event.orderHash === hash)) return;
  throw new ForeignReadModels(`order ${hash} at position ${number}, where the log has something else`);
}
