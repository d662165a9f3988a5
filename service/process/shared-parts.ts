/** The parts that the roles of one process share: the log, the replica, the read models and the access to each chain. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createAdvanceRequests, type AdvanceRequests } from '../../command/indexer/advance-requests.js';
import {
  createKeccak256, prepareDomain, type Keccak256, type PreparedDomain,
} from '../../command/signing/typed-data.js';
import { LogUnavailable, RecordsLost, type Log } from '../../engine/log/log.js';
import { startReplica, type Replica } from '../../engine/run/replica.js';
import { snapshotThreads } from '../../engine/run/snapshot-thread.js';
import type { Reading } from '../../engine/state-table.js';
import { orAborted } from '../../engine/waiting.js';
import type { Database } from '../../query/database.js';
import { orderDomains } from '../../command/signing/shown-actions.js';
import { openChain, type ChainAccess } from '../../command/chain/chain-access.js';
import { watchesOf, type ChainWatch } from '../../command/chain/chain-watch.js';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import { CannotStart } from '../../engine/cannot-start.js';
import type { Config } from '../config.js';
import { reportTo, type Logger } from '../logger.js';
import type { Metrics } from '../status/metrics.js';
import { timeUrlOf, watchConditions, type Conditions, type ConditionsOptions, type Machine } from '../status/conditions.js';
import { openLogWhenThere, openReadModelsWhenThere } from './open-when-there.js';
import { placeOf, waitForDatabases } from './database-waits.js';
import { openHandover } from '../../engine/run/handover.js';
import { checkHistory } from '../../command/signing/history-check.js';
import { checkDurability } from './log-durability.js';
import { readReplica } from '../../engine/role-state.js';
import { stampsCommands, type RoleName } from './roles.js';
import { rejection, type Clock } from '../../engine/running-role.js';
import type { Waits } from './waits.js';

/** The databases of a process. They may all be the same database. */
export interface Urls {
  readonly log: string;
  readonly readModels: string;
  /** The read models, by a user who may only read; absent where there is none. */
  readonly reads?: string;
  /** Requests to lanes, and messages between roles. */
  readonly outbox: string;
}

export interface SharedParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly urls: Urls;
  /** Identifies this start of the process in the records that it writes. */
  readonly writerId: string;
  readonly clock: Clock;
  readonly conditions: Conditions;
  readonly machine: Machine;
  /** Aborts when the process stops before its start is over: a start that waits for something ends then. */
  readonly starting: AbortSignal;
  readonly log: Log;
  /** Number of commands in the log, at most about a second old. */
  logLength(): number;
  readonly keccak256: Keccak256;
  /** By chain id; empty with CHAINS=none. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  /** The signing domains of orders by chain id. */
  readonly domains: ReadonlyMap<number, PreparedDomain>;
  /** Started at the first call. Resolves when it has caught up and the history fits the settings. Throws ForeignHistory, HistoryDiffers. */
  replica(): Promise<Replica>;
  /** What the replica says of itself. */
  readonly replicaState: Reading;
  /** Opens the read models at the first call. Waits until a process with the projections role has created them. */
  readModels(): Promise<Database>;
  /** A watch that tells whether the history keeps up with the chain; one per chain. */
  watch(access: ChainAccess): Promise<ChainWatch>;
  readonly advance: AdvanceRequests;
}

export interface OpenedParts {
  readonly parts: SharedParts;
  /** Rejects when a shared part has failed. */
  readonly failed: Promise<never>;
  /** Cancels all requests to chains. Runs before the roles stop: a node may stay silent for longer than a stop may take. */
  leaveChains(): Promise<void>;
  /** The rest is closed in this order, after the roles have stopped. */
  stopReplica(): Promise<void>;
  closeReadModels(): Promise<void>;
  closeLog(): Promise<void>;
}

export interface OpenOptions {
  readonly config: Config;
  readonly roles: ReadonlySet<RoleName>;
  readonly urls: Urls;
  readonly chains: readonly ConfiguredChain[];
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly machine: Machine;
  readonly waits: Waits;
}

/** Time between two reads of the log's length. */
const LOOK_EVERY_MS = 1_000;

