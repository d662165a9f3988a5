/** Compares the contracts' events in a range of blocks with what the history says about it, in both directions. Pure. */
import type { RawChainEvent } from '../../../command/chain/block-range.js';
import type { Chain } from '../../../command/chain/chain.js';
import { otherTerms, passedOverFill, type ChainFill } from '../../../command/indexer/checks/chain-fill.js';
import { otherResolution, type ChainResolution } from '../../../command/indexer/checks/chain-resolution.js';
import { factsOf, type Anchor, type Fact } from '../../../command/indexer/facts.js';
import { RecordTooLarge } from '../../../engine/log/log.js';
import { MalformedRecord } from '../../../engine/records/codec.js';
import { encodeCommand } from '../../../engine/run/new-record.js';
import type { Command } from '../../../engine/records/commands.js';
import { Differs, type CheckName, type Difference, type Place } from '../difference.js';
import { factId } from '../records/record-ids.js';
import { byPlace, keyOf, saysTheSame, type RecordedFact } from './recorded-facts.js';

export interface Compared {
  readonly anchors: number;
  readonly passedOver: number;
  readonly passedOverFills: number;
  readonly settledFills: number;
  readonly failedFills: number;
  readonly quickResolutions: number;
  readonly chainFacts: number;
  /** Events that no history can record, as the service's own alerts say them. */
  readonly alerts: readonly string[];
}

export interface Comparison {
  readonly chain: Chain;
  readonly events: readonly RawChainEvent[];
  /** The history's facts about the same blocks, in the chain's order. */
  readonly facts: readonly RecordedFact[];
  /** The position of the record that says that all events of this block are in the history. */
  readonly saidAt: (block: number) => number;
  readonly isKnownToken: (token: string) => boolean;
  readonly isKnownMarket: (marketId: string) => boolean;
  /** The history's own digest and order hash at a position; undefined where it has none. */
  readonly digestAt: (position: number) => string | undefined;
  readonly orderHashAt: (position: number) => string | undefined;
}

/** Counts what agrees. Throws Differs for the first event, in the chain's order, that does not. */
export function compareFacts(comparison: Comparison): Compared {
  const { chain, events, facts } = comparison;
  const onChain = factsOf(events, { chain, at: 1, isKnownToken: comparison.isKnownToken, isKnownMarket: comparison.isKnownMarket });
  const compared = {
    anchors: 0, passedOver: 0, passedOverFills: 0, settledFills: 0, failedFills: 0, quickResolutions: 0, chainFacts: 0, alerts: onChain.alerts,
  };
  const anchors = new Map(onChain.anchors.map((anchor) => [keyOf(anchor), anchor]));
  const recorded = new Map(facts.map((fact) => [keyOf(fact.command.fact), fact]));
  const { facts: due, passedOver } = expectedFacts(onChain.facts, recorded);
  const expected = new Map(due.map((fact) => [keyOf(fact.command.fact), fact]));
  const places = [...facts.map(({ command }) => command.fact), ...due.map(({ command }) => command.fact), ...onChain.anchors].sort(byPlace);
  for (const key of new Set(places.map(keyOf))) {
    const [anchor, ours, theirs] = [anchors.get(key), recorded.get(key), expected.get(key)];
    if (anchor !== undefined) {
      if (compareAnchor(comparison, anchor, ours)) compared.passedOver++;
      compared.anchors++;
    } else if (ours === undefined) {
      if (theirs !== undefined) missingInHistory(comparison, theirs);
    } else if (theirs === undefined) {
      throw new Differs(missingOnChain(chain, ours));
    } else {
      compareFact(ours, theirs);
      if (hasPassedOver(comparison, ours, { theirs, isPassedOver: passedOver.has(key) })) compared.passedOverFills++;
      if (compareResolution(onChain.resolutions, ours)) compared.quickResolutions++;
      compared[countOf(ours.command)]++;
    }
  }
  for (const resolution of onChain.resolutions) mustBeRecorded(resolution, comparison);
  return compared;
}

