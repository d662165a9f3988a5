/**
 * A load generator for HTTP/1.1 that costs little: raw sockets, requests built beforehand, answers measured by Content-Length.
 * Closed loop (each connection sends when its answer is in) or open loop (requests are due at a fixed rate, whatever the answers
 * do; latency counts from when a request was due, so a stalled server cannot hide by slowing the generator down).
 */
import { fork } from 'node:child_process';
import { createConnection, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Latencies, type LatencySummary } from './latencies.js';

export interface LoadOptions {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  /** Whole requests, head and body. Sent in order. */
  readonly requests: readonly Uint8Array[];
  /** Requests to send in all; beyond the list's end it starts again. */
  readonly count: number;
  /** The first requests, sent at full speed and not measured. Part of `count`. */
  readonly warmUp?: number;
  /** Open loop at this many requests a second; closed loop when absent. */
  readonly ratePerS?: number;
}

export interface LoadResult {
  /** Measured requests answered, whatever the status. */
  readonly answered: number;
  readonly seconds: number;
  readonly ratePerS: number;
  /** Answers by status, warm-up included. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly latencyMs: LatencySummary;
  /** What this process used for each measured request. */
  readonly processorUs: number;
}

/** A request built for the generator. */
export function buildRequest(method: string, path: string, { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string } = {}): Buffer {
  const length: Record<string, string> = body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: 'localhost', ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n${body}`);
}

/** Sends the load from this process. Rejects when a connection is refused or breaks: a benchmark has no use for half a result. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const run = new Run(options);
  try {
    return await run.finish();
  } finally {
    run.close();
  }
}

/** Sends the load from a process of its own, so that its work is not on the server's event loop. */
export function runLoadInChild(options: LoadOptions): Promise<LoadResult> {
  const child = fork(fileURLToPath(new URL('./load-child.js', import.meta.url)), { serialization: 'advanced', execArgv: [] });
  return new Promise((resolve, reject) => {
    child.once('message', (message: { result: LoadResult } | { error: string }) => {
      if ('result' in message) resolve(message.result); else reject(new Error(message.error));
    });
    child.once('error', reject);
    child.once('exit', (code) => { reject(new Error(`the load generator ended with ${code} before its result`)); });
    child.send(options);
  });
}

/** One run's sockets and counters. */
class Run {
  private readonly sockets: Socket[] = [];
  private readonly idle: Lane[] = [];
  private readonly statuses: Record<number, number> = {};
  private readonly latencies = new Latencies();
  private readonly warmUp: number;
  private sent = 0;
  private answered = 0;
  private measuredFrom = 0;
  private processorBefore = process.cpuUsage();
  private resolve!: (result: LoadResult) => void;
  private reject!: (error: Error) => void;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: LoadOptions) {
    this.warmUp = options.warmUp ?? 0;
  }

  async finish(): Promise<LoadResult> {
    const lanes = await Promise.all(Array.from({ length: this.options.connections }, () => this.connect()));
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.idle.push(...lanes);
      if (this.warmUp === 0) this.startMeasuring(); else this.fill();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    for (const socket of this.sockets) socket.destroy();
  }

  private connect(): Promise<Lane> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host, port, noDelay: true });
      this.sockets.push(socket);
      const lane = new Lane(socket, (status, dueMs) => { this.onAnswer(lane, status, dueMs); });
      socket.once('connect', () => { resolve(lane); });
      socket.on('error', (error) => {
        reject(error);
        (this.reject as ((error: Error) => void) | undefined)?.(error);
      });
      socket.on('close', () => { (this.reject as ((error: Error) => void) | undefined)?.(new Error('the server closed a connection')); });
    });
  }

  /** Sends on every idle connection what is due now. */
  private fill(): void {
    const { requests, count, ratePerS } = this.options;
    const measured = this.measuredFrom > 0;
    const end = measured ? count : this.warmUp;
    const now = performance.now();
    const open = measured && ratePerS !== undefined;
    while (this.sent < end && this.idle.length > 0) {
      const dueMs = open ? this.measuredFrom + (this.sent - this.warmUp) * 1_000 / ratePerS : now;
      if (dueMs > now) break;
      this.idle.pop()!.send(requests[this.sent++ % requests.length]!, dueMs);
    }
  }

  private onAnswer(lane: Lane, status: number, dueMs: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    this.idle.push(lane);
    const now = performance.now();
    if (this.measuredFrom > 0) this.latencies.add(now - dueMs);
    this.answered++;
    if (this.answered === this.options.count) this.resolve(this.result(now));
    else if (this.answered === this.warmUp && this.measuredFrom === 0) this.startMeasuring();
    else this.fill();
  }

  private startMeasuring(): void {
    this.measuredFrom = performance.now();
    this.processorBefore = process.cpuUsage();
    if (this.options.ratePerS === undefined) this.fill(); else this.tick();
  }

  /** Open loop: timers have a grain of a millisecond, which is what an idle server's latency shows. */
  private tick(): void {
    this.fill();
    if (this.sent < this.options.count) this.timer = setTimeout(() => { this.tick(); }, 1);
  }

  private result(now: number): LoadResult {
    const answered = this.answered - this.warmUp;
    const seconds = (now - this.measuredFrom) / 1_000;
    const { user, system } = process.cpuUsage(this.processorBefore);
    return {
      answered, seconds, ratePerS: answered / seconds, statuses: this.statuses, latencyMs: this.latencies.summary(),
      processorUs: (user + system) / answered,
    };
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** As Node's servers write it, and as its client hands it on to a proxy. */
const LENGTHS = [Buffer.from('\r\nContent-Length: '), Buffer.from('\r\ncontent-length: ')];

/** One connection with at most one request on its way. */
class Lane {
  private dueMs = 0;
  private pending: Buffer | undefined;

  constructor(private readonly socket: Socket, private readonly onAnswer: (status: number, dueMs: number) => void) {
    socket.on('data', (chunk) => { this.onData(chunk as Buffer); });
  }

  send(request: Uint8Array, dueMs: number): void {
    this.dueMs = dueMs;
    this.socket.write(request);
  }

  private onData(chunk: Buffer): void {
    const data = this.pending === undefined ? chunk : Buffer.concat([this.pending, chunk]);
    const bytes = answerBytes(data);
    if (bytes < 0 || data.length < bytes) {
      this.pending = data;
      return;
    }
    if (data.length > bytes) throw new Error('the server sent more than one answer to one request');
    this.pending = undefined;
    this.onAnswer(digits(data, 9), this.dueMs);
  }
}

/** Bytes of the answer that `data` starts with; -1 while its head is incomplete. */
function answerBytes(data: Buffer): number {
  const headEnd = data.indexOf(HEAD_END);
  if (headEnd < 0) return -1;
  for (const length of LENGTHS) {
    const at = data.indexOf(length);
    if (at >= 0 && at < headEnd) return headEnd + HEAD_END.length + digits(data, at + length.length);
  }
  throw new Error('an answer without Content-Length cannot be measured');
}

function digits(data: Buffer, from: number): number {
  let value = 0;
  for (let i = from; data[i]! >= 48 && data[i]! <= 57; i++) value = value * 10 + data[i]! - 48;
  return value;
}
