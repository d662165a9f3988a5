/** Readiness: whether requests should be sent to a process or a stack, merged from what its roles or processes report. */

export interface EngineHealth {
  /** Number of commands that this engine has decided. */
  readonly position: number;
  /** Number of commands in the log. */
  readonly logLength: number;
  /** This engine does not record command outcomes at the moment: another engine does. */
  readonly standby: boolean;
}

export interface ProjectionHealth {
  readonly name: string;
  /** Number of command outcomes that the read model includes. */
  readonly position: number;
  /** Number of command outcomes that the read model does not include yet. */
  readonly lag: number;
}

/** The state of a chain's indexer. */
export interface IndexerHealth {
  readonly chainId: number;
  /** Number of the last final block; null while there is none, as before the chain has answered. */
  readonly finalBlock: number | null;
  /** Number of final blocks that the history does not have yet. */
  readonly lagBlocks: number;
  /** Whether the last request to the chain succeeded; `failures` is the number of failures in a row. */
  readonly reachable: boolean;
  readonly failures: number;
  /** Why the last request failed, or what a node that answers has lost; null when nothing is wrong. May name hosts, but never holds a secret. */
  readonly lastError: string | null;
  /** Seconds since a request succeeded, or since the start when none has. */
  readonly sinceLookS: number;
  /** The chain has had no new block for too long. */
  readonly stalled: boolean;
  /** Why the chain is not recorded any more: it contradicts the history, and an operator must act. Null while it is recorded. */
  readonly stopped: string | null;
  /** What the chain has resolved otherwise than the exchange decided, since the process started; null when nothing. */
  readonly resolutionTrouble: string | null;
  /** Number of quick markets that it is about. */
  readonly contradictedMarkets: number;
  /** Number of transactions whose anchors the chain's settings pass over. */
  readonly anchorsPassedOver: number;
}

/** The state of a chain's settlement. */
export interface SettlementHealth {
  readonly chainId: number;
  /** Number of fills that wait to be sent (counted up to 10,000), and of fills in transactions that are neither confirmed nor failed. */
  readonly waitingFills: number;
  readonly sentFills: number;
  /** How long the oldest waiting fill has waited, in seconds, as far as this process knows; null when none waits or another process settles. */
  readonly oldestWaitingS: number | null;
  /** What blocks settlement; null when nothing does. */
  readonly settlementTrouble: string | null;
}

/** What a process with the settlement role takes in: the fills that are not settled. */
export interface IntakeHealth {
  /** Another process takes in, and settles. */
  readonly standby: boolean;
  /** Number of command outcomes that it includes; null while that is not known. */
  readonly position: number | null;
  /** Number of commands in the log that it does not include yet; null while that is not known. */
  readonly lag: number | null;
  /** Why nothing can be taken in; null when it can. */
  readonly trouble: string | null;
  /** Why fills are taken from the log, and not from Kafka; null while they come by Kafka, or are not to. */
  readonly kafkaTrouble: string | null;
}

/** The fill feed in a Kafka topic, at a process that may publish it. */
export interface FeedHealth {
  readonly topic: string;
  /** Another process publishes. */
  readonly standby: boolean;
  /** Number of command outcomes whose messages are published; null while that is not known. */
  readonly position: number | null;
  /** Number of commands in the log that are not; null while that is not known. */
  readonly lag: number | null;
  /** Why nothing can be published; null when it can. */
  readonly trouble: string | null;
  /** What of the topic is not as the feed promises, with what mends it; null when nothing is known to be. */
  readonly topicTrouble: string | null;
}

/** A lane: the transactions of one key on one chain. */
export interface LaneHealth {
  readonly chainId: number;
  /** The key's name in the settings. */
  readonly key: string;
  /** The key's address. */
  readonly address: string;
  /** Another process sends with this key. */
  readonly standby: boolean;
  /** What blocks the lane; null when nothing does. */
  readonly trouble: string | null;
}

/** A chain's relayer. */
export interface RelayerHealth {
  readonly chainId: number;
  /** The address of its key. */
  readonly address: string;
  /** Another process relays on this chain. */
  readonly standby: boolean;
  /** Requests that have not ended. */
  readonly openRelays: number;
  /** Why it cannot send; null when it can. */
  readonly trouble: string | null;
  readonly keeper: KeeperHealth;
}

