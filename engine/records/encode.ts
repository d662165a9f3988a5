/** Records written as bytes: what the server does before it appends them. A browser reads records only, so these are Node's Buffers. */
import { MAX_RECORD_BYTES, RecordTooLarge } from '../log/log.js';
import { checkCommand } from './codec.js';
import type { Command } from './commands.js';

/** The bytes of a command. Throws MalformedRecord or RecordTooLarge; such a command must not be written. */
export function encodeCommand(command: Command): Buffer {
  checkCommand(command);
  const data = Buffer.from(JSON.stringify(command));
  if (data.length > MAX_RECORD_BYTES) throw new RecordTooLarge(data.length);
  return data;
}

/** The bytes of an outcome record, made from the outcome's text and digest. Throws RecordTooLarge. */
export function encodeOutcome(text: string, digest: string): Buffer {
  const data = Buffer.from(`${text.slice(0, -1)},"digest":"${digest}"}`);
  if (data.length > MAX_RECORD_BYTES) throw new RecordTooLarge(data.length);
  return data;
}
