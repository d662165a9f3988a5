/** The chain of messages in one channel. */
import type { Message } from './message.js';

/** The name of a channel, and the position of its last message; -1 before the first one. */
export interface Thread {
  readonly name: string;
  last: number;
}

/** The outcome that is being folded, and the messages that it has given so far. */
export interface Telling {
  readonly position: number;
  /** Engine time in milliseconds. */
  readonly at: number;
  readonly messages: Message[];
}

/** Fields of a message: values are JSON text already, so integers of any size stay exact. */
export type Fields = Readonly<Record<string, string | number>>;

/** The JSON text of a message without its closing brace. */
export function textOf({ name, last }: Thread, { position, at }: Omit<Telling, 'messages'>, type: string, fields: Fields): string {
  const rest = Object.entries(fields).map(([key, value]) => `,"${key}":${value}`).join('');
  return `{"channel":"${name}","position":${position},"previous":${last},"type":"${type}","at":${at}${rest}`;
}

/** Hex, a name or another text that needs no escapes, as JSON. */
export function quoted(text: string): string {
  return `"${text}"`;
}
