/** An order as its own command left it: exactly what the read model answers when it has come that far. */
import assert from 'node:assert/strict';
import { type CommandOutcome } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { openReadModels } from '../../query/database.js';
import { orderWithHistory, orderAsPlaced } from '../../query/orders/order.js';
import { testDatabase } from '../support/postgres.js';
import { appendOutcomes, projectTo } from '../support/projected.js';
import { createRandomCommands, crowd } from '../support/random-commands.js';

const LENGTH = 3_000;

function randomOutcomes(): CommandOutcome[] {
  const commands = createRandomCommands(17, crowd);
  const engine = createEngine();
  return Array.from({ length: LENGTH }, () => {
    const { outcome } = engine.step(encodeCommand(commands.next()));
    commands.learn(outcome);
    return outcome;
  });
}

/** A few positions of each kind of beginning: resting at once, filled in part or whole, cancelled by its own command. */
function samplesOf(outcomes: readonly CommandOutcome[]): number[] {
  const found = new Map<string, number[]>();
  for (const [position, { events }] of outcomes.entries()) {
    if (events[0]?.type !== 'OrderAccepted') continue;
    const kinds = new Set(events.map((event) => event.type === 'OrderCancelled' && event.orderNumber !== position ? 'another cancelled' : event.type));
    const kind = [...kinds].sort().join();
    found.set(kind, [...found.get(kind) ?? [], position]);
  }
  assert.ok(found.size >= 5, `the history has too little in it: ${[...found.keys()].join('; ')}`);
  return [...found.values()].flatMap((positions) => positions.slice(0, 4)).sort((a, b) => a - b);
}

describe('query: an order that the read model does not have yet', () => {
  it('is answered as the read model will answer it at the order\'s position', async () => {
    const { url } = await testDatabase();
    const outcomes = randomOutcomes();
    const log = createMemoryLog();
    let projected = 0;
    for (const position of samplesOf(outcomes)) {
      await appendOutcomes(log, outcomes.slice(projected, position + 1));
      await projectTo(position + 1, { url, log });
      projected = position + 1;
      const db = await openReadModels({ url });
      const [event] = outcomes[position]!.events;
      assert.ok(event?.type === 'OrderAccepted');
      const { body, position: asOf } = orderAsPlaced(outcomes[position]!);
      assert.deepEqual({ body, position: asOf }, await orderWithHistory(db, { orderHash: event.orderHash }));
      await db.close();
    }
  });

  it('is only in the outcome of its acceptance', () => {
    assert.throws(() => orderAsPlaced({ at: 0, events: [] }), /began with nothing/);
  });
});
