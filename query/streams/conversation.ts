/**
 * A stream by WebSocket: its client says which channels it wants. Requests are carried out one after the other, each with
 * one answer, and the next one only when the client has taken the answer before.
 */
import { RequestError } from '../../engine/records/errors.js';
import type { Conversation, Ending } from '../../service/api/conversation.js';
import { MAX_CHANNELS, type Channel } from './channel.js';
import type { StreamConnection } from './connection.js';
import { endingOf } from './endings.js';
import { textFrame } from './frame.js';
import { errorText, frames } from './message.js';
import { requestIn } from './socket-requests.js';

export interface ConversationParts {
  readonly connection: Pick<StreamConnection, 'reader' | 'subscriptions' | 'subscribe'>;
  /** Aborts when the client's connection closes. */
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Requests that may wait. */
const MAX_WAITING = 100;

export function createConversation({ connection, signal, onError }: ConversationParts): Conversation {
  const { reader } = connection;
  const waiting: (Uint8Array | undefined)[] = [];
  let isWorking = false;

  const work = async (): Promise<void> => {
    isWorking = true;
    while (waiting.length > 0) {
      await reader.drained();
      const message = waiting.shift();
      if (reader.ending() !== undefined) continue;
      try {
        await carryOut(message, { ...connection, signal });
      } catch (error) {
        if (!signal.aborted) reader.give(textFrame(errorText(error instanceof Refused ? error.ending : endingOf(error, onError))));
      }
    }
    isWorking = false;
  };
  return {
    hear(message) {
      if (reader.ending() !== undefined) return;
      if (waiting.length >= MAX_WAITING) {
        reader.end({ code: 'rate_limited', text: `at most ${MAX_WAITING} messages whose answers were not read` });
        return;
      }
      waiting.push(message);
      if (!isWorking) void work();
    },
    end: reader.end,
    ending: reader.ending,
  };
}

/** A request that does not fit what the connection has subscribed to. */
class Refused extends Error {
  constructor(readonly ending: Ending) {
    super(ending.text);
    this.name = 'Refused';
  }
}

async function carryOut(
  message: Uint8Array | undefined, { reader, subscriptions, subscribe, signal }: ConversationParts['connection'] & { readonly signal: AbortSignal },
): Promise<void> {
  const request = requestIn(message);
  const { type, channels } = request;
  const names = channels.map(({ name }) => name);
  const have = channels.filter((channel) => subscriptions.has(channel));
  if (type === 'unsubscribe') {
    const missing = channels.find((channel) => !have.includes(channel));
    if (missing !== undefined) throw refused('not_subscribed', missing, 'is not subscribed to, so nothing was changed');
    subscriptions.drop(channels);
    reader.give(textFrame(JSON.stringify({ type: 'unsubscribed', channels: names })));
    return;
  }
  const [again] = have;
  if (again !== undefined) throw refused('already_subscribed', again, 'is subscribed to already, so nothing was changed; to begin anew, unsubscribe first');
  const count = subscriptions.size() + channels.length;
  if (count > MAX_CHANNELS) throw new RequestError('invalid_request', `channels: at most ${MAX_CHANNELS} on a connection, not ${count}`);
  await subscriptions.room();
  await subscribe({ channels, from: request.from, signal, begun({ position, first }) {
    const answer = textFrame(JSON.stringify({ type: 'subscribed', channels: names, position }));
    reader.give(first === undefined ? answer : Buffer.concat([answer, frames.delivery(first)]));
  } });
}

function refused(code: string, { name }: Channel, text: string): Refused {
  return new Refused({ code, text: `${name} ${text}` });
}
