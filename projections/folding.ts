/** One batch into one projection, within the caller's transaction, and the error that says where it failed. */
import { DatabaseUnavailable } from './database.js';
import type { Fold, FoldedOutcome, Query } from './projection.js';

/** Outcomes that a projection cannot be made of: a defect of the program or of the history, which a retry would meet again. */
export class ProjectionFailed extends Error {
  constructor(name: string, batch: readonly FoldedOutcome[], cause: unknown) {
    super(`projection ${name} failed at outcomes ${batch[0].position} to ${batch.at(-1)!.position}: `
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
