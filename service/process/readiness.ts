/** Readiness: whether requests should be sent here, put together from what each role of a process, or each process of a stack, says. */

export interface EngineHealth {
  /** Commands that are decided here. */
  readonly position: number;
  /** Commands in the log. */
  readonly logLength: number;
  /** It records no outcomes at the moment, since another engine does. */
  readonly standby: boolean;
}

export interface ProjectionHealth {
  readonly name: string;
  /** Outcomes that are folded. */
  readonly position: number;
  /** Outcomes still to fold. */
  readonly lag: number;
}

/** How far a chain's indexer is. */
export interface IndexerHealth {
  readonly chainId: number;
  /** The last final block; null before the chain has answered. */
  readonly finalBlock: number | null;
  /** Final blocks that the history does not have yet. */
  readonly lagBlocks: number;
  /** Whether the last look at the chain succeeded, and how often in a row it has not. */
  readonly reachable: boolean;
  readonly failures: number;
  /** Why the last look failed; null when it did not. Holds hosts, and nothing that is secret. */
  readonly lastError: string | null;
  /** Seconds since a look succeeded; since the start, before one has. */
  readonly sinceLookS: number;
  /** It has had no new block for too long. */
  readonly stalled: boolean;
  /** Why nothing of this chain is recorded any more: it contradicts the history, and somebody must look. Else null. */
  readonly stopped: string | null;
}

/** How far a chain's settlement is. */
export interface SettlementHealth {
  readonly chainId: number;
  /** Fills that wait to be sent, counted up to 10,000, and fills in transactions that are not over. */
  readonly waitingFills: number;
  readonly sentFills: number;
  /** Seconds that the first of those that wait has waited, as far as this process knows; null when none waits, or another process settles. */
  readonly oldestWaitingS: number | null;
  /** What keeps settlement from going on; null when nothing does. */
  readonly settlementTrouble: string | null;
}

/** A lane: the transactions of one key on one chain. */
export interface LaneHealth {
  readonly chainId: number;
  /** The key's name in the settings. */
  readonly key: string;
  /** The key's address. */
  readonly address: string;
  /** Another process holds the key. */
  readonly standby: boolean;
  /** What keeps it from going on; null when nothing does. */
  readonly trouble: string | null;
}

/** What the parts of a chain say, as far as they are here. */
export type ChainHealth = { readonly chainId: number } & Partial<IndexerHealth & SettlementHealth>;

export interface ReadinessParts {
  /** Why no requests should come here; none: they may. */
  readonly reasons: readonly string[];
  readonly engine?: EngineHealth;
  readonly projections?: readonly ProjectionHealth[];
  /** Log position that reads include, and how many commands they are behind. */
  readonly readModels?: { readonly position: number; readonly lag: number };
  readonly chains?: readonly ChainHealth[];
  readonly lanes?: readonly LaneHealth[];
}

/** All parts as one. A reason that several give counts once; of the engine, the one furthest ahead is shown. */
export function mergeReadiness(parts: readonly ReadinessParts[]): ReadinessParts {
  const engine = parts.flatMap((part) => part.engine ?? []).sort((a, b) => Number(a.standby) - Number(b.standby) || b.position - a.position)[0];
  const readModels = parts.flatMap((part) => part.readModels ?? []).sort((a, b) => b.lag - a.lag)[0];
  const projections = listOf(parts, 'projections');
  const chains = listOf(parts, 'chains');
  const lanes = listOf(parts, 'lanes');
  return {
    reasons: [...new Set(parts.flatMap(({ reasons }) => reasons))],
    ...engine === undefined ? {} : { engine },
    ...projections === undefined ? {} : { projections },
    ...readModels === undefined ? {} : { readModels },
    ...chains === undefined ? {} : { chains: mergeChains(chains) },
    ...lanes === undefined ? {} : { lanes },
  };
}

/** What the parts have of it, which may be none; undefined where no part says anything of it. */
function listOf<K extends 'projections' | 'chains' | 'lanes'>(parts: readonly ReadinessParts[], key: K): NonNullable<ReadinessParts[K]>[number][] | undefined {
  const lists = parts.flatMap((part) => part[key] === undefined ? [] : [part[key]]);
  return lists.length === 0 ? undefined : lists.flat() as NonNullable<ReadinessParts[K]>[number][];
}

function mergeChains(chains: readonly ChainHealth[]): ChainHealth[] {
  const merged = new Map<number, ChainHealth>();
  for (const chain of chains) merged.set(chain.chainId, { ...merged.get(chain.chainId), ...chain });
  return [...merged.values()];
}

/** A list with the reason why lag is too great; empty when it is not. */
export function lagReasons(what: string, lag: number, maxLag: number): string[] {
  return lag > maxLag ? [`${what} is ${lag} records behind`] : [];
}
