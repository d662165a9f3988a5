/** A signed history with the chain that it settled on, both in memory, for audits that are to pass and for those who tamper with it. */
import { ok } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Interface, SigningKey, computeAddress, id, type InterfaceAbi } from 'ethers';
import type { RawChainEvent } from '../../command/chain/block-range.js';
import type { Chain, Contracts, Rpc } from '../../command/chain/chain.js';
import { factsOf, type Fact } from '../../command/indexer/facts.js';
import {
  createKeccak256, prepareDomain, type OrderDomain, type PreparedDomain,
} from '../../command/signing/typed-data.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { checkedRecordId, encodeCommand, recordId } from '../../engine/run/new-record.js';
import { formatDigest } from '../../engine/records/codec.js';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import { toHex } from '../../engine/records/hex.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Step } from '../../engine/run/stepping.js';
import { viewOf } from '../../engine/run/view.js';
import type { AuditOptions } from '../../tools/audit/audit-options.js';
import { audit } from '../../tools/audit/audit.js';
import type { Difference } from '../../tools/audit/difference.js';
import { factId } from '../../tools/audit/records/record-ids.js';
import type { AuditReport } from '../../tools/audit/report.js';
import type { DescribedExchange } from '../../tools/audit/source/described.js';
import type { AuditSource } from '../../tools/audit/source/source.js';
import { newCommand } from './commands.js';
import { START_MS } from './random-commands.js';

