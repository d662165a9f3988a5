/** How a reader comes to the present: what it gets first, then everything after that from the log, until it has what the hub has, and joins. */
import type { Log, LogRecord } from '../../engine/log/log.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import { RequestError } from '../../engine/records/errors.js';
import { joined } from '../../engine/waiting.js';
import type { Database } from '../database.js';
import { createTurns, type Turns } from '../turns.js';
import { createChannels, emptyOpening, type Channels, type Unknown } from './channels.js';
import type { Channel } from './channel.js';
import type { Hub, Reader } from './hub.js';
import { createOpenings, type Openings } from './kept-openings.js';
import { Delivery, type Message } from './message.js';
import { learnAt } from './openings.js';
import { createPages, type Pages } from './pages.js';

/** What all readers of a process share on their way to the present. */
export interface CatchUpParts {
  readonly hub: Hub;
  readonly db: Pick<Database, 'rows' | 'position' | 'waitForPosition'>;
  readonly pages: Pages;
  readonly openings: Openings;
  /** The outcomes that the log has. */
  readonly length: () => Promise<number>;
  /** One slice of a history at a time for all readers together: what else the process does never waits for more than one. */
  readonly turns: Turns;
  readonly ways: Ways;
}

/** Readers on their way to the present. Each has a fold of its own, so there is a limit; the others wait. */
interface Ways {
  /** Waits for a place; the function returned gives it back. */
  setOut(): Promise<() => void>;
  /** How many are on their way. */
  taken(): number;
}

export interface CatchUpOptions extends Pick<CatchUpParts, 'hub' | 'db'> {
  readonly log: Pick<Log, 'read' | 'length'>;
}

const MOST_ON_THEIR_WAY = 256;

export function catchUpParts({ hub, db, log }: CatchUpOptions): CatchUpParts {
  return {
    hub, db, pages: createPages(log), openings: createOpenings(db, createTurns(2)),
    length: joined(() => log.length('outcomes')), turns: createTurns(1), ways: createWays(),
  };
}

function createWays(): Ways {
  const places = createTurns(MOST_ON_THEIR_WAY);
  let taken = 0;
  return {
    taken: () => taken,
    async setOut() {
      const giveBack = await new Promise<() => void>((resolve) => {
        void places(() => new Promise<void>((done) => { resolve(done); }));
      });
      taken += 1;
      let isOver = false;
      return () => {
        if (!isOver) taken -= 1;
        isOver = true;
        giveBack();
      };
    },
  };
}

/** What a reader asks for. */
export interface Wanted {
  readonly channels: readonly Channel[];
  /** The position of the last message that it has; -1 for the whole history. Undefined: it begins now, with a snapshot. */
  readonly from: number | undefined;
  readonly signal: AbortSignal;
  /** Called with the beginning before anything of the channels is given to the reader. */
  readonly begun?: (beginning: Beginning) => void;
}

/** A beginning whose request was found good. */
export interface Beginning {
  /** The reader has everything up to this position, or does not want it. */
  readonly position: number;
  /** What it gets at once: the snapshots, if it begins now; what it has missed, if it comes back soon. */
  readonly first: Delivery | undefined;
  /** What the log has, until the reader has joined the hub, from which all later messages come. */
  readonly deliveries: AsyncGenerator<Delivery, void, undefined>;
  /** Nothing more of the channel comes from the log; when the reader has joined the hub, this does nothing. */
  drop(channel: Channel): void;
  /** Nothing more comes. */
  leave(): void;
}

/** So many outcomes are folded in one turn. */
const SLICE_RECORDS = 100;
/** The hub may be that much behind the log, or the read models behind the hub. */
const BEHIND_MS = 2_000;

/**
 * Throws RequestError `not_recorded_yet` for a position to come, `history_removed` for one before the read models' horizon, `unavailable` and
 * `not_caught_up` when log or read models are away or behind.
 */
export async function beginAt(parts: CatchUpParts, wanted: Wanted, reader: Reader): Promise<Beginning> {
  const { hub } = parts;
  const { from } = wanted;
  await hub.start();
  if (from !== undefined && from > hub.position()) await mustBeRecorded(parts, from);
  const atOnce = fromHub(hub, wanted, reader);
  if (atOnce !== undefined) return atOnce;
  const arrived = await parts.ways.setOut();
  try {
    // Who went before may have brought all that this one wants.
    const meanwhile = fromHub(hub, wanted, reader);
    if (meanwhile === undefined) return await onItsWay(parts, wanted, { reader, arrived });
    arrived();
    return meanwhile;
  } catch (error) {
    arrived();
    throw error;
  }
}

/** What the hub has itself: the present, and all that a reader has missed who comes back soon. Costs no query. */
function fromHub(hub: Hub, { channels, from, begun }: Wanted, reader: Reader): Beginning | undefined {
  if (!hub.tells(channels)) return undefined;
  const first = from === undefined ? burstOf(hub.snapshots(channels)) : hub.missed(channels, from);
  if (from !== undefined && first === undefined) return undefined;
  let leaveHub = (): void => undefined;
  const beginning: Beginning = {
    position: from ?? hub.position(), first: first?.messages.length === 0 ? undefined : first, deliveries: nothing(),
    drop: () => undefined, leave: () => { leaveHub(); },
  };
  begun?.(beginning);
  leaveHub = hub.join(channels, reader, neverNeeded);
  return beginning;
}

