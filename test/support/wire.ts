/** A bare HTTP/1.1 client for tests: sends exactly the bytes it is given, reads exactly one answer at a time. */
import { createConnection, type Socket } from 'node:net';

export interface WireAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WireRequest {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** For the next answer. */
const PATIENCE_MS = 60_000;

/** One connection to a server on this machine. */
export class Wire {
  private received = Buffer.alloc(0);
  /** Arrived since, and not joined to it yet: a large answer is joined once. */
  private pieces: Buffer[] = [];
  private bytes = 0;
  private wanted = 0;
  private wake: () => void = () => undefined;
  private ended = false;
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.ended = true;
        this.wake();
        resolve();
      });
    });
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      this.pieces.push(chunk as Buffer);
      this.bytes += chunk.length;
      if (this.bytes >= this.wanted) this.wake();
    });
  }

  /** `from`: the address that the client has; each of 127.0.0.0/8 is another client. */
  static async connect(port: number, { from = '127.0.0.1' } = {}): Promise<Wire> {
    const socket = createConnection({ port, host: '127.0.0.1', localAddress: from, noDelay: true });
    await new Promise<void>((resolve, reject) => { socket.once('connect', resolve).once('error', reject); });
    return new Wire(socket);
  }

  send(bytes: string | Uint8Array): this {
    this.socket.write(bytes);
    return this;
  }

  /** A request with a JSON body, or with none. */
  request(method: string, path: string, { headers = {}, body }: WireRequest = {}): this {
    const sized: Record<string, string> = body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
    const lines = Object.entries({ Host: 'test', ...sized, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this.send(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`);
    return body === undefined ? this : this.send(body);
  }

  /** The next answer. `bodiless`: it answers a HEAD, so no body follows its Content-Length. */
  async answer({ bodiless = false } = {}): Promise<WireAnswer> {
    for (;;) {
      this.join();
      this.wanted = 0;
      const end = this.received.indexOf('\r\n\r\n');
      if (end >= 0) {
        const [first = '', ...lines] = this.received.toString('latin1', 0, end).split('\r\n');
        const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]));
        const length = bodiless ? 0 : Number(headers['content-length'] ?? 0);
        if (this.received.length >= end + 4 + length) {
          const body = this.received.toString('utf8', end + 4, end + 4 + length);
          this.received = this.received.subarray(end + 4 + length);
          this.bytes = this.received.length;
          return { status: Number(first.split(' ')[1]), headers, body };
        }
        this.wanted = end + 4 + length;
      }
      if (this.ended) throw new Error(`the server closed the connection after ${JSON.stringify(this.received.toString())}`);
      await this.more();
    }
  }

  /** Resolves when something has come, or the end. */
  private async more(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      this.wake = resolve;
      late = setTimeout(() => { reject(new Error(`no answer within ${PATIENCE_MS / 1_000} s, only ${JSON.stringify(this.received.toString())}`)); }, PATIENCE_MS);
    }).finally(() => { clearTimeout(late); });
  }

  /** Bytes received beyond the answers read. */
  get rest(): string {
    return this.unread.toString();
  }

  /** The same as bytes. */
  get unread(): Buffer {
    this.join();
    return this.received;
  }

  private join(): void {
    if (this.pieces.length > 0) this.received = Buffer.concat([this.received, ...this.pieces.splice(0)]);
  }

  close(): void { this.socket.destroy(); }
}

/** One request on a connection of its own. */
export async function once(port: number, method: string, path: string, options: WireRequest = {}): Promise<WireAnswer> {
  const wire = await Wire.connect(port);
  try {
    return await wire.request(method, path, options).answer({ bodiless: method === 'HEAD' });
  } finally {
    wire.close();
  }
}
