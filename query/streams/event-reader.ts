/** A reader of server-sent events: what waits to be sent to it, and how it ends when it does not read. */
import type { Reader } from './hub.js';
import { endingOf, type Ending } from './message.js';

/** What a reader may leave unread, in bytes that it shares with the others, and in pieces. */
export interface Room {
  readonly bytes: number;
  readonly pieces: number;
}

export const ROOM: Room = { bytes: 1_000_000, pieces: 10_000 };

export interface EventReader extends Reader {
  /** The next piece of the stream. */
  next(): Promise<IteratorResult<Uint8Array>>;
  /** What comes next is the last piece, which tells why. */
  end(ending: Ending): void;
}

export interface EventReaderOptions {
  /** Called when the reader has left more unread than it may; the last piece tells it so. */
  readonly cutOff: () => void;
  /** Called when the last piece has been taken. */
  readonly ended: () => void;
  readonly room?: Room | undefined;
}

export function createEventReader({ cutOff, ended, room = ROOM }: EventReaderOptions): EventReader {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  let wake: ((result: IteratorResult<Uint8Array>) => void) | undefined;
  let over = false;

  const end = (ending: Ending): void => {
    if (over) return;
    waiting = [];
    bytes = 0;
    push(Buffer.from(`data: ${endingOf(ending)}\n\n`));
    over = true;
  };
  const push = (piece: Uint8Array): void => {
    if (over) return;
    if (wake !== undefined) {
      const resolve = wake;
      wake = undefined;
      resolve({ done: false, value: piece });
    } else if (bytes + piece.length <= room.bytes && waiting.length < room.pieces) {
      waiting.push(piece);
      bytes += piece.length;
    } else {
      end({ code: 'too_slow', text: 'more waits to be read than the exchange keeps for one reader; connect again, with the last position' });
      cutOff();
    }
  };

  return {
    take: ({ events }) => { push(events); },
    beat: ({ comment }) => { push(comment); },
    end,
    next: () => {
      const value = waiting.shift();
      if (value !== undefined) {
        bytes -= value.length;
        return Promise.resolve({ done: false, value });
      }
      if (over) {
        ended();
        return Promise.resolve({ done: true, value: undefined });
      }
      return new Promise((resolve) => { wake = resolve; });
    },
  };
}
