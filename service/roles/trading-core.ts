/** The trading core: log, engine, group commit, clock and projections, caught up with the history and running. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { runClock } from '../../engine/run/clock.js';
import type { Step } from '../../engine/run/engine.js';
import type { Log } from '../../engine/log/log.js';
import { createGroupCommit, type GroupCommit } from '../../engine/log/group-commit.js';
import { openLog } from '../../engine/log/open-log.js';
import { createOutcomes, type Outcomes } from '../../engine/run/outcomes.js';
import { startEngine, type EngineRun } from '../../engine/run/run.js';
import type { Config } from '../config.js';
import type { Logger } from '../logger.js';
import { startProjectionThread } from './projection-thread.js';
import type { StopStep } from '../stop.js';

export interface TradingCore {
  readonly log: Log;
  readonly run: EngineRun;
  readonly outcomeOf: Outcomes['outcomeOf'];
  readonly commits: GroupCommit;
  readonly projections: ReturnType<typeof startProjectionThread>;
  /** Names this process and start, in the records that it writes. */
  readonly writerId: string;
  /** Calls `listener` with every step from now on, in order, in the turn in which the engine takes it. */
  onStep(listener: (step: Step) => void): void;
  /** Time passes from here on: expired orders and markets are swept. Called once. */
  startClock(): void;
  /** Rejects when a part has failed and the process should not go on. */
  readonly failed: Promise<never>;
  /** What ends it, in order. */
  readonly stopSteps: readonly StopStep[];
}

interface CoreParts {
  readonly config: Pick<Config, 'dataDir' | 'snapshotEvery' | 'maxQueuedOrders'>;
  readonly databaseUrl: string;
  readonly committed: (records: number) => void;
  readonly logger: Logger;
}

/** Resolves when the engine has caught up with the recorded history. */
export async function startTradingCore({ config, databaseUrl, committed, logger }: CoreParts): Promise<TradingCore> {
  const stopping = { engine: new AbortController(), clock: new AbortController() };
  const log = await openLog(databaseUrl);
  const listeners: ((step: Step) => void)[] = [];
  const outcomes = told(createOutcomes(log), listeners);
  const projections = startProjectionThread({ url: databaseUrl }, (trouble) => { logger.warn({ trouble }, 'projections'); });
  const writerId = randomUUID();
  const run = await startEngine({
    log, outcomes, writerId, signal: stopping.engine.signal, snapshotDirectory: join(config.dataDir, 'snapshots'), snapshotEvery: config.snapshotEvery,
    report: (message, details) => { logger.info(details, message); },
  });
  const commits = createGroupCommit({ log, stream: 'commands', maxQueued: config.maxQueuedOrders, committed });
  await Promise.race([caughtUp(run), run.done, projections.ended]);
  let clock: Promise<void> = Promise.resolve();
  let clockFailed!: (reason: unknown) => void;
  const failed = Promise.race([
    run.done.then(() => pending), projections.ended.then(() => pending), new Promise<never>((_resolve, reject) => { clockFailed = reject; }),
  ]);
  failed.catch(() => undefined);
  return {
    log, run, commits, projections, writerId, failed,
    outcomeOf: (position) => outcomes.outcomeOf(position),
    onStep: (listener) => { listeners.push(listener); },
    startClock() {
      clock = runClock({
        log, run, outcomes, now: () => Date.now(), signal: stopping.clock.signal, report: (message) => { logger.warn(message); },
      });
      clock.catch(clockFailed);
    },
    stopSteps: [
      { what: 'finish the commands in hand', run: () => { stopping.clock.abort(); return Promise.all([clock, commits.drain()]); } },
      { what: 'stop the engine', run: () => { stopping.engine.abort(); return run.done; } },
      { what: 'stop the projections', run: () => projections.stop() },
      { what: 'close the log', run: () => log.close() },
    ],
  };
}

const pending = new Promise<never>(() => undefined);

/** The outcomes, which also tell the listeners of each step when it is published. */
function told(outcomes: Outcomes, listeners: readonly ((step: Step) => void)[]): Outcomes {
  return {
    ...outcomes,
    publish(step) {
      outcomes.publish(step);
      for (const listener of listeners) listener(step);
    },
  };
}

async function caughtUp(run: EngineRun): Promise<void> {
  while (!run.ready) await new Promise((resolve) => setTimeout(resolve, 10));
}
