/**
 * WebSockets (RFC 6455): pings, the limits of what clients send, and how a connection ends. What is said is the
 * conversation of the endpoint, which also makes the frames that are sent.
 */
import type { IncomingMessage } from 'node:http';
import { WebSocket, WebSocketServer, type Server } from 'ws';
import { pause } from '../../engine/waiting.js';
import type { Conversation, Ending } from '../api/conversation.js';
import type { SocketReply } from '../api/endpoint.js';
import type { StreamConnections } from './connections.js';
import { LINGER_MS, type AppEnding } from './ending.js';
import { pump } from './pump.js';

export interface WebSocketParts {
  readonly ending: AppEnding;
  /** Is told which connections carry a stream. */
  readonly streams: StreamConnections;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** How it pauses between pings; tests give their own. */
  readonly pause?: typeof pause;
}

export interface WebSockets {
  /**
   * Makes the request's connection a WebSocket. Resolves when the conversation is over, the client has gone or is cut
   * off, or the service stops; never rejects.
   */
  carry(request: IncomingMessage, head: Buffer, reply: SocketReply): Promise<void>;
}

/** The largest message of a client. The names of 50 channels have half of that. */
export const MAX_MESSAGE_BYTES = 8 * 1_024;
/** Messages and pings that a client may send at once, and a second from then on. */
export const BURST_MESSAGES = 100;
const MESSAGES_PER_S = 10;
export const PING_MS = 15_000;
/** A client that has left so many pings in a row unanswered, and has taken nothing either, is gone. */
const MAX_UNANSWERED = 2;

const STOPPING: Ending = { code: 'unavailable', text: 'the service is stopping; connect again, with the last position' };
const FLOODED: Ending = {
  code: 'rate_limited', text: `at most ${BURST_MESSAGES} messages at once and ${MESSAGES_PER_S} a second`,
};

/** What a client is told when `ws` closes the connection by itself, which gives a code alone. */
const FAULTS: Readonly<Record<number, string>> = {
  1002: 'invalid_request: these are not frames as RFC 6455 has them', 1007: 'invalid_request: a text is in UTF-8',
  1008: 'invalid_request: a message has too many fragments', 1009: `body_too_large: a message has at most ${MAX_MESSAGE_BYTES} bytes`,
};

class Peer extends WebSocket {
  /** Called before the close frame is sent, after which no other may follow. */
  closing: () => void = () => undefined;

  override close(code?: number, reason?: string | Buffer): void {
    this.closing();
    super.close(code, reason ?? FAULTS[code ?? 0]);
  }
}

export function createWebSockets({ ending, streams, now, pause: rest = pause }: WebSocketParts): WebSockets {
  // Without compression a message is as large as it arrives. Nobody speaks a subprotocol.
  const server = new WebSocketServer({
    noServer: true, clientTracking: false, autoPong: false, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES, handleProtocols: () => false,
    WebSocket: Peer, ...{ closeTimeout: LINGER_MS },
  });
  const pings = createPings(rest);

  return {
    async carry(request, head, { stream, cut, conversation }) {
      const { socket } = request;
      const source = stream[Symbol.asyncIterator]();
      const peer = accept(server, request, head);
      if (peer === undefined) {
        await source.return?.();
        return;
      }
      const over = new AbortController();
      const alive = pings.begin(peer);
      const leave = streams.begin(socket);
      const stop = (): void => { if (socket.writableNeedDrain) peer.terminate(); else conversation.end(STOPPING); };
      const cutOff = (): void => { peer.terminate(); };
      peer.closing = () => { over.abort(); };
      peer.once('close', () => { over.abort(); });
      listen(peer, conversation, { now, alive, rest });
      socket.on('drain', alive);
      cut.addEventListener('abort', cutOff);
      ending.streams.add(stop);
      if (ending.isStopping) stop();
      try {
        await pump(source, socket, over.signal);
        const why = conversation.ending();
        peer.close(why === STOPPING ? 1012 : closeCodeOf(why), reasonOf(why));
      } catch {
        if (!over.signal.aborted) peer.close(1011);
        // Not awaited: a source may be waiting for its next piece.
        source.return?.().catch(() => undefined);
      } finally {
        ending.streams.delete(stop);
        cut.removeEventListener('abort', cutOff);
        socket.off('drain', alive);
        pings.end(peer);
        leave();
      }
    },
  };
}

/** Undefined when `ws` has refused the request, or the client has gone. */
function accept(server: Server<typeof Peer>, request: IncomingMessage, head: Buffer): Peer | undefined {
  let accepted: Peer | undefined;
  server.handleUpgrade(request, request.socket, head, (peer) => { accepted = peer; });
  return accepted;
}

interface Hearing {
  readonly now: () => number;
  /** To be called at each sign of life. */
  readonly alive: () => void;
  readonly rest: typeof pause;
}

function listen(peer: Peer, conversation: Conversation, { now, alive, rest }: Hearing): void {
  const mayPass = createAllowance(now);
  let isDeaf = false;
  const passes = (): boolean => {
    alive();
    if (isDeaf || mayPass()) return !isDeaf;
    isDeaf = true;
    conversation.end(FLOODED);
    void rest(LINGER_MS).then(() => { peer.terminate(); });
    return false;
  };
  peer.on('message', (data, isBinary) => { if (passes()) conversation.hear(isBinary ? undefined : data as Buffer); });
  // Pongs would pile up where nobody reads them.
  peer.on('ping', (data) => { if (passes() && peer.bufferedAmount === 0) peer.pong(data); });
  peer.on('pong', alive);
  // The close follows.
  peer.on('error', () => undefined);
}

/** Whether one more message of a client may pass. */
function createAllowance(now: () => number): () => boolean {
  let left = BURST_MESSAGES;
  let lookedMs = now();
  return () => {
    const nowMs = now();
    left = Math.min(BURST_MESSAGES, left + (nowMs - lookedMs) * MESSAGES_PER_S / 1_000) - 1;
    lookedMs = nowMs;
    return left >= 0;
  };
}

interface Pings {
  /** Returns what is to be called at each sign of life. */
  begin(peer: Peer): () => void;
  end(peer: Peer): void;
}

/** Pings all peers at the same time, and closes the connections of those that are gone. */
function createPings(rest: typeof pause): Pings {
  const unanswered = new Map<Peer, number>();
  let stop = new AbortController();

  const pinging = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      await rest(PING_MS, signal);
      if (signal.aborted) return;
      for (const [peer, count] of unanswered) {
        unanswered.set(peer, count + 1);
        if (count < MAX_UNANSWERED) peer.ping(); else peer.terminate();
      }
    }
  };
  return {
    begin(peer) {
      unanswered.set(peer, 0);
      if (unanswered.size === 1) void pinging((stop = new AbortController()).signal);
      return () => { if (unanswered.has(peer)) unanswered.set(peer, 0); };
    },
    end(peer) {
      if (unanswered.delete(peer) && unanswered.size === 0) stop.abort();
    },
  };
}

/** 1008: the client did what it may not. 1011: our fault. 1013: it may come again. */
function closeCodeOf(why: Ending | undefined): number {
  switch (why?.code) {
    case 'too_slow': case 'rate_limited': return 1008;
    case 'internal': case undefined: return 1011;
    default: return 1013;
  }
}

/** What a close frame has room for. */
const MAX_REASON_BYTES = 123;

function reasonOf(why: Ending | undefined): string {
  return why === undefined ? '' : `${why.code}: ${why.text}`.slice(0, MAX_REASON_BYTES);
}
