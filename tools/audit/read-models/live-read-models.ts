/** The read models of a deployment as they are at one moment, read-only: one snapshot for all tables, at the position of each projection. */
import { readCheckpoint, readVersions } from '../../../projections/checkpoint.js';
import { DatabaseUnavailable, openSession, type Session } from '../../../projections/database.js';
import { readHorizon, type Horizon } from '../../../projections/history/horizon.js';
import type { Projection } from '../../../projections/projection.js';
import { READ_MODELS } from '../../../projections/schema.js';
import { CannotAudit } from '../difference.js';

export interface PinnedProjection {
  readonly projection: Projection;
  /** How many outcomes are in its tables. */
  readonly position: number;
}

export interface LiveReadModels {
  readonly session: Session;
  readonly projections: readonly PinnedProjection[];
  /** What was over before it is compared no more. */
  readonly horizon: Horizon;
  close(): Promise<void>;
}

/** Opens a snapshot, which lasts until `close`: nothing is written, and nobody waits for it. Throws CannotAudit. */
export async function pinReadModels(url: string, projections: readonly Projection[]): Promise<LiveReadModels> {
  const session = await openSession(url, READ_MODELS).catch((error: unknown) => { throw unavailable(error); });
  try {
    await session.run('begin isolation level repeatable read read only');
    const { query } = session;
    const [versions, { position }, horizon] = await Promise.all([readVersions(query), readCheckpoint(query), readHorizon(query)]);
    return {
      session, horizon, close: () => session.close(),
      projections: projections.map((projection) => {
        const version = versions.get(projection.name);
        if (version === projection.version) return { projection, position };
        throw new CannotAudit(`the read model ${projection.name} has version ${version ?? 'none'}, and this program makes version ${projection.version}: audit with the program that serves`);
      }),
    };
  } catch (error) {
    await session.close();
    throw unavailable(error);
  }
}

function unavailable(error: unknown): Error {
  if (error instanceof CannotAudit) return error;
  const hint = error instanceof DatabaseUnavailable ? '' : ': --database must name the database with the read models';
  return new CannotAudit(`${(error as Error).message}${hint}`, { cause: error });
}
