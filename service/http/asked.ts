/** One request as an endpoint sees it: path, query, headers, body, and whether the client is still connected. */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { RequestError } from '../../engine/records/errors.js';
import type { BearerToken } from '../access/scopes.js';
import type { ApiRequest } from '../api/endpoint.js';

/** Each part is computed at first use. */
export class Asked implements ApiRequest {
  private queryParts: Record<string, string> | undefined;

  constructor(
    private readonly request: IncomingMessage, private readonly connections: Connections, readonly rawBody: Buffer,
    readonly token: BearerToken | undefined,
  ) {}

  get params() { return (this.request as unknown as { params: Record<string, string> }).params; }
  get headers() { return this.request.headers; }
  get query() { return this.queryParts ??= parseQuery(this.request.url ?? ''); }
  get ip() { return (this.request as unknown as { ip?: string }).ip ?? ''; }

  get signal() { return this.connections.signalOf(this.request.socket); }
}

/** One abort signal per connection, created at first use: one signal per request would cost a fifth of the shell's time. */
export class Connections {
  private readonly aborters = new WeakMap<Socket, AbortController>();

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

/** The path of a request, shortened to 200 characters, since the client chooses it. */
export function pathOf(request: IncomingMessage): string {
  const [path = ''] = (request.url ?? '').split('?', 1);
  return path.slice(0, 200);
}

/** Parses the log position in `X-Min-Log-Position`; -1 is the position of an empty log. Throws RequestError. */
export function parsePosition(header: string | string[]): number {
  const position = typeof header === 'string' && /^(-1|\d{1,16})$/.test(header) ? Number(header) : NaN;
  if (Number.isSafeInteger(position)) return position;
  const message = 'a log position: a whole number from 0, or -1 for none';
  throw new RequestError('invalid_request', `X-Min-Log-Position: ${message}`, [{ field: 'X-Min-Log-Position', message }]);
}

/** Parses the query of a request target. Throws RequestError when a parameter is given twice: the intended value would be a guess. */
function parseQuery(target: string): Record<string, string> {
  const parts = Object.create(null) as Record<string, string>;
  const mark = target.indexOf('?');
  if (mark < 0) return parts;
  for (const [name, value] of new URLSearchParams(target.slice(mark + 1))) {
    if (name in parts) throw new RequestError('invalid_request', `${name}: given once`, [{ field: `/${name}`, message: 'given once' }]);
    parts[name] = value;
  }
  return parts;
}
