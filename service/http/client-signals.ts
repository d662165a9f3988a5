/** Tells handlers that a client has closed its connection. */
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';

/** One abort signal per connection, made at first use: one per request would cost more than the rest of an order's way here. */
export class ClientSignals {
  private readonly aborters = new WeakMap<Socket, AbortController>();

  /** Aborts when the connection closes. */
  signalOf(socket: Socket): AbortSignal {
    let aborter = this.aborters.get(socket);
    if (aborter === undefined) {
      const made = aborter = new AbortController();
      // A client may pipeline any number of requests, and each may listen.
      setMaxListeners(0, made.signal);
      if (socket.destroyed) made.abort(); else socket.once('close', () => { made.abort(); });
      this.aborters.set(socket, made);
    }
    return aborter.signal;
  }
}