function countOf({ kind }: Command): 'settledFills' | 'failedFills' | 'chainFacts' {
  return kind === 'SettleFill' ? 'settledFills' : kind === 'FailFill' ? 'failedFills' : 'chainFacts';
}

/** Whether it differs and was passed over. Throws Differs. */
function compareAnchor({ chain, digestAt, saidAt }: Comparison, anchor: Anchor, recorded: RecordedFact | undefined): boolean {
  const { position, digest, txHash, block, logIndex } = anchor;
  const known = position <= BigInt(Number.MAX_SAFE_INTEGER) ? digestAt(Number(position)) : undefined;
  if (known === digest) return false;
  const passed = recorded?.command;
  if (passed?.kind === 'PassOverAnchor' && passed.txHash === txHash && passed.digest === digest && passed.position === String(position)) return true;
  throw new Differs({
    check: 'anchors', place: { position: Number(position), chainId: chain.chainId, block, logIndex, txHash },
    what: `transaction ${txHash} anchors digest ${digest} at position ${position}, where this history has ${known ?? 'no record'} (the history recorded the block at position ${saidAt(block)})`,
    means: 'The chain is evidence of what the history was when the transaction was sent: the history was rewritten since at or before this position, or it is another '
      + 'exchange\'s; or somebody else had an operator\'s key and anchored what never was, and the history does not pass it over (AnchorPassedOver).',
    expected: digest, found: known ?? null,
  });
}

/** Whether the fact resolves a quick market, and as the history decided. Throws Differs. */
function compareResolution(resolutions: readonly ChainResolution[], { position, command, quick }: RecordedFact): boolean {
  if (command.kind !== 'ResolveMarket' || quick === null) return false;
  const { marketId, winningOutcome: paid, fact } = command;
  const onChain = resolutions.find((each) => each.marketId === marketId && each.block === fact.block);
  const other = otherResolution({ paid, onChain, decided: quick });
  if (other === undefined) return true;
  throw new Differs({
    check: 'quickResolutions', place: { position, ...placeOf(fact, command), ...onChain === undefined ? {} : { txHash: onChain.txHash } },
    expected: other.decided, found: other.onChain,
    what: `the quick market ${marketId} ${other.what} (event ${fact.logIndex} of block ${fact.block} on chain ${fact.chainId}, position ${position})`,
    means: 'Its shares were paid by something that no record of the history supports: somebody with the key for quick markets resolved it, or the prices and the decision '
      + 'were removed from the history.',
  });
}

/** Throws Differs for a resolution by prices of which the history does not know that the market is resolved. */
function mustBeRecorded({ marketId, terms, txHash, block, logIndex }: ChainResolution, comparison: Comparison): void {
  const { chain: { chainId }, facts, saidAt, isKnownMarket } = comparison;
  const ofMarket = facts.flatMap(({ command, rejected }) => 'marketId' in command && command.marketId === marketId && rejected === null ? [command] : []);
  if (ofMarket.some(({ kind, fact }) => kind === 'ResolveMarket' && fact.block === block)) return;
  if (!isKnownMarket(marketId) && !ofMarket.some(({ kind }) => kind === 'OpenMarket')) return;
  const position = saidAt(block);
  throw new Differs({
    check: 'quickResolutions', place: { position, chainId, block, logIndex, txHash }, expected: terms, found: null,
    what: `the quick resolver says that it resolved market ${marketId} (event ${logIndex} of block ${block} on chain ${chainId}), and the history does not have it, `
      + `though its record at position ${position} says that it has all events of this block`,
    means: 'The record was left out or removed, or the contract there is not the exchange\'s quick resolver.',
  });
}

