/** `npm run tool -- export`: the history of a running service as a file, in constant memory; the file is there only when it is whole. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { syncDirectory } from '../../../service/machine/durable-files.js';
import type { ExportHead } from './file-source.js';
import { CannotAudit } from '../difference.js';
import type { AuditSource } from './source.js';

export interface Exported {
  readonly records: number;
  /** Of the text that was written, before gzip. */
  readonly sha256: string;
}

/**
 * Writes all records that the source had when it was opened, one per line after a first line that describes them. Replaces a file, and nothing
 * else. Throws CannotAudit, Differs.
 */
export async function exportHistory(
  source: AuditSource, path: string, onProgress: (position: number) => void = () => undefined,
): Promise<Exported> {
  const isReplaceable = await stat(path).then((file) => file.isFile(), () => true);
  // Such as a device, in whose place the file would be.
  if (!isReplaceable) throw new CannotAudit(`${path} is there already, and is no file`);
  const records = source.length ?? 0;
  const hash = createHash('sha256');
  const making = `${path}.part`;
  try {
    await pipeline(
      Readable.from(pieces(source, records, onProgress)),
      async function* (texts: AsyncIterable<Buffer>) {
        for await (const text of texts) {
          hash.update(text);
          yield text;
        }
      },
      path.endsWith('.gz') ? createGzip() : new PassThrough(), createWriteStream(making),
    );
    const file = await open(making);
    await file.sync();
    await file.close();
    await rename(making, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(making, { force: true });
    throw error;
  }
  return { records, sha256: hash.digest('hex') };
}

async function* pieces(source: AuditSource, records: number, onProgress: (position: number) => void): AsyncGenerator<Buffer> {
  const head: ExportHead = { export: 'prediction-exchange history', v: 1, records, config: source.described?.answer ?? null };
  yield Buffer.from(`${JSON.stringify(head)}\n`);
  let position = 0;
  for await (const lines of source.lines(0, records)) {
    yield Buffer.concat(lines.flatMap((line) => [line, LINE_FEED]));
    position += lines.length;
    onProgress(position);
  }
}

const LINE_FEED = Buffer.from('\n');
