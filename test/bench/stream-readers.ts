/** The readers' process of the stream benchmark: raw sockets that note when each event has come. Answers each message of its parent with one. */
import { createConnection, type Socket } from 'node:net';
import { once } from 'node:events';

export type ReadersRequest
  /** Opens so many streams; answered when each has its first event. */
  = | { readonly open: { readonly port: number; readonly path: string; readonly readers: number } }
    /** Answered with the arrivals since the last answer, once each reader has the event with this id or a later one. */
    | { readonly until: number }
    | { readonly close: true };

/** `ids[i]` came at `atMs[i]`, by the clock of `nowMs`. */
export interface Arrivals { readonly ids: Float64Array; readonly atMs: Float64Array }

const AT_A_TIME = 100;
const ID = Buffer.from('id: ');
const LINE_END = 10;
/** The last id of each. */
const sockets = new Map<Socket, number>();
let ids: number[] = [];
let atMs: number[] = [];
let wanted = Infinity;
let missing = 0;
let reached: () => void = () => undefined;

/** A clock that all processes of the machine share. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A heartbeat may repeat the last id. */
function note(socket: Socket, id: number, at: number): void {
  const last = sockets.get(socket) ?? -1;
  if (id <= last) return;
  sockets.set(socket, id);
  ids.push(id);
  atMs.push(at);
  if (id >= wanted && last < wanted && --missing === 0) reached();
}

/** The events of a chunk, whose lines are whole. */
function read(socket: Socket, chunk: Buffer): number {
  const at = nowMs();
  let events = 0;
  for (let from = chunk.indexOf(ID); from >= 0; from = chunk.indexOf(ID, from + 1)) {
    let id = 0;
    for (let i = from + ID.length; chunk[i]! >= 48 && chunk[i]! <= 57; i++) id = id * 10 + chunk[i]! - 48;
    note(socket, id, at);
    events += 1;
  }
  return events;
}

async function openOne(port: number, path: string): Promise<void> {
  const socket = createConnection({ host: '127.0.0.1', port, noDelay: true });
  sockets.set(socket, -1);
  socket.on('close', () => { if (sockets.has(socket)) throw new Error('the server closed a stream'); });
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
  let rest: Buffer | undefined;
  await new Promise<void>((resolve) => {
    socket.on('data', (piece) => {
      const chunk = rest === undefined ? piece as Buffer : Buffer.concat([rest, piece as Buffer]);
      const end = chunk.lastIndexOf(LINE_END) + 1;
      rest = end === chunk.length ? undefined : chunk.subarray(end);
      if (read(socket, chunk.subarray(0, end)) > 0) resolve();
    });
  });
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
    const open = [...sockets.keys()];
    sockets.clear();
    for (const socket of open) socket.destroy();
    return undefined;
  }
  wanted = asked.until;
  missing = [...sockets.values()].filter((last) => last < wanted).length;
  if (missing > 0) await new Promise<void>((resolve) => { reached = resolve; });
  const arrivals = { ids: Float64Array.from(ids), atMs: Float64Array.from(atMs) };
  [ids, atMs] = [[], []];
  return arrivals;
}

process.on('message', (asked: ReadersRequest) => { void answer(asked).then((answered) => { process.send!({ answered }); }); });
