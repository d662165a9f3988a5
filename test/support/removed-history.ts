/** Read models whose old history is removed, as tests need it: fills that do not wait for ever, and single rounds. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event, EventOf } from '../../engine/records/events.js';
import { removeHistory, type RemovalOptions, type RemovalRound } from '../../projections/history/removal.js';
import { txHash } from './random-commands.js';

/** The same outcomes; a fill that never settles or fails in them settles `after` outcomes later, if there are so many. */
export function settledAfter(outcomes: readonly CommandOutcome[], after: number): CommandOutcome[] {
  const waiting = new Map<number, { readonly due: number; readonly event: EventOf<'FillMatched'> }>();
  for (const [position, { events }] of outcomes.entries()) {
    for (const event of events) {
      if (event.type === 'FillMatched') waiting.set(event.fill, { due: position + after, event });
      else if (event.type === 'FillSettled' || event.type === 'FillFailed') waiting.delete(event.fill);
    }
  }
  return outcomes.map(({ at, events }, position) => ({ at, events: [...events, ...[...waiting.values()].flatMap(({ due, event }): Event[] => (
    due === position ? [{ ...event, type: 'FillSettled', v: 1, txHash: txHash(0x30000000 + event.fill) }] : []))] }));
}

/** One round of the removal, in small pieces without rests. Rejects when it fails. */
export async function removeOnce(options: Omit<RemovalOptions, 'signal' | 'report'> & Partial<RemovalOptions>): Promise<RemovalRound> {
  const stop = new AbortController();
  let done: RemovalRound | undefined;
  await removeHistory({
    rows: 20, restMs: 0, report: (_, text) => { throw new Error(text); }, ...options, signal: stop.signal,
    onRound(round) {
      done = round;
      stop.abort();
    },
  });
  if (done === undefined) throw new Error('the round did not end');
  return done;
}
