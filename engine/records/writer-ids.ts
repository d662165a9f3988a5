/** Ids of the records that one writer makes, by numbers of its own: a hash for each record would take as long as all the rest of its encoding. */
import { crc32 } from 'node:zlib';
import { recordId } from './codec.js';

/** One more than the largest number. */
const END = 2 ** 42;
const LOW = 2 ** 30;

/**
 * What makes a writer's ids: a number below 2^42 always gives the same id, another number another one. No other writer makes one of them, so `writer`
 * differs for each process, each start, and each kind of record. The ids are UUIDs of version 8 with the check of `withCheck`.
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
