/**
 * How a new record is made: its bytes, and its id, which comes from a natural key, or from a writer's name and a number,
 * with a check of its own. Only servers write records, so this needs Node and the reading of records does not.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { MAX_RECORD_BYTES, RecordTooLarge } from '../log/log.js';
import { checkCommand } from '../records/codec.js';
import type { Command } from '../records/commands.js';

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

const NAMESPACE = Buffer.from('6f1b0e4a9d4f4b7e8a3cb6d0f2c51e77', 'hex');

/**
 * The UUIDv5 (RFC 9562) of a record's natural key in this exchange's namespace. The same key always gives the same id.
 */
export function recordId(naturalKey: string): string {
  const id = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(naturalKey)]), 'buffer');
  id.writeUInt8((id.readUInt8(6) & 0x0f) | 0x50, 6);
  id.writeUInt8((id.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = id.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * The id of a command that may come again with the same content, such as an order that is sent twice: its key has a
 * part of the writer's own, so nobody can compute it from the command. That a changed digit is found all the same, it
 * has a check of itself. A UUID of version 8.
 */
export function checkedRecordId(naturalKey: string): string {
  return withCheck(recordId(naturalKey));
}

const CHECK_AT = 28;

/** The id with version 8, and with the check in its last eight digits: the CRC-32 of the 28 characters before them. */
export function withCheck(id: string): string {
  const checked = `${id.slice(0, 14)}8${id.slice(15, CHECK_AT)}`;
  return `${checked}${crc32(checked).toString(16).padStart(8, '0')}`;
}

/** Whether `withCheck` gives this id, which it would take twice as long to make. */
export function isChecked(id: string): boolean {
  const check = id.slice(CHECK_AT);
  return id[14] === '8' && crc32(id.slice(0, CHECK_AT)) === Number(`0x${check}`) && check === check.toLowerCase();
}

/** One more than the largest number. */
const END = 2 ** 42;
const LOW = 2 ** 30;

/**
 * What makes a writer's ids: a number below 2^42 always gives the same id, another number another one. No other writer
 * makes one of them, so `writer` differs for each process, each start, and each kind of record. The ids are UUIDs of
 * version 8 with the check of `withCheck`.
 */
export function writerIds(writer: string): (number: number) => string {
  const name = recordId(`writer:${writer}`);
  const start = `${name.slice(0, 13)}-8`;
  const startCheck = crc32(start);
  return (number) => {
    if (!(Number.isSafeInteger(number) && number >= 0 && number < END)) throw new RangeError(`a record's number is a whole one below 2^42, not ${number}`);
    const high = Math.floor(number / LOW).toString(16).padStart(3, '0');
    // The first two bits of these eight digits are the variant of RFC 9562.
    const low = (LOW * 2 + number % LOW).toString(16);
    const rest = `${high}-${low.slice(0, 4)}-${low.slice(4)}`;
    return `${start}${rest}${crc32(rest, startCheck).toString(16).padStart(8, '0')}`;
  };
}