/** A chain's keeper, which settles proposed resolutions that nobody else settles. */
export interface KeeperHealth {
  /** Another process is the keeper of this chain. */
  readonly standby: boolean;
  /** Proposals that it may settle: disputed, or past their dispute window and the time for others. */
  readonly dueProposals: number;
  /** Those that have waited for more than seven days since their dispute window. */
  readonly overdueProposals: number;
  /** Why it cannot look or send; null when it can. */
  readonly trouble: string | null;
}

/** What a process with the prices role hears and records. */
export interface PricesHealth {
  /** Another process records. */
  readonly standby: boolean;
  /** Why nothing can be recorded; null when it can. */
  readonly trouble: string | null;
  /** The best first. */
  readonly sources: readonly {
    readonly name: string;
    readonly connected: boolean;
    /** Seconds since its last price; null before the first. */
    readonly sinceHeardS: number | null;
    /** What went wrong last; null when all has been well since prices came. */
    readonly trouble: string | null;
  }[];
  readonly assets: readonly {
    readonly asset: string;
    /** The source in use. */
    readonly source: string;
    /** Seconds since the last price that counts was published; null before the first. */
    readonly sincePriceS: number | null;
  }[];
}

/** A chain's quick markets, at the process that may create and resolve them. */
export interface QuickMarketsHealth {
  readonly chainId: number;
  /** The address of its key. */
  readonly address: string;
  /** Another process creates and resolves on this chain. */
  readonly standby: boolean;
  /** Markets that there should be and are not. */
  readonly missingMarkets: number;
  /** Decided markets that the chain has not resolved. */
  readonly decidedMarkets: number;
  /** Markets whose price at the start or the end did not come in time. */
  readonly unresolvableMarkets: number;
  /** Creations and resolutions that the contracts refused last. */
  readonly refused: number;
  /** Why it cannot look or send; null when it can. */
  readonly trouble: string | null;
}

/** The state of a chain: the fields of the roles that the process has. */
export type ChainHealth = { readonly chainId: number } & Partial<IndexerHealth & SettlementHealth>;

/** The process's clock, see service/machine/clock.ts. Differences are in milliseconds, negative when behind, null when unknown. */
export interface ClockHealth {
  readonly trusted: boolean;
  /** Why it is not trusted; empty when it is. */
  readonly doubts: readonly string[];
  /** The trusted time, ISO 8601 in UTC. */
  readonly time: string;
  readonly wallAheadMs: number;
  readonly databaseAheadMs: number | null;
  readonly historyAheadMs: number | null;
}

export type DatabaseName = 'log' | 'read models' | 'outbox';

/** Whether a database that the process uses answers. */
export interface DatabaseHealth {
  readonly name: DatabaseName;
  readonly answers: boolean;
  /** Why it does not answer; null while it does. */
  readonly lastError: string | null;
}

/** A disk that the process writes to: of several the fullest. Orders are refused below the minimum; 0 means never. */
export interface DiskHealth {
  /** The first directory on it. */
  readonly directory: string;
  readonly freeBytes: number;
  readonly minFreeBytes: number;
}

export interface ReadinessParts {
  /** Why requests should not be sent here; empty when they may be. */
  readonly reasons: readonly string[];
  readonly engine?: EngineHealth;
  readonly projections?: readonly ProjectionHealth[];
  /** Last log position that all reads include, and how many commands they are behind. */
  readonly readModels?: { readonly position: number; readonly lag: number };
  readonly chains?: readonly ChainHealth[];
  readonly feeds?: readonly FeedHealth[];
  readonly intakes?: readonly IntakeHealth[];
  readonly lanes?: readonly LaneHealth[];
  readonly clock?: ClockHealth;
  readonly databases?: readonly DatabaseHealth[];
  readonly disk?: DiskHealth;
  readonly relays?: readonly RelayerHealth[];
  readonly prices?: readonly PricesHealth[];
  readonly quickMarkets?: readonly QuickMarketsHealth[];
}

