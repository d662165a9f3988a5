/** The events of the exchange's contracts that matter to it: which they are, and how a log of the chain is read as one. */
import { AbiCoder, Interface, type InterfaceAbi, type ParamType } from 'ethers';
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
import type { Contracts } from './chain.js';

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
  readonly indexed: readonly ParamType[];
  readonly rest: readonly ParamType[];
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
    return { name: shape.name, args: { ...indexedArgs(shape, log), ...dataArgs(shape, log) } } as unknown as ChainEvent;
  } catch (cause) {
    throw new UndecodableLog(shape.name, { cause });
  }
}

function shapesOf(contract: keyof Contracts, abi: InterfaceAbi, names: readonly ChainEventName[]): EventShape[] {
  const parsed = new Interface(abi);
  return names.map((name) => {
    const { inputs, topicHash } = parsed.getEvent(name)!;
    return {
      name, contract, topic: topicHash,
      indexed: inputs.filter(({ indexed }) => indexed === true), rest: inputs.filter(({ indexed }) => indexed !== true),
    };
  });
}

function indexedArgs({ indexed }: EventShape, { topics }: ChainLog): Record<string, unknown> {
  if (topics.length !== indexed.length + 1) throw new Error(`${topics.length} topics where ${indexed.length + 1} belong`);
  return Object.fromEntries(indexed.map(({ name, type }, i) => [name, plain(AbiCoder.defaultAbiCoder().decode([type], topics[i + 1])[0], type)]));
}

/** Texts are read as bytes, which have the same encoding: a contract may emit what is no UTF-8. */
function dataArgs({ rest }: EventShape, { data }: ChainLog): Record<string, unknown> {
  const values = AbiCoder.defaultAbiCoder().decode(rest.map(({ type }) => type === 'string' ? 'bytes' : type), data);
  return Object.fromEntries(rest.map(({ name, type }, i) => [name, plain(values[i], type)]));
}

function plain(value: unknown, type: string): unknown {
  if (type === 'string') return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from((value as string).slice(2), 'hex'));
  if (type.endsWith('[]')) return [...value as Iterable<unknown>];
  return typeof value === 'string' ? value.toLowerCase() : value;
}
