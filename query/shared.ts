/**
 * Answers that many clients share: each is read from Postgres once per log position, and compressed once, however many
 * ask for it.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from '../service/api/endpoint.js';
import { soleRow } from '../engine/log/postgres/connection.js';
import { positionOf, type Answer, type ProjectionName, type RowSource, type Statement } from './statement.js';

/**
 * The same read with shared answers. `id` names it, and `projections` are those that it reads: an answer is shared
 * until one of them has gone on. The answer depends on nothing but them and the parameters.
 */
export type Share = <Params>(
  id: string, projections: readonly ProjectionName[], read: (params: Params) => Promise<Answer>,
) => (params: Params) => Promise<Reply>;

/** Answers are kept up to this many bytes, the ones last used; a larger one is shared by those who wait for it. */
const MOST_BYTES = 64 * 1024 * 1024;
/** A shorter answer fits into one packet as it is. */
const WORTH_COMPRESSING_BYTES = 1_400;

/** What an answer takes besides its text, about. */
const OVERHEAD_BYTES = 500;

const compress = promisify(gzip);

interface Kept {
  readonly position: number;
  readonly bytes: number;
  readonly reply: Reply;
}

/** Shares the answers of one process. */
export function createShare(db: RowSource, { mostBytes = MOST_BYTES }: { readonly mostBytes?: number } = {}): Share {
  const kept = new Map<string, Kept>();
  const underway = new Map<string, Promise<Kept>>();
  let bytes = 0;

  const keep = (key: string, answer: Kept): void => {
    drop(key);
    if (answer.bytes > mostBytes) return;
    kept.set(key, answer);
    bytes += answer.bytes;
    for (const oldest of kept.keys()) {
      if (bytes <= mostBytes) break;
      drop(oldest);
    }
  };
  const drop = (key: string): void => {
    bytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };
  const build = async (key: string, read: () => Promise<Answer>): Promise<Kept> => {
    try {
      const answer = prepared(key, await read());
      keep(key, answer);
      return answer;
    } finally {
      underway.delete(key);
    }
  };

  return <Params>(id: string, projections: readonly ProjectionName[], read: (params: Params) => Promise<Answer>) => {
    const current = createCurrent(db, projections);
    return async (params: Params) => {
      const key = JSON.stringify([id, params]);
      const atLeast = await current();
      const isNew = (answer: Kept | undefined): answer is Kept => answer !== undefined && answer.position >= atLeast;
      for (;;) {
        const known = kept.get(key);
        if (isNew(known)) {
          keep(key, known);
          return known.reply;
        }
        const running = underway.get(key);
        if (running === undefined) break;
        // An answer that began before can be too old; the next one is not.
        const made = await running;
        if (isNew(made)) return made.reply;
      }
      const building = build(key, () => read(params));
      underway.set(key, building);
      return (await building).reply;
    };
  };
}

/**
 * The last log position that the projections include; of those who ask meanwhile, all get the next one that is read.
 */
function createCurrent(db: RowSource, projections: readonly ProjectionName[]): () => Promise<number> {
  const statement: Statement = { name: `position_of_${projections.join('_')}`, text: `select ${positionOf(projections)} as position` };
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<number> | undefined;
  const read = async () => Number(soleRow(await db.rows<{ position: string }>(statement, [])).position);
  return () => next ??= last.catch(() => undefined).then(() => {
    next = undefined;
    const reading = read();
    last = reading;
    return reading;
  });
}

/** The tag is a weak one: the compressed answer is the same answer. */
function prepared(key: string, { body, position, headers }: Answer): Kept {
  const bytes = Buffer.byteLength(body);
  const etag = `W/"${createHash('sha256').update(body).digest('base64url')}"`;
  let compressed: Promise<Buffer> | undefined;
  const gzipped = () => compressed ??= compress(body, { level: 4 });
  return {
    position, bytes: bytes + key.length + OVERHEAD_BYTES,
    reply: { body, position, etag, ...headers && { headers }, ...bytes >= WORTH_COMPRESSING_BYTES && { gzipped } },
  };
}
