/** Cuts a stream of bytes into its lines. */

/** The stream ended within a line. */
export class CutOff extends Error {
  constructor() {
    super('it ends within a line');
    this.name = 'CutOff';
  }
}

/** A record has at most 1 MB of command and 1 MB of outcome. */
const MAX_LINE_BYTES = 8_000_000;
const LINE_FEED = 10;

/** The lines in each piece, without their line feeds. Throws CutOff at an end without a line feed. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer[], void, undefined> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const each of pieces) {
    const piece = Buffer.from(each.buffer, each.byteOffset, each.byteLength);
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, start)) {
      const line = piece.subarray(start, end);
      lines.push(restBytes === 0 ? line : Buffer.concat([...rest, line]));
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start < piece.length) {
      rest.push(piece.subarray(start));
      restBytes += piece.length - start;
      if (restBytes > MAX_LINE_BYTES) throw new Error(`a line has more than ${MAX_LINE_BYTES} bytes, so it is not a record`);
    }
    if (lines.length > 0) yield lines;
  }
  if (restBytes > 0) throw new CutOff();
}
