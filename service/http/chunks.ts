/**
 * Chunks of HTTP/1.1 (RFC 9112, 7.1) for pieces that go to many responses. `response.write` makes four buffers of each
 * piece for each response; here all responses get the same one.
 */
import type { ServerResponse } from 'node:http';
import type { Sink } from '../api/endpoint.js';

/** Writes pieces to one response, whose head has been written. */
export type Outflow = Omit<Sink, 'end'>;

const LINE_END = '\r\n';

/** What writes to responses; it remembers the chunk that was made last. */
export function createChunks(): (response: ServerResponse) => Outflow {
  let last: Uint8Array | undefined;
  let chunk = Buffer.alloc(0);
  const chunkOf = (piece: Uint8Array): Buffer => {
    if (piece !== last) {
      last = piece;
      chunk = Buffer.concat([Buffer.from(piece.length.toString(16) + LINE_END), piece, Buffer.from(LINE_END)]);
    }
    return chunk;
  };
  return (response) => {
    const { socket } = response;
    // To an HTTP/1.0 client, or behind the answers to earlier requests on the connection.
    if (socket === null || !response.chunkedEncoding) {
      return { write: (piece) => response.write(piece), onDrain: (call) => { response.once('drain', call); } };
    }
    return { write: (piece) => socket.write(chunkOf(piece)), onDrain: (call) => { socket.once('drain', call); } };
  };
}
