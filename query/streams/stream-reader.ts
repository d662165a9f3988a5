/** What waits to be sent on one connection, whatever carries it, and how the connection ends when its client does not read. */
import type { Ending } from '../../service/api/conversation.js';
import type { Reader } from './hub.js';
import type { Form } from './message.js';

/** What a reader may leave unread, in bytes that it shares with the others, and in pieces. */
export interface Room {
  readonly bytes: number;
  readonly pieces: number;
}

export const ROOM: Room = { bytes: 1_000_000, pieces: 10_000 };

export interface StreamReader extends Reader {
  /** The next piece of the stream. */
  next(): Promise<IteratorResult<Uint8Array>>;
  /** Whether a piece waits, or the end. */
  isWaiting(): boolean;
  /** A piece that was asked for, which has room however large it is. The one before must have been taken: see `drained`. */
  give(piece: Uint8Array): void;
  /** Resolves when nothing waits, or all is over. */
  drained(): Promise<void>;
  /** What comes next is the last piece, which tells why. */
  end(ending: Ending): void;
  /** Why no more comes; undefined before the end. */
  ending(): Ending | undefined;
}

export interface StreamReaderOptions {
  readonly form: Form;
  /** Called when the reader has left more unread than it may; the last piece tells it so. */
  readonly cutOff: () => void;
  /** Called when the last piece has been taken. */
  readonly ended: () => void;
  readonly room?: Room | undefined;
}

export function createStreamReader({ form, cutOff, ended, room = ROOM }: StreamReaderOptions): StreamReader {
  let waiting: Uint8Array[] = [];
  /** Of those that wait, but `given`. */
  let bytes = 0;
  let given: Uint8Array | undefined;
  let wake: ((result: IteratorResult<Uint8Array>) => void) | undefined;
  let emptied: (() => void) | undefined;
  let ending: Ending | undefined;

  const hand = (piece: Uint8Array): boolean => {
    if (wake === undefined) return false;
    const resolve = wake;
    wake = undefined;
    resolve({ done: false, value: piece });
    return true;
  };
  const empty = (): void => {
    emptied?.();
    emptied = undefined;
  };
  const end = (why: Ending): void => {
    if (ending !== undefined) return;
    ending = why;
    waiting = [];
    empty();
    given = form.ending(why);
    if (!hand(given)) waiting.push(given);
  };
  const push = (piece: Uint8Array): void => {
    if (ending !== undefined || hand(piece)) return;
    if (bytes + piece.length <= room.bytes && waiting.length < room.pieces) {
      waiting.push(piece);
      bytes += piece.length;
    } else {
      end({ code: 'too_slow', text: 'more waits to be read than the exchange keeps for one reader; connect again, with the last position' });
      cutOff();
    }
  };

  return {
    take: (delivery) => { push(form.delivery(delivery)); },
    beat: (heartbeat) => { push(form.heartbeat(heartbeat)); },
    end,
    ending: () => ending,
    isWaiting: () => waiting.length > 0 || ending !== undefined,
    give(piece) {
      if (ending !== undefined || hand(piece)) return;
      given = piece;
      waiting.push(piece);
    },
    async drained() {
      if (waiting.length > 0 && ending === undefined) await new Promise<void>((resolve) => { emptied = resolve; });
    },
    next: () => {
      const value = waiting.shift();
      if (value !== undefined) {
        if (value === given) given = undefined; else bytes -= value.length;
        if (waiting.length === 0) empty();
        return Promise.resolve({ done: false, value });
      }
      if (ending !== undefined) {
        ended();
        return Promise.resolve({ done: true, value: undefined });
      }
      return new Promise((resolve) => { wake = resolve; });
    },
  };
}
