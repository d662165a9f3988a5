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
import { createRecent, type Recent, type RecentLimits } from './recent.js';

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
  /** Whether all of the channels are told already, to readers or for those who may come back. */
  tells(channels: readonly Channel[]): boolean;
  /** What a reader who joins now gets first. All channels must be told. */
  snapshots(channels: readonly Channel[]): readonly Message[];
  /**
   * What a reader who joins now and has everything up to a position has missed, for who comes back soon. Undefined
   * when the hub does not have all of it, or it is more than is handed over at once. Readers of the same channels get
   * the same bytes.
   */
  missed(channels: readonly Channel[], from: number): Delivery | undefined;
  /**
   * Gives the reader all messages after `position()`. `openings` tells how a channel goes on there that is not told
   * yet. The function returned ends it.
   */
  join(channels: readonly Channel[], reader: Reader, openings: (channel: Channel) => Opening): () => void;
  /** How much it keeps for those who may come back, and of how many channels. */
  kept(): RecentLimits & { readonly channels: number };
  close(): Promise<void>;
}

export interface HubOptions {
  readonly log: Pick<Log, 'follow' | 'length'>;
  /** Called when the outcomes cannot be followed any more: every stream has ended then. */
  readonly onError: (error: unknown) => void;
  /** How it pauses between heartbeats; tests give their own. */
  readonly pause?: typeof pause;
  /** How many of the newest messages are kept for those who come back. */
  readonly recent?: RecentLimits;
}

export const HEARTBEAT_MS = 15_000;
/** A channel that nobody reads any more is told on for so many heartbeats, if there are at most so many of them. */
const LEFT_BEATS = 4;
const MOST_LEFT = 1_000;
/** Who has missed more characters comes to the present by the log, which goes at the reader's pace. */
const MISSED_AT_ONCE = 500_000;
/** So many different ones are remembered. */
const MOST_FOUND = 16;
/** So many outcomes are folded before the process gets to anything else. */
const AT_ONCE = 200;

/** Readers of the same channels, who get the same bytes. */
interface Group {
  readonly key: string;
  readonly channels: readonly Channel[];
  readonly readers: Set<Reader>;
  pending: Message[];
}

