/** Replays a history from its source: every record through its checks, in bounded memory, with checkpoints on the way. */
import type { QuickDecision } from '../../command/indexer/checks/chain-resolution.js';
import {
  commandSchemas, type CancelAfter, type CancelAll, type CancelOrder, type CancelOrders, type Command, type ReduceOrder, type SyncPosition,
} from '../../engine/records/commands.js';
import type { AnchorPassedOver, Event } from '../../engine/records/events.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import type { Restored } from '../../engine/run/snapshot-state.js';
import { viewOf, type EngineView } from '../../engine/run/view.js';
import type { ChainAudit } from './chain/chain-audit.js';
import type { PositionStore } from './chain/position-store.js';
import { factIn } from './chain/recorded-facts.js';
import { createRelays, type OpenRelayRecord } from './chain/relays.js';
import type { RecordedSync } from './chain/synced-positions.js';
import type { AuditCheckpoint, Counts } from './checkpoint.js';
import { Differs, earlier, type Difference } from './difference.js';
import type { IdStore } from './records/id-store.js';
import { createRecordCheck, type CheckedRecord, type RecordCheck } from './records/record-check.js';
import { mayRepeat } from './records/repeated-records.js';
import type { SignaturePool } from './signatures/signature-pool.js';

export interface ReplayParts {
  /** Undefined: signatures are not checked. */
  readonly signatures: SignaturePool | undefined;
  /** Whether a cancel without a signature is a difference. */
  readonly cancelsAreSigned: boolean;
  /** Hashes of transactions whose anchors the auditor knows to be false. */
  readonly passedOverAnchors: ReadonlySet<string>;
  readonly chainOf: (chainId: number) => ChainAudit | undefined;
  /** Undefined when no chain is compared. */
  readonly store: PositionStore | undefined;
  /** Where the ids of all records go. */
  readonly ids: Pick<IdStore, 'add'>;
}

export interface Replay {
  readonly engine: Engine;
  readonly view: EngineView;
  readonly counts: Counts;
  /** Holdings taken over from chains that are not compared, in order: the history itself must support them. */
  readonly synced: readonly RecordedSync[];
  /** These holdings have been compared. */
  syncedCompared(): void;
  /** Requests to the relayer that have not ended. */
  readonly relays: readonly OpenRelayRecord[];
  /** Checks the next lines. Throws Differs, CannotAudit; other work on earlier records may still be going on then. */
  take(lines: readonly Buffer[]): Promise<void>;
}

const NOTHING_COUNTED: Counts = {
  ids: 0, events: 0, orderSignatures: 0, cancelSignatures: 0, unsignedCancels: 0, matchedFills: 0, settledFills: 0, failedFills: 0, relays: 0,
  permits: 0, syncedPositions: 0,
};

type Own = Record<Exclude<keyof Counts, 'ids' | 'events'>, number>;

/** Begins at position 0, or where a checkpoint was taken. `connect` gets the engine's view and gives what works beside the replay. */
export function createReplay(connect: (view: EngineView) => ReplayParts, from?: AuditCheckpoint & { readonly restored: Restored }): Replay {
  const engine = createEngine(from?.restored.state, from?.restored.digest);
  const view = viewOf(engine);
  const parts = connect(view);
  const counted = from?.counts ?? NOTHING_COUNTED;
  const check: RecordCheck = createRecordCheck(engine, counted);
  const relays = createRelays(view, from?.relays ?? []);
  const decisions = createQuickDecisions(view);
  let synced: RecordedSync[] = [...from?.synced ?? []];
  const following: Following = { view, parts, own: { ...counted }, addSynced: (sync) => { synced.push(sync); } };

  function take(line: Buffer): void {
    const record = check.check(line);
    const { id, command, step } = record;
    const { position, outcome, digest } = step;
    const [first] = outcome.events;
    parts.ids.add(id, mayRepeat(command, first?.type === 'CommandRejected' && first.code === 'known_fact'));
    parts.store?.add(digest, command.kind === 'PlaceOrder' ? command.orderHash : undefined);
    for (const event of outcome.events) {
      considerEvent(event, position, following);
      const over = relays.take(event, position);
      if (over !== undefined) parts.chainOf(over.chainId)?.claim(over.ended);
    }
    const quick = decisions.ended(command, outcome.events);
    if (!isTold(record, following)) return;
    const fact = factIn(record, quick);
    if (fact !== undefined) parts.chainOf(fact.command.fact.chainId)?.add(fact);
    else refuseUntold(record, following);
  }

  return {
    engine, view,
    get counts() { return { ...following.own, ids: check.ids, events: check.events }; },
    get synced() { return synced; },
    syncedCompared() { synced = []; },
    get relays() { return relays.begun(); },
    async take(lines) {
      for (const line of lines) take(line);
      const { signatures } = parts;
      if (signatures?.found !== undefined) throw new Differs(signatures.found);
      await signatures?.room();
    },
  };
}

