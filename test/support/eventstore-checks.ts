/** What must hold of a history that was written while its store was killed. */
import assert from 'node:assert/strict';
import { eventsOf, type History } from './crash-checks.js';

/** An order that was acknowledged, and the log position of its answer. */
export interface Sent {
  readonly orderHash: string;
  readonly position: number;
}

/** Every acknowledged order was accepted exactly once, at the position that its answer told or before it. */
export function provesHistoryOnce(history: History, sent: readonly Sent[]): void {
  const accepted = eventsOf(history, 'OrderAccepted').map(({ orderHash }) => orderHash as string);
  assert.deepEqual(accepted.toSorted(), sent.map(({ orderHash }) => orderHash).toSorted());
  assert.ok(sent.every(({ position }) => position < history.entries.length));
}
