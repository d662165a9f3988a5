/** Reads the chain's events block range by block range, behind the replay, and compares them with the history. */
import type { Chain } from '../../../command/chain/chain.js';
import type { BlockName, RawChainEvent } from '../../../command/chain/block-range.js';
import type { EngineView } from '../../../engine/run/view.js';
import { Differs, earlier, type Difference } from '../difference.js';
import { readChainTail, type ChainTail } from './chain-tail.js';
import { createChainReader, type ChainReader, type ReaderOptions } from './chain-reader.js';
import { compareFacts } from './compare-facts.js';
import { wrongEnding, type RecordedRelay } from './ended-relays.js';
import type { PositionStore } from './position-store.js';
import { byPlace, type RecordedFact } from './recorded-facts.js';
import { compareSynced, type RecordedSync } from './synced-positions.js';

export interface ChainAuditOptions extends ReaderOptions {
  readonly view: Pick<EngineView, 'market' | 'isKnownToken' | 'cursor'>;
  readonly store: Pick<PositionStore, 'digestAt' | 'orderHashAt'>;
  readonly kept?: ChainProgress | undefined;
}

/** How far a chain has been compared, for a checkpoint: taken when nothing is being compared. */
export interface ChainProgress {
  readonly chainId: number;
  readonly nextBlock: number;
  readonly pending: readonly RecordedFact[];
  readonly claims: readonly HistoryClaim[];
  readonly counts: ChainCounts;
}

export interface ChainCounts {
  readonly anchors: number;
  readonly passedOver: number;
  readonly passedOverFills: number;
  readonly settledFills: number;
  readonly failedFills: number;
  readonly quickResolutions: number;
  readonly chainFacts: number;
  readonly endedRelays: number;
  readonly alerts: number;
}

const NOTHING_COUNTED: ChainCounts = {
  anchors: 0, passedOver: 0, passedOverFills: 0, settledFills: 0, failedFills: 0, quickResolutions: 0, chainFacts: 0, endedRelays: 0, alerts: 0,
};

/** What a history says of its chain besides the events. */
export type HistoryClaim = RecordedSync | RecordedRelay;

export interface Finished {
  readonly difference: Difference | undefined;
  readonly tail: ChainTail;
}

export interface ChainAudit {
  readonly chainId: number;
  readonly counts: ChainCounts;
  add(fact: RecordedFact): void;
  /** What the history says of the chain besides its events. */
  claim(claim: HistoryClaim): void;
  /** The history says that all events up to this block are in it. `position` is where it says so. */
  advanced(block: BlockName, position: number): void;
  room(): Promise<void> | undefined;
  /** Hands over what was gathered up to the last block of which the history says that it has all events; `finish` is not asked after that. */
  catchUp(): void;
  /** Resolves when all that was handed over is compared; with the first difference. Throws CannotAudit. */
  settle(): Promise<Difference | undefined>;
  /**
   * Compares what is left up to the history's cursor, and looks at what the chain has behind it up to the block. `end` is the history's length;
   * `onRead` is told of each block up to which all is read behind it.
   */
  finish(end: number, head: number, onRead: (block: number) => void): Promise<Finished>;
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
  readonly claims: readonly HistoryClaim[];
  /** Where the history says that it has all events up to the end. */
  readonly saidAt: number;
  readonly said: readonly Complete[];
}

/** So much is gathered before the chain is asked. */
const GATHERED_FACTS = 500;
const GATHERED_BLOCKS = 2_000;
const JOBS_AHEAD = 2;
/** So many relayed requests are compared at the same time. */
const RELAYS_AT_ONCE = 16;

export function createChainAudit(options: ChainAuditOptions): ChainAudit {
  const { chain, view, kept, store } = options;
  const reader = createChainReader(options);
  const pending: RecordedFact[] = [...kept?.pending ?? []];
  const claims: HistoryClaim[] = [...kept?.claims ?? []];
  const openings = createOpenings(pending);
  const comparing = createComparing(options, reader, openings);
  const jobs = createJobs(comparing.compare);
  let gatheredFrom = kept?.nextBlock ?? chain.startBlock;
  /** The blocks since then of which the history says that it has all events, and where. */
  let complete: Complete[] = [];

  function handOver(job: Omit<Job, 'facts' | 'claims' | 'said'>): void {
    const facts = pending.splice(0).sort((a, b) => byPlace(a.command.fact, b.command.fact));
    jobs.start({ ...job, facts, claims: claims.splice(0), said: complete });
    complete = [];
    gatheredFrom = job.to + 1;
  }

  return {
    chainId: chain.chainId,
    get counts() { return comparing.counts; },
    add(fact) {
      pending.push(fact);
      openings.recorded(fact);
    },
    claim(claim) { claims.push(claim); },
    advanced(end, saidAt) {
      complete.push({ end, saidAt });
      const isEnough = pending.length + claims.length >= GATHERED_FACTS || end.number - gatheredFrom >= GATHERED_BLOCKS;
      if (end.number >= gatheredFrom && isEnough) handOver({ to: end.number, end, beforeLog: Infinity, saidAt });
    },
    room: () => jobs.room(),
    catchUp() {
      const last = complete.at(-1);
      if (last !== undefined && last.end.number >= gatheredFrom) handOver({ to: last.end.number, ...last, beforeLog: Infinity });
      else if (claims.length > 0) handOver({ to: gatheredFrom - 1, end: undefined, beforeLog: Infinity, saidAt: 0 });
    },
    settle: () => jobs.settle(),
    async finish(end, head, onRead) {
      const cursor = view.cursor(chain.chainId);
      const { nextBlock: block = chain.startBlock, nextLog = 0 } = cursor ?? {};
      const isWhole = nextLog === 0;
      const to = isWhole ? block - 1 : block;
      const named = cursor?.block === to && cursor.blockHash !== undefined ? { number: to, hash: cursor.blockHash } : undefined;
      if (to >= gatheredFrom || claims.length > 0) {
        handOver({ to: Math.max(to, gatheredFrom - 1), end: isWhole ? named : undefined, beforeLog: isWhole ? Infinity : nextLog, saidAt: end - 1 });
      }
      const found = await jobs.settle();
      if (found !== undefined) return { difference: found, tail: NOTHING };
      const behind = { chain, reader, digestAt: store.digestAt, from: block, fromLog: nextLog, head, end, onRead };
      return { difference: undefined, tail: await readChainTail(behind) };
    },
    progress: () => ({ chainId: chain.chainId, nextBlock: gatheredFrom, pending: [...pending], claims: [...claims], counts: comparing.counts }),
  };
}