async function onItsWay(
  parts: CatchUpParts, wanted: Wanted, { reader, arrived }: Pick<Course, 'reader' | 'arrived'>,
): Promise<Beginning> {
  const { channels, from, begun } = wanted;
  const position = from ?? parts.hub.position();
  const { fold, known } = await openAt(parts, wanted, position);
  const first = from === undefined ? burstOf(channels.flatMap((channel) => fold.snapshot(channel) ?? [])) : undefined;
  const course: Course = {
    channels, fold, knowsAll: position < 0, known, position, reader, arrived, hasLeft: false, leaveHub: undefined,
  };
  const beginning: Beginning = {
    position, first, deliveries: fromLog(parts, course),
    drop(channel) {
      if (course.leaveHub !== undefined) return;
      course.channels = course.channels.filter(({ name }) => name !== channel.name);
      fold.remove(channel);
    },
    leave() {
      course.hasLeft = true;
      course.leaveHub?.();
      arrived();
    },
  };
  begun?.(beginning);
  return beginning;
}

/** The channels as they are at a position, and up to where the read models were when they were read. */
async function openAt(
  { db, openings }: CatchUpParts, { channels, signal }: Wanted, position: number,
): Promise<Pick<Course, 'fold' | 'known'>> {
  const fold = createChannels();
  if (position < 0) {
    for (const channel of channels) fold.add(channel, emptyOpening(channel));
    return { fold, known: -1 };
  }
  await db.waitForPosition(position, { timeoutMs: BEHIND_MS, signal });
  let furthest = position;
  for (const [i, { opening, known }] of (await openings.at(channels, position)).entries()) {
    const channel = channels[i];
    if (channel !== undefined) fold.add(channel, opening);
    furthest = Math.max(furthest, known);
  }
  return { fold, known: furthest };
}

function neverNeeded(channel: Channel): never {
  throw new Error(`${channel.name} is read by nobody`);
}

async function mustBeRecorded({ hub, length }: CatchUpParts, from: number): Promise<void> {
  const newest = await length() - 1;
  if (from > newest) throw new RequestError('not_recorded_yet', `the newest position is ${newest}`);
  await hub.reached(from, BEHIND_MS);
  if (from > hub.position()) throw new RequestError('not_caught_up', `the streams are at ${hub.position()}`);
}

/** Snapshots by their positions, as one burst: a reader who has not got all of them begins anew. */
function burstOf(snapshots: readonly Message[]): Delivery | undefined {
  return snapshots.length === 0 ? undefined : new Delivery([...snapshots].sort((a, b) => a.position - b.position), { isOneBurst: true });
}

// eslint-disable-next-line @typescript-eslint/no-empty-function -- a reader who has joined already gets nothing from the log
async function* nothing(): Beginning['deliveries'] {}

interface Course {
  channels: readonly Channel[];
  readonly fold: Channels;
  /** Whether it began before the first outcome, so that nothing has to be looked up. */
  readonly knowsAll: boolean;
  /**
   * What was over at this position may not be among the openings: up to here it is looked up when it is named. So the hub, which looks nothing
   * up, is not joined before.
   */
  readonly known: number;
  /** The last outcome that was folded. */
  position: number;
  readonly reader: Reader;
  /** Gives back its place among those who are on their way. */
  readonly arrived: () => void;
  hasLeft: boolean;
  leaveHub: (() => void) | undefined;
}

async function* fromLog(parts: CatchUpParts, course: Course): Beginning['deliveries'] {
  const { hub } = parts;
  const { fold, known, reader } = course;
  while (!course.hasLeft) {
    const end = hub.position();
    if (course.position === end && end >= known) {
      // Without a wait since the position was compared: nothing comes between the last message of the log and the first one of the hub.
      course.leaveHub = hub.join(course.channels, reader, (channel) => fold.remove(channel));
      course.arrived();
      return;
    }
    if (course.position === end) {
      await hub.reached(known, BEHIND_MS);
      continue;
    }
    const turn = Math.min(SLICE_RECORDS, end - course.position);
    const slice = await parts.pages.from(course.position + 1, { turn, crowd: parts.ways.taken() });
    const messages = await parts.turns(() => foldSlice(parts, course, slice));
    if (messages.length > 0) yield new Delivery(messages);
  }
}

/** Folds consecutive outcomes that follow the position. */
async function foldSlice({ db }: CatchUpParts, course: Course, slice: readonly LogRecord[]): Promise<Message[]> {
  const { channels, fold, knowsAll, position: before } = course;
  const mayTell = filterOf(channels);
  const outcomes = slice.flatMap(({ position, data }) => mayTell(data) ? [{ position, outcome: decodeOutcome(data) }] : []);
  const unknown = knowsAll ? NOTHING : fold.unknown(outcomes.map(({ outcome }) => outcome));
  if (unknown.orders.length + unknown.fills.length > 0) {
    const traders = channels.flatMap((channel) => channel.kind === 'orders' ? [channel.trader] : []);
    fold.learn(await learnAt({ db, position: before }, unknown, traders));
  }
  course.position = slice.at(-1)?.position ?? before;
  return outcomes.flatMap(({ position, outcome }) => fold.fold(position, outcome));
}

const NOTHING: Unknown = { orders: [], fills: [] };

/** Whether an outcome may have messages of the channels: looking at its bytes takes a tenth of the time of decoding them. */
function filterOf(channels: readonly Channel[]): (data: Uint8Array) => boolean {
  const marks = [...new Set(channels.flatMap(marksOf))].map((mark) => Buffer.from(mark));
  return (data) => {
    const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    return marks.some((mark) => text.includes(mark));
  };
}

function marksOf(channel: Channel): string[] {
  switch (channel.kind) {
    case 'book': return [channel.marketId];
    case 'trades': return [channel.marketId, '"SettlementSubmitted"'];
    // What happens to an order names its trader only where it trades or is accepted.
    case 'orders': return [channel.trader, '"OrderCancelled"', '"OrderReduced"', '"OrderReinstated"'];
    case 'prices': return ['"PriceRecorded"'];
    case 'markets': return ['"Market', '"Resolution'];
  }
}
