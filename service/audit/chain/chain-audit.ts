/** Reads the chain's events block range by block range, behind the replay, and compares them with the history; and what its nodes are asked. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContractCall } from '../../../command/chain/abi.js';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from '../../../command/chain/chain.js';
import { createChainReads } from '../../../command/chain/chain-reads.js';
import { InconsistentAnswer, readBlock, readLatest, readRange, type BlockName } from '../../../command/indexer/block-range.js';
import { eventFilter, readEvent, type RawChainEvent } from '../../../command/indexer/chain-events.js';
import type { EngineView } from '../../../engine/run/view.js';
import { CannotAudit, Differs, earlier, type Difference } from '../difference.js';
import { compareFacts } from './compare-facts.js';
import type { PositionStore } from './position-store.js';
import { byPlace, type RecordedFact } from './recorded-facts.js';
import { compareSynced, type SyncedPosition } from './synced-positions.js';

export interface ChainAuditOptions {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly view: Pick<EngineView, 'market' | 'isKnownToken' | 'cursor'>;
  readonly store: Pick<PositionStore, 'digestAt' | 'orderHashAt'>;
  readonly kept?: ChainProgress | undefined;
  /** The most blocks per request. */
  readonly rangeBlocks?: number;
  /** How long a node may fail. Default 60 s. */
  readonly patienceMs?: number | undefined;
}

/** How far a chain has been compared, for a checkpoint: taken when nothing is being compared. */
export interface ChainProgress {
  readonly chainId: number;
  readonly nextBlock: number;
  readonly pending: readonly RecordedFact[];
  readonly claims: readonly Claim[];
  readonly counts: ChainCounts;
}

export interface ChainCounts {
  readonly anchors: number;
  readonly passedOver: number;
  readonly settledFills: number;
  readonly failedFills: number;
  readonly chainFacts: number;
  readonly endedRelays: number;
  readonly alarms: number;
}

/** What a history says of its chain besides the events. */
export type Claim = SyncedPosition | EndedRelay;

/** What the chain has behind the last event that the history recorded: not a part of this history, and nothing wrong by itself. */
export interface Beyond {
  /** The last block of the chain that counts as final. */
  readonly finalBlock: number;
  readonly blocks: number;
  readonly events: number;
  /** The highest position that an anchor there names at or after the audited end; undefined when there is none. */
  readonly anchored: number | undefined;
}

export interface ChainAudit {
  readonly chainId: number;
  readonly counts: ChainCounts;
  add(fact: RecordedFact): void;
  /** What the history says of the chain besides its events. */
  claim(claim: Claim): void;
  /** The history says that all events up to this block are in it. `position` is where it says so. */
  advanced(block: BlockName, position: number): void;
  room(): Promise<void> | undefined;
  /** Hands over what was gathered up to the last block of which the history says that it has all events; `finish` is not asked after that. */
  catchUp(): void;
  /** Resolves when all that was handed over is compared; with the first difference. Throws CannotAudit. */
  settle(): Promise<Difference | undefined>;
  /** Compares what is left up to the history's cursor, and looks at what the chain has behind it up to the block. `end` is the history's length; `onRead` is told of each block up to which all is read. */
  finish(end: number, head: number, onRead?: (block: number) => void): Promise<{ readonly difference: Difference | undefined; readonly beyond: Beyond }>;
  progress(): ChainProgress;
}

interface Complete {
  readonly end: BlockName;
  readonly saidAt: number;
}

interface Job {
  readonly to: number;
  readonly end: BlockName | undefined;
  /** Only events before this index of the last block count. */
  readonly beforeLog: number;
  readonly facts: readonly RecordedFact[];
  readonly claims: readonly Claim[];
  /** Where the history says that it has all events up to the end. */
  readonly saidAt: number;
  readonly said: readonly Complete[];
}

const RANGE_BLOCKS = 2_000;
/** So much is gathered before the chain is asked. */
const GATHERED_FACTS = 500;
const GATHERED_BLOCKS = 2_000;
const JOBS_AHEAD = 2;
const CONTRADICTIONS_TO_BELIEVE = 3;

