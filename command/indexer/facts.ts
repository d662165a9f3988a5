/**
 * Turns chain events into the commands that record them, in the chain's order. Pure: the same events always give the
 * same facts.
 */
import type { Command } from '../../engine/records/commands.js';
import { CATEGORIES, NO, YES, type ChainFact, type Culprit, type FailureReason } from '../../engine/records/fields.js';
import type { RawChainEvent } from '../chain/block-range.js';
import type { Chain } from '../chain/chain.js';
import { readEvent, UndecodableEvent, type ChainEvent, type ChainEventArgs } from './chain-events.js';
import { failedTerms, settledTerms, type ChainFill } from './checks/chain-fill.js';
import { chainResolution, type ChainResolution } from './checks/chain-resolution.js';

/** A command that records a chain event. */
export type FactCommand = Extract<Command, { readonly fact?: ChainFact | undefined }> & { readonly fact: ChainFact };

export interface Fact {
  readonly command: FactCommand;
  /** The hash of the block that contains the event. */
  readonly blockHash: string;
  /** What the contract says of the fill that the command ends; absent for other commands. */
  readonly fill?: ChainFill;
}

/**
 * A position of the history and the digest at it, as a settlement transaction recorded them on the chain
 * (HistoryAnchored).
 */
export interface Anchor {
  readonly position: bigint;
  readonly digest: string;
  readonly txHash: string;
  /** The event's place. */
  readonly block: number;
  readonly blockHash: string;
  readonly logIndex: number;
}

export interface Facts {
  readonly facts: readonly Fact[];
  readonly anchors: readonly Anchor[];
  /**
   * What the quick resolver says of its resolutions, also of markets that nobody knows. Each market's ResolveMarket is
   * among the facts.
   */
  readonly resolutions: readonly ChainResolution[];
  /** One text per event of the exchange's contracts that could not be recorded: somebody must look. */
  readonly alerts: readonly string[];
}

export interface FactsContext {
  readonly chain: Chain;
  /** The commands' time, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** Whether this ERC-1155 id (32 bytes in hex) stands for shares of a market that the exchange has. */
  readonly isKnownToken: (token: string) => boolean;
  readonly isKnownMarket: (marketId: string) => boolean;
}

/**
 * The facts of chain events, which come in chain order. Skips events of other contracts, events that are not read, and
 * removed ones.
 */
