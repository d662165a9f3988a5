/** The readers' process of the stream benchmark: raw sockets that note when each event has come. Answers each message of its parent with one. */
import { createConnection, type Socket } from 'node:net';
import { once } from 'node:events';

export type ReadersRequest
  /** Opens so many streams; answered when each has its first event. */
  = | { readonly open: { readonly port: number; readonly path: string; readonly readers: number } }
    /** Answered with the arrivals since the last answer, once each reader has one of the event with this id. */
    | { readonly until: number }
    | { readonly close: true };

/** `ids[i]` came at `atMs[i]`, by the clock of `nowMs`. */
export interface Arrivals { readonly ids: Float64Array; readonly atMs: Float64Array }

const AT_A_TIME = 100;
const ID = Buffer.from('id: ');
const sockets: Socket[] = [];
let ids: number[] = [];
let atMs: number[] = [];
let wanted = -1;
let missing = 0;
let reached: () => void = () => undefined;

/** A clock that all processes of the machine share. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

function note(id: number, at: number): void {
  ids.push(id);
  atMs.push(at);
  if (id === wanted && --missing === 0) reached();
}

/** The events of a chunk. None is split: they are small, and each is one write of the server. */
function read(chunk: Buffer): number {
  const at = nowMs();
  let events = 0;
  for (let from = chunk.indexOf(ID); from >= 0; from = chunk.indexOf(ID, from + 1)) {
    let id = 0;
    for (let i = from + ID.length; chunk[i]! >= 48 && chunk[i]! <= 57; i++) id = id * 10 + chunk[i]! - 48;
    note(id, at);
    events += 1;
  }
  return events;
}

async function openOne(port: number, path: string): Promise<void> {
  const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
  sockets.push(socket);
  socket.on('close', () => { if (sockets.includes(socket)) throw new Error('the server closed a stream'); });
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
  await new Promise<void>((resolve) => { socket.on('data', (chunk) => { if (read(chunk as Buffer) > 0) resolve(); }); });
}

async function answer(asked: ReadersRequest): Promise<Arrivals | undefined> {
  if ('open' in asked) {
    const { port, path, readers } = asked.open;
    for (let n = 0; n < readers; n += AT_A_TIME) {
      await Promise.all(Array.from({ length: Math.min(AT_A_TIME, readers - n) }, () => openOne(port, path)));
    }
    [ids, atMs] = [[], []];
    return undefined;
  }
  if ('close' in asked) {
    for (const socket of sockets.splice(0)) socket.destroy();
    return undefined;
  }
  wanted = asked.until;
  missing = sockets.length - ids.filter((id) => id === wanted).length;
  if (missing > 0) await new Promise<void>((resolve) => { reached = resolve; });
  const arrivals = { ids: Float64Array.from(ids), atMs: Float64Array.from(atMs) };
  [ids, atMs] = [[], []];
  return arrivals;
}

process.on('message', (asked: ReadersRequest) => { void answer(asked).then((answered) => { process.send!({ answered }); }); });