export function createChainAudit(options: ChainAuditOptions): ChainAudit {
  const { chain, view, kept } = options;
  let read: (block: number) => void = () => undefined;
  const reader = createReader({ ...options, onRead: (block) => { read(block); } });
  const pending: RecordedFact[] = [...kept?.pending ?? []];
  const claims: Claim[] = [...kept?.claims ?? []];
  const openings = createOpenings(pending);
  let counts: ChainCounts = kept?.counts ?? { anchors: 0, passedOver: 0, settledFills: 0, failedFills: 0, chainFacts: 0, endedRelays: 0, alarms: 0 };
  let gatheredFrom = kept?.nextBlock ?? chain.startBlock;
  let nextBlock = gatheredFrom;
  /** The blocks since then of which the history says that it has all events, and where. */
  let complete: Complete[] = [];
  const jobs = createJobs(compare);

  async function compare({ to, end, beforeLog, facts, claims: claimed, saidAt, said }: Job): Promise<void> {
    for (let from = nextBlock, rest = facts; from <= to;) {
      const range = await reader.range(from, to);
      const upTo = range.end.number;
      if (end !== undefined && upTo === end.number && range.end.hash !== end.hash) await reader.contradiction(end, saidAt);
      const within = rest.filter(({ command }) => command.fact.block <= upTo);
      rest = rest.slice(within.length);
      const compared = compareFacts({
        chain, facts: within, digestAt: options.store.digestAt, orderHashAt: options.store.orderHashAt,
        saidAt: (block) => said.find((each) => each.end.number >= block)?.saidAt ?? saidAt,
        events: upTo < to ? range.events : range.events.filter(({ block, logIndex }) => block < to || logIndex < beforeLog),
        isKnownMarket: (marketId) => view.market(marketId) !== undefined && openings.isCompared(marketId),
        isKnownToken: (token) => view.isKnownToken(token) && openings.isCompared(token),
      });
      counts = added(counts, compared);
      openings.compared(within);
      from = upTo + 1;
    }
    nextBlock = to + 1;
    await compareClaims(claimed);
  }

  async function compareClaims(claimed: readonly Claim[]): Promise<void> {
    await compareSynced(chain, claimed.filter((claim) => claim.kind === 'sync'), reader);
    for (const claim of claimed) {
      if (claim.kind !== 'relay') continue;
      await compareEnded(chain, claim, reader);
      counts = { ...counts, endedRelays: counts.endedRelays + 1 };
    }
  }

  function handOver(job: Omit<Job, 'facts' | 'claims' | 'said'>): void {
    jobs.start({ ...job, said: complete, claims: claims.splice(0), facts: pending.splice(0).sort((a, b) => byPlace(a.command.fact, b.command.fact)) });
    complete = [];
    gatheredFrom = job.to + 1;
  }

  return {
    chainId: chain.chainId,
    get counts() { return counts; },
    add(fact) {
      pending.push(fact);
      openings.recorded(fact);
    },
    claim(claim) { claims.push(claim); },
    advanced(end, saidAt) {
      complete.push({ end, saidAt });
      if (end.number < gatheredFrom || (pending.length + claims.length < GATHERED_FACTS && end.number - gatheredFrom < GATHERED_BLOCKS)) return;
      handOver({ to: end.number, end, beforeLog: Infinity, saidAt });
    },
    room: () => jobs.room(),
    catchUp() {
      const last = complete.at(-1);
      if (last !== undefined && last.end.number >= gatheredFrom) handOver({ to: last.end.number, ...last, beforeLog: Infinity });
      else if (claims.length > 0) handOver({ to: gatheredFrom - 1, end: undefined, beforeLog: Infinity, saidAt: 0 });
    },
    settle: () => jobs.settle(),
    async finish(end, head, onRead = () => undefined) {
      read = onRead;
      const cursor = view.cursor(chain.chainId);
      const { nextBlock: block = chain.startBlock, nextLog = 0 } = cursor ?? {};
      const isWhole = nextLog === 0;
      const to = isWhole ? block - 1 : block;
      const named = cursor?.block === to && cursor.blockHash !== undefined ? { number: to, hash: cursor.blockHash } : undefined;
      if (to >= gatheredFrom || claims.length > 0) {
        handOver({ to: Math.max(to, gatheredFrom - 1), end: isWhole ? named : undefined, beforeLog: isWhole ? Infinity : nextLog, saidAt: end - 1 });
      }
      const found = await jobs.settle();
      return { difference: found, beyond: found === undefined ? await reader.beyond({ from: block, fromLog: nextLog, head, end }) : NOTHING };
    },
    progress: () => ({ chainId: chain.chainId, nextBlock: gatheredFrom, pending: [...pending], claims: [...claims], counts }),
  };
}

/** Markets and tokens that the engine knows already, though the chain's event that opened them was not compared yet. */
function createOpenings(pending: readonly RecordedFact[]) {
  const waiting = new Set<string>();
  function recorded({ command, rejected }: RecordedFact): void {
    if (command.kind !== 'OpenMarket' || rejected !== null) return;
    for (const id of namesOf(command)) waiting.add(id);
  }
  pending.forEach(recorded);
  return {
    recorded,
    compared(facts: readonly RecordedFact[]): void {
      for (const { command } of facts) if (command.kind === 'OpenMarket') for (const id of namesOf(command)) waiting.delete(id);
    },
    isCompared: (id: string): boolean => !waiting.has(id),
  };
}

/** One job after the other, until one has failed or found a difference. */
function createJobs(work: (job: Job) => Promise<void>) {
  let open = 0;
  let last: Promise<void> = Promise.resolve();
  let difference: Difference | undefined;
  let failure: unknown;
  return {
    start(job: Job): void {
      open++;
      last = last.then(async () => {
        if (difference === undefined && failure === undefined) await work(job);
      }).catch((error: unknown) => {
        if (error instanceof Differs) difference = earlier(difference, error.difference);
        else failure = error;
      }).finally(() => { open--; });
    },
    room: (): Promise<void> | undefined => open < JOBS_AHEAD ? undefined : last,
    async settle(): Promise<Difference | undefined> {
      await last;
      if (failure !== undefined) throw failure;
      return difference;
    },
  };
}

const NOTHING: Beyond = { finalBlock: 0, blocks: 0, events: 0, anchored: undefined };

function namesOf({ marketId, tokens }: Extract<RecordedFact['command'], { kind: 'OpenMarket' }>): string[] {
  return [marketId, ...tokens === undefined ? [] : [tokens.yes, tokens.no]];
}

function added(counts: ChainCounts, { alarms, ...compared }: ReturnType<typeof compareFacts>): ChainCounts {
  return {
    anchors: counts.anchors + compared.anchors, passedOver: counts.passedOver + compared.passedOver,
    settledFills: counts.settledFills + compared.settledFills, failedFills: counts.failedFills + compared.failedFills,
    chainFacts: counts.chainFacts + compared.chainFacts, endedRelays: counts.endedRelays, alarms: counts.alarms + alarms.length,
  };
}

