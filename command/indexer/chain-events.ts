/** The events of the exchange's contracts that matter to it: which they are, and how a log of the chain is read as one. */
import { Interface, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import type {
  ConditionResolutionArgs, PayoutRedemptionArgs, TransferBatchArgs, TransferSingleArgs,
} from '../../contracts-abi/conditional-tokens.js';
import { marketFactory, type MarketCreatedArgs } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import type { ResolutionDisputedArgs, ResolutionProposedArgs, ResolutionRejectedArgs } from '../../contracts-abi/oracle-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import type {
  CancelScheduledArgs, FillFailedArgs, FillSettledArgs, HistoryAnchoredArgs, OrderCancelledArgs,
} from '../../contracts-abi/settlement.js';
import type { Contracts } from '../chain/chain.js';
import { decodeEventData, MalformedData } from './event-data.js';

/** A log of a block; hex in lower case. */
export interface ChainLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly block: number;
  readonly blockHash: string;
  /** Counted through the whole block. */
  readonly logIndex: number;
  readonly txHash: string;
  /** The node has taken it back: a reorganisation. */
  readonly removed: boolean;
}

/** The arguments of each event that is read, as the ABI types them: addresses and bytes in lower-case hex, integers as bigint. */
export interface ChainEventArgs {
  readonly MarketCreated: MarketCreatedArgs;
  readonly TransferSingle: TransferSingleArgs;
  readonly TransferBatch: TransferBatchArgs;
  readonly PayoutRedemption: PayoutRedemptionArgs;
  readonly ConditionResolution: ConditionResolutionArgs;
  readonly ResolutionProposed: ResolutionProposedArgs;
  readonly ResolutionDisputed: ResolutionDisputedArgs;
  readonly ResolutionRejected: ResolutionRejectedArgs;
  readonly FillSettled: FillSettledArgs;
  readonly FillFailed: FillFailedArgs;
  readonly OrderCancelled: OrderCancelledArgs;
  readonly CancelScheduled: CancelScheduledArgs;
  readonly HistoryAnchored: HistoryAnchoredArgs;
}

export type ChainEventName = keyof ChainEventArgs;
export type ChainEvent = { [Name in ChainEventName]: { readonly name: Name; readonly args: ChainEventArgs[Name] } }[ChainEventName];

/** The log has an event's topic at its contract's address, and yet not its shape: the contract there is another one than configured. */
export class UndecodableLog extends Error {
  constructor(name: string, options: ErrorOptions) {
    super(`a log with the topic of ${name} cannot be decoded`, options);
    this.name = 'UndecodableLog';
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
  ...shapesOf('marketFactory', marketFactory.abi, ['MarketCreated']),
  ...shapesOf('conditionalTokens', conditionalTokens.abi, ['TransferSingle', 'TransferBatch', 'PayoutRedemption', 'ConditionResolution']),
  ...shapesOf('oracleResolver', oracleResolver.abi, ['ResolutionProposed', 'ResolutionDisputed', 'ResolutionRejected']),
  ...shapesOf('settlement', settlement.abi, ['FillSettled', 'FillFailed', 'OrderCancelled', 'CancelScheduled', 'HistoryAnchored']),
];

/** The addresses and topics of eth_getLogs: all events that are read, and few others. */
export function logFilter(contracts: Contracts): { readonly address: readonly string[]; readonly topics: readonly (readonly string[])[] } {
  return {
    address: [...new Set(shapes.map(({ contract }) => contracts[contract]))],
    topics: [shapes.map(({ topic }) => topic)],
  };
}

/**
 * The event that a log tells of; undefined for an event that does not matter here, or one of another contract. Throws
 * UndecodableLog.
 */
export function readEvent(contracts: Contracts, log: ChainLog): ChainEvent | undefined {
  const shape = shapes.find(({ contract, topic }) => topic === log.topics[0] && contracts[contract] === log.address);
  if (shape === undefined) return undefined;
  try {
    return { name: shape.name, args: { ...readTopics(shape, log), ...read(shape.rest, log.data) } } as unknown as ChainEvent;
  } catch (cause) {
    if (!(cause instanceof MalformedData)) throw cause;
    throw new UndecodableLog(shape.name, { cause });
  }
}

function shapesOf(contract: keyof Contracts, abi: InterfaceAbi, names: readonly ChainEventName[]): EventShape[] {
  const parsed = new Interface(abi);
  return names.map((name) => {
    const { inputs, topicHash } = parsed.getEvent(name)!;
    const those = (wanted: boolean) => {
      const chosen = inputs.filter((input) => (input.indexed === true) === wanted);
      return { names: chosen.map((input) => input.name), types: chosen.map(({ type }) => type) };
    };
    return { name, contract, topic: topicHash, indexed: those(true), rest: those(false) };
  });
}

/** All indexed arguments of these events are of one word each, so that topics are encoded like data. */
function readTopics({ indexed }: EventShape, { topics }: ChainLog): Record<string, unknown> {
  if (topics.length !== indexed.names.length + 1) throw new MalformedData(`${topics.length} topics where ${indexed.names.length + 1} belong`);
  return read(indexed, `0x${topics.slice(1).map((topic) => topic.slice(2)).join('')}`);
}

function read({ names, types }: Parameters, data: string): Record<string, unknown> {
  const values = decodeEventData(types, data);
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}
