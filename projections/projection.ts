/** What a projection is: a name, a version, its tables, and how a batch of outcomes changes their rows. */
import type { Event } from '../engine/records/events.js';

/** One outcome of the log, decoded: what happened at `position`. */
export interface FoldedOutcome {
  readonly position: number;
  /** Engine time in milliseconds. */
  readonly at: number;
  readonly events: readonly Event[];
}

/** A prepared statement. The name stands for the text on a connection: one name, one text. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Runs a statement in the batch's transaction; its rows are arrays of columns, int8 and numeric as decimal strings. */
export type Query = <Row extends unknown[]>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

export interface Projection {
  /** Also its name for `rebuild`; lower-case letters and `_`. */
  readonly name: string;
  /** Counted up whenever tables or meaning change: the rows of another version are rebuilt from position 0, not continued. */
  readonly version: number;
  /** Statements that create its tables and indexes, unqualified: the search path decides where. */
  readonly tables: readonly string[];
  /** The event types that change none of its rows. */
  readonly ignored: ReadonlySet<Event['type']>;
  /** A fold without memories of rows: for one session, since what it remembers is true only while that one writes alone. */
  start(): Fold;
}

/**
 * Folds a batch and writes the rows that it changes. The caller owns the transaction and has checked that the batch is the
 * next one after the last that this fold was given, and that nobody else has written since; a fold whose batch was not committed
 * is not to be used again. Statements whose rows it does not need go out without waiting for those before. The same outcomes in
 * batches of any size give the same rows. Throws InconsistentHistory.
 */
export type Fold = (batch: readonly FoldedOutcome[], query: Query) => Promise<void>;

/** An event contradicts the outcomes before it: the log or the engine is broken, so the worker stops. */
export class InconsistentHistory extends Error {
  constructor(what: string) {
    super(`${what}: the outcomes before it do not bear that out; audit the history before going on`);
    this.name = 'InconsistentHistory';
  }
}

/** The positions of a batch's outcomes: the first, and the one after the last. A batch is never empty. */
export function extentOf(batch: readonly FoldedOutcome[]): { readonly first: number; readonly end: number } {
  const [outcome] = batch;
  if (outcome === undefined) throw new Error('a batch has no outcomes');
  return { first: outcome.position, end: outcome.position + batch.length };
}

/** The row of a statement that always gives one. */
export function soleRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('a statement that always gives a row gave none');
  return row;
}

/** The item that was asked for under this number, where a statement's rows name the items by their places. */
export function placedAt<Item>(items: readonly Item[], place: number): Item {
  const item = items[place];
  if (item === undefined) throw new Error(`a statement gave a row for place ${place}, of ${items.length}`);
  return item;
}

/** The tables that a projection's statements create. */
export function tableNames(projection: Projection): string[] {
  return projection.tables.flatMap((text) => [...text.matchAll(/create table (\w+)/g)].flatMap(([, name]) => name ?? []));
}
