/**
 * What one connection reads. Whatever it subscribes to comes to the present by itself, and is then one reader of the hub
 * together with all else, so that all messages of the present come in the order of the history.
 */
import { beginAt, type Beginning, type CatchUpParts, type Wanted } from './catch-up.js';
import type { Channel } from './channel.js';
import type { Hub, Reader } from './hub.js';
import { Delivery, Heartbeat } from './message.js';
import type { StreamReader } from './stream-reader.js';

export interface Subscriptions {
  has(channel: Channel): boolean;
  /** How many channels there are. */
  size(): number;
  /** Resolves when more channels may set out: so one connection does not take the places of others on their way to the present. */
  room(): Promise<void>;
  /** Adds channels of which there is none yet. Resolves with their position; throws as `beginAt` does. */
  begin(wanted: Wanted): Promise<number>;
  /** Nothing more of these channels comes. */
  drop(channels: readonly Channel[]): void;
  /** Whether messages are to be had from the log. */
  isCatchingUp(): boolean;
  /** The next messages of the log, if there are any now. When the present is reached, the reader gets a heartbeat. */
  next(): Promise<Delivery | undefined>;
  leave(): void;
}

interface Course {
  readonly begun: Beginning;
  readonly channels: Map<string, Channel>;
  /** Whether it begins now: then little is to be had from the log, and it comes before histories. */
  readonly isNew: boolean;
}

/** So many requests of a connection are on their way to the present at a time. */
const MOST_COURSES = 2;

export function createSubscriptions(parts: CatchUpParts, reader: StreamReader): Subscriptions {
  const { hub } = parts;
  const names = new Set<string>();
  /** Not at the present yet. */
  const courses = new Set<Course>();
  let present: readonly Channel[] = [];
  let leaveHub: () => void = () => undefined;
  let hasLeft = false;
  let freed: (() => void) | undefined;

  /** A heartbeat is about all channels, so there is none while some are not at the present. */
  const ofHub: Reader = { ...reader, beat(heartbeat) { if (courses.size === 0) reader.beat(heartbeat); } };
  const read = (channels: readonly Channel[], openings: Parameters<Hub['join']>[2]): void => {
    const leaveBefore = leaveHub;
    present = channels;
    leaveHub = channels.length === 0 ? () => undefined : hub.join(channels, ofHub, openings);
    leaveBefore();
  };
  const own: CatchUpParts = { ...parts, hub: { ...hub, join(channels, _reader, openings) {
    if (!hasLeft) read([...present, ...channels], openings);
    return () => undefined;
  } } };

  return {
    has: ({ name }) => names.has(name),
    size: () => names.size,
    async room() {
      if (courses.size >= MOST_COURSES) await new Promise<void>((resolve) => { freed = resolve; });
    },
    async begin(wanted) {
      const { channels, from } = wanted;
      const beginning = await beginAt(own, { ...wanted, begun(begun) {
        if (hasLeft) return;
        for (const { name } of channels) names.add(name);
        courses.add({ begun, channels: new Map(channels.map((channel) => [channel.name, channel])), isNew: from === undefined });
        wanted.begun?.(begun);
      } }, ofHub);
      if (hasLeft) beginning.leave();
      return beginning.position;
    },
    drop(channels) {
      for (const { name } of channels) names.delete(name);
      for (const course of courses) {
        for (const channel of channels) if (course.channels.delete(channel.name)) course.begun.drop(channel);
        if (course.channels.size > 0) continue;
        course.begun.leave();
        courses.delete(course);
      }
      const rest = present.filter(({ name }) => names.has(name));
      if (rest.length < present.length) read(rest, ({ name }) => { throw new Error(`${name} is read by nobody`); });
    },
    isCatchingUp: () => courses.size > 0,
    async next() {
      const course = [...courses].find(({ isNew }) => isNew) ?? [...courses][0];
      const result = await course?.begun.deliveries.next();
      if (course === undefined || result === undefined || hasLeft) return undefined;
      if (result.done !== true) return ofChannels(result.value, names);
      if (courses.delete(course) && courses.size === 0) reader.beat(new Heartbeat(hub.position()));
      freed?.();
      return undefined;
    },
    leave() {
      hasLeft = true;
      for (const { begun } of courses) begun.leave();
      courses.clear();
      leaveHub();
      freed?.();
    },
  };
}

/** Without what was dropped while it was read. */
function ofChannels(delivery: Delivery, names: ReadonlySet<string>): Delivery | undefined {
  if (delivery.messages.every(({ channel }) => names.has(channel))) return delivery;
  const messages = delivery.messages.filter(({ channel }) => names.has(channel));
  return messages.length === 0 ? undefined : new Delivery(messages);
}
