/**
 * A backup of the log as a file: JSON lines, with gzip where the name ends in `.gz`. First what it is and how many records it has, then a line per
 * position with the command and, where there is one yet, its outcome, at last a SHA-256 of all before. The records' bytes are kept as they are.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { NewRecord } from '../../engine/log/log.js';

export interface Lengths {
  readonly commands: number;
  readonly outcomes: number;
}

/** What the log has at one position. */
export interface BackupEntry {
  readonly position: number;
  readonly command: NewRecord;
  /** Undefined for the last commands, whose outcomes were not recorded when the backup was made. */
  readonly outcome: NewRecord | undefined;
}

/** The file is not a whole backup that this program can read. */
export class BadBackup extends Error {
  constructor(path: string, what: string, options?: ErrorOptions) {
    super(`${path} is not a whole backup: ${what}`, options);
    this.name = 'BadBackup';
  }
}

const FORMAT = 'prediction-exchange history';
const VERSION = 1;

/** Writes all entries. The file gets its name when it is whole and on disk. */
export async function writeBackupFile(path: string, lengths: Lengths, entries: AsyncIterable<BackupEntry>): Promise<void> {
  const making = `${path}.new`;
  await pipeline(Readable.from(lines(lengths, entries)), path.endsWith('.gz') ? createGzip() : new PassThrough(), createWriteStream(making, { mode: 0o600 }));
  await synced(making);
  await rename(making, path);
  await synced(dirname(path));
}

async function* lines(lengths: Lengths, entries: AsyncIterable<BackupEntry>): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const line = (value: object): string => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  };
  yield line({ format: FORMAT, v: VERSION, ...lengths });
  for await (const { position, command, outcome } of entries) {
    yield line({ position, command: stored(command), ...outcome === undefined ? {} : { outcome: stored(outcome) } });
  }
  yield `${JSON.stringify({ sha256: hash.digest('hex') })}\n`;
}

/** Records are JSON in UTF-8, which a text keeps exactly. */
function stored({ id, data }: NewRecord): { id: string; text: string } {
  const text = Buffer.from(data).toString();
  if (!Buffer.from(text).equals(data)) throw new Error(`record ${id} is not text in UTF-8, so it is not one of this exchange`);
  return { id, text };
}

/** The entries of a file, in order. Throws BadBackup, at the latest after the last entry: use nothing of a file before its end was reached once. */
export async function* readBackupFile(path: string): AsyncGenerator<BackupEntry, void, undefined> {
  const hash = createHash('sha256');
  let lengths: Lengths | undefined;
  let position = 0;
  let whole = false;
  for await (const text of linesOf(path)) {
    if (whole) throw new BadBackup(path, 'something follows its end');
    const value = parsed(path, text);
    if ('sha256' in value) {
      if (value['sha256'] !== hash.digest('hex')) throw new BadBackup(path, 'its checksum is another one: it was altered or damaged');
      whole = true;
      continue;
    }
    hash.update(`${text}\n`);
    if (lengths === undefined) lengths = lengthsIn(path, value);
    else yield entryIn(path, value, position++);
  }
  if (!whole || lengths === undefined) throw new BadBackup(path, 'its end is missing');
  if (position !== lengths.commands) throw new BadBackup(path, `it has ${position} of ${lengths.commands} commands`);
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const unzipped = path.endsWith('.gz') ? createGunzip() : new PassThrough();
  const reading = pipeline(createReadStream(path), unzipped);
  reading.catch(() => undefined);
  try {
    yield* createInterface({ input: unzipped, crlfDelay: Infinity });
    await reading;
  } catch (cause) {
    throw new BadBackup(path, `it cannot be read (${(cause as Error).message})`, { cause });
  } finally {
    // Also when the reader stops before the end: the file is closed.
    unzipped.destroy();
  }
}

function parsed(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BadBackup(path, 'a line is not JSON', { cause });
  }
  if (!isObject(value)) throw new BadBackup(path, 'a line is not a JSON object');
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function lengthsIn(path: string, { format, v, commands, outcomes }: Record<string, unknown>): Lengths {
  if (format !== FORMAT || v !== VERSION) throw new BadBackup(path, `it does not begin as a backup of version ${VERSION}`);
  return { commands: Number(commands), outcomes: Number(outcomes) };
}

function entryIn(path: string, { position, command, outcome }: Record<string, unknown>, expected: number): BackupEntry {
  if (position !== expected) throw new BadBackup(path, `position ${expected} is missing`);
  const record = (value: unknown): NewRecord => {
    if (!isObject(value) || typeof value['id'] !== 'string' || typeof value['text'] !== 'string') {
      throw new BadBackup(path, `position ${expected} has no record of the expected shape`);
    }
    return { id: value['id'], data: Buffer.from(value['text']) };
  };
  return { position: expected, command: record(command), outcome: outcome === undefined ? undefined : record(outcome) };
}

async function synced(path: string): Promise<void> {
  const file = await open(path);
  await file.sync();
  await file.close();
}
