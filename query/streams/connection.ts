/** One connection with a stream, however its messages are written: what it reads, what waits to be sent, and how it ends. */
import { unlessLogAway } from '../unless-log-away.js';
import type { Sink, Source } from '../../service/api/endpoint.js';
import type { Backlog } from './backlog.js';
import type { CatchUpParts, Wanted } from './catch-up.js';
import type { Channel } from './channel.js';
import { endingOf } from './endings.js';
import type { Form } from './message.js';
import { createStreamReader, type Room, type StreamReader } from './stream-reader.js';
import { createSubscriptions, type Subscriptions } from './subscriptions.js';

export interface StreamConnection {
  readonly reader: StreamReader;
  readonly subscriptions: Subscriptions;
  /** Throws RequestError `unknown_market`, `unknown_asset`, and as `beginAt` does. Resolves with the position of the beginning. */
  readonly subscribe: (wanted: Wanted) => Promise<number>;
  readonly stream: AsyncIterable<Uint8Array>;
  /** Aborts when the reader takes nothing for too long. */
  readonly cut: AbortSignal;
  /** Leaves everything. May be called twice. */
  readonly end: () => void;
}

export interface StreamConnectionOptions {
  readonly form: Form;
  readonly parts: CatchUpParts;
  readonly room: Room | undefined;
  readonly backlog: Backlog;
  /** Whether nothing is subscribed to later: then pieces flow once the present is reached. */
  readonly isFixed: boolean;
  /** A reader that takes nothing for this long is cut off: of a history, or of its last words. */
  readonly stallMs: number;
  readonly onError: (error: unknown) => void;
  /** Throws RequestError for a channel of what there is not. */
  readonly mustExist: (channels: readonly Channel[]) => Promise<void>;
  /** Called when the reader has left more unread than it may. */
  readonly cutOff: () => void;
  /** Called once, at the end. */
  readonly ended: () => void;
}

export function createConnection(options: StreamConnectionOptions): StreamConnection {
  const { form, parts, room, backlog, isFixed, stallMs, onError, mustExist, cutOff, ended } = options;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    subscriptions.leave();
    reader.leave();
    ended();
  };
  const cut = new AbortController();
  const cutSoon = (): void => {
    cutOff();
    setTimeout(() => { cut.abort(); }, stallMs).unref();
  };
  const reader = createStreamReader({ form, cutOff: cutSoon, ended: end, room, backlog });
  const subscriptions = createSubscriptions(parts, reader);
  return {
    reader, subscriptions, end, cut: cut.signal,
    stream: hurried(piecesOf({ form, reader, subscriptions, end, onError }), { stallMs, cut, isFixed }),
    subscribe: (wanted) => unlessLogAway(async () => {
      await mustExist(wanted.channels);
      return subscriptions.begin(wanted);
    }),
  };
}

interface Parts extends Pick<StreamConnection, 'reader' | 'subscriptions' | 'end'> {
  readonly form: Form;
  readonly onError: (error: unknown) => void;
}

/** The pieces of a stream: what waits for its reader, what the log has once nothing waits, and what comes meanwhile and later. */
function piecesOf({ form, reader, subscriptions, end, onError }: Parts): Pieces {
  let isPulling = false;
  const pull = async (): Promise<void> => {
    isPulling = true;
    try {
      while (subscriptions.isCatchingUp() && !reader.isWaiting()) {
        const delivery = await subscriptions.next();
        if (delivery === undefined) continue;
        reader.give(form.delivery(delivery));
        break;
      }
    } catch (error) {
      reader.end(endingOf(error, onError));
    }
    isPulling = false;
  };

  return {
    isCatchingUp: () => subscriptions.isCatchingUp(), flow: reader.flow,
    next() {
      // Not awaited: what is at the present does not wait for the log.
      if (!isPulling && subscriptions.isCatchingUp() && !reader.isWaiting()) void pull();
      return reader.next();
    },
    return() {
      end();
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}

interface Pieces {
  isCatchingUp(): boolean;
  flow(sink: Sink): void;
  next(): Promise<IteratorResult<Uint8Array>>;
  return(): Promise<IteratorResult<Uint8Array>>;
}

interface Hurry {
  readonly stallMs: number;
  readonly cut: AbortController;
  readonly isFixed: boolean;
}

/** The same pieces; while they come from the log, `cut` aborts when nobody has asked for the next one for a while. */
function hurried(pieces: Pieces, { stallMs, cut, isFixed }: Hurry): StreamConnection['stream'] {
  let stalled: NodeJS.Timeout | undefined;
  const stream: AsyncIterableIterator<Uint8Array> & Pick<Source, 'flow'> = {
    [Symbol.asyncIterator]: () => stream,
    next: () => {
      clearTimeout(stalled);
      if (!pieces.isCatchingUp()) return pieces.next();
      return pieces.next().then((result) => {
        if (result.done !== true && pieces.isCatchingUp()) stalled = setTimeout(() => { cut.abort(); }, stallMs).unref();
        return result;
      });
    },
    flow: (sink) => {
      if (!isFixed || pieces.isCatchingUp()) return false;
      clearTimeout(stalled);
      pieces.flow(sink);
      return true;
    },
    return: () => {
      clearTimeout(stalled);
      return pieces.return();
    },
  };
  return stream;
}
