/** The next snapshot, made of the last one and the log, so that the engine whose state it shows need not stop for it. */
import { shorter } from '../log/tail.js';
import { BrokenSequence, type Log } from '../log/log.js';
import { formatDigest } from '../records/codec.js';
import { createEngine } from './engine.js';
import { HistoryDiffers } from './history-differs.js';
import { loadOwnSnapshot } from './own-snapshot.js';
import { encodeSnapshot } from './snapshot.js';
import { saveSnapshot } from './snapshot-files.js';

/** Where the engine was when the snapshot fell due. */
export interface DueSnapshot {
  readonly folder: string;
  /** The number of commands that the snapshot includes. */
  readonly position: number;
  /** The digest up to there, `0x` and 64 hex digits. */
  readonly digest: string;
}

const PAGE = 1_000;

/**
 * Writes the snapshot of the history up to a position that the log has: byte for byte what the engine there would have
 * written. Steps the commands after the newest snapshot before that position, or all of them where there is none.
 * Throws HistoryDiffers when that gives another digest, RecordsLost, LogUnavailable, and the disk's errors; then
 * nothing is written.
 */
export async function writeNextSnapshot(log: Pick<Log, 'read' | 'length'>, due: DueSnapshot): Promise<void> {
  const { folder, position, digest } = due;
  const recorded = Math.min(position, await log.length('outcomes'));
  const restored = await loadOwnSnapshot(log, { folder, recorded });
  const engine = createEngine(restored?.state, restored?.digest);
  while (engine.state.position < position) {
    const from = engine.state.position;
    const page = await log.read('commands', from, Math.min(PAGE, position - from));
    if (page.length === 0) throw shorter('commands', { known: position, length: from });
    for (const record of page) {
      if (record.position !== engine.state.position) throw new BrokenSequence('commands', engine.state.position, record.position);
      engine.step(record.data);
    }
  }
  const computed = formatDigest(engine.digest);
  if (computed !== digest) throw new HistoryDiffers({ position: position - 1, recorded: digest, computed });
  await saveSnapshot(folder, position, encodeSnapshot(engine));
}