export function createHub({ log, onError, pause: rest = pause, recent }: HubOptions): Hub {
  const stop = new AbortController();
  const moved = createBell();
  let audience = createAudience(recent);
  let position = -1;
  let began: Promise<void> | undefined;
  const running: Promise<void>[] = [];

  const follow = async (): Promise<void> => {
    try {
      for await (const batch of log.follow('outcomes', position + 1, stop.signal)) {
        for (const [i, record] of batch.entries()) {
          if (audience.isTold()) audience.fold(record.position, record.data);
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
      audience = createAudience(recent);
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
    tells: (channels) => channels.every((channel) => audience.channels.has(channel)),
    snapshots: (channels) => channels.flatMap((channel) => audience.channels.snapshot(channel) ?? []),
    missed: (channels, from) => audience.missed(channels, from),
    join(channels, reader, openings) {
      if (began === undefined || stop.signal.aborted) throw new RequestError('unavailable', 'the history is not followed');
      const joined = audience;
      joined.add(channels, { reader, position, openings });
      return () => { joined.remove(channels, reader); };
    },
    kept: () => audience.kept(),
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

interface Joining {
  readonly reader: Reader;
  /** The last outcome that was folded. */
  readonly position: number;
  readonly openings: (channel: Channel) => Opening;
}

/** Who reads which channels, and the fold of these. */
function createAudience(limits: RecentLimits | undefined) {
  const channels: Channels = createChannels();
  const recent = createRecent(limits);
  const missed = createMissed(recent);
  const left = createLeft((forgotten) => {
    for (const channel of forgotten) channels.remove(channel);
    recent.close(new Set(forgotten.map(({ name }) => name)));
  });
  const groups = createGroups(left.add);
  const touched = new Set<Group>();

  return {
    channels,
    isTold: () => groups.size() + left.size() > 0,
    add(wanted: readonly Channel[], { reader, position, openings }: Joining): void {
      for (const channel of wanted) {
        left.remove(channel);
        if (channels.has(channel)) continue;
        channels.add(channel, openings(channel));
        recent.open(channel.name, position);
      }
      groups.add(wanted, reader);
    },
    remove: groups.remove,
    fold(position: number, data: Uint8Array): void {
      missed.clear();
      for (const message of channels.fold(position, decodeOutcome(data))) {
        recent.keep(message);
        for (const group of groups.of(message.channel)) {
          group.pending.push(message);
          touched.add(group);
        }
      }
    },
    missed: missed.by,
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
      for (const reader of groups.readers()) reader.beat(heartbeat);
      left.beat();
    },
    kept: () => ({ ...recent.kept(), channels: left.size() }),
    end(ending: Ending): void { for (const reader of groups.readers()) reader.end(ending); },
  };
}

/** The readers by what they read. `left` is called with each channel that the last one has left. */
function createGroups(left: (channel: Channel) => void) {
  const groups = new Map<string, Group>();
  const byChannel = new Map<string, Set<Group>>();

  const drop = (group: Group): void => {
    groups.delete(group.key);
    for (const channel of group.channels) {
      const others = byChannel.get(channel.name);
      others?.delete(group);
      if (others?.size !== 0) continue;
      byChannel.delete(channel.name);
      left(channel);
    }
  };
  return {
    size: () => groups.size,
    of: (channel: string): Iterable<Group> => byChannel.get(channel) ?? [],
    readers: (): Reader[] => [...groups.values()].flatMap(({ readers }) => [...readers]),
    add(channels: readonly Channel[], reader: Reader): void {
      const key = keyOf(channels);
      let group = groups.get(key);
      if (group === undefined) {
        groups.set(key, group = { key, channels, readers: new Set(), pending: [] });
        for (const { name } of channels) {
          const others = byChannel.get(name);
          if (others === undefined) byChannel.set(name, new Set([group])); else others.add(group);
        }
      }
      group.readers.add(reader);
    },
    remove(channels: readonly Channel[], reader: Reader): void {
      const group = groups.get(keyOf(channels));
      if (group?.readers.delete(reader) === true && group.readers.size === 0) drop(group);
    },
  };
}

/**
 * Channels that nobody reads any more, which are told on for a while: after a proxy's restart all readers come back at
 * the same moment.
 */
function createLeft(forget: (channels: readonly Channel[]) => void) {
  const left = new Map<string, { readonly channel: Channel; beats: number }>();
  const forgetIf = (isOver: (each: { beats: number }) => boolean): void => {
    const over = [...left.values()].filter(isOver).map(({ channel }) => channel);
    for (const { name } of over) left.delete(name);
    if (over.length > 0) forget(over);
  };
  return {
    size: () => left.size,
    add(channel: Channel): void {
      left.set(channel.name, { channel, beats: 0 });
      if (left.size <= MOST_LEFT) return;
      let surplus = MOST_LEFT / 10;
      forgetIf(() => surplus-- > 0);
    },
    remove({ name }: Channel): void { left.delete(name); },
    beat(): void { forgetIf((each) => ++each.beats > LEFT_BEATS); },
  };
}

/** What those who come back have missed: who left the same channels at the same moment gets the same bytes. */
function createMissed(recent: Recent) {
  const found = new Map<string, Delivery | undefined>();
  const find = (wanted: readonly Channel[], from: number): Delivery | undefined => {
    const messages = recent.after(wanted.map(({ name }) => name), from);
    const length = messages?.reduce((sum, message) => sum + message.length, 0) ?? Infinity;
    return messages === undefined || length > MISSED_AT_ONCE ? undefined : new Delivery(messages);
  };
  return {
    by(wanted: readonly Channel[], from: number): Delivery | undefined {
      const key = `${from} ${keyOf(wanted)}`;
      if (!found.has(key)) {
        if (found.size === MOST_FOUND) found.clear();
        found.set(key, find(wanted, from));
      }
      return found.get(key);
    },
    /** There are newer messages. */
    clear: () => { found.clear(); },
  };
}

function keyOf(channels: readonly Channel[]): string {
  return channels.map(({ name }) => name).sort().join();
}
