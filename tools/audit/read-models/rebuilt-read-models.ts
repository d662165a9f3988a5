/** The read models made again from a history, in an own Postgres that is thrown away afterwards: nothing is written where the exchange runs. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeOutcome } from '../../../engine/run/new-record.js';
import { DigestChain } from '../../../engine/run/digest-chain.js';
import { openSession, type Session } from '../../../projections/database.js';
import { foldInto } from '../../../projections/folding.js';
import { writeHorizon, type Horizon } from '../../../projections/history/horizon.js';
import { decode } from '../../../projections/inbox.js';
import { extentOf, type FoldedOutcome } from '../../../projections/projection.js';
import { createReadModels, READ_MODELS } from '../../../projections/schema.js';
import { Differs } from '../difference.js';
import { splitLine } from '../records/record-check.js';
import type { AuditSource } from '../source/source.js';
import type { PinnedProjection } from './live-read-models.js';

export interface RebuiltReadModels {
  readonly session: Session;
  close(): Promise<void>;
}

const BATCH = { outcomes: 5_000, events: 20_000 };

/**
 * Folds each projection up to its own position, and sets the horizon of the read models that are compared. The source must give the audited history
 * once more, as its last digest shows.
 */
export async function rebuildFrom({ source, projections, horizon, audited, onProgress }: {
  readonly source: AuditSource;
  readonly projections: readonly PinnedProjection[];
  readonly horizon: Horizon;
  readonly audited: { readonly length: number; readonly digest: string };
  readonly onProgress: (position: number) => void;
}): Promise<RebuiltReadModels> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-audit-'));
  await chmod(directory, 0o755);
  // Loaded here: the image does not have the development stack.
  const { startEmbeddedPostgres } = await import('../../../stack/embedded-postgres.js');
  const server = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => undefined });
  const closeServer = async (): Promise<void> => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const session = await openSession(server.url, READ_MODELS);
    await createReadModels({ session, schema: READ_MODELS, projections: projections.map(({ projection }) => projection) });
    const folds = projections.map((pinned) => ({ ...pinned, fold: pinned.projection.start(), at: 0 }));
    for await (const batch of batchesOf(source, audited)) {
      await foldBatch(session, folds, batch);
      onProgress(extentOf(batch).end);
    }
    if (horizon.position > 0) await writeHorizon(horizon, session.query);
    return {
      session,
      async close() {
        await session.close();
        await closeServer();
      },
    };
  } catch (error) {
    await closeServer();
    throw error;
  }
}

type Folding = PinnedProjection & { readonly fold: ReturnType<PinnedProjection['projection']['start']>; at: number };

async function foldBatch(session: Session, folds: readonly Folding[], batch: readonly FoldedOutcome[]): Promise<void> {
  await session.run('begin');
  for (const folding of folds) {
    const due = batch.filter(({ position }) => position < folding.position);
    if (due.length === 0) continue;
    await foldInto({ name: folding.projection.name, fold: folding.fold, batch: due, query: session.query });
    folding.at = extentOf(due).end;
  }
  await session.run('commit');
}

/** The outcomes, read a second time. Throws Differs when they are not those that were audited. */
async function* batchesOf(
  source: AuditSource, { length, digest: audited }: { readonly length: number; readonly digest: string },
): AsyncGenerator<FoldedOutcome[]> {
  const chain = new DigestChain();
  let batch: FoldedOutcome[] = [];
  let [position, events, last] = [0, 0, ''];
  for await (const lines of source.lines(0, length)) {
    for (const line of lines) {
      const { bytes, outcome, digest } = splitLine(line, position);
      last = chain.next(bytes, outcome);
      const folded = decode({ position, id: '', data: encodeOutcome(outcome, digest) }, position);
      position++;
      events += folded.events.length;
      batch.push(folded);
      if (batch.length >= BATCH.outcomes || events >= BATCH.events) {
        yield batch;
        batch = [];
        events = 0;
      }
    }
  }
  if (batch.length > 0) yield batch;
  if (last === audited || length === 0) return;
  throw new Differs({
    check: 'digests', place: { position: length - 1 },
    what: `${source.name} gave another history when it was read a second time, up to position ${length - 1}`,
    means: 'The service does not always show the same history.', expected: audited, found: last,
  });
}
