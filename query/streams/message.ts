/** The messages of the streams as bytes. However many readers a message has, it is encoded once for each form in which it is sent. */
import type { Ending } from '../../service/api/conversation.js';
import { textFrame } from './frame.js';

/** What happened in one channel at one position, or one part of it. */
export class Message {
  private readonly bytes = new Map<string, Buffer>();

  /** `open`: the JSON text without its closing brace. */
  constructor(readonly channel: string, readonly position: number, private readonly open: string) {}

  /** Of its text, in characters. */
  get length(): number { return this.open.length; }

  /** The JSON text. `more`: a further message belongs to it, and follows at once on the connection. */
  json(more: boolean): string {
    return more ? `${this.open},"more":true}` : `${this.open}}`;
  }

  /** A frame of WebSocket. */
  frame(more: boolean): Buffer {
    return this.once(more ? 'more frame' : 'last frame', () => textFrame(this.json(more)));
  }

  /** A server-sent event. The last one of a position has the position as its id: only then has the client all of it. */
  event(more: boolean): Buffer {
    return this.once(more ? 'more event' : 'last event', () => (
      Buffer.from(`${more ? '' : `id: ${this.position}\n`}data: ${this.json(more)}\n\n`)));
  }

  private once(form: string, make: () => Buffer): Buffer {
    let bytes = this.bytes.get(form);
    if (bytes === undefined) this.bytes.set(form, bytes = make());
    return bytes;
  }
}

/** Messages in the order of their positions for readers of the same channels, who all get the same bytes. */
export class Delivery {
  private joinedEvents: Buffer | undefined;
  private joinedFrames: Buffer | undefined;

  /** `isOneBurst`: only all of them together are worth anything, whatever their positions are. */
  constructor(readonly messages: readonly Message[], private readonly options: { readonly isOneBurst?: boolean } = {}) {}

  /** Server-sent events. */
  get events(): Buffer {
    return this.joinedEvents ??= joinedOf(this.messages.map((message, i) => message.event(this.isMoreAfter(i))));
  }

  /** Frames of WebSocket. */
  get frames(): Buffer {
    return this.joinedFrames ??= joinedOf(this.messages.map((message, i) => message.frame(this.isMoreAfter(i))));
  }

  private isMoreAfter(i: number): boolean {
    const next = this.messages[i + 1];
    return next !== undefined && (this.options.isOneBurst === true || next.position === this.messages[i]?.position);
  }
}

function joinedOf(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
}

/** Shows that the stream lives, and up to which position everything was sent. */
export class Heartbeat {
  /** A comment, and the id from now on. */
  readonly comment: Buffer;
  readonly frame: Buffer;

  constructor(position: number) {
    this.comment = Buffer.from(`: ${position}\nid: ${position}\n\n`);
    this.frame = textFrame(`{"type":"heartbeat","position":${position}}`);
  }
}

/** How messages are written on a connection. */
export interface Form {
  delivery(delivery: Delivery): Uint8Array;
  heartbeat(heartbeat: Heartbeat): Uint8Array;
  ending(ending: Ending): Uint8Array;
}

/** Server-sent events. */
export const events: Form = {
  delivery: (delivery) => delivery.events, heartbeat: ({ comment }) => comment,
  ending: (ending) => Buffer.from(`data: ${errorText(ending)}\n\n`),
};

/** Frames of WebSocket. */
export const frames: Form = {
  delivery: (delivery) => delivery.frames, heartbeat: ({ frame }) => frame, ending: (ending) => textFrame(errorText(ending)),
};

/** The message that is none of a channel: the last one of a stream, or the answer to what could not be done. */
export function errorText({ code, text }: Ending): string {
  return JSON.stringify({ type: 'error', code, error: text });
}
