/** Frames of WebSocket as a bare client has them: reads those of a server, and writes its own, also such as break the rules. */
import { createHash, randomBytes } from 'node:crypto';

export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The whole frames at the beginning of the bytes. */
export function framesIn(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const short = bytes[at + 1]! & 0x7f;
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (at + head > bytes.length) break;
    const length = short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
    if (at + head + length > bytes.length) break;
    frames.push({ opcode: bytes[at]! & 0x0f, payload: bytes.subarray(at + head, at + head + length) });
    at += head + length;
  }
  return frames;
}

/** The texts of whole frames. */
export function textsIn(bytes: Buffer): string[] {
  return framesIn(bytes).map(({ payload }) => payload.toString());
}

/** A close frame's code and reason. */
export function closeIn({ payload }: Frame): readonly [code: number, reason: string] {
  return [payload.length < 2 ? 1005 : payload.readUInt16BE(0), payload.subarray(2).toString()];
}

export interface Written {
  readonly opcode?: number;
  /** The first byte, where it is not that of a last fragment with this opcode. */
  readonly first?: number;
  readonly masked?: boolean;
  /** The length that the head tells, where it is not the payload's. */
  readonly length?: bigint;
}

/** A client's frame. */
export function frameOf(payload: string | Buffer, { opcode = TEXT, first = 0x80 | opcode, masked = true, length }: Written = {}): Buffer {
  const bytes = Buffer.from(payload);
  const mask = masked ? randomBytes(4) : Buffer.alloc(0);
  const told = length ?? BigInt(bytes.length);
  const head = told < 126n ? Buffer.alloc(2) : told < 65_536n ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = first;
  head[1] = (masked ? 0x80 : 0) | (told < 126n ? Number(told) : told < 65_536n ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(Number(told), 2);
  if (head.length === 10) head.writeBigUInt64BE(told, 2);
  return Buffer.concat([head, mask, masked ? bytes.map((byte, i) => byte ^ mask[i % 4]!) : bytes]);
}

export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
/** What a server answers to that key. */
export const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** The header lines of a request for a WebSocket. */
export const HANDSHAKE: Readonly<Record<string, string>> = {
  'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Key': KEY, 'Sec-WebSocket-Version': '13',
};
