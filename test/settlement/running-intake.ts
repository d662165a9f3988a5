/** Intakes that a test runs, whatever store they have, and what they show. */
import { OutboxUnavailable } from '../../command/lane/requests.js';
import { runIntake, type Intake, type IntakeOptions } from '../../command/settlement/intake.js';
import { type QueuedFill, type SettlementStore } from '../../command/settlement/store.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeOutcome } from '../../engine/run/new-record.js';
import { digestAt } from '../support/feed-history.js';
import { appendAll, newRecord } from '../support/log-records.js';
import { until } from '../support/until.js';

const BACKOFF = { firstMs: 5, longestMs: 20 };

/** A log of so many outcomes, as the intake compares it with what it has. */
export async function logOf(outcomes: number) {
  const log = createMemoryLog();
  await appendAll(log, 'outcomes', Array.from({ length: outcomes }, (_, i) => newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(i)))));
  return log;
}

/** A log that has whatever has been taken in, and nothing that is to be waited for. */
const anyLog: IntakeOptions['log'] = {
  length: () => Promise.resolve(0),
  read: (_stream, position) => Promise.resolve([{ position, ...newRecord(encodeOutcome('{"at":1,"events":[]}', digestAt(position))) }]),
};

export interface RunningIntake {
  readonly intake: Intake;
  /** The session that was opened last. */
  readonly store: () => SettlementStore;
  stop(): Promise<void>;
}

export interface Shown { readonly watermark: number; readonly fills: readonly number[]; readonly nextBlock: number }

export interface Intakes {
  start(feed: IntakeOptions['feed'], options?: Partial<IntakeOptions>): Promise<RunningIntake>;
  stop(): Promise<void>;
}

export function createIntakes(openStore: IntakeOptions['openStore']): Intakes {
  const stops: (() => Promise<unknown>)[] = [];
  return {
    async start(feed, options = {}) {
      const stopping = new AbortController();
      let opened: SettlementStore | undefined;
      const intake = runIntake({
        feed, log: anyLog, now: Date.now, checkChains: () => undefined, signal: stopping.signal, restMs: 0, backoff: BACKOFF,
        report: () => undefined, ...options,
        openStore: async (standBy) => opened = await openStore(standBy),
      });
      const stop = async () => {
        stopping.abort(new Error('the test stops it'));
        await intake.done.catch(() => undefined);
      };
      stops.push(stop);
      await intake.begun;
      return {
        intake, stop,
        store() {
          if (opened === undefined) throw new OutboxUnavailable(new Error('no session has been opened'));
          return opened;
        },
      };
    },
    async stop() { for (const stop of stops.splice(0)) await stop(); },
  };
}

/** The chain's fills that go next, as the worker would get them from the intake's last session. */
export function dueFills({ store }: RunningIntake, chainId = 1): Promise<readonly QueuedFill[]> {
  return store().due(chainId, { nowMs: Date.now(), maxPauseMs: 1_000, withNew: true, limit: 10_000 });
}

export async function shown(running: RunningIntake, chainId = 1): Promise<Shown> {
  const { intake } = running;
  const fills = (await dueFills(running, chainId)).map(({ fill }) => fill);
  return { watermark: intake.watermark(), fills, nextBlock: (intake.barrier(chainId)?.block ?? -1) + 1 };
}

/** Resolves when the intake shows this. */
export async function shows(running: RunningIntake, expected: Shown, chainId = 1): Promise<void> {
  await until(`${JSON.stringify(expected)} is shown`, async () => {
    try {
      return JSON.stringify(await shown(running, chainId)) === JSON.stringify(expected);
    } catch (error) {
      if (error instanceof OutboxUnavailable) return false;
      throw error;
    }
  });
}
