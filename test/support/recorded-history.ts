/** A log of chosen length with digests as recorded, for reads. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import type { Log, LogRecord, Stream } from '../../engine/log/log.js';
import { newCommand } from './commands.js';

export interface RecordedHistory extends Log {
  readonly records: Record<Stream, LogRecord[]>;
  readonly digests: readonly string[];
}

/** A log with so many outcomes, and as many commands or more; `padding` makes each outcome so much longer. */
export function recordedHistory(outcomes: number, commands = outcomes, padding = 0): RecordedHistory {
  const records: Record<Stream, LogRecord[]> = { commands: [], outcomes: [] };
  const digests: string[] = [];
  let digest = Buffer.alloc(32);
  for (let position = 0; position < commands; position++) {
    const command = encodeCommand(newCommand('AdvanceClock', { at: 1_000 + position }));
    records.commands.push({ position, id: recordId(String(position)), data: command });
    if (position >= outcomes) continue;
    const rejected: Event = { type: 'CommandRejected', v: 1, code: 'unknown_order', subject: `é ","digest" ${position}${' '.repeat(padding)}` };
    const text = JSON.stringify({ at: 1_000 + position, events: [rejected] });
    const length = Buffer.alloc(4);
    length.writeUInt32BE(command.length);
    digest = createHash('sha256').update(digest).update(length).update(command).update(text).digest();
    const recorded = `0x${digest.toString('hex')}`;
    digests.push(recorded);
    records.outcomes.push({ position, id: recordId(`outcome ${position}`), data: encodeOutcome(text, recorded) });
  }
  return {
    records, digests,
    length: (stream) => Promise.resolve(records[stream].length),
    read: (stream, from, limit) => Promise.resolve(records[stream].slice(from, from + limit)),
    append: () => assert.fail('a read appends nothing'),
    follow: () => assert.fail('a page needs no follower'),
    close: () => Promise.resolve(),
  };
}