/** Waits for the databases that the roles use, then opens what is shared. Throws CannotStart, ClockDiffers, the reason of `waits.signal`. */
export async function openSharedParts(options: OpenOptions): Promise<OpenedParts> {
  const { config, roles, urls, chains: configured, logger, metrics, machine, waits } = options;
  const keccak256 = await createKeccak256();
  await waitForDatabases({ urls, roles, waits });
  const failure = rejection();
  const distrust = createDistrust(logger, failure.reject);
  const log = await openSafeLog(options, distrust.because);
  const conditions = await conditionsOf({ ...options, log, unusable: distrust.because, distrusted: distrust.signal, signal: waits.signal }, waits);
  metrics.show(conditions.state);
  const [stopping, writerId] = [new AbortController(), randomUUID()];
  const chains = new Map(configured.map((each) => [each.chain.chainId, openChain(each, { keccak256, report: reportTo(logger) })]));
  const domains = new Map(orderDomains(config, configured).map((domain) => [domain.chainId, prepareDomain(keccak256, domain)]));
  const advance = createAdvanceRequests({ url: urls.outbox });
  const handover = openHandover({ url: urls.outbox });
  const length = watchLength(log);

  const replica = once(async () => {
    const started = await waits.until(`the log at ${placeOf(urls.log)}`, () => waits.during(() => 'restoring the newest snapshot of the engine', startReplica({
      log, signal: stopping.signal, snapshotDirectory: join(config.dataDir, 'snapshots'), snapshotEvery: config.snapshotEvery,
      snapshotWriter: snapshotThreads(urls.log),
      report: (message, details) => { logger.info(details, message); }, ...roles.has('engine') ? { record: { writerId } } : {},
    })), isUnavailable);
    started.done.catch((error: unknown) => {
      if (error instanceof RecordsLost) distrust.because(error);
      failure.reject(error);
    });
    const doing = () => `reading the history: at command ${started.view.position} of ${Math.max(started.view.position, length.current())}`;
    await waits.during(doing, orAborted(started.caughtUp, waits.signal));
    const history = { view: started.view, log, domains: [...domains.values()], settles: chains.size > 0 };
    await waits.until(`the log at ${placeOf(urls.log)}`, () => checkHistory(history), isUnavailable);
    // Before this engine works: the other one may be told to leave from then on.
    if (roles.has('engine')) await orAborted(handover.listen(() => { started.recording?.takeOver(); }), waits.signal);
    conditions.clock.compareWith(started.view);
    return started;
  });
  const [reads, readsSetting] = urls.reads === undefined ? [urls.readModels, 'DATABASE_URL'] : [urls.reads, 'QUERY_DATABASE_URL'];
  const readModels = once(() => openReadModelsWhenThere({ url: reads, setting: readsSetting, place: placeOf(reads), logger, waits }));

  const parts: SharedParts = {
    config, logger, metrics, urls, writerId, log, keccak256, chains, domains, advance, replica: replica.get, readModels: readModels.get,
    clock: { now: conditions.clock.now, doubt: conditions.clock.doubt, monotonic: machine.clocks.monotonic },
    conditions, machine, starting: waits.signal,
    logLength: length.current,
    replicaState: readReplica(replica.current, length.current),
    watch: watchesOf({ replica: replica.get, askToAdvance: (chainId) => { advance.ask(chainId); }, now: () => performance.now() }),
  };
  return {
    parts, failed: failure.promise,
    async leaveChains() { await Promise.all([...chains.values()].map((access) => access.stop())); },
    async stopReplica() {
      stopping.abort(new Error('the process stops'));
      const stopped = await replica.settled();
      // Its failure has been told, and is what the process ends with.
      const isWhole = await stopped?.done.then(() => true, () => false);
      // Everything that this engine will write is written.
      if (isWhole === true && stopped?.recording?.standby === false) await handover.tell();
    },
    async closeReadModels() { await (await readModels.settled())?.close(); },
    async closeLog() {
      length.stop();
      await conditions.stop();
      await Promise.all([advance.close(), handover.close()]);
      await log.close();
    },
  };
}

/** Tells, once, by a signal, an alert and `failed`, that the log has lost records: the process ends, and takes no requests until then. */
function createDistrust(logger: Logger, failed: (error: Error) => void) {
  const distrusted = new AbortController();
  return {
    signal: distrusted.signal,
    because(error: Error): void {
      if (distrusted.signal.aborted) return;
      distrusted.abort(error);
      logger.error(`this process ends: ${error.message}`);
      failed(error);
    },
  };
}

/** Opens the log, if its store keeps what it confirms. `failed` is called when the store turns out not to have done so. */
async function openSafeLog({ config, roles, urls, logger, waits }: OpenOptions, failed: (error: Error) => void): Promise<Log> {
  const place = placeOf(urls.log);
  if (stampsCommands(roles)) {
    const setting = urls.log === urls.readModels ? 'DATABASE_URL' : 'LOG_URL';
    await waits.until(`the log at ${place}`, () => checkDurability({ url: urls.log, setting, isAllowed: config.allowUnsafePostgres, logger }),
      (error) => !(error instanceof CannotStart));
  }
  return openLogWhenThere({ url: urls.log, place, waits, failed });
}

/** Closes the log when the clock cannot be trusted. */
async function conditionsOf(options: ConditionsOptions & { readonly log: Log }, waits: Waits): Promise<Conditions> {
  try {
    return await waits.during(() => `comparing the clocks of this machine and of the Postgres at ${placeOf(timeUrlOf(options.urls))}`, watchConditions(options));
  } catch (error) {
    await options.log.close();
    throw error;
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof LogUnavailable;
}

/** Does the work once, at the first call of `get`. */
function once<T>(work: () => Promise<T>) {
  let started: Promise<T> | undefined;
  let result: T | undefined;
  return {
    get: () => started ??= work().then((value) => result = value),
    /** The result; undefined while there is none. */
    current: () => result,
    /** Waits for the end of the work. Resolves with its result; with undefined when the work failed or was never started. */
    settled: async () => {
      await started?.catch(() => undefined);
      return result;
    },
  };
}

/** The number of commands in the log, read now and then once per second; 0 before the first answer. */
function watchLength(log: Log): { readonly current: () => number; readonly stop: () => void } {
  let length = 0;
  const look = (): void => { log.length('commands').then((current) => { length = current; }, () => undefined); };
  look();
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return { current: () => length, stop: () => { clearInterval(timer); } };
}
