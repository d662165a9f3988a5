/** Backs up the log of a running exchange, checks a backup by replaying it, and restores one into an empty log, whatever the store. */
import { LARGEST_APPEND } from '../../engine/log/appender.js';
import { fewerCommands } from '../../engine/log/tail.js';
import { WrongPosition, type Log, type LogRecord, type NewRecord, type Stream } from '../../engine/log/log.js';
import { decodeOutcome, formatDigest } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { HistoryDiffers } from '../../engine/run/history-differs.js';
import { readBackupFile, writeBackupFile, type BackupEntry, type Lengths } from './backup-file.js';

/** How far a history goes, and the digest of all commands in it. */
export interface Replayed extends Lengths {
  readonly digest: string;
}

/** The limit of each question whether the store hides records. */
const CHECK_TIMEOUT_MS = 10_000;

/**
 * Writes what the log had when it was asked: a history up to one position, whatever is appended meanwhile. The outcomes are counted first, so each
 * of them has its command. Writes nothing, and throws UnusableLog or RecordsLost, where the store hides or has lost
 * records: a short backup would take the place of a whole one.
 */
export async function writeBackup(log: Log, path: string): Promise<Lengths> {
  await log.check?.({ writes: [], timeoutMs: CHECK_TIMEOUT_MS });
  const lengths = await lengthsOf(log);
  if (lengths.commands < lengths.outcomes) throw fewerCommands(lengths);
  await writeBackupFile(path, lengths, entriesOf(log, lengths));
  return lengths;
}

async function lengthsOf(log: Log): Promise<Lengths> {
  const outcomes = await log.length('outcomes');
  return { commands: await log.length('commands'), outcomes };
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

/** What a restore found in the log besides: the records that an interrupted restore of the same file had written. */
export interface RestoredLog extends Replayed {
  readonly found: Lengths;
}

/** The log has records that are not the beginning of the file. Nothing was written. */
export class LogNotEmpty extends Error {
  constructor(path: string, { commands, outcomes }: Lengths, position: number) {
    super(`the log is not empty: it has ${commands} commands and ${outcomes} outcomes, which differ from ${path} from position ${position} on. Nothing was restored. `
      + 'A backup goes into an empty log: name another database in DATABASE_URL or LOG_URL, or remove what is there (in Postgres: drop schema log cascade)');
    this.name = 'LogNotEmpty';
  }
}

/**
 * Checks the file, then appends all of it at exactly its positions. A restore of the same file that was interrupted is completed. Throws
 * BadBackup, HistoryDiffers, LogNotEmpty, and an error that says so when somebody else appends meanwhile.
 */
export async function restoreBackup(log: Log, path: string): Promise<RestoredLog> {
  const replayed = await checkBackup(path);
  const found = await lengthsOf(log);
  const position = await firstDifference(log, path, found);
  if (position !== undefined) throw new LogNotEmpty(path, found, position);
  await appendRest(log, path, found).catch((cause: unknown) => {
    if (!(cause instanceof WrongPosition)) throw cause;
    throw new Error('another process writes to the log meanwhile: stop every process of the exchange, and restore into an empty log', { cause });
  });
  return { ...replayed, found };
}

/** Where what the log has is not the beginning of the file; undefined when it is, as in an empty log. */
async function firstDifference(log: Log, path: string, found: Lengths): Promise<number | undefined> {
  if (found.commands + found.outcomes === 0) return undefined;
  if (found.outcomes > found.commands) return found.commands;
  const inLog = entriesOf(log, found);
  for await (const { position, command, outcome } of readBackupFile(path)) {
    const next = await inLog.next();
    if (next.done === true) return undefined;
    if (!isSame(next.value.command, command)) return position;
    if (next.value.outcome !== undefined && !isSame(next.value.outcome, outcome)) return position;
  }
  const next = await inLog.next();
  return next.done === true ? undefined : next.value.position;
}

function isSame(inLog: NewRecord, inFile: NewRecord | undefined): boolean {
  return inLog.id === inFile?.id && Buffer.compare(inLog.data, inFile.data) === 0;
}

/** Appends what the file has beyond the records that were found. */
async function appendRest(log: Log, path: string, found: Lengths): Promise<void> {
  const pending: Record<Stream, Pending> = { commands: pendingAt(found.commands), outcomes: pendingAt(found.outcomes) };
  const flush = async (): Promise<void> => {
    // Commands first: an outcome without its command would be no history.
    for (const stream of STREAMS) {
      const { at, records } = pending[stream];
      if (records.length > 0) await log.append(stream, records, at);
      pending[stream] = pendingAt(at + records.length);
    }
  };
  for await (const { position, command, outcome } of readBackupFile(path)) {
    const due = { commands: position < found.commands ? undefined : command, outcomes: position < found.outcomes ? undefined : outcome };
    if (STREAMS.some((stream) => due[stream] !== undefined && !fits(pending[stream], due[stream]))) await flush();
    for (const stream of STREAMS) if (due[stream] !== undefined) add(pending[stream], due[stream]);
  }
  await flush();
}

const STREAMS = ['commands', 'outcomes'] as const;

function pendingAt(at: number): Pending {
  return { at, records: [], bytes: 0 };
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