/**
 * Merges all parts. A reason that several parts give appears once. Of several engines, the one that records and is furthest ahead is shown;
 * of several clocks, the one that differs most; of several reports about a database, the one of trouble.
 */
export function mergeReadiness(parts: readonly ReadinessParts[]): ReadinessParts {
  const engine = parts.flatMap((part) => part.engine ?? []).sort((a, b) => Number(a.standby) - Number(b.standby) || b.position - a.position)[0];
  const readModels = parts.flatMap((part) => part.readModels ?? []).sort((a, b) => b.lag - a.lag)[0];
  const projections = listOf(parts, 'projections');
  const chains = listOf(parts, 'chains');
  const feeds = listOf(parts, 'feeds');
  const intakes = listOf(parts, 'intakes');
  const lanes = listOf(parts, 'lanes');
  const databases = listOf(parts, 'databases');
  const clock = parts.flatMap((part) => part.clock ?? []).sort((a, b) => b.doubts.length - a.doubts.length || largest(b) - largest(a))[0];
  const disk = parts.flatMap((part) => part.disk ?? []).sort((a, b) => a.freeBytes - b.freeBytes)[0];
  const relays = listOf(parts, 'relays');
  const prices = listOf(parts, 'prices');
  const quickMarkets = listOf(parts, 'quickMarkets');
  return {
    reasons: [...new Set(parts.flatMap(({ reasons }) => reasons))],
    ...engine === undefined ? {} : { engine },
    ...projections === undefined ? {} : { projections },
    ...readModels === undefined ? {} : { readModels },
    ...chains === undefined ? {} : { chains: mergeChains(chains) },
    ...feeds === undefined ? {} : { feeds },
    ...intakes === undefined ? {} : { intakes },
    ...lanes === undefined ? {} : { lanes },
    ...clock === undefined ? {} : { clock },
    ...databases === undefined ? {} : { databases: mergeDatabases(databases) },
    ...disk === undefined ? {} : { disk },
    ...relays === undefined ? {} : { relays },
    ...prices === undefined ? {} : { prices },
    ...quickMarkets === undefined ? {} : { quickMarkets },
  };
}

/** Why a process whose roles do not all work yet is not ready. Never nothing, also while it has just begun to ask for what it needs. */
export function startingReasons(said: readonly string[]): readonly string[] {
  return said.length === 0 ? ['the process is starting'] : said;
}

/** The largest difference that says something about the clock itself; a history may be old for good reasons. */
function largest({ wallAheadMs, databaseAheadMs, historyAheadMs }: ClockHealth): number {
  return Math.max(Math.abs(wallAheadMs), Math.abs(databaseAheadMs ?? 0), historyAheadMs ?? 0);
}

function mergeDatabases(databases: readonly DatabaseHealth[]): DatabaseHealth[] {
  const merged = new Map<DatabaseName, DatabaseHealth>();
  for (const database of databases) if (merged.get(database.name)?.answers !== false) merged.set(database.name, database);
  return [...merged.values()];
}

/** The entries of all parts under the key, possibly none; undefined when no part has the key. */
function listOf<K extends 'projections' | 'chains' | 'feeds' | 'intakes' | 'lanes' | 'relays' | 'databases' | 'prices' | 'quickMarkets'>(
  parts: readonly ReadinessParts[], key: K,
): NonNullable<ReadinessParts[K]>[number][] | undefined {
  const lists = parts.flatMap((part) => part[key] === undefined ? [] : [part[key]]);
  return lists.length === 0 ? undefined : lists.flat() as NonNullable<ReadinessParts[K]>[number][];
}

function mergeChains(chains: readonly ChainHealth[]): ChainHealth[] {
  const merged = new Map<number, ChainHealth>();
  for (const chain of chains) merged.set(chain.chainId, { ...merged.get(chain.chainId), ...chain });
  return [...merged.values()];
}

/** One reason when the lag exceeds `maxLag`, else none. */
export function lagReasons(what: string, lag: number, maxLag: number): string[] {
  return lag > maxLag ? [`${what} is ${lag} records behind`] : [];
}
