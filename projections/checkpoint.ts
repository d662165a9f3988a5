/** Checkpoints: how many outcomes each projection has folded, moved in the transaction that writes the rows. */
import { int4Array, int8Array, textArray } from './columns.js';
import { soleRow, type Query } from './projection.js';

export interface Checkpoint {
  readonly version: number;
  /** The next outcome that the projection wants. */
  readonly position: number;
  /** The transaction that wrote it last (Postgres' xmin): another one means that somebody else has been at the rows. */
  readonly writer: string;
}

/** What is known of each projection's checkpoint, by name. */
export type Checkpoints = ReadonlyMap<string, Checkpoint>;

/** The checkpoint of a projection whose tables are there. */
export function checkpointOf(checkpoints: Checkpoints, name: string): Checkpoint {
  const checkpoint = checkpoints.get(name);
  if (checkpoint === undefined) throw new Error(`projection ${name} has no checkpoint`);
  return checkpoint;
}

export interface Advance {
  readonly name: string;
  readonly version: number;
  /** Of the checkpoint as it was left; absent where nothing is remembered of the rows: then only the position counts. */
  readonly writer?: string;
  readonly from: number;
  readonly to: number;
}

const READ_CHECKPOINTS = { name: 'read_checkpoints', text: 'select name, version, position, xmin::text from projection' };

const ADVANCE = {
  name: 'advance_checkpoints',
  text: `
    with moved as (
      update projection set position = next.position
      from unnest($1::text[], $2::integer[], $3::xid[], $4::bigint[], $5::bigint[]) as next (name, version, writer, expected, position)
      where projection.name = next.name and projection.version = next.version and projection.position = next.expected
        and (next.writer is null or projection.xmin = next.writer)
      returning projection.xmin
    )
    select count(*), min(xmin::text), case when $6::text is not null then pg_notify('read_models', $6) end from moved`,
};

/** Every projection's checkpoint, by name. */
export async function readCheckpoints(query: Query): Promise<Map<string, Checkpoint>> {
  const rows = await query<[string, number, string, string]>(READ_CHECKPOINTS, []);
  return new Map(rows.map(([name, version, position, writer]) => [name, { version, position: Number(position), writer }]));
}

/**
 * Moves checkpoints that are still as they were left and returns their writer, this transaction; undefined when one is not,
 * because another worker or a rebuild was here: then the transaction is to be rolled back. It waits for a transaction that is
 * moving them, so it comes first in its own. With `reached`, readers are told at the commit that the read models include that
 * position.
 */
export async function advance(moves: readonly Advance[], query: Query, reached?: number): Promise<string | undefined> {
  const [moved, writer] = soleRow(await query<[string, string]>(ADVANCE, [
    textArray(moves.map(({ name }) => name)), int4Array(moves.map(({ version }) => version)),
    textArray(moves.map(({ writer = null }) => writer)),
    int8Array(moves.map(({ from }) => from)), int8Array(moves.map(({ to }) => to)),
    reached === undefined ? null : String(reached),
  ]));
  return Number(moved) === moves.length ? writer : undefined;
}
