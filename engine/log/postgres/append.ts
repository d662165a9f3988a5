/** Attempts to append a batch to a stream in Postgres, over a connection for that stream only. */
import type { NewRecord, Stream } from '../log.js';
import { AttemptFailed, LOST, TAKEN, type AppendAttempt, type Attempted } from '../appender.js';
import { encodeData, encodeIds } from './binary.js';
import { canPass, isDiskFull, isStatementError, soleRow, type Connection } from './connection.js';
import { APPEND_BATCH, STREAM_NUMBERS } from './schema.js';

/** Encodes a batch once and returns its attempt. An attempt without an answer drops the connection. */
export function attemptsOf(stream: Stream, connection: Connection, records: readonly NewRecord[]): AppendAttempt {
  const batch = [STREAM_NUMBERS[stream], encodeIds(records), encodeData(records)];

  return async ({ at, exactly, timeoutMs, newest }) => {
    let sent = false;
    try {
      const client = await connection.get();
      sent = true;
      const values = [...batch, at, exactly, newest?.position ?? null, newest?.id ?? null];
      const query = { name: 'log_append', text: APPEND_BATCH, values, rowMode: 'array' as const, query_timeout: timeoutMs };
      const { rows } = await client.query<Row>(query);
      return answerOf(soleRow(rows));
    } catch (error) {
      // A statement error rolls back the statement and leaves the connection usable.
      const undone = isStatementError(error);
      if (!undone) connection.drop();
      // A full disk does not pass in the time for which a caller waits: the caller is told at once.
      throw new AttemptFailed(error, { maybeWritten: sent && !undone, canPass: canPass(error) && !isDiskFull(error) });
    }
  };
}

type Row = [first: string | null, length: string, written: boolean | null, lost: boolean | null];

function answerOf([first, length, written, lost]: Row): Attempted {
  return { first: lost === true ? LOST : first === null ? TAKEN : Number(first), length: Number(length), written: written === true };
}
