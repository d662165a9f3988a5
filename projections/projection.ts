/** The interface of a projection: a name, a version, its tables, and how a batch of outcomes changes their rows. */
import type { Event } from '../engine/records/events.js';

/** One decoded outcome of the log. */
export interface FoldedOutcome {
  readonly position: number;
  /** Engine time in milliseconds. */
  readonly at: number;
  readonly events: readonly Event[];
}

/** A prepared statement. Each name must always have the same text, because Postgres knows the statement by its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Runs a statement in the batch's transaction; its rows are arrays of columns, int8 and numeric as decimal strings. */
export type Query = <Row extends unknown[]>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

export interface Projection {
  /** The name in checkpoints and for `rebuild`: lower-case letters and `_`. */
  readonly name: string;
  /** Increases whenever the tables or the meaning of their rows change. Tables of an older version are rebuilt from position 0. */
  readonly version: number;
  /** Statements that create the tables and indexes. Names are unqualified: the search path decides the schema. */
  readonly tables: readonly string[];
  /** The event types that change none of the projection's rows. */
  readonly ignored: ReadonlySet<Event['type']>;
  /** A new fold, for one session: a fold remembers rows, and the memory is correct only while no other session writes them. */
  start(): Fold;
}

/**
 * Folds a batch and writes the changed rows. The caller owns the transaction, and has checked that the batch follows the fold's last
 * batch directly and that nobody else has written since. After a batch that was not committed, the fold must not be used again. The
 * fold sends statements without waiting for earlier ones when it does not need their rows. The same outcomes give the same rows in
 * batches of any size. Throws InconsistentHistory.
 */
export type Fold = (batch: readonly FoldedOutcome[], query: Query) => Promise<void>;

/** An event contradicts the outcomes before it. The log or the engine is broken, so the worker stops. */
export class InconsistentHistory extends Error {
  constructor(what: string) {
    super(`${what}: this contradicts the outcomes before; audit the history before you continue`);
    this.name = 'InconsistentHistory';
  }
}

/** The first position of a batch, and the position after its last one. Throws Error for an empty batch. */
export function extentOf(batch: readonly FoldedOutcome[]): { readonly first: number; readonly end: number } {
  const [outcome] = batch;
  if (outcome === undefined) throw new Error('a batch must have an outcome');
  return { first: outcome.position, end: outcome.position + batch.length };
}

/** The row of a statement that always returns one. */
export function soleRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('a statement that always returns a row returned none');
  return row;
}

/** The item with this index, for statements whose rows name the requested items by index. Throws Error for an unknown index. */
export function placedAt<Item>(items: readonly Item[], place: number): Item {
  const item = items[place];
  if (item === undefined) throw new Error(`a statement returned a row for item ${place} of ${items.length}`);
  return item;
}

/** The tables that a projection's statements create. */
export function tableNames(projection: Projection): string[] {
  return projection.tables.flatMap((text) => [...text.matchAll(/create table (\w+)/g)].flatMap(([, name]) => name ?? []));
}