/** Whether the fact ends a fill in another way than the contract says, and both history and auditor pass it over. Throws Differs. */
function hasPassedOver(
  { chain, orderHashAt }: Comparison, recorded: RecordedFact, { theirs: { fill: onChain }, isPassedOver }: { theirs: Fact; isPassedOver: boolean },
): boolean {
  const { position, command } = recorded;
  if (onChain === undefined || !('fill' in command)) return false;
  const { txHash } = command;
  const found = compareFill({ recorded, onChain, txHash, isPassedOver, isNamed: chain.passOverFills?.includes(txHash) === true, orderHashAt });
  if (found === undefined || found === 'passed over') return found !== undefined;
  throw new Differs({ check: checkOf(command), place: { position, ...placeOf(command.fact, command) }, ...found });
}

function placeOf({ chainId, block, logIndex }: RecordedFact['command']['fact'], command: Command): Place {
  return {
    chainId, block, logIndex, ...'txHash' in command && command.txHash !== undefined ? { txHash: command.txHash } : {},
    ...'fill' in command ? { fill: command.fill } : {},
  };
}

function checkOf(command: Command): CheckName {
  return countOf(command);
}

/** Whether no record can hold the command: the service raises an alert about such an event and leaves it out. */
function isUnrecordable(command: Command): boolean {
  try {
    encodeCommand(command);
    return false;
  } catch (error) {
    if (error instanceof MalformedRecord || error instanceof RecordTooLarge) return true;
    throw error;
  }
}

/** Throws Differs, unless no record can hold the event. */
function missingInHistory({ saidAt }: Comparison, { command }: Fact): void {
  if (isUnrecordable(command)) return;
  const position = saidAt(command.fact.block);
  const place = { position, ...placeOf(command.fact, command) };
  const where = `event ${command.fact.logIndex} of block ${command.fact.block} on chain ${command.fact.chainId}`;
  if (command.kind === 'SettleFill' || command.kind === 'FailFill') {
    throw new Differs({
      check: checkOf(command), place, expected: command, found: null,
      what: `the chain ${command.kind === 'SettleFill' ? 'settled' : 'refused'} fill ${command.fill} (${where}), and the history does not have it, though its record at position ${position} says that it has all events of this block`,
      means: 'Shares and collateral moved, or a fill failed, without the history: the record was left out or removed, and balances by the history are not the chain\'s.',
    });
  }
  throw new Differs({
    check: 'chainFacts', place, expected: command, found: null,
    what: `the history does not have the ${command.kind} of ${where}, though its record at position ${position} says that it has all events of this block`,
    means: 'The record was left out or removed: what the history says about holdings, orders or resolutions is not what the chain says.',
  });
}

function missingOnChain({ chainId }: Chain, { position, command }: RecordedFact): Difference {
  const { block, logIndex } = command.fact;
  const what = command.kind === 'SettleFill' ? `fill ${command.fill} settled` : command.kind === 'FailFill' ? `fill ${command.fill} failed` : `a ${command.kind}`;
  return {
    check: checkOf(command), place: { position, ...placeOf(command.fact, command) }, expected: null, found: command,
    what: `the history calls ${what} by event ${logIndex} of block ${block} on chain ${chainId} (position ${position}), and the chain has no such event there`,
    means: 'The history claims what the chain does not know: the record was forged or moved, or the chain was reorganised below its final depth, or the node does not serve this chain.',
  };
}

/** Throws Differs when the record does not say what the event says, or when the fill is one that the history never had. */
function compareFact(recorded: RecordedFact, { command: expected, blockHash }: Fact): void {
  const { position, id, command, rejected } = recorded;
  const place = { position, ...placeOf(command.fact, expected) };
  const { block, logIndex, chainId } = command.fact;
  if (!saysTheSame(recorded, expected)) {
    throw new Differs({
      check: checkOf(expected), place, expected, found: command,
      what: `the ${command.kind} at position ${position} is not what event ${logIndex} of block ${block} on chain ${chainId} says`,
      means: 'The record was altered, or the history was made from another chain.',
    });
  }
  const due = factId(command.fact, blockHash);
  if (due !== id) {
    throw new Differs({
      check: 'ids', place, expected: due, found: id, what: `the id at position ${position} is not that of event ${logIndex} in block ${block} with hash ${blockHash}`,
      means: 'Only the id was altered, or the event was recorded from a block that the chain does not have any more.',
    });
  }
  if (rejected === 'unknown_fill' && (command.kind === 'SettleFill' || command.kind === 'FailFill')) {
    throw new Differs({
      check: checkOf(command), place, expected: command, found: rejected,
      what: `the chain ${command.kind === 'SettleFill' ? 'settled' : 'refused'} fill ${command.fill} (event ${logIndex} of block ${block} on chain ${chainId}), and the history has no such fill that waits for it (position ${position})`,
      means: 'Somebody with the operator\'s role settled what the exchange never matched, or the match was removed from the history.',
    });
  }
}

