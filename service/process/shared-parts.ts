/** The parts that the roles of one process share: the log, the replica, the read models and the access to each chain. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createAdvanceRequests, type AdvanceRequests } from '../../command/indexer/advance-requests.js';
import { createKeccak256, type Keccak256 } from '../../command/signing/keccak.js';
import { prepareDomain, type PreparedDomain } from '../../command/signing/typed-data.js';
import type { Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { startReplica, type Replica } from '../../engine/run/replica.js';
import { retrying } from '../../engine/waiting.js';
import { openReadModels, type Database } from '../../query/database.js';
import { orderDomains } from '../api/signing.js';
import { openChain, type ChainAccess } from '../chains/chain-access.js';
import { watchChain, type ChainWatch } from '../chains/chain-watch.js';
import type { ConfiguredChain } from '../chains/configured-chain.js';
import type { Config } from '../config.js';
import { reportTo, type Logger } from '../logger.js';
import type { Metrics } from '../metrics.js';
import type { StopStep } from '../stop.js';
import { watchConditions, type Conditions, type Machine } from '../conditions/conditions.js';
import { checkHistory } from './history-check.js';
import { lagReasons, type ReadinessParts } from './readiness.js';
import { replicaFigures } from './replica-figures.js';
import type { RoleName } from '../roles/role-names.js';
import { rejection } from './failure.js';

/** The databases of a process. They may all be the same database. */
export interface Urls {
  readonly log: string;
  readonly readModels: string;
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
  /** The trusted time of the process in milliseconds since the Unix epoch: what every command is stamped with. */
  readonly now: () => number;
  readonly conditions: Conditions;
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
  /** The readiness of the replica. */
  replicaHealth(): ReadinessParts;
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
  readonly leaveChains: StopStep;
  /** The steps that close the other parts, in order, after the roles have stopped. */
  readonly stopSteps: readonly StopStep[];
}

export interface OpenOptions {
  readonly config: Config;
  readonly roles: ReadonlySet<RoleName>;
  readonly urls: Urls;
  readonly chains: readonly ConfiguredChain[];
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly machine: Machine;
}

/** Time between two reads of the log's length, and the longest time between two attempts to open the read models. */
const LOOK_EVERY_MS = 1_000;

export async function openSharedParts({ config, roles, urls, chains: configured, logger, metrics, machine }: OpenOptions): Promise<OpenedParts> {
  const keccak256 = await createKeccak256();
  const log = await openLog(urls.log);
  let known: Replica | undefined;
  const watching = watchConditions({ config, roles, urls, logger, machine, historyMs: () => known?.view.time });
  const conditions = await watching.catch(async (error: unknown) => {
    await log.close();
    throw error;
  });
  metrics.show(conditions.figures);
  const stopping = new AbortController();
  const writerId = randomUUID();
  const chains = new Map(configured.map((each) => [each.chain.chainId, openChain(each, { keccak256, report: reportTo(logger) })]));
  const domains = new Map(orderDomains(config, configured).map((domain) => [domain.chainId, prepareDomain(keccak256, domain)]));
  const advance = createAdvanceRequests({ url: urls.outbox });
  const length = await watchLength(log);
  const failure = rejection();

  const replica = once(async () => {
    const started = await startReplica({
      log, signal: stopping.signal, snapshotDirectory: join(config.dataDir, 'snapshots'), snapshotEvery: config.snapshotEvery,
      report: (message, details) => { logger.info(details, message); }, ...roles.has('engine') ? { record: { writerId } } : {},
    });
    started.done.then(() => undefined, failure.reject);
    await started.caughtUp;
    await checkHistory({ view: started.view, log, domains: [...domains.values()], settles: chains.size > 0 });
    metrics.show(replicaFigures(started, length.current));
    known = started;
    return started;
  });
  const readModels = once(() => openWhenThere(urls.readModels, { logger, signal: stopping.signal }));
  const watches = new Map<ChainAccess, Promise<ChainWatch>>();

  const parts: SharedParts = {
    config, logger, metrics, urls, writerId, log, keccak256, chains, domains, advance, replica: replica.get, readModels: readModels.get,
    now: conditions.clock.now, conditions,
    logLength: length.current,
    replicaHealth: () => replicaHealth(replica.current(), { logLength: length.current(), maxLag: config.readyMaxLag }),
    watch(access) {
      const watch = watches.get(access) ?? replica.get().then(({ view, onStep }) => {
        const askToAdvance = () => { advance.ask(access.chain.chainId); };
        const made = watchChain({ access, view, askToAdvance, now: () => performance.now() });
        onStep(() => { made.stepped(); });
        return made;
      });
      watches.set(access, watch);
      return watch;
    },
  };
  return {
    parts, failed: failure.promise,
    leaveChains: { what: 'stop asking the chains', run: () => Promise.all([...chains.values()].map((access) => access.stop())) },
    stopSteps: [
      { what: 'stop the replica', run: async () => {
        stopping.abort(new Error('the process stops'));
        await (await replica.settled())?.done;
      } },
      { what: 'close the read models', run: async () => { await (await readModels.settled())?.close(); } },
      { what: 'close the log', run: async () => {
        length.stop();
        await conditions.stop();
        await advance.close();
        await log.close();
      } },
    ],
  };
}

/** Waits until the projections have made the read models. Their absence is logged once. */
function openWhenThere(url: string, { logger, signal }: { logger: Logger; signal: AbortSignal }): Promise<Database> {
  return retrying(async () => {
    let there = false;
    const models = await openReadModels({ url, onError: (error) => { if (there) logger.warn({ error: error.message }, 'read models'); } });
    try {
      await models.position();
      there = true;
      return models;
    } catch (error) {
      await models.close();
      throw error;
    }
  }, {
    signal, backoff: { firstMs: 100, longestMs: LOOK_EVERY_MS }, canPass: () => true,
    failed: (error, failures) => { if (failures === 1) logger.info({ error: (error as Error).message }, 'waiting for the read models'); },
  });
}

function replicaHealth(replica: Replica | undefined, { logLength, maxLag }: { logLength: number; maxLag: number }): ReadinessParts {
  if (replica === undefined) return { reasons: ['the engine has not caught up with the history yet'] };
  const { view: { position }, recording } = replica;
  const length = Math.max(position, logLength);
  return {
    reasons: lagReasons('the engine', length - position, maxLag), engine: { position, logLength: length, standby: recording?.standby ?? false },
  };
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

/** The number of commands in the log, read once per second. */
async function watchLength(log: Log): Promise<{ readonly current: () => number; readonly stop: () => void }> {
  let length = await log.length('commands');
  const timer = setInterval(() => {
    log.length('commands').then((current) => { length = current; }, () => undefined);
  }, LOOK_EVERY_MS).unref();
  return { current: () => length, stop: () => { clearInterval(timer); } };
}
