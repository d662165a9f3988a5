/**
 * The contract events that the exchange reads: which ones they are, and how they are decoded from what a node returns.
 */
import { Interface, type InterfaceAbi } from 'ethers/abi';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import type {
  ConditionResolutionArgs, PayoutRedemptionArgs, TransferBatchArgs, TransferSingleArgs,
} from '../../contracts-abi/conditional-tokens.js';
import { marketFactory, type MarketCreatedArgs, type QuickMarketCreatedArgs } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import type {
  ResolutionAbandonedArgs, ResolutionDisputedArgs, ResolutionProposedArgs, ResolutionRejectedArgs,
} from '../../contracts-abi/oracle-resolver.js';
import { quickResolver, type QuickMarketResolvedArgs } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import type {
  CancelScheduledArgs, FillFailedArgs, FillSettledArgs, HistoryAnchoredArgs, OrderCancelledArgs,
} from '../../contracts-abi/settlement.js';
import type { RawChainEvent } from '../chain/block-range.js';
import type { Contracts } from '../chain/chain.js';
import { decodeEventData, MalformedData } from './event-data.js';

/**
 * The arguments of each event that is read, as the ABI types them: addresses and bytes in lower-case hex, integers as
 * bigint.
 */
export interface ChainEventArgs {
  readonly MarketCreated: MarketCreatedArgs;
  readonly QuickMarketCreated: QuickMarketCreatedArgs;
  readonly TransferSingle: TransferSingleArgs;
  readonly TransferBatch: TransferBatchArgs;
  readonly PayoutRedemption: PayoutRedemptionArgs;
  readonly ConditionResolution: ConditionResolutionArgs;
  readonly ResolutionProposed: ResolutionProposedArgs;
  readonly ResolutionDisputed: ResolutionDisputedArgs;
  readonly ResolutionRejected: ResolutionRejectedArgs;
  readonly ResolutionAbandoned: ResolutionAbandonedArgs;
  readonly FillSettled: FillSettledArgs;
  readonly FillFailed: FillFailedArgs;
  readonly OrderCancelled: OrderCancelledArgs;
  readonly CancelScheduled: CancelScheduledArgs;
  readonly HistoryAnchored: HistoryAnchoredArgs;
  readonly QuickMarketResolved: QuickMarketResolvedArgs;
}

export type ChainEventName = keyof ChainEventArgs;
export type ChainEvent = { [Name in ChainEventName]: {
  readonly name: Name;
  readonly args: ChainEventArgs[Name];
} }[ChainEventName];

/**
 * The event has a known topic and address but not the expected arguments: the contract there is not the configured one.
 */
export class UndecodableEvent extends Error {
  constructor(name: string, options: ErrorOptions) {
    super(`an event with the topic of ${name} cannot be decoded`, options);
    this.name = 'UndecodableEvent';
  }
}

interface EventShape {
  readonly name: ChainEventName;
  readonly contract: keyof Contracts;
  readonly topic: string;
  readonly indexed: Parameters;
  readonly rest: Parameters;
}

interface Parameters {
  readonly names: readonly string[];
  readonly types: readonly string[];
}

const shapes: readonly EventShape[] = [
  ...shapesOf('marketFactory', marketFactory.abi, ['MarketCreated', 'QuickMarketCreated']),
  ...shapesOf('conditionalTokens', conditionalTokens.abi, ['TransferSingle', 'TransferBatch', 'PayoutRedemption', 'ConditionResolution']),
  ...shapesOf('oracleResolver', oracleResolver.abi, ['ResolutionProposed', 'ResolutionDisputed', 'ResolutionRejected', 'ResolutionAbandoned']),
  ...shapesOf('settlement', settlement.abi, ['FillSettled', 'FillFailed', 'OrderCancelled', 'CancelScheduled', 'HistoryAnchored']),
  ...shapesOf('quickResolver', quickResolver.abi, ['QuickMarketResolved']),
];

/** The addresses and topics for eth_getLogs. They match every event that is read, and few others. */
export function eventFilter(contracts: Contracts): {
  readonly address: readonly string[];
  readonly topics: readonly (readonly string[])[];
} {
  return {
    address: [...new Set(shapes.map(({ contract }) => contracts[contract]))],
    topics: [shapes.map(({ topic }) => topic)],
  };
}

/**
 * The decoded event; undefined for an event that the exchange does not read, and for an event of another contract.
 * Throws UndecodableEvent.
 */
export function readEvent(contracts: Contracts, raw: RawChainEvent): ChainEvent | undefined {
  const shape = shapes.find(({ contract, topic }) => topic === raw.topics[0] && contracts[contract] === raw.address);
  if (shape === undefined) return undefined;
  try {
    return {
      name: shape.name, args: { ...readTopics(shape, raw), ...read(shape.rest, raw.data) },
    } as unknown as ChainEvent;
  } catch (cause) {
    if (!(cause instanceof MalformedData)) throw cause;
    throw new UndecodableEvent(shape.name, { cause });
  }
}

function shapesOf(contract: keyof Contracts, abi: InterfaceAbi, names: readonly ChainEventName[]): EventShape[] {
  const parsed = new Interface(abi);
  return names.map((name) => {
    const event = parsed.getEvent(name);
    if (event === null) throw new Error(`the ABI of ${contract} has no event ${name}: run npm run generate`);
    const { inputs, topicHash } = event;
    const those = (wanted: boolean) => {
      const chosen = inputs.filter((input) => (input.indexed === true) === wanted);
      return { names: chosen.map((input) => input.name), types: chosen.map(({ type }) => type) };
    };
    return { name, contract, topic: topicHash, indexed: those(true), rest: those(false) };
  });
}

/** Each indexed argument of these events is one word long, so topics are encoded like data. */
function readTopics({ indexed }: EventShape, { topics }: RawChainEvent): Record<string, unknown> {
  if (topics.length !== indexed.names.length + 1) throw new MalformedData(`${topics.length} topics where ${indexed.names.length + 1} belong`);
  return read(indexed, `0x${topics.slice(1).map((topic) => topic.slice(2)).join('')}`);
}

function read({ names, types }: Parameters, data: string): Record<string, unknown> {
  const values = decodeEventData(types, data);
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}
