/** The history that commands make, as `GET /api/v1/events` shows it in lines. */
import { checkedRecordId } from '../../engine/run/new-record.js';
import { decodeCommand } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { dueId } from '../../tools/audit/records/record-ids.js';

const PIECE_LENGTH = 1_000_000;

/** Pieces of about a megabyte. */
export function* historyLines(commands: Iterable<Buffer>): Generator<string> {
  const engine = createEngine();
  let piece = '';
  for (const data of commands) {
    const command = decodeCommand(data);
    const { position, text, digest } = engine.step(data, command);
    const id = checkedRecordId(`bench:${position}`);
    piece += `{"position":${position},"id":"${dueId(command, id) ?? id}","command":${data.toString()},"outcome":${text},"digest":"${digest}"}\n`;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}
