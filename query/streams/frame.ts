/** A text as a whole frame of WebSocket (RFC 6455, 5.2), as a server sends it: unmasked, so all readers get the same bytes. */

const FINAL_TEXT = 0x81;

export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  return Buffer.concat([headOf(payload.length), payload]);
}

function headOf(length: number): Buffer {
  if (length < 126) return Buffer.from([FINAL_TEXT, length]);
  if (length < 65_536) return Buffer.from([FINAL_TEXT, 126, length >> 8, length & 0xff]);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(FINAL_TEXT << 8 | 127);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