export const CHAIN_ID = 31_337;
const addressOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`;
export const contracts: Contracts = {
  settlement: addressOf(0x51), conditionalTokens: addressOf(0x52), collateral: addressOf(0x53), marketFactory: addressOf(0x54),
  oracle: addressOf(0x55),
  oracleResolver: addressOf(0x56), quickResolver: addressOf(0x57), multicall: addressOf(0x58),
};
export const auditedChain: Chain = {
  chainId: CHAIN_ID, name: 'Test chain', testnet: true, confirmations: 0, startBlock: 1, contracts, domainName: 'Audited', exposureCheck: false,
};
export const domain: OrderDomain = { name: 'Audited', version: '1', chainId: CHAIN_ID, verifyingContract: contracts.settlement };
const described: DescribedExchange = { cancelAuth: 'required', domains: [domain], chains: [auditedChain], answer: null };

/** One line of the history in its parts. */
export interface HistoryRecord {
  readonly id: string;
  readonly command: Buffer;
  readonly outcome: string;
  readonly digest: string;
}

/** An event in a block, before its place is known. */
export interface Emitted {
  readonly contract: keyof Contracts;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly txHash: string;
}

const interfaces = {
  settlement: new Interface(settlement.abi as InterfaceAbi), marketFactory: new Interface(marketFactory.abi as InterfaceAbi),
  conditionalTokens: new Interface(conditionalTokens.abi as InterfaceAbi), oracleResolver: new Interface(oracleResolver.abi as InterfaceAbi),
  quickResolver: new Interface(quickResolver.abi as InterfaceAbi),
};
export const blockHash = (block: number) => id(`block ${block}`);
export const transaction = (n: number) => id(`transaction ${n}`);
export const market = (n: number) => id(`market ${n}`);
export const traders = [1, 2, 3].map((n) => {
  const key = new SigningKey(id(`trader ${n}`));
  return { key, address: computeAddress(key).toLowerCase() };
});

export interface AuditedHistory {
  readonly records: HistoryRecord[];
  readonly chainEvents: RawChainEvent[];
  readonly prepared: PreparedDomain;
  blocks: number;
  add(command: Command, recordsId?: string): Step;
  order(trader: number, fields: Partial<PlaceOrder>): Step;
  cancel(trader: number, orderHash: string): Step;
  /** A block with these events; the history records all of it. */
  block(...events: readonly Emitted[]): void;
  /** The same; the history records what `record` makes of its facts. */
  blockAs(record: (facts: readonly Fact[]) => readonly Pick<Fact, 'command' | 'blockHash'>[], ...events: readonly Emitted[]): void;
}

/** An empty history. */
export async function emptyHistory(): Promise<AuditedHistory> {
  const keccak256 = await createKeccak256();
  const prepared = prepareDomain(keccak256, domain);
  const engine = createEngine();
  const view = viewOf(engine);
  let nonce = 0;
  const history: AuditedHistory = {
    records: [], chainEvents: [], prepared, blocks: 0,
    add(command, id) {
      const data = encodeCommand(command);
      const step = engine.step(data);
      history.records.push({ id: id ?? checkedRecordId(`audited:${history.records.length}`), command: data, outcome: step.text, digest: step.digest });
      return step;
    },
    order(trader, fields) {
      const { key, address } = traders[trader]!;
      const order = {
        marketId: market(0), trader: address, side: 0, outcome: 0, price: 500_000, size: '1000000', nonce: String(++nonce), expiration: '1900000000', ...fields,
      } as const;
      const digest = prepared.orderDigest(order);
      return history.add(newCommand('PlaceOrder', {
        at: timeOf(history), orderHash: toHex(digest), ...order, signature: key.sign(digest).serialized,
      }));
    },
    cancel(trader, orderHash) {
      const { key, address } = traders[trader]!;
      const deadline = '1900000000';
      const { serialized: signature } = key.sign(prepared.cancelDigest({ orderHash, trader: address, deadline }));
      return history.add(newCommand('CancelOrder', { at: timeOf(history), orderHash, marketId: market(0), trader: address, signature, deadline }));
    },
    block(...events) { history.blockAs((facts) => facts, ...events); },
    blockAs(record, ...events) {
      const block = ++history.blocks;
      const raws = events.map((event, logIndex) => rawEvent(event, block, logIndex));
      history.chainEvents.push(...raws);
      const { facts } = factsOf(raws, {
        chain: auditedChain, at: timeOf(history), isKnownToken: (token) => view.isKnownToken(token),
        isKnownMarket: (marketId) => view.market(marketId) !== undefined,
      });
      for (const { command, blockHash: hash } of record(facts)) history.add(command, factId(command.fact, hash));
      history.add(newCommand('AdvanceChain', {
        at: timeOf(history), chainId: CHAIN_ID, block, blockHash: blockHash(block),
      }), recordId(`chain:${CHAIN_ID}:${blockHash(block)}:end`));
    },
  };
  return history;
}

const timeOf = ({ records }: AuditedHistory) => START_MS + records.length * 10;

export function rawEvent({ contract, name, args, txHash }: Emitted, block: number, logIndex: number): RawChainEvent {
  const encoder = interfaces[contract as keyof typeof interfaces];
  const values = encoder.getEvent(name)!.inputs.map((input) => args[input.name]);
  const { topics, data } = encoder.encodeEventLog(name, values);
  return { address: contracts[contract], topics, data, block, blockHash: blockHash(block), logIndex, txHash, removed: false };
}

export function marketCreated(n: number): Emitted {
  return {
    contract: 'marketFactory', name: 'MarketCreated', txHash: transaction(1_000 + n),
    args: {
      marketId: market(n), market: addressOf(0xa0 + n), maker: addressOf(0xb0), expiration: 1_900_000_000, kind: 0, category: 0,
      yesId: 2 * n + 10, noId: 2 * n + 11, bond: 0,
      question: `Will it be ${n}?`, description: 'Märkte — with more than ASCII.',
    },
  };
}

/** A quick market on BTC; times in Unix seconds. */
export function quickMarketCreated(n: number, { startTime, endTime }: { readonly startTime: number; readonly endTime: number }): readonly Emitted[] {
  const created = marketCreated(n);
  return [
    { ...created, args: { ...created.args, kind: 1, expiration: endTime } },
    { contract: 'marketFactory', name: 'QuickMarketCreated', txHash: created.txHash, args: { marketId: market(n), asset: 'BTC', startTime, endTime } },
  ];
}

/** What the chain says when the quick resolver resolves a market by these prices. */
export function quickMarketResolved(n: number, terms: Readonly<Record<string, unknown>>, txHash: string): readonly Emitted[] {
  return [
    conditionResolved(n, terms['winningOutcome'] === 0 ? [1, 0] : [0, 1], txHash),
    { contract: 'quickResolver', name: 'QuickMarketResolved', txHash, args: { marketId: market(n), ...terms } },
  ];
}

export function conditionResolved(n: number, payoutNumerators: readonly number[], txHash: string): Emitted {
  return {
    contract: 'conditionalTokens', name: 'ConditionResolution', txHash,
    args: { conditionId: market(n), oracle: contracts.quickResolver, questionId: id(`question ${n}`), outcomeSlotCount: 2, payoutNumerators },
  };
}

/** The shares of a fill, as the settlement contract moves them, right before it says so. */
export function sharesMoved({ from, to, token, value, txHash }: {
  readonly from: string; readonly to: string; readonly token: number; readonly value: number; readonly txHash: string;
}): Emitted {
  return { contract: 'conditionalTokens', name: 'TransferSingle', txHash, args: { operator: contracts.settlement, from, to, id: token, value } };
}

/** What the chain says when it settles a fill that the history matched. */
export function fillSettled(history: AuditedHistory, fill: number, txHash: string): Emitted {
  const matched = history.records.flatMap(({ outcome }) => (JSON.parse(outcome) as { events: Record<string, unknown>[] }).events)
    .find((event) => event['type'] === 'FillMatched' && event['fill'] === fill)!;
  const hashAt = (position: unknown) => (JSON.parse(history.records[position as number]!.command.toString()) as PlaceOrder).orderHash;
  const buys = matched['takerSide'] === 0;
  return {
    contract: 'settlement', name: 'FillSettled', txHash,
    args: {
      seq: fill, buyOrder: hashAt(matched[buys ? 'takerNumber' : 'makerNumber']), sellOrder: hashAt(matched[buys ? 'makerNumber' : 'takerNumber']),
      price: matched['price'], size: matched['size'], cost: matched['cost'],
    },
  };
}

export function fillFailed(history: AuditedHistory, fill: number, txHash: string): Emitted {
  const { buyOrder, sellOrder } = fillSettled(history, fill, txHash).args;
  return { contract: 'settlement', name: 'FillFailed', txHash, args: { seq: fill, buyOrder, sellOrder, reason: 2, culprit: 1 } };
}

export function anchored(history: AuditedHistory, position: number, txHash: string): Emitted {
  return { contract: 'settlement', name: 'HistoryAnchored', txHash, args: { position, digest: history.records[position]!.digest } };
}

/** Two markets, orders that fill, rest and are cancelled, and three settlement transactions with their anchors. */
export async function tradedHistory(): Promise<AuditedHistory> {
  const history = await emptyHistory();
  history.block(marketCreated(0), marketCreated(1));
  const pair = (price: number) => {
    history.order(0, { side: 1, price });
    history.order(1, { side: 0, price });
  };
  for (let n = 0; n < 3; n++) pair(500_000 + n);
  const resting = history.order(2, { side: 0, price: 100_000 });
  submit(history, 1, [0, 1]);
  const first = history.records.length - 1;
  history.block(fillSettled(history, 0, transaction(1)), fillSettled(history, 1, transaction(1)), anchored(history, first, transaction(1)));
  history.cancel(2, (JSON.parse(history.records[resting.position]!.command.toString()) as PlaceOrder).orderHash);
  history.add(newCommand('RecordPrice', {
    at: timeOf(history), asset: 'BTC', source: 'simulated', rank: 0, price: '6000000000000', publishedAt: timeOf(history),
  }),
  recordId(`RecordPrice:BTC:simulated:${timeOf(history)}`));
  submit(history, 2, [2]);
  const second = history.records.length - 1;
  history.block(fillFailed(history, 2, transaction(2)), anchored(history, second, transaction(2)));
  history.order(0, { marketId: market(1), side: 1, outcome: 1, price: 300_000, size: '5000000' });
  history.order(1, { marketId: market(1), side: 0, outcome: 1, price: 310_000, size: '2000000' });
  history.order(2, { marketId: market(1), side: 0, outcome: 1, price: 300_000, size: '2000000' });
  submit(history, 3, [3, 4]);
  const third = history.records.length - 1;
  history.block(fillSettled(history, 3, transaction(3)), fillSettled(history, 4, transaction(3)), anchored(history, third, transaction(3)));
  history.add(newCommand('AdvanceClock', { at: timeOf(history) }));
  return history;
}

function submit(history: AuditedHistory, n: number, fills: number[]): void {
  history.add(newCommand('SubmitSettlement', {
    at: timeOf(history), chainId: CHAIN_ID, txHash: transaction(n), fills,
  }), recordId(`settlement:${CHAIN_ID}:${transaction(n)}`));
}

export function lineOf({ id: record, command, outcome, digest }: HistoryRecord, position: number): Buffer {
  return Buffer.concat([
    Buffer.from(`{"position":${position},"id":"${record}","command":`), command, Buffer.from(`,"outcome":${outcome},"digest":"${digest}"}`),
  ]);
}

export function linesOfHistory(records: readonly HistoryRecord[]): Buffer[] {
  return records.map((record, position) => lineOf(record, position));
}

/** A source of these lines, in batches of a few. */
export function sourceOf(lines: readonly Buffer[], about: DescribedExchange | undefined = described): AuditSource {
  return {
    name: 'the test', described: about, length: lines.length,
    async* lines(from, to = lines.length) {
      for (let start = from; start < to; start += 7) yield lines.slice(start, Math.min(to, start + 7));
    },
  };
}

/** The digests computed anew over what the records say, as somebody does who wants the history to look whole. */
export function redigested(records: readonly HistoryRecord[]): HistoryRecord[] {
  let digest: Buffer = Buffer.alloc(32);
  return records.map((record) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(record.command.length);
    digest = createHash('sha256').update(digest).update(length).update(record.command).update(record.outcome).digest();
    return { ...record, digest: formatDigest(digest) };
  });
}

/** The outcomes and digests computed anew by the engine: a history that is whole in itself. */
export function redecided(records: readonly Pick<HistoryRecord, 'id' | 'command'>[]): HistoryRecord[] {
  const engine = createEngine();
  return records.map(({ id: record, command }) => {
    const { text, digest } = engine.step(command);
    return { id: record, command, outcome: text, digest };
  });
}

/** A node of the chain. */
export function nodeOf(events: readonly RawChainEvent[], blocks: number): Rpc {
  const quantity = (value: number) => `0x${value.toString(16)}`;
  const answer = (method: string, [first]: readonly unknown[]): unknown => {
    switch (method) {
      case 'eth_blockNumber': return quantity(blocks);
      case 'eth_getBlockByNumber': return Number(first) > blocks ? null : { number: first, hash: blockHash(Number(first)) };
      case 'eth_getLogs': {
        const { fromBlock, toBlock } = first as { fromBlock: string; toBlock: string };
        return events.filter(({ block }) => block >= Number(fromBlock) && block <= Number(toBlock)).map(({ block, logIndex, txHash, ...rest }) => ({
          ...rest, blockNumber: quantity(block), logIndex: quantity(logIndex), transactionHash: txHash,
        }));
      }
      default: throw new Error(`the node does not know ${method}`);
    }
  };
  return { chainId: CHAIN_ID, request: <T>(method: string, params: readonly unknown[]) => Promise.resolve(answer(method, params) as T) };
}

interface AuditedAs extends Omit<Partial<AuditOptions>, 'rpcs'> {
  /** What the history says instead. */
  readonly records?: readonly HistoryRecord[];
  /** What the chain says instead. */
  readonly events?: readonly RawChainEvent[];
  /** The node; null: no node is given. */
  readonly node?: Rpc | null;
}

/** The report on a history, without signatures unless threads are given. */
export async function auditOf(history: AuditedHistory, given: AuditedAs = {}): Promise<AuditReport> {
  const { records = history.records, events = history.chainEvents, node = nodeOf(events, history.blocks), ...options } = given;
  return await audit({
    source: sourceOf(linesOfHistory(records)), threads: 0, patienceMs: 0, ...node === null ? {} : { rpcs: new Map([[CHAIN_ID, node]]) }, ...options,
  });
}

/** The difference that the audit must find. */
export async function differenceOf(history: AuditedHistory, given: AuditedAs = {}): Promise<Difference> {
  const { difference, passed } = await auditOf(history, given);
  ok(difference !== null && !passed, 'nothing was found');
  return difference;
}
