/** Checkpoints: how many outcomes each projection has folded, moved in the transaction that writes the rows. */
import { int4Array, int8Array, textArray } from './columns.js';
import type { Query } from './projection.js';

export interface Checkpoint {
  readonly version: number;
  /** The next outcome that the projection wants. */
  readonly position: number;
}

export interface Advance {
  readonly name: string;
  readonly version: number;
  readonly from: number;
  readonly to: number;
}

const READ_CHECKPOINTS = { name: 'read_checkpoints', text: 'select name, version, position from projection' };

const ADVANCE = {
  name: 'advance_checkpoints',
  text: `
    update projection set position = next.position
    from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[]) as next (name, version, expected, position)
    where projection.name = next.name and projection.version = next.version and projection.position = next.expected
    returning projection.name`,
};

/** Every projection's checkpoint, by name. */
export async function readCheckpoints(query: Query): Promise<Map<string, Checkpoint>> {
  const rows = await query<[string, number, string]>(READ_CHECKPOINTS, []);
  return new Map(rows.map(([name, version, position]) => [name, { version, position: Number(position) }]));
}

/**
 * Moves checkpoints that are still where they were left; false when one is not, because another worker or a rebuild was here:
 * then the transaction is to be rolled back. It waits for a transaction that is moving them, so it comes first in its own.
 */
export async function advance(moves: readonly Advance[], query: Query): Promise<boolean> {
  const moved = await query(ADVANCE, [
    textArray(moves.map(({ name }) => name)), int4Array(moves.map(({ version }) => version)),
    int8Array(moves.map(({ from }) => from)), int8Array(moves.map(({ to }) => to)),
  ]);
  return moved.length === moves.length;
}
