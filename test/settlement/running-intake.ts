/** Intakes that a test runs, whatever store they have, and what they show. */
import { runIntake, type Intake, type IntakeOptions } from '../../command/settlement/intake/intake.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeOutcome } from '../../engine/records/codec.js';
import { digestAt } from '../support/fill-feed.js';
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

export interface RunningIntake { readonly intake: Intake; stop(): Promise<void> }

export interface Shown { readonly nextFill: number; readonly fills: readonly number[]; readonly nextBlock: number }

export interface Intakes {
  start(feed: IntakeOptions['feed'], options?: Partial<IntakeOptions>): Promise<RunningIntake>;
  stop(): Promise<void>;
}

export function createIntakes(openStore: IntakeOptions['openStore']): Intakes {
  const stops: (() => Promise<unknown>)[] = [];
  return {
    async start(feed, options = {}) {
      const stopping = new AbortController();
      const intake = runIntake({
        openStore, feed, log: anyLog, chains: [1], checkChains: () => undefined, signal: stopping.signal, restMs: 0, backoff: BACKOFF,
        report: () => undefined, ...options,
      });
      const stop = async () => {
        stopping.abort(new Error('the test stops it'));
        await intake.done.catch(() => undefined);
      };
      stops.push(stop);
      await intake.begun;
      return { intake, stop };
    },
    async stop() { for (const stop of stops.splice(0)) await stop(); },
  };
}

export function shown({ intake }: RunningIntake, chainId = 1): Shown {
  const view = intake.view(chainId);
  return { nextFill: view.nextFill(), fills: [...view.unsettled(0)].map(({ fill }) => fill), nextBlock: view.nextBlock() };
}

/** Resolves when the intake shows this. */
export async function shows(running: RunningIntake, expected: Shown, chainId = 1): Promise<void> {
  await until(`${JSON.stringify(expected)} is shown`, () => JSON.stringify(shown(running, chainId)) === JSON.stringify(expected));
}
