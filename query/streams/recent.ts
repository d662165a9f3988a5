/**
 * The newest messages of the channels that the hub tells. Who comes back soon gets from them what it has missed, which
 * costs no query and no reading of the log, however many come at the same moment.
 */
import type { Message } from './message.js';

/** How much is kept of all channels together. */
export interface RecentLimits {
  readonly messages: number;
  /** Of their texts. */
  readonly bytes: number;
}

export const RECENT: RecentLimits = { messages: 20_000, bytes: 16_000_000 };

export interface Recent {
  /** The channel's messages after this position are kept from now on. */
  open(channel: string, position: number): void;
  /** Nobody will come back to these channels. */
  close(channels: ReadonlySet<string>): void;
  /** In the order in which the outcomes are folded. */
  keep(message: Message): void;
  /** All messages of these channels after the position; undefined when some of them are not kept, or not any more. */
  after(channels: readonly string[], position: number): readonly Message[] | undefined;
  /** How much is kept now. */
  kept(): RecentLimits;
}

/** What is kept of one channel. */
interface Shelf {
  /** All messages after this position are here. */
  since: number;
  entries: Entry[];
}

interface Entry {
  readonly message: Message;
  readonly shelf: Shelf;
  /** Counts all messages. */
  readonly number: number;
}

export function createRecent(limits: RecentLimits = RECENT): Recent {
  const shelves = new Map<string, Shelf>();
  let all: Entry[] = [];
  let bytes = 0;
  let number = 0;

  /** Drops the older half, so that nothing is copied at every message. */
  const drop = (): void => {
    const touched = new Set<Shelf>();
    let dropped = 0;
    for (const { message, shelf } of all) {
      if (all.length - dropped <= limits.messages / 2 && bytes <= limits.bytes / 2) break;
      dropped += 1;
      bytes -= message.length;
      shelf.since = message.position;
      touched.add(shelf);
    }
    all = all.slice(dropped);
    for (const shelf of touched) shelf.entries = shelf.entries.slice(firstAfter(shelf.entries, shelf.since));
  };

  return {
    open(channel, position) { shelves.set(channel, { since: position, entries: [] }); },
    close(channels) {
      const closed = new Set([...channels].flatMap((channel) => shelves.get(channel) ?? []));
      for (const channel of channels) shelves.delete(channel);
      all = all.filter(({ shelf }) => !closed.has(shelf));
      for (const { entries } of closed) for (const { message } of entries) bytes -= message.length;
    },
    keep(message) {
      const shelf = shelves.get(message.channel);
      if (shelf === undefined) return;
      const entry = { message, shelf, number: number++ };
      shelf.entries.push(entry);
      all.push(entry);
      bytes += message.length;
      if (all.length > limits.messages || bytes > limits.bytes) drop();
    },
    after(channels, position) {
      const found: Entry[] = [];
      for (const channel of channels) {
        const shelf = shelves.get(channel);
        if (shelf === undefined || position < shelf.since) return undefined;
        found.push(...shelf.entries.slice(firstAfter(shelf.entries, position)));
      }
      if (channels.length > 1) found.sort((a, b) => a.number - b.number);
      return found.map(({ message }) => message);
    },
    kept: () => ({ messages: all.length, bytes }),
  };
}

/** The index of the first one after the position. */
function firstAfter(entries: readonly Entry[], position: number): number {
  let [first, end] = [0, entries.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if ((entries[middle]?.message.position ?? 0) > position) end = middle; else first = middle + 1;
  }
  return first;
}