/** What the replay has at hand for each record. */
interface Following {
  readonly view: EngineView;
  readonly parts: ReplayParts;
  readonly own: Own;
  readonly addSynced: (sync: RecordedSync) => void;
}

function considerEvent(event: Event, position: number, { own, parts }: Following): void {
  if (event.type === 'FillMatched') own.matchedFills++;
  else if (event.type === 'FillSettled') own.settledFills++;
  else if (event.type === 'FillFailed') own.failedFills++;
  else if (event.type === 'AnchorPassedOver' && !parts.passedOverAnchors.has(event.txHash)) throw new Differs(unnamedAnchor(event, position));
}

/** Looks at what a command says by itself. Whether the rest of it may be told by a chain. */
function isTold(record: CheckedRecord, following: Following): boolean {
  const { command, bytes, step: { position, outcome } } = record;
  const { view, parts, own } = following;
  switch (command.kind) {
    case 'PlaceOrder':
      own.orderSignatures++;
      if (command.permit !== undefined) own.permits++;
      parts.signatures?.add(position, bytes, view.market(command.marketId)?.chainId);
      return false;
    case 'CancelOrder':
      if (command.fact !== undefined) return true;
      considerCancel(record, command, following);
      return false;
    case 'CancelOrders': case 'CancelAll': case 'CancelAfter':
      considerRequest(record, command, command.chainId, following);
      return false;
    case 'ReduceOrder':
      considerRequest(record, command, view.order(command.orderHash)?.chainId, following);
      return false;
    case 'RequestRelay': own.relays++; return false;
    case 'SyncPosition':
      if (outcome.events[0]?.type === 'PositionSynced') considerSync(command, position, following);
      return false;
    case 'AdvanceChain':
      if (outcome.events[0]?.type === 'ChainAdvanced') parts.chainOf(command.chainId)?.advanced({ number: command.block, hash: command.blockHash }, position);
      return false;
    default: return true;
  }
}

function considerCancel({ bytes, step: { position } }: CheckedRecord, command: CancelOrder, { view, parts, own }: Following): void {
  if (command.signature !== undefined && command.trader !== undefined && command.deadline !== undefined) {
    own.cancelSignatures++;
    parts.signatures?.add(position, bytes, view.market(command.marketId)?.chainId);
    return;
  }
  own.unsignedCancels++;
  if (parts.signatures !== undefined && (parts.cancelsAreSigned || command.trader !== undefined)) throw new Differs(unsigned(position, command));
}

/** A trader's request about its orders; one about an unknown order may be signed for any chain. */
function considerRequest(
  { bytes, step: { position } }: CheckedRecord, command: CancelOrders | CancelAll | CancelAfter | ReduceOrder, chainId: number | undefined,
  { parts, own }: Following,
): void {
  if (command.signature !== undefined && command.deadline !== undefined && command.trader !== undefined) {
    own.cancelSignatures++;
    parts.signatures?.add(position, bytes, chainId);
    return;
  }
  own.unsignedCancels++;
  const isHalf = command.signature !== undefined || command.deadline !== undefined || (command.kind === 'ReduceOrder' && command.trader !== undefined);
  if (parts.signatures !== undefined && (parts.cancelsAreSigned || isHalf)) throw new Differs(unsigned(position, command));
}

function considerSync(command: SyncPosition, position: number, { view, parts, own, addSynced }: Following): void {
  const { marketId, user, yesShares: yes, noShares: no, block } = command;
  own.syncedPositions++;
  const { chainId = -1, tokens } = view.market(marketId) ?? {};
  const ids = tokens === undefined ? null : [String(tokens[0]), String(tokens[1])] as const;
  const sync: RecordedSync = { kind: 'sync', position, marketId, user, yes, no, block, tokens: ids };
  const chain = parts.chainOf(chainId);
  if (chain === undefined) addSynced(sync);
  else chain.claim(sync);
}

/** What only a chain can tell must name the chain's event, where the chain is compared. */
function refuseUntold({ command, step: { position, outcome } }: CheckedRecord, { view, parts }: Following): void {
  const [event] = outcome.events;
  if (event === undefined || event.type === 'CommandRejected' || !isToldByChains(command)) return;
  const chainId = 'chainId' in command ? command.chainId : 'marketId' in event ? view.market(event.marketId)?.chainId : undefined;
  if (chainId !== undefined && parts.chainOf(chainId) !== undefined) throw new Differs(untold({ position, command, event, chainId }));
}