export function factsOf(events: readonly RawChainEvent[], context: FactsContext): Facts {
  const { chain } = context;
  const found = {
    facts: [] as Fact[], anchors: [] as Anchor[], resolutions: [] as ChainResolution[], alerts: [] as string[],
  };
  const reader = createReader(context, quickTerms(chain, events));
  let moved: ChainFill['moved'];
  for (const raw of events) {
    if (raw.removed) continue;
    try {
      const event = readEvent(chain.contracts, raw);
      if (event?.name === 'HistoryAnchored') {
        const { txHash, block, blockHash, logIndex } = raw;
        found.anchors.push({
          position: event.args.position, digest: event.args.digest, txHash, block, blockHash, logIndex,
        });
      } else if (event?.name === 'QuickMarketResolved') {
        found.resolutions.push(chainResolution(event.args, raw));
      } else if (event !== undefined) {
        const command = reader(event, raw);
        if (command === undefined) continue;
        // FillSettled, which comes next, already records the shares that the settlement contract moves.
        if (command.kind === 'RecordTransfer' && isSettlements(chain, event)) moved = command;
        else found.facts.push({ command, blockHash: raw.blockHash, ...fillOf(event, raw, moved) });
      }
    } catch (error) {
      if (!(error instanceof UndecodableEvent || error instanceof Unrecordable)) throw error;
      const cause = error.cause instanceof Error ? ` (${error.cause.message.slice(0, 200)})` : '';
      const meaning = error instanceof Unrecordable ? error.meaning : undefined;
      found.alerts.push(`chain ${chain.chainId}, block ${raw.block}, event ${raw.logIndex}, transaction ${raw.txHash}: ${error.message}${cause}; `
        + `the event was not recorded: ${meaning ?? `check that ${raw.address} is the contract that the chain's settings name`}`);
    }
  }
  return found;
}

/** Whether the settlement contract moves shares from a trader to another one for a fill. */
function isSettlements({ contracts }: Chain, event: ChainEvent): boolean {
  if (event.name !== 'TransferSingle' && event.name !== 'TransferBatch') return false;
  const { operator, from, to } = event.args;
  return operator === contracts.settlement && from !== ZERO_ADDRESS && to !== ZERO_ADDRESS;
}

/** What an event says of a fill; `moved` is the last transfer of shares that the settlement contract made. */
function fillOf(event: ChainEvent, { block, logIndex, txHash }: RawChainEvent, moved: ChainFill['moved']): { readonly fill?: ChainFill } {
  switch (event.name) {
    case 'FillSettled': {
      const isItsOwn = moved?.txHash === txHash && moved.fact.block === block && moved.fact.logIndex === logIndex - 1;
      return { fill: { terms: settledTerms(event.args), moved: isItsOwn ? moved : undefined } };
    }
    case 'FillFailed': return { fill: { terms: failedTerms(event.args), moved: undefined } };
    default: return {};
  }
}

/**
 * No command can express the event. Without a `meaning`, its contract is not the one that this program was written for.
 */
class Unrecordable extends Error {
  constructor(what: string, readonly meaning?: string) {
    super(what);
  }
}

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const ZERO_BYTES32 = `0x${'0'.repeat(64)}`;
const MARKET_KINDS = ['standard', 'quick'] as const;
const MAX_QUESTION = 1_000;
const MAX_DESCRIPTION = 10_000;
const MAX_TRANSFER_ITEMS = 256;

/** FillFailed's numbers, in the contract's order. */
const REASONS: readonly FailureReason[] = [
  'buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired',
  'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown',
];
const CULPRITS: readonly Culprit[] = ['buyer', 'seller', 'both'];

type QuickTerms = ChainEventArgs['QuickMarketCreated'];

/**
 * What the quick markets of these events are about: the event that tells it comes after MarketCreated, in the same
 * transaction.
 */
function quickTerms({ contracts }: Chain, events: readonly RawChainEvent[]): ReadonlyMap<string, QuickTerms> {
  const terms = new Map<string, QuickTerms>();
  for (const raw of events) {
    if (raw.removed || raw.address !== contracts.marketFactory) continue;
    try {
      const event = readEvent(contracts, raw);
      if (event?.name === 'QuickMarketCreated') terms.set(event.args.marketId, event.args);
    } catch (error) {
      // Reported when the event's turn comes.
      if (!(error instanceof UndecodableEvent)) throw error;
    }
  }
  return terms;
}

/**
 * Reads events one after the other. A market is known from its MarketCreated event on. The commands have their fields in
 * the order of their schemas, which the compiled readers know.
 */
function createReader(
  context: FactsContext, quick: ReadonlyMap<string, QuickTerms>,
): (event: Exclude<ChainEvent, { name: 'HistoryAnchored' | 'QuickMarketResolved' }>, raw: RawChainEvent) => FactCommand | undefined {
  const { chain, at } = context;
  const { chainId, contracts } = chain;
  const created = new Set<string>();
  const isKnownToken = (token: string) => created.has(token) || context.isKnownToken(token);
  const isKnownMarket = (marketId: string) => created.has(marketId) || context.isKnownMarket(marketId);

  return (event, { block, logIndex, txHash }) => {
    const head = <K extends FactCommand['kind']>(kind: K) => ({ kind, v: 1, at } as const);
    const fact = { chainId, block, logIndex };
    switch (event.name) {
      case 'MarketCreated': {
        const command = { ...openMarket(event.args, { at, chainId, quick: quick.get(event.args.marketId) }), fact } as const;
        for (const known of [command.marketId, command.tokens.yes, command.tokens.no]) created.add(known);
        return command;
      }
      case 'QuickMarketCreated': return undefined;
      case 'TransferSingle': case 'TransferBatch': {
        const items = itemsOf(event);
        const { from, to } = event.args;
        // It moves nothing.
        if (from === to) return undefined;
        const known = items.filter(({ token, amount }) => amount !== '0' && isKnownToken(token));
        if (known.length > MAX_TRANSFER_ITEMS) throw new Unrecordable(`a transfer of ${known.length} tokens; the limit is ${MAX_TRANSFER_ITEMS}`);
        return known.length === 0 ? undefined : { ...head('RecordTransfer'), chainId, from, to, txHash, items: known, fact };
      }
      case 'PayoutRedemption': {
        const { redeemer: user, collateralToken, parentCollectionId, conditionId: marketId, payout } = event.args;
        // Anybody can redeem a known condition with a collateral token that they made themselves.
        const isOurs = collateralToken === contracts.collateral && parentCollectionId === ZERO_BYTES32
          && isKnownMarket(marketId);
        return isOurs ? { ...head('RecordRedemption'), marketId, user, payout: String(payout), txHash, fact } : undefined;
      }
      case 'ConditionResolution': {
        const marketId = event.args.conditionId;
        if (!isKnownMarket(marketId)) return undefined;
        const winningOutcome = winnerOf(event.args);
        return winningOutcome === 'half' ? { ...head('HalveMarket'), marketId, fact } : { ...head('ResolveMarket'), marketId, winningOutcome, fact };
      }
      case 'ResolutionProposed': return { ...head('RecordProposal'), ...proposal(event.args), fact };
      case 'ResolutionDisputed': {
        const { marketId, assertionId, disputer } = event.args;
        return { ...head('RecordDispute'), marketId, assertionId, disputer, fact };
      }
      // An abandoned assertion counts no more, whatever the oracle says of it later: as if the oracle had rejected it.
      case 'ResolutionRejected': case 'ResolutionAbandoned': {
        const { marketId, assertionId } = event.args;
        return { ...head('RecordRejection'), marketId, assertionId, fact };
      }
      case 'FillSettled': return { ...head('SettleFill'), fill: fillNumber(event.args.seq), txHash, fact };
      case 'FillFailed': {
        const reason = REASONS[Number(event.args.reason)] ?? 'unknown';
        const culprit = CULPRITS[Number(event.args.culprit)] ?? 'both';
        return { ...head('FailFill'), v: 2, fill: fillNumber(event.args.seq), txHash, reason, culprit, countDefault: true, fact };
      }
      case 'OrderCancelled': {
        const { orderHash, marketId, trader } = event.args;
        return { ...head('CancelOrder'), orderHash, marketId, trader, fact };
      }
      case 'CancelScheduled': {
        const { trader, belowNonce } = event.args;
        return { ...head('CancelOrdersBelow'), chainId, trader, belowNonce: String(belowNonce), fact };
      }
    }
  };
}

function openMarket(args: ChainEventArgs['MarketCreated'], { at, chainId, quick }: {
  readonly at: number; readonly chainId: number; readonly quick: QuickTerms | undefined;
}) {
  const { marketId, market: contractAddress, maker, yesId, noId } = args;
  const marketKind = MARKET_KINDS[Number(args.kind)];
  if (marketKind === undefined) throw new Unrecordable(`a market of kind ${args.kind}, which this program does not know`);
  return {
    kind: 'OpenMarket', v: 3, at, marketId,
    question: cut(args.question, MAX_QUESTION) || '(no question)',
    description: cut(args.description, MAX_DESCRIPTION),
    category: CATEGORIES[Number(args.category)] ?? 'general',
    contractAddress, maker, expiration: seconds(args.expiration), chainId, marketKind,
    tokens: { yes: tokenOf(yesId), no: tokenOf(noId) },
    ...quick === undefined ? {} : { quick: { asset: assetOf(quick.asset), startTime: seconds(quick.startTime) } },
    ifOver: 'close',
  } as const;
}

function assetOf(name: string): string {
  if (/^[A-Z0-9]{1,16}$/.test(name)) return name;
  throw new Unrecordable(`a quick market on an asset whose name is not of 1 to 16 capital letters and digits: ${JSON.stringify(name)}`);
}

function proposal(args: ChainEventArgs['ResolutionProposed']) {
  const { marketId, assertionId, proposer, outcome, bond, assertionTime, expirationTime } = args;
  return {
    marketId, assertionId, proposer, outcome: outcome ? YES : NO, bond: String(bond),
    assertionTime: seconds(assertionTime), expirationTime: seconds(expirationTime),
  } as const;
}

/**
 * Amounts by token, each token once. The sums stay below 2^256, since nobody has more shares than there are. The
 * exception is a transfer to oneself, which is never recorded.
 */
function itemsOf(event: Extract<ChainEvent, { name: 'TransferSingle' | 'TransferBatch' }>): { token: string; amount: string }[] {
  const [ids, values] = event.name === 'TransferSingle' ? [[event.args.id], [event.args.value]] : [event.args.ids, event.args.values];
  if (ids.length !== values.length) throw new Unrecordable(`a transfer of ${ids.length} tokens and ${values.length} amounts`);
  const amounts = new Map<bigint, bigint>();
  ids.forEach((id, i) => amounts.set(id, (amounts.get(id) ?? 0n) + (values[i] ?? 0n)));
  return [...amounts].map(([id, amount]) => ({ token: tokenOf(id), amount: String(amount) }));
}

function winnerOf({ payoutNumerators }: ChainEventArgs['ConditionResolution']) {
  switch (payoutNumerators.join()) {
    case '1,0': return YES;
    case '0,1': return NO;
    case '1,1': return 'half';
    default: throw new Unrecordable(`a market was resolved with payouts [${payoutNumerators.join(', ').slice(0, 200)}], not [1, 0], [0, 1] or [1, 1]`);
  }
}

/** This exchange never gives a fill a number above 2^53. */
function fillNumber(seq: bigint): number {
  if (seq > BigInt(Number.MAX_SAFE_INTEGER)) throw new Unrecordable(`fill ${seq} was settled, but this exchange never gives so high a number`);
  return Number(seq);
}

/** Times beyond 2^53 seconds are recorded as 2^53 - 1. */
function seconds(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

/** The first `length` characters (Unicode code points, as JSON schemas count). */
function cut(text: string, length: number): string {
  return text.length <= length ? text : Array.from(text).slice(0, length).join('');
}

function tokenOf(id: bigint): string {
  return `0x${id.toString(16).padStart(64, '0')}`;
}