/** Compares one job after the other, and counts what agrees. */
function createComparing({ chain, view, store, kept }: ChainAuditOptions, reader: ChainReader, openings: Openings) {
  let counts = kept?.counts ?? NOTHING_COUNTED;
  let nextBlock = kept?.nextBlock ?? chain.startBlock;

  async function compareEndings(ended: readonly RecordedRelay[]): Promise<void> {
    const tokensOf = (marketId: string) => view.market(marketId)?.tokens;
    for (let from = 0; from < ended.length; from += RELAYS_AT_ONCE) {
      const some = ended.slice(from, from + RELAYS_AT_ONCE);
      const wrong = await Promise.all(some.map((each) => wrongEnding(chain, each, { ...reader, tokensOf })));
      const first = wrong.find((each) => each !== undefined);
      if (first !== undefined) throw new Differs(first);
      counts = { ...counts, endedRelays: counts.endedRelays + some.length };
    }
  }

  return {
    get counts() { return counts; },
    async compare({ to, end, beforeLog, facts, claims, saidAt, said }: Job): Promise<void> {
      for (let from = nextBlock, rest = facts; from <= to;) {
        const range = await reader.range(from, to);
        const upTo = range.end.number;
        if (end !== undefined && upTo === end.number && range.end.hash !== end.hash) await reader.contradiction(end, saidAt);
        const within = rest.filter(({ command }) => command.fact.block <= upTo);
        rest = rest.slice(within.length);
        const compared = compareFacts({
          chain, facts: within, digestAt: store.digestAt, orderHashAt: store.orderHashAt,
          saidAt: (block) => said.find((each) => each.end.number >= block)?.saidAt ?? saidAt,
          events: upTo < to ? range.events : recordedEvents(range.events, { chain, to, beforeLog }),
          isKnownMarket: (marketId) => view.market(marketId) !== undefined && openings.isCompared(marketId),
          isKnownToken: (token) => view.isKnownToken(token) && openings.isCompared(token),
        });
        counts = added(counts, compared);
        openings.compared(within);
        from = upTo + 1;
      }
      nextBlock = to + 1;
      await compareSynced(chain, claims.filter((claim) => claim.kind === 'sync'), reader);
      await compareEndings(claims.filter((claim) => claim.kind === 'relay'));
    },
  };
}

/** The events before an index of block `to`, and what the quick resolver says of the last of them: its word comes right after the resolution. */
function recordedEvents(
  events: readonly RawChainEvent[], { chain: { contracts }, to, beforeLog }: { readonly chain: Chain } & Pick<Job, 'to' | 'beforeLog'>,
): readonly RawChainEvent[] {
  const isItsWord = ({ address, logIndex }: RawChainEvent) => logIndex === beforeLog && address === contracts.quickResolver;
  return events.filter((raw) => raw.block < to || raw.logIndex < beforeLog || isItsWord(raw));
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

const NOTHING: ChainTail = { finalBlock: 0, blocks: 0, events: 0, anchored: undefined };

function added(counts: ChainCounts, { alerts, ...compared }: ReturnType<typeof compareFacts>): ChainCounts {
  return {
    anchors: counts.anchors + compared.anchors, passedOver: counts.passedOver + compared.passedOver,
    passedOverFills: counts.passedOverFills + compared.passedOverFills,
    settledFills: counts.settledFills + compared.settledFills, failedFills: counts.failedFills + compared.failedFills,
    quickResolutions: counts.quickResolutions + compared.quickResolutions, chainFacts: counts.chainFacts + compared.chainFacts,
    endedRelays: counts.endedRelays, alerts: counts.alerts + alerts.length,
  };
}

interface Openings {
  recorded(fact: RecordedFact): void;
  compared(facts: readonly RecordedFact[]): void;
  /** Whether the opening of this market or token was compared, if there is one. */
  isCompared(id: string): boolean;
}

function createOpenings(pending: readonly RecordedFact[]): Openings {
  const waiting = new Set<string>();
  function recorded({ command, rejected }: RecordedFact): void {
    if (command.kind !== 'OpenMarket' || rejected !== null) return;
    for (const id of namesOf(command)) waiting.add(id);
  }
  pending.forEach(recorded);
  return {
    recorded,
    compared(facts) {
      for (const { command } of facts) if (command.kind === 'OpenMarket') for (const id of namesOf(command)) waiting.delete(id);
    },
    isCompared: (id) => !waiting.has(id),
  };
}

function namesOf({ marketId, tokens }: Extract<RecordedFact['command'], { kind: 'OpenMarket' }>): string[] {
  return [marketId, ...tokens === undefined ? [] : [tokens.yes, tokens.no]];
}
