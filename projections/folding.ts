/**
 * Folds one batch into one projection, within the caller's transaction; its error names the projection and the
 * outcomes.
 */
import { DatabaseUnavailable } from './database.js';
import { extentOf, type Fold, type FoldedOutcome, type Query } from './projection.js';

/**
 * A projection cannot fold these outcomes because of a defect of the program or of the history. A retry would fail
 * again.
 */
export class ProjectionFailed extends Error {
  constructor(name: string, batch: readonly FoldedOutcome[], cause: unknown) {
    const { first, end } = extentOf(batch);
    super(`projection ${name} failed at outcomes ${first} to ${end - 1}: `
      + (cause instanceof Error ? cause.message : String(cause)), { cause });
    this.name = 'ProjectionFailed';
  }
}

/** Folds a batch into the projection of this name. Throws DatabaseUnavailable, ProjectionFailed. */
export async function foldInto({ name, fold, batch, query }: {
  name: string; fold: Fold; batch: readonly FoldedOutcome[]; query: Query;
}): Promise<void> {
  try {
    await fold(batch, query);
  } catch (error) {
    throw error instanceof DatabaseUnavailable ? error : new ProjectionFailed(name, batch, error);
  }
}
