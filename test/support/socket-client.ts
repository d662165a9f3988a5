/** Clients of `/api/v1/ws`: one that says what it is told to, and one that follows channels as docs/streams.md has it. */
import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import { createBell } from '../../engine/waiting.js';
import type { Connecting, StreamClient, Told } from './stream-client.js';

/** An answer, a heartbeat or an error. */
export type Answer = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface SocketClient {
  readonly socket: WebSocket;
  /** The messages of channels, in the order in which they came. */
  readonly data: string[];
  /** All others but heartbeats. */
  readonly answers: Answer[];
  /** The position of the last message that has no more to come, or of the last heartbeat. */
  lastId(): string | undefined;
  /** Whether a heartbeat has come after the last `subscribed`: all that was asked for is there. */
  isAtPresent(): boolean;
  ask(request: object): void;
  /** Waits until this holds; looks again whenever something comes. */
  until(holds: () => boolean): Promise<void>;
  readonly closed: Promise<readonly [code: number, reason: string]>;
  leave(): void;
}

export interface SocketOptions extends Omit<ClientOptions, 'port'> {
  readonly port: number;
  readonly onData?: (data: string) => void;
}

/** Connects. Rejects with `Unexpected server response: …` for a status other than 101. */
export async function connectSocket({ port, onData = () => undefined, ...options }: SocketOptions): Promise<SocketClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/ws`, { perMessageDeflate: false, ...options });
  const arrived = createBell();
  const [data, answers]: [string[], Answer[]] = [[], []];
  let lastId: number | undefined;
  let isAtPresent = false;
  socket.on('message', (bytes) => {
    const text = String(bytes as Buffer);
    const message = JSON.parse(text) as Told | Answer;
    if ('channel' in message) {
      data.push(text);
      onData(text);
      if (message.more !== true) lastId = Number(message.position);
    } else if (message.type === 'heartbeat') {
      lastId = Number(message['position']);
      isAtPresent = true;
    } else {
      answers.push(message as Answer);
      if (message.type === 'subscribed') isAtPresent = false;
    }
    arrived.ring();
  });
  socket.on('error', () => undefined);
  const closed = new Promise<readonly [number, string]>((resolve) => {
    socket.once('close', (code, reason) => {
      resolve([code, reason.toString()]);
      arrived.ring();
    });
  });
  await once(socket, 'open');
  return {
    socket, data, answers, closed, lastId: () => lastId?.toString(), isAtPresent: () => isAtPresent,
    ask: (request) => { socket.send(JSON.stringify(request)); },
    leave: () => { socket.terminate(); },
    async until(holds) {
      for (const signal = AbortSignal.timeout(30_000); !holds();) {
        if (await arrived.wait(signal, 30_000) !== 'rung') throw new Error(`never came; after ${JSON.stringify([data.slice(-3), answers])}`);
      }
    },
  };
}

/** A client of either transport. */
export type Follower = Pick<StreamClient, 'data' | 'lastId' | 'until' | 'ended' | 'leave'>;

/** Follows the channels of a query, as `connectStream` does. */
export async function followBySocket({ port, query, lastEventId, onData }: Connecting): Promise<Follower> {
  const asked = new URLSearchParams(query);
  const from = lastEventId ?? asked.get('from');
  const client = await connectSocket({ port, ...onData && { onData } });
  client.ask({ type: 'subscribe', channels: asked.get('channels')?.split(','), ...from !== null && { from: Number(from) } });
  return {
    data: client.data, until: client.until, leave: client.leave,
    lastId: () => client.lastId() ?? lastEventId, ended: client.closed.then(([code]) => code === 1012),
  };
}
