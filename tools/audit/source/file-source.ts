/** The history in a file: of `npm run tool -- export`, or any download of `GET /api/v1/events` as NDJSON; gzip where it ends in `.gz`. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CannotAudit, Differs } from '../difference.js';
import { CutOff, linesOf } from './line-splitter.js';
import { readDescription, type DescribedExchange } from './described.js';
import type { AuditSource } from './source.js';

/** The first line of an export: which form it has, how many records follow, and the service's description of itself. */
export interface ExportHead {
  readonly export: 'prediction-exchange history';
  readonly v: 1;
  readonly records: number;
  readonly config: unknown;
}

const HEAD = '{"export":';
const PIECE_BYTES = 1 << 20;

/**
 * Opens a file, compressed or not, as its first bytes or its name tell. `described` is taken where the file does not begin with an export's
 * first line. Throws CannotAudit.
 */
export async function openFile(path: string, described?: DescribedExchange): Promise<AuditSource> {
  const file = { path, isZipped: await beginsAsGzip(path) || path.endsWith('.gz') };
  const head = await headOf(file);
  return {
    name: path, described: described ?? (head === undefined ? undefined : readDescription(head.config, path)), length: head?.records,
    lines: (from, to) => records(file, { from, to: to ?? head?.records, skip: head === undefined ? 0 : 1 }),
  };
}

interface HistoryFile {
  readonly path: string;
  readonly isZipped: boolean;
}

const GZIP = Buffer.from([0x1f, 0x8b]);

async function beginsAsGzip(path: string): Promise<boolean> {
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0);
      return buffer.subarray(0, bytesRead).equals(GZIP);
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new CannotAudit(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

async function headOf(file: HistoryFile): Promise<ExportHead | undefined> {
  const { path } = file;
  for await (const [line] of linesIn(file)) {
    const text = line?.toString() ?? '';
    if (!text.startsWith(HEAD)) return undefined;
    const head = parsed(text, path);
    if (head.v !== 1 || !Number.isSafeInteger(head.records) || head.records < 0) throw new CannotAudit(`${path} is an export of another version of this program`);
    return head;
  }
  throw new CannotAudit(`${path} is empty: it is no export, and no download of a history`);
}

function parsed(text: string, path: string): ExportHead {
  try {
    return JSON.parse(text) as ExportHead;
  } catch (cause) {
    throw new CannotAudit(`${path} does not begin as an export does: its first line is not JSON`, { cause });
  }
}

/** Throws Differs where records are missing at the end that the first line promises. */
async function* records(
  file: HistoryFile, { from, to, skip }: { from: number; to: number | undefined; skip: number },
): AsyncGenerator<readonly Buffer[]> {
  const { path } = file;
  let position = -skip;
  for await (const lines of linesIn(file, () => Math.max(0, position))) {
    const first = Math.max(0, from - position);
    const last = to === undefined ? lines.length : to - position;
    position += lines.length;
    if (first < lines.length && last > first) yield first === 0 && last >= lines.length ? lines : lines.slice(first, last);
    if (to !== undefined && position > to) throw new Differs(surplus(path, to));
  }
  if (to !== undefined && position < to) throw new Differs(missing(path, position, to));
}

function missing(path: string, position: number, to: number) {
  return {
    check: 'records' as const, place: { position }, what: `${path} ends at position ${position}, and its first line promises ${to} records`,
    means: 'Records were removed from its end, or its first line was altered.', expected: to, found: position,
  };
}

function surplus(path: string, to: number) {
  return {
    check: 'records' as const, place: { position: to }, what: `${path} has more than the ${to} records that its first line promises`,
    means: 'Records were added at its end, or its first line was altered.', expected: to,
  };
}

async function* linesIn({ path, isZipped }: HistoryFile, position: () => number = () => 0): AsyncGenerator<Buffer[], void, undefined> {
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  const unzipped: Readable = isZipped ? file.pipe(createGunzip({ chunkSize: PIECE_BYTES })) : file;
  file.on('error', (error) => { unzipped.destroy(error); });
  try {
    yield* linesOf(unzipped);
  } catch (error) {
    if (error instanceof Differs || error instanceof CannotAudit) throw error;
    const why = error instanceof CutOff ? 'it ends within a record: the download or the export was interrupted' : (error as Error).message;
    throw new CannotAudit(`${path} cannot be read beyond position ${position()}: ${why}; export the history again`, { cause: error });
  } finally {
    file.destroy();
    unzipped.destroy();
  }
}
