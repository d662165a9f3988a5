/** The newest snapshot that belongs to the history in the log. */
import type { Log } from '../log/log.js';
import { decodeOutcome, formatDigest } from '../records/codec.js';
import type { Restored } from './snapshot-state.js';
import { loadSnapshot } from './snapshot-files.js';

/** The newest undamaged snapshot whose digest is the recorded one; undefined when there is none. */
export function loadOwnSnapshot(
  log: Pick<Log, 'read'>, { folder, recorded }: { readonly folder: string; readonly recorded: number },
): Promise<Restored | undefined> {
  return loadSnapshot(folder, (snapshot) => belongs(log, snapshot, recorded));
}

/** Whether the snapshot belongs to this history: the log has its digest at its position. */
async function belongs(log: Pick<Log, 'read'>, { state, digest }: Restored, recorded: number): Promise<boolean> {
  if (state.position > recorded) return false;
  const [record] = await log.read('outcomes', state.position - 1, 1);
  return record !== undefined && decodeOutcome(record.data).digest === formatDigest(digest);
}
