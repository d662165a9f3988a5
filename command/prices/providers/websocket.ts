/** One WebSocket connection to a provider, from the handshake to its end. */
import { WebSocket, type RawData } from 'ws';
import { shown } from '../observation.js';
import { ProviderFailure, failureOf } from './failure.js';
import { MAX_MESSAGE_BYTES, type Transport } from './standing-stream.js';

export interface WebSocketOptions {
  readonly url: string;
  /** Sent as soon as the connection is open. */
  readonly greeting?: object;
  readonly now: () => number;
}

/** Pings are answered by the client itself. Compression is off: a small message could become a huge one. */
export function webSocketTransport({ url, greeting, now }: WebSocketOptions): Transport {
  return ({ signal, opened, heard, alive }) => new Promise<never>((_, reject) => {
    let failure: ProviderFailure | undefined;
    const socket = new WebSocket(
      url, { maxPayload: MAX_MESSAGE_BYTES, perMessageDeflate: false, followRedirects: false },
    );
    const leave = (): void => { socket.terminate(); };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();

    socket.on('unexpected-response', (request, { statusCode = 0, headers }) => {
      failure = failureOf({ status: statusCode, retryAfter: headers['retry-after'], text: '', nowMs: now() });
      request.destroy();
      socket.terminate();
    });
    socket.on('open', () => {
      opened();
      if (greeting !== undefined) socket.send(JSON.stringify(greeting));
    });
    socket.on('ping', alive);
    // A frame of bytes is read as text: what it then is not, is a bad message.
    socket.on('message', (data: RawData) => { heard({ text: data.toString() }); });
    socket.on('error', ({ message }) => { failure ??= new ProviderFailure(`breaks the connection (${shown(message)})`); });
    socket.on('close', (code, reason) => {
      signal.removeEventListener('abort', leave);
      const said = reason.length === 0 ? '' : `, ${shown(reason.toString())}`;
      reject(failure ?? new ProviderFailure(`has closed the connection (${code}${said})`));
    });
  });
}