interface ExpectedFacts {
  readonly facts: readonly Fact[];
  /** The places of the fills that the history passes over, by `keyOf`. */
  readonly passedOver: ReadonlySet<string>;
}

/** The chain's facts as the history has to have them: for a fill that it passes over, the facts that record this. */
function expectedFacts(onChain: readonly Fact[], recorded: ReadonlyMap<string, RecordedFact>): ExpectedFacts {
  const passedOver = new Set<string>();
  const facts = onChain.flatMap((fact) => {
    const { command, blockHash, fill } = fact;
    const ours = recorded.get(keyOf(command.fact));
    if (fill === undefined || ours === undefined || (command.kind !== 'SettleFill' && command.kind !== 'FailFill')) return [fact];
    const instead = passedOverFill(command, fill);
    const own = instead.at(-1);
    if (own === undefined || !saysTheSame(ours, own) || saysTheSame(ours, command)) return [fact];
    passedOver.add(keyOf(command.fact));
    return instead.map((each) => each === own ? { command: each, blockHash, fill } : { command: each, blockHash });
  });
  return { facts, passedOver };
}

interface FillComparison {
  readonly recorded: RecordedFact;
  readonly onChain: ChainFill;
  readonly txHash: string;
  /** The history records it as `passedOverFill` does, and not as the contract's event says. */
  readonly isPassedOver: boolean;
  /** The auditor knows that the transaction's fills are false. */
  readonly isNamed: boolean;
  readonly orderHashAt: (position: number) => string | undefined;
}

/** What is wrong; `passed over` for a false fill that history and auditor pass over; undefined for a fill that is as it was matched. */
function compareFill(
  { recorded: { fill, position }, onChain, txHash, isPassedOver, isNamed, orderHashAt }: FillComparison,
): Pick<Difference, 'what' | 'means' | 'expected' | 'found'> | 'passed over' | undefined {
  if (fill === null) return undefined;
  const [buyer, seller] = fill.takerSide === 0 ? [fill.takerNumber, fill.makerNumber] : [fill.makerNumber, fill.takerNumber];
  const other = otherTerms(onChain.terms, {
    buyOrder: orderHashAt(buyer) ?? 'none', sellOrder: orderHashAt(seller) ?? 'none', price: String(fill.price), size: fill.size, cost: fill.cost,
  });
  if (other === undefined) {
    if (!isPassedOver) return undefined;
    return {
      what: `the history calls fill ${fill.fill} failed at position ${position}, and transaction ${txHash} settled or refused it as it was matched`,
      means: 'The history passes over a fill that is not false: its traders were told that nothing came of it.', expected: onChain.terms, found: 'passed over',
    };
  }
  const isFailed = fill.type === 'FillFailed' && fill.reason === 'unknown' && fill.culprit === 'both';
  if (isNamed && isFailed) return 'passed over';
  const means = 'What was settled is not what the engine matched: the operator, or somebody with the operator\'s key, sent something else under this fill\'s number.';
  return {
    what: `fill ${fill.fill} was matched with other orders, or at another price or size, than the chain settled or refused (transaction ${txHash})`,
    means: isFailed ? `${means} The history passes it over; if you know from elsewhere that it is false, audit with --pass-over-fill ${txHash}.` : means,
    expected: other.onChain, found: other.matched,
  };
}
