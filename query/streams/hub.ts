/**
 * What all streams of a process share: one follower of the outcomes, one fold of the channels that somebody reads now, and one encoding of each
 * message, which goes to all of its readers.
 */
import { setImmediate } from 'node:timers/promises';
import type { Log } from '../../engine/log/log.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { RequestError } from '../../engine/records/errors.js';
import { createBell, pause } from '../../engine/waiting.js';
import { createChannels, type Channels, type Opening } from './channels.js';
import type { Channel } from './channel.js';
import type { Ending } from '../../service/api/conversation.js';
import { Delivery, Heartbeat, type Message } from './message.js';

/** Whoever gets messages as they come. */
export interface Reader {
  /** Messages, in the order of their positions, all of each position at once. Must not throw. */
  take(delivery: Delivery): void;
  /** Everything up to a position has been given. */
  beat(heartbeat: Heartbeat): void;
  /** No more comes, for this reason. */
  end(ending: Ending): void;
}

export interface Hub {
  /** Resolves when the outcomes are followed. Throws LogUnavailable. */
  start(): Promise<void>;
  /** The position of the last outcome whose messages the readers have. */
  position(): number;
  /** Waits until the position is at least this one, at most so long. */
  reached(position: number, timeoutMs: number): Promise<void>;
  /** Whether all of the channels are read already. */
  reads(channels: readonly Channel[]): boolean;
  /** What a reader who joins now gets first. All channels must be read. */
  snapshots(channels: readonly Channel[]): readonly Message[];
  /**
   * Gives the reader all messages after `position()`. `openings` tells how a channel goes on there that nobody reads yet. The function returned
   * ends it.
   */
  join(channels: readonly Channel[], reader: Reader, openings: (channel: Channel) => Opening): () => void;
  close(): Promise<void>;
}

export interface HubOptions {
  readonly log: Pick<Log, 'follow' | 'length'>;
  /** Called when the outcomes cannot be followed any more: every stream has ended then. */
  readonly onError: (error: unknown) => void;
  /** How it pauses between heartbeats; tests give their own. */
  readonly pause?: typeof pause;
}

export const HEARTBEAT_MS = 15_000;
/** So many outcomes are folded before the process gets to anything else. */
const AT_ONCE = 200;

/** Readers of the same channels, who get the same bytes. */
interface Group {
  readonly key: string;
  readonly channels: readonly Channel[];
  readonly readers: Set<Reader>;
  pending: Message[];
}

export function createHub({ log, onError, pause: rest = pause }: HubOptions): Hub {
  const stop = new AbortController();
  const moved = createBell();
  let audience = createAudience();
  let position = -1;
  let began: Promise<void> | undefined;
  const running: Promise<void>[] = [];

  const follow = async (): Promise<void> => {
    try {
      for await (const batch of log.follow('outcomes', position + 1, stop.signal)) {
        for (const [i, record] of batch.entries()) {
          if (audience.isRead()) audience.fold(record.position, record.data);
          position = record.position;
          if ((i + 1) % AT_ONCE !== 0 && i + 1 < batch.length) continue;
          audience.deliver();
          moved.ring();
          if (i + 1 < batch.length) await setImmediate();
        }
      }
    } catch (error) {
      began = undefined;
      const left = audience;
      audience = createAudience();
      left.end({ code: 'unavailable', text: 'the history cannot be followed at the moment; connect again, with the last position' });
      onError(error);
    }
  };
  const begin = async (): Promise<void> => {
    try {
      position = await log.length('outcomes') - 1;
      if (running.length === 0) running.push(beating(() => { audience.beat(position); }, rest, stop.signal));
      running.push(follow());
    } catch (error) {
      began = undefined;
      throw error;
    }
  };

  return {
    async start() {
      if (stop.signal.aborted) throw new RequestError('unavailable', 'the service is stopping');
      await (began ??= begin());
    },
    position: () => position,
    async reached(wanted, timeoutMs) {
      const patience = AbortSignal.any([AbortSignal.timeout(timeoutMs), stop.signal]);
      while (position < wanted && !patience.aborted) await moved.wait(patience, timeoutMs);
    },
    reads: (channels) => channels.every((channel) => audience.channels.has(channel)),
    snapshots: (channels) => channels.flatMap((channel) => audience.channels.snapshot(channel) ?? []),
    join(channels, reader, openings) {
      if (began === undefined || stop.signal.aborted) throw new RequestError('unavailable', 'the history is not followed');
      const joined = audience;
      joined.add(channels, reader, openings);
      return () => { joined.remove(channels, reader); };
    },
    async close() {
      stop.abort();
      moved.ring();
      audience.end({ code: 'unavailable', text: 'the service is stopping; connect again, with the last position' });
      await began?.catch(() => undefined);
      await Promise.all(running);
    },
  };
}

async function beating(beat: () => void, rest: typeof pause, signal: AbortSignal): Promise<void> {
  for (;;) {
    await rest(HEARTBEAT_MS, signal);
    if (signal.aborted) return;
    beat();
  }
}

/** Who reads which channels, and the fold of these. */
function createAudience() {
  const channels: Channels = createChannels();
  const groups = new Map<string, Group>();
  const groupsOf = new Map<string, Set<Group>>();
  const touched = new Set<Group>();

  const drop = (group: Group): void => {
    groups.delete(group.key);
    for (const channel of group.channels) {
      const others = groupsOf.get(channel.name);
      others?.delete(group);
      if (others?.size !== 0) continue;
      groupsOf.delete(channel.name);
      channels.remove(channel);
    }
  };
  const all = (): Reader[] => [...groups.values()].flatMap(({ readers }) => [...readers]);

  return {
    channels,
    isRead: () => groups.size > 0,
    add(wanted: readonly Channel[], reader: Reader, openings: (channel: Channel) => Opening): void {
      const key = keyOf(wanted);
      let group = groups.get(key);
      if (group === undefined) {
        groups.set(key, group = { key, channels: wanted, readers: new Set(), pending: [] });
        for (const channel of wanted) {
          if (!channels.has(channel)) channels.add(channel, openings(channel));
          const others = groupsOf.get(channel.name);
          if (others === undefined) groupsOf.set(channel.name, new Set([group])); else others.add(group);
        }
      }
      group.readers.add(reader);
    },
    remove(wanted: readonly Channel[], reader: Reader): void {
      const group = groups.get(keyOf(wanted));
      if (group?.readers.delete(reader) === true && group.readers.size === 0) drop(group);
    },
    fold(position: number, data: Uint8Array): void {
      for (const message of channels.fold(position, decodeOutcome(data))) {
        for (const group of groupsOf.get(message.channel) ?? []) {
          group.pending.push(message);
          touched.add(group);
        }
      }
    },
    /** Gives everybody what has been folded. */
    deliver(): void {
      for (const group of touched) {
        const delivery = new Delivery(group.pending);
        group.pending = [];
        for (const reader of [...group.readers]) reader.take(delivery);
      }
      touched.clear();
    },
    beat(position: number): void {
      const heartbeat = new Heartbeat(position);
      for (const reader of all()) reader.beat(heartbeat);
    },
    end(ending: Ending): void { for (const reader of all()) reader.end(ending); },
  };
}

function keyOf(channels: readonly Channel[]): string {
  return channels.map(({ name }) => name).sort().join();
}