/** Whether the indexer records contract events with such commands. A cancel may also come from its trader. */
function isToldByChains({ kind }: Command): boolean {
  return 'fact' in commandSchemas[kind].properties;
}

function untold({ position, command, event, chainId }: {
  readonly position: number; readonly command: Command; readonly event: Event; readonly chainId: number;
}): Difference {
  if (event.type === 'FillSettled' || event.type === 'FillFailed') {
    return {
      check: event.type === 'FillSettled' ? 'settledFills' : 'failedFills', place: { position, fill: event.fill, chainId, txHash: event.txHash },
      what: `the history ends fill ${event.fill} at position ${position} without naming an event of chain ${chainId}`,
      means: 'Only the chain ends a fill. The record is forged, or was written before the exchange had this chain.', expected: 'a fact', found: command,
    };
  }
  return {
    check: 'chainFacts', place: { position, chainId }, what: `the ${command.kind} at position ${position} names no event of chain ${chainId}`,
    means: 'Only the chain can tell this. The record is forged, or was written before the exchange had this chain.', expected: 'a fact', found: command,
  };
}

function unnamedAnchor({ chainId, txHash, position: anchored, digest }: AnchorPassedOver, position: number): Difference {
  return {
    check: 'anchors', place: { position, chainId, txHash },
    what: `the history passes over the anchor of transaction ${txHash} on chain ${chainId}: digest ${digest} at position ${anchored} (AnchorPassedOver at position ${position})`,
    means: 'The operators say that the anchor is false, since a key of theirs had leaked; but an exchange that has rewritten its history would say the same. '
      + `If you know from elsewhere that it is false, audit with --pass-over-anchor ${txHash}.`,
    expected: digest, found: 'passed over',
  };
}

function unsigned(position: number, command: CancelOrder | CancelOrders | CancelAll | CancelAfter | ReduceOrder): Difference {
  const subject = 'orderHash' in command ? `${command.kind === 'ReduceOrder' ? 'reduction' : 'cancel'} of order ${command.orderHash}` : `${command.kind} of ${command.trader}`;
  return {
    check: 'cancelSignatures', place: { position }, what: `the ${subject} at position ${position} has no signature, and is no event of a chain`,
    means: 'The exchange says that cancels need their trader\'s signature. Somebody else cancelled the order, or the signature was removed from the record; '
      + 'or the exchange let anybody cancel when this was recorded (then audit with --unsigned-cancels).',
    expected: 'signature, trader and deadline', found: command,
  };
}

/** The earliest difference, once everything that was begun is checked. Throws CannotAudit when it cannot be, and nothing differs. */
export async function settled(
  found: Difference | undefined, signatures: SignaturePool | undefined, chains: readonly ChainAudit[],
): Promise<Difference | undefined> {
  let first = earlier(found, await signatures?.drain());
  for (const chain of chains) {
    try {
      first = earlier(first, await chain.settle());
    } catch (error) {
      if (first === undefined) throw error;
    }
  }
  return first;
}

interface QuickDecisions {
  /** The decision that a record which the engine has just taken ends; null for a record that ends none. */
  ended(command: Command, events: readonly Event[]): QuickDecision | null;
}

/** Begins with the unresolved markets of the engine's state, which a checkpoint may have restored. */
function createQuickDecisions(view: Pick<EngineView, 'markets' | 'quickMarket'>): QuickDecisions {
  const open = new Map<string, QuickDecision>();
  function follow(marketId: string): void {
    const quick = view.quickMarket(marketId)?.quick;
    if (quick !== undefined) open.set(marketId, quick);
  }
  for (const { marketId } of view.markets()) follow(marketId);
  return {
    ended(command, events) {
      // The view gives copies: what an event changes is read again.
      for (const event of events) if (changesDecision(event)) follow(event.marketId);
      if (command.kind !== 'ResolveMarket' && command.kind !== 'HalveMarket') return null;
      const decided = open.get(command.marketId);
      if (decided === undefined || view.quickMarket(command.marketId) !== undefined) return null;
      open.delete(command.marketId);
      const { strike, end, outcome } = decided;
      return { strike, end, outcome };
    },
  };
}

type Deciding = Extract<Event, { readonly type: 'MarketOpened' | 'StrikePriceSet' | 'EndPriceSet' | 'QuickMarketDecided' }>;

function changesDecision(event: Event): event is Deciding {
  switch (event.type) {
    case 'MarketOpened': return event.quick !== null;
    case 'StrikePriceSet': case 'EndPriceSet': case 'QuickMarketDecided': return true;
    default: return false;
  }
}
