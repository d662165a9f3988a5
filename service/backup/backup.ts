/** Backs up the log of a running exchange, checks a backup by replaying it, and restores one into an empty log, whatever the store. */
import { LARGEST_APPEND } from '../../engine/log/append-size.js';
import type { Log, LogRecord, NewRecord, Stream } from '../../engine/log/log.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { HistoryDiffers } from '../../engine/run/history-differs.js';
import { formatDigest } from '../../engine/records/digest.js';
import { readBackupFile, writeBackupFile, type BackupEntry, type Lengths } from './backup-file.js';

/** How far a history goes, and the digest of all commands in it. */
export interface Replayed extends Lengths {
  readonly digest: string;
}

/**
 * Writes what the log had when it was asked: a history up to one position, whatever is appended meanwhile. The outcomes are counted first, so each
 * of them has its command.
 */
export async function writeBackup(log: Log, path: string): Promise<Lengths> {
  const outcomes = await log.length('outcomes');
  const commands = await log.length('commands');
  await writeBackupFile(path, { commands, outcomes }, entriesOf(log, { commands, outcomes }));
  return { commands, outcomes };
}

async function* entriesOf(log: Log, { commands, outcomes }: Lengths): AsyncGenerator<BackupEntry> {
  const answers = recordsOf(log, 'outcomes', outcomes);
  for await (const { position, id, data } of recordsOf(log, 'commands', commands)) {
    const { value: outcome } = await answers.next() as { value: LogRecord | undefined };
    yield { position, command: { id, data }, outcome: outcome === undefined ? undefined : { id: outcome.id, data: outcome.data } };
  }
}

async function* recordsOf(log: Log, stream: Stream, length: number): AsyncGenerator<LogRecord, undefined> {
  for (let position = 0; position < length;) {
    const page = await log.read(stream, position, Math.min(LARGEST_APPEND.maxRecords, length - position));
    yield* page;
    position += page.length;
  }
  return undefined;
}

/** Replays a whole file. Throws BadBackup; HistoryDiffers when an outcome is not what this program computes from the commands. */
export async function checkBackup(path: string): Promise<Replayed> {
  const engine = createEngine();
  let [commands, outcomes] = [0, 0];
  for await (const { position, command, outcome } of readBackupFile(path)) {
    const { digest: computed } = engine.step(command.data);
    commands = position + 1;
    if (outcome === undefined) continue;
    const { digest: recorded } = decodeOutcome(outcome.data);
    if (recorded !== computed) throw new HistoryDiffers({ position, recorded, computed });
    outcomes = position + 1;
  }
  return { commands, outcomes, digest: formatDigest(engine.digest) };
}

/**
 * Checks the file, then appends all of it at exactly its positions. A restore of the same file that was interrupted is completed. Throws
 * WrongPosition when the log has anything else.
 */
export async function restoreBackup(log: Log, path: string): Promise<Replayed> {
  const replayed = await checkBackup(path);
  const pending: Record<Stream, Pending> = { commands: { at: 0, records: [], bytes: 0 }, outcomes: { at: 0, records: [], bytes: 0 } };
  const flush = async (): Promise<void> => {
    // Commands first: an outcome without its command would be no history.
    for (const stream of ['commands', 'outcomes'] as const) {
      const { at, records } = pending[stream];
      if (records.length > 0) await log.append(stream, records, at);
      pending[stream] = { at: at + records.length, records: [], bytes: 0 };
    }
  };
  for await (const { command, outcome } of readBackupFile(path)) {
    if (!fits(pending.commands, command) || (outcome !== undefined && !fits(pending.outcomes, outcome))) await flush();
    add(pending.commands, command);
    if (outcome !== undefined) add(pending.outcomes, outcome);
  }
  await flush();
  return replayed;
}

interface Pending {
  readonly at: number;
  readonly records: NewRecord[];
  bytes: number;
}

function fits({ records, bytes }: Pending, { data }: NewRecord): boolean {
  return records.length < LARGEST_APPEND.maxRecords && bytes + data.length <= LARGEST_APPEND.maxBytes;
}

function add(pending: Pending, record: NewRecord): void {
  pending.records.push(record);
  pending.bytes += record.data.length;
}
