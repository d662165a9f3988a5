/** What waits to be sent on one connection, whatever carries it, and how the connection ends when its client does not read. */
import type { Ending } from '../../service/api/conversation.js';
import type { Sink } from '../../service/api/endpoint.js';
import type { Backlog, Leftovers } from './backlog.js';
import type { Reader } from './hub.js';
import type { Form } from './message.js';
import { createOutlet } from './outlet.js';

/** What a reader may leave unread, in bytes that it shares with the others, and in pieces. */
export interface Room {
  readonly bytes: number;
  readonly pieces: number;
}

export const ROOM: Room = { bytes: 1_000_000, pieces: 10_000 };

export interface StreamReader extends Reader {
  /** The next piece of the stream. */
  next(): Promise<IteratorResult<Uint8Array>>;
  /** From now on each piece goes to the sink as it comes, and `next` is not called any more. */
  flow(sink: Sink): void;
  /** Whether a piece waits, or the end. */
  isWaiting(): boolean;
  /** A piece that was asked for, which has room however large it is: nothing else is asked for before it is taken (`drained`). */
  give(piece: Uint8Array): void;
  /** Resolves when nothing waits, or all is over. */
  drained(): Promise<void>;
  /** What comes next is the last piece, which tells why. */
  end(ending: Ending): void;
  /** Why no more comes; undefined before the end. */
  ending(): Ending | undefined;
  /** Nobody reads any more: nothing is kept. */
  leave(): void;
}

export interface StreamReaderOptions {
  readonly form: Form;
  /** Called when the reader has left more unread than it may; the last piece tells it so. */
  readonly cutOff: () => void;
  /** Called when the last piece has been taken. */
  readonly ended: () => void;
  readonly room?: Room | undefined;
  /** Of all readers of the process. */
  readonly backlog: Backlog;
}

const GONE: Ending = { code: 'unavailable', text: 'the client has gone' };
const TOO_SLOW: Ending = {
  code: 'too_slow', text: 'more waits to be read than the exchange keeps for one reader; connect again, with the last position',
};

export function createStreamReader({ form, cutOff, ended, room = ROOM, backlog }: StreamReaderOptions): StreamReader {
  let emptied: (() => void) | undefined;
  let ending: Ending | undefined;
  const take = (): Uint8Array | undefined => {
    const value = queue.take();
    if (queue.length() === 0) empty();
    return value;
  };
  const outlet = createOutlet({ take, isOver: () => ending !== undefined, ended });
  const empty = (): void => {
    emptied?.();
    emptied = undefined;
  };
  const end = (why: Ending): void => {
    if (ending !== undefined) return;
    ending = why;
    queue.clear();
    empty();
    const last = form.ending(why);
    if (!outlet.hand(last)) queue.close(last);
  };
  const push = (piece: Uint8Array): void => {
    if (ending !== undefined || outlet.hand(piece)) return;
    if (queue.bytes() + piece.length > room.bytes || queue.length() >= room.pieces) return tooSlow();
    queue.add(piece);
  };
  const tooSlow = (): void => {
    end(TOO_SLOW);
    cutOff();
  };
  const queue = createQueue(backlog.open(tooSlow));
  return {
    take: (delivery) => { push(form.delivery(delivery)); },
    beat: (heartbeat) => { push(form.heartbeat(heartbeat)); },
    end, flow: outlet.flow, ending: () => ending,
    isWaiting: () => queue.length() > 0 || ending !== undefined,
    give(piece) {
      if (ending === undefined && !outlet.hand(piece)) queue.give(piece);
    },
    drained: async () => {
      if (queue.length() > 0 && ending === undefined) await new Promise<void>((resolve) => { emptied = resolve; });
    },
    next() {
      const value = take();
      if (value !== undefined) return Promise.resolve({ done: false, value });
      if (ending === undefined) return outlet.next();
      ended();
      return Promise.resolve({ done: true, value: undefined });
    },
    leave() {
      ending ??= GONE;
      queue.clear();
    },
  };
}

/** What waits for one reader. */
function createQueue(leftovers: Leftovers) {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  const given = new Set<Uint8Array>();
  const add = (piece: Uint8Array): void => {
    waiting.push(piece);
    bytes += piece.length;
    leftovers.hold(piece);
  };
  return {
    length: () => waiting.length,
    /** Of all pieces but those that were given. */
    bytes: () => bytes,
    add,
    give(piece: Uint8Array): void {
      add(piece);
      given.add(piece);
      bytes -= piece.length;
    },
    take(): Uint8Array | undefined {
      const piece = waiting.shift();
      if (piece === undefined) return undefined;
      leftovers.release(piece);
      if (!given.delete(piece)) bytes -= piece.length;
      return piece;
    },
    /** The last words take no room of others. */
    close(piece: Uint8Array): void {
      waiting.push(piece);
      given.add(piece);
    },
    clear(): void {
      for (const piece of waiting) leftovers.release(piece);
      waiting = [];
      given.clear();
    },
  };
}
