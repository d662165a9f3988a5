/**
 * One stream for all that the page follows: a browser has six connections to a server, and each tab needs one. It begins
 * anew when other channels are needed, and where something may be missing; then whoever follows reads anew what it keeps.
 */
import { signal } from '@preact/signals';
import type { Client, Message } from '../../client/src/client.js';
import { connection, onStream } from './connection.js';
import { exchange, readerFrom } from './exchange.js';

export interface Follower {
  /** `book:{marketId}`, `trades:{marketId}`, `orders:{address}`, `prices:{asset}`, `markets`. */
  readonly channels: readonly string[];
  /**
   * Everything after a log position will be told, and a book begins with its snapshot. What `reader` reads includes
   * everything up to that position: read anew what was kept. Called again where messages may be missing.
   */
  begins(reader: Client): void;
  take(message: Message): void;
}

/** Why the exchange does not let the page follow, in the API's words; empty while it does. */
export const streamRefusal = signal('');

/** A tab that nobody looks at gives its connection back after so long. */
const HIDDEN_MS = 30_000;
const RETRY_MS = 5_000;

const followers = new Set<Follower>();
let leaving: AbortController | undefined;
let due: ReturnType<typeof setTimeout> | undefined;

/** Follows channels until the returned function is called. */
export function follow(follower: Follower): () => void {
  followers.add(follower);
  beginIn(0);
  return () => {
    followers.delete(follower);
    beginIn(0);
  };
}

function beginIn(ms: number): void {
  clearTimeout(due);
  due = setTimeout(begin, ms);
}

function begin(): void {
  leaving?.abort(new DOMException('the page follows something else', 'AbortError'));
  leaving = undefined;
  onStream.clear();
  // There is always a stream, so that what the header says of the connection is so.
  const channels = [...new Set(['markets', ...[...followers].flatMap((each) => each.channels)])];
  if (!isAway) run(channels, leaving = new AbortController());
}

function run(channels: readonly string[], mine: AbortController): void {
  // A connection that goes on from where the last one was brings all that was between.
  let isNew = true;
  onStream.add((position) => {
    streamRefusal.value = '';
    if (!isNew) return;
    isNew = false;
    const reader = readerFrom(position);
    for (const follower of followers) follower.begins(reader);
  });
  tell(channels, mine).catch((error: unknown) => {
    if (mine.signal.aborted) return;
    connection.value = 'lost';
    streamRefusal.value = error instanceof Error ? error.message : String(error);
    beginIn(RETRY_MS);
  });
}

async function tell(channels: readonly string[], mine: AbortController): Promise<void> {
  for await (const message of exchange.peek().watch(channels, { signal: mine.signal })) {
    if (mine.signal.aborted) return;
    if (message.type === 'gap') {
      beginIn(0);
      return;
    }
    for (const follower of followers) if (follower.channels.includes(message.channel)) follower.take(message);
  }
}

let isAway = false;
let goesAway: ReturnType<typeof setTimeout> | undefined;

document.addEventListener('visibilitychange', () => {
  clearTimeout(goesAway);
  if (document.visibilityState === 'visible') {
    if (!isAway) return;
    isAway = false;
    beginIn(0);
  } else {
    goesAway = setTimeout(() => {
      isAway = true;
      begin();
    }, HIDDEN_MS);
  }
});

beginIn(0);
