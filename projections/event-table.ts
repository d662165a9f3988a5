/**
 * What a read model makes of every event type: a handler, or the word `ignored`. A table that leaves a type out does not compile, so a new event
 * waits in every projection for a decision.
 */
import type { Event } from '../engine/records/events.js';
import type { FoldedOutcome } from './projection.js';

export type EventType = Event['type'];
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;

/** Takes an event into what the batch changes. It does not write: rows are written once for the whole batch. */
type Handler<Changes, Type extends EventType> = (changes: Changes, event: EventOf<Type>, outcome: FoldedOutcome) => void;

export type EventTable<Changes> = { readonly [Type in EventType]: Handler<Changes, Type> | 'ignored' };

/** Takes every event of a batch into `changes`, in the order of the log. */
export function foldEvents<Changes>(table: EventTable<Changes>, batch: readonly FoldedOutcome[], changes: NoInfer<Changes>): Changes {
  // A table's entry takes the events of its own key, which the compiler cannot follow through a computed key.
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

/** The event types that all of these tables ignore. */
export function ignoredBy(first: Decisions, ...others: readonly Decisions[]): ReadonlySet<EventType> {
  const types = Object.keys(first) as EventType[];
  return new Set(types.filter((type) => [first, ...others].every((table) => table[type] === 'ignored')));
}
