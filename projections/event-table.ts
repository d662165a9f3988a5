/**
 * How a read model handles each event type: a handler, or the word `ignored`. A table without an entry for every type does not compile, so a
 * new event type needs a decision in every projection.
 */
import type { Event } from '../engine/records/events.js';
import type { FoldedOutcome } from './projection.js';

export type EventType = Event['type'];
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;

/** Adds an event to the batch's changes. Does not write rows: they are written once per batch. */
type Handler<Changes, Type extends EventType> = (changes: Changes, event: EventOf<Type>, outcome: FoldedOutcome) => void;

export type EventTable<Changes> = { readonly [Type in EventType]: Handler<Changes, Type> | 'ignored' };

/** Adds every event of a batch to `changes`, in the order of the log, and returns `changes`. */
export function foldEvents<Changes>(table: EventTable<Changes>, batch: readonly FoldedOutcome[], changes: NoInfer<Changes>): Changes {
  // Each entry takes the events of its own key; the compiler cannot infer that for a computed key.
  const entries = table as Readonly<Record<EventType, ((changes: Changes, event: Event, outcome: FoldedOutcome) => void) | 'ignored'>>;
  for (const outcome of batch) {
    for (const event of outcome.events) {
      const handler = entries[event.type];
      if (handler !== 'ignored') handler(changes, event, outcome);
    }
  }
  return changes;
}

type Decisions = Readonly<Record<EventType, unknown>>;

/** The event types that all given tables ignore. */
export function ignoredBy(first: Decisions, ...others: readonly Decisions[]): ReadonlySet<EventType> {
  const types = Object.keys(first) as EventType[];
  return new Set(types.filter((type) => [first, ...others].every((table) => table[type] === 'ignored')));
}
