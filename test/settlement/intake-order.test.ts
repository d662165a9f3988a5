/** The intake writes before it takes over: what the database does not have yet, and may never have, is neither shown nor counted. */
import { deepEqual, throws } from 'node:assert/strict';
import type { SettlementStore } from '../../command/settlement/store.js';
import { OutboxUnavailable } from '../../command/lane/requests.js';
import { createDatabase } from '../harness/memory/database.js';
import { createIntakeTables, openMemoryStore } from '../harness/memory/intake.js';
import { createHistory, marketIn, spokenFeed } from '../support/feed-history.js';
import { turnsUntil } from '../support/until.js';
import { createIntakes, shows, type Intakes, type RunningIntake } from './running-intake.js';

const red = marketIn(2);

describe('settlement: the order in which the intake writes and shows', () => {
  let intakes: Intakes;
  /** Ends the write that is under way; undefined while there is none. */
  let end: ((error?: Error) => void) | undefined;
  let holds = false;

  beforeEach(() => {
    const [database, tables] = [createDatabase(), createIntakeTables()];
    intakes = createIntakes(async (session) => {
      const store = await openMemoryStore({ database, tables, carry: async (_, work) => work() }, { standByMs: 5, ...session });
      return { ...store, take: (changes, nowMs) => held(() => store.take(changes, nowMs)) } satisfies SettlementStore;
    });
    [holds, end] = [false, undefined];
  });
  afterEach(async () => {
    holds = false;
    end?.();
    await intakes.stop();
  });

  async function held(write: () => Promise<void>): Promise<void> {
    if (!holds) return write();
    const error = await new Promise<Error | undefined>((resolve) => { end = resolve; });
    end = undefined;
    if (error !== undefined) throw error;
    await write();
  }

  /** All that anybody is told of what has come. */
  const told = (running: RunningIntake) => {
    const { intake } = running;
    const { position } = intake.status();
    return { watermark: intake.watermark(), position, barrier: intake.barrier(1)?.block, history: intake.history().position };
  };

  for (const [name, error] of [['is written', undefined], ['cannot be written', new OutboxUnavailable(new Error('cut'))]] as const) {
    it(`a batch that ${name} is shown afterwards, not before`, async () => {
      const [feed, history] = [spokenFeed(), createHistory()];
      const running = await intakes.start(feed);
      feed.say([history.opened(red), history.matched(red), ...history.advanced(1, 6)], 3);
      await shows(running, { watermark: 1, fills: [0], nextBlock: 7 });
      const before = { watermark: 1, position: 3, barrier: 6, history: 2 };
      deepEqual(told(running), before);
      const store = await running.intake.held(AbortSignal.timeout(60_000));
      holds = true;
      feed.say([history.settled(0, red), history.matched(red), ...history.advanced(1, 8)], 6);
      await turnsUntil('the batch is being written', () => end !== undefined);
      deepEqual(told(running), before);
      store.check();
      holds = false;
      end!(error);
      const after = { watermark: 2, position: 6, barrier: 8, history: 5 };
      if (error !== undefined) {
        await turnsUntil('another session is opened', () => running.intake.status().problem !== undefined);
        deepEqual(told(running), before);
        throws(() => { store.check(); }, OutboxUnavailable);
      }
      await turnsUntil('the batch is shown', () => JSON.stringify(told(running)) === JSON.stringify(after));
    });
  }
});
