/** The interface of a projection: a name, a version, its tables, and how a batch of outcomes changes their rows. */
import { LRUCache } from 'lru-cache';
import type { Event, EventOf, EventType } from '../engine/records/events.js';

/** One decoded outcome of the log. */
export interface FoldedOutcome {
  readonly position: number;
  /** Engine time in milliseconds. */
  readonly at: number;
  readonly events: readonly Event[];
}

/** A prepared statement. Each name must always have the same text, because Postgres knows the statement by its name. */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

/** Runs a statement in the batch's transaction; its rows are arrays of columns, int8 and numeric as decimal strings. */
export type Query = <Row extends unknown[]>(statement: PreparedStatement, values: readonly unknown[]) => Promise<Row[]>;

export interface Projection {
  /** The name in checkpoints and for `rebuild`: lower-case letters and `_`. */
  readonly name: string;
  /**
   * Increases whenever the tables or the meaning of their rows change. Tables of an older version are rebuilt from
   * position 0.
   */
  readonly version: number;
  /**
   * Statements that create the tables and indexes. Names are unqualified: the tables are created in the first schema of
   * the search path, `read_models` for the live tables, a shadow schema during a rebuild. The query API reads them. Hex
   * values are `bytea`. Amounts that may exceed 2^63 are `numeric`, in units of 1e-6. `*_ms` are milliseconds since the
   * Unix epoch, and `expiration` is in seconds.
   */
  readonly tables: readonly string[];
  /** The event types that change the projection's rows. */
  readonly handles: ReadonlySet<EventType>;
  /**
   * A new fold, for one session: a fold remembers rows, and the memory is correct only while no other session writes
   * them.
   */
  start(): Fold;
}

/**
 * Folds a batch and writes the changed rows. The caller owns the transaction, and has checked that the batch follows
 * the fold's last batch directly and that nobody else has written since. After a batch that was not committed, the fold
 * must not be used again. The fold sends statements without waiting for earlier ones when it does not need their rows.
 * The same outcomes give the same rows in batches of any size. Throws InconsistentOutcomes.
 */
export type Fold = (batch: readonly FoldedOutcome[], query: Query) => Promise<void>;

/**
 * A function for each event type that a read model cares about. It adds the event to the batch's changes; rows are
 * written once per batch. Events without a function are ignored.
 */
export type Handlers<Changes> = { readonly [Type in EventType]?: Handler<Changes, EventOf<Type>> };
type Handler<Changes, E extends Event> = (changes: Changes, event: E, outcome: FoldedOutcome) => void;

/** Adds every event of a batch that has a handler to `changes`, in the order of the log, and returns `changes`. */
export function foldEvents<Changes>(
  handlers: Handlers<Changes>, batch: readonly FoldedOutcome[], changes: NoInfer<Changes>,
): Changes {
  // Each handler takes the events of its own key; the compiler cannot infer that for a computed key.
  const byType = handlers as Readonly<Partial<Record<EventType, Handler<Changes, Event>>>>;
  for (const outcome of batch) {
    for (const event of outcome.events) byType[event.type]?.(changes, event, outcome);
  }
  return changes;
}

/** The event types that these tables have a handler for. */
export function handledBy(...tables: readonly Handlers<never>[]): ReadonlySet<EventType> {
  return new Set(tables.flatMap((handlers) => Object.keys(handlers) as EventType[]));
}

/** What a projection remembers between batches, so that it need not ask Postgres for it. */
export type Remembered<K extends string | number, V extends object | bigint> = LRUCache<K, V>;

/**
 * Entries that are no larger than this together, each of size 1 unless `sizeOf` tells when it is set; those that were not used for longest go
 * first. Its room grows with them: with `max`, the cache would allocate all of it at the start, which takes 12 ms for 100,000 entries, in every
 * process.
 */
export function remember<K extends string | number, V extends object | bigint>(
  most: number, sizeOf: (value: V) => number = () => 1,
): Remembered<K, V> {
  return new LRUCache<K, V>({ maxSize: most, sizeCalculation: sizeOf });
}

/** An event contradicts the outcomes before it. The log or the engine is broken, so the worker stops. */
export class InconsistentOutcomes extends Error {
  constructor(what: string) {
    super(`${what}: this contradicts the outcomes before; audit the history before you continue`);
    this.name = 'InconsistentOutcomes';
  }
}

/**
 * The first position of a batch, the position after its last one, and the time of that one. Throws Error for an empty
 * batch.
 */
export function extentOf(batch: readonly FoldedOutcome[]): {
  readonly first: number;
  readonly end: number;
  readonly at: number;
} {
  const [outcome] = batch;
  const last = batch.at(-1);
  if (outcome === undefined || last === undefined) throw new Error('a batch must have an outcome');
  return { first: outcome.position, end: outcome.position + batch.length, at: last.at };
}

/**
 * The item with this index, for statements whose rows name the requested items by index. Throws Error for an unknown
 * index.
 */
export function placedAt<Item>(items: readonly Item[], place: number): Item {
  const item = items[place];
  if (item === undefined) throw new Error(`a statement returned a row for item ${place} of ${items.length}`);
  return item;
}

/** The tables that a projection's statements create. */
export function tableNames(projection: Projection): string[] {
  return projection.tables
    .flatMap((text) => [...text.matchAll(/create table (\w+)/g)].flatMap(([, name]) => name ?? []));
}
