/**
 * The text of a bearer token: a prefix, 32 random bytes and a checksum of them; and its hash, which is all that is
 * stored.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Random bytes of a token: nobody can guess one, so a plain hash protects it as well as a slow one would. */
export const SECRET_BYTES = 32;

const PREFIX = 'pex_';
const CHECKSUM_BYTES = 4;
/** The bytes are a multiple of 3, so base64url needs no padding and each token has one spelling. */
const SHAPE = new RegExp(`^${PREFIX}[A-Za-z0-9_-]{${(SECRET_BYTES + CHECKSUM_BYTES) / 3 * 4}}$`);

/** Finds the texts in a log line that could be tokens. */
const LIKE_A_TOKEN = new RegExp(`${PREFIX}[A-Za-z0-9_-]{8,}`, 'g');

/** The token with these random bytes, 52 characters. Throws RangeError unless there are 32. */
export function tokenOf(secret: Buffer): string {
  if (secret.length !== SECRET_BYTES) throw new RangeError(`a token has ${SECRET_BYTES} random bytes, not ${secret.length}`);
  return PREFIX + Buffer.concat([secret, checksumOf(secret)]).toString('base64url');
}

/**
 * The SHA-256 of a token; undefined for a text that never was one: of another form, or mistyped or cut, which the
 * checksum shows.
 */
export function digestOf(text: string): Buffer | undefined {
  if (!SHAPE.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  if (!checksumOf(bytes.subarray(0, SECRET_BYTES)).equals(bytes.subarray(SECRET_BYTES))) return undefined;
  return createHash('sha256').update(text).digest();
}

/** The text with every token in it, also one that was cut or mistyped, replaced by `pex_(secret)`. */
export function withoutTokens(text: string): string {
  return text.includes(PREFIX) ? text.replaceAll(LIKE_A_TOKEN, `${PREFIX}(secret)`) : text;
}

/**
 * A CRC finds every mistake within 32 bits in a row: each wrong character, and each two neighbours that changed places.
 */
function checksumOf(secret: Buffer): Buffer {
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32BE(crc32(secret));
  return checksum;
}
