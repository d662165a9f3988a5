/** Settlement put together as in the service, on a chain of its own: log, engine, lane, worker, indexer; it can be stopped and started. */
import { deepEqual, ok } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { HDNodeWallet, type Wallet } from 'ethers';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { createOutbox } from '../../command/lane/outbox.js';
import { runIndexer, type Indexer, type IndexerOptions } from '../../command/indexer/indexer.js';
import type { Chain } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import { createLane } from '../../command/lane/lane.js';
import type { Lane, LaneOptions } from '../../command/lane/lane-options.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import type { LaneRequest, LaneUser } from '../../command/lane/requests.js';
import { submissionOf } from '../../command/settlement/submission.js';
import { runIntake, type Intake } from '../../command/settlement/intake.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import { runSettlement, type Settlement, type SettlementOptions } from '../../command/settlement/settlement-worker.js';
import { createChainReads } from '../../command/chain/chain-reads.js';
import { createSettledOnChain } from '../../command/settlement/settled-on-chain.js';
import type { Order, Permit } from '../../contracts-abi/settlement.js';
import { decodeOutcome, encodeCommand, recordId, type CommandOutcome } from '../../engine/records/codec.js';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import type { Event, SettlementSubmitted } from '../../engine/records/events.js';
import type { Log } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { startReplica, type Replica } from '../../engine/run/replica.js';
import { TEST_MNEMONIC } from '../../stack/chain/anvil.js';
import { TEST_CHAIN_ID } from './chain.js';
import { settlementContracts, type SettlementContracts, type SignedOrder } from './settlement-contracts.js';
import { until } from './until.js';

/** What outlives a stop: the chain, the log's records, the lane's outbox. */
export interface SettlementWorld {
  readonly contracts: SettlementContracts;
  readonly chain: Chain;
  /** The operator's key, which only the lane uses. */
  readonly operator: HDNodeWallet;
  readonly marketId: string;
  readonly openLog: () => Promise<Log>;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Where the outbox is. */
  readonly databaseUrl: string;
  /** Absent: in memory. */
  readonly openLog?: () => Promise<Log>;
  readonly confirmations?: number;
}

export interface StackOptions {
  readonly settlement?: Partial<Pick<SettlementOptions, 'rules' | 'limits' | 'timings'>>;
  readonly lane?: Partial<LaneOptions>;
  /** Another node than the chain itself, such as a proxy before it. */
  readonly url?: string;
  readonly indexer?: boolean;
  /** Changes what the worker asks of the lane. */
  readonly altered?: (request: LaneRequest) => LaneRequest;
}

export interface SettlementStack {
  readonly log: Log;
  readonly replica: Replica;
  readonly lane: Lane;
  readonly settlement: Settlement;
  readonly intake: Intake;
  readonly indexer: Indexer | undefined;
  /** What was reported, `level: text`. */
  readonly reports: string[];
  submit(command: Command): Promise<{ position: number; outcome: CommandOutcome }>;
  /** Places a signed order past the API, so also one with a bad signature. */
  place(signed: SignedOrder, permit?: Permit & { nonce: bigint }): Promise<{ position: number; outcome: CommandOutcome }>;
  /** All events from a position on, as recorded. */
  events(from?: number): Promise<Event[]>;
  /** Resolves when no fill is unsettled. */
  settled(): Promise<unknown>;
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<unknown>;
  stop(): Promise<void>;
}

/** A chain with the contracts, one market, and an operator. */
export async function settlementWorld({ databaseUrl, openLog, confirmations = 0 }: WorldOptions): Promise<SettlementWorld> {
  const contracts = await settlementContracts();
  const { deployed, settlement, send, read } = contracts;
  const operator = HDNodeWallet.fromPhrase(TEST_MNEMONIC, undefined, 'm/44\'/60\'/0\'/0/7');
  await send(contracts.operator, settlement, 'grantRole', [await read(settlement, 'OPERATOR_ROLE'), operator.address]);
  const store = createMemoryStore();
  const { deploymentBlock, ...addresses } = deployed;
  return {
    contracts, operator, databaseUrl, marketId: contracts.marketId, stop: () => contracts.stop(),
    openLog: openLog ?? (() => Promise.resolve(createMemoryLog(store))),
    chain: {
      chainId: TEST_CHAIN_ID, name: 'test', testnet: true, confirmations, startBlock: deploymentBlock, domainName: contracts.orderDomain.name,
      exposureCheck: false,
      contracts: Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, address.toLowerCase()])) as unknown as Chain['contracts'],
    },
  };
}

/** Starts everything on the world; the market is opened at the first start. */
export async function startSettlementStack(world: SettlementWorld, options: StackOptions = {}): Promise<SettlementStack> {
  const stopping = { engine: new AbortController(), chain: new AbortController() };
  const reports: string[] = [];
  const report = (level: string, text: string) => { reports.push(`${level}: ${text}`); };
  const log = await world.openLog();
  const replica = await startReplica({ log, record: { writerId: randomUUID() }, signal: stopping.engine.signal });
  await replica.caughtUp;
  const { view } = replica;
  const submit = async (command: Command): Promise<{ position: number; outcome: CommandOutcome }> => {
    const position = await log.append('commands', [{ id: recordId(`test:${randomUUID()}`), data: encodeCommand(command) }]);
    return { position, outcome: await replica.outcomeOf(position) };
  };
  if (view.market(world.marketId) === undefined) await openMarket(world, submit, world.marketId);
  const rpc = createRpc({ chainId: world.chain.chainId, urls: [options.url ?? world.contracts.chain.url], now: Date.now, report, restMs: [20] });
  const indexer = options.indexer === false ? undefined : startIndexer(world, { rpc, log, replica, report, signal: stopping.chain.signal });
  const { signal } = stopping.chain;
  const { policy, ...laneOptions } = options.lane ?? {};
  const lane = await createLane({
    chain: world.chain, rpc, key: 'operator', privateKey: world.operator.privateKey, outbox: createOutbox({ url: world.databaseUrl, standByMs: 20 }),
    now: Date.now, report, signal, policy: { pollMs: 20, idlePollMs: 20, backoff: { firstMs: 20, longestMs: 20 }, looksApartMs: 20,
      bumpAfterMs: 60_000, ...policy },
    async announce({ txHash }, { note }) {
      const command = submissionOf(note, { chainId: world.chain.chainId, txHash, at: Date.now() });
      await log.append('commands', [{ id: recordId(`settlement:${txHash}`), data: encodeCommand(command) }]);
    },
    ...laneOptions,
  });
  const intake = runIntake({
    openStore: (session) => openStore({ url: world.databaseUrl, standByMs: 20, ...session }),
    feed: createLogFeed(log), log, now: Date.now, checkChains: () => undefined, signal, report,
    restMs: 1, backoff: { firstMs: 20, longestMs: 100 },
  });
  const settlement = runSettlement({
    chain: world.chain, log, now: Date.now, newId: randomUUID, report, signal, checkOrder: () => undefined,
    async catchUp() {
      await indexer?.advanceNow();
      const { block = -1 } = view.cursor(world.chain.chainId) ?? {};
      while (!signal.aborted && (intake.barrier(world.chain.chainId)?.block ?? -1) < block) await new Promise((resolve) => setTimeout(resolve, 2));
    },
    verify: () => Promise.resolve(),
    settledOnChain: createSettledOnChain(world.chain, createChainReads(world.chain, rpc)),
    intake,
    lane: altering(openLaneUser({
      url: world.databaseUrl, chainId: world.chain.chainId, key: 'operator', purpose: 'settlement', standByMs: 20,
    }), options.altered),
    ...options.settlement,
    // Tests say how many fills gather: the first one does not go alone.
    rules: { quietMs: Infinity, ...options.settlement?.rules },
  });
  const come = (what: string, condition: () => boolean | Promise<boolean>) => until(() => `${what}; reports:\n${reports.join('\n')}`, condition);
  return {
    log, replica, lane, settlement, intake, indexer, reports, submit,
    place: (signed, permit) => submit(placeOrder(signed, permit)),
    async events(from = 0) {
      await until('the outcomes are recorded', () => replica.recording!.written === view.position);
      return eventsFrom(log, from);
    },
    settled: () => come('every fill is settled or has failed', () => (
      [...view.unsettledFills({ chainId: world.chain.chainId, from: 0 })].length === 0)),
    until: come,
    async stop() {
      stopping.chain.abort(new Error('the test stops the stack'));
      await Promise.all([settlement.done, lane.done, indexer?.done, intake.done]);
      stopping.engine.abort();
      await replica.done;
      await log.close();
    },
  };
}

function altering(user: LaneUser, altered: (request: LaneRequest) => LaneRequest = (request) => request): LaneUser {
  return {
    async hold(standBy) {
      const held = await user.hold(standBy);
      return { ...held, ask: (requests) => held.ask(requests.map(altered)) };
    },
  };
}

interface Running { readonly log: Log; readonly replica: Replica }

function startIndexer(
  { chain }: SettlementWorld, { rpc, log, replica, report, signal }: Pick<IndexerOptions, 'rpc' | 'report' | 'signal'> & Running,
): Indexer {
  const { view, outcomeOf } = replica;
  return runIndexer({
    chain, rpc, report, signal, now: Date.now, random: Math.random, pollMs: 20, stalledAfterMs: Infinity, retryMs: 20, longestRetryMs: 100,
    cursor: () => view.cursor(chain.chainId), view,
    async caughtUp() {
      const length = await log.length('commands');
      if (view.position < length) await outcomeOf(length - 1);
    },
    isKnownToken: (token) => view.isKnownToken(token),
    isKnownMarket: (marketId) => view.market(marketId) !== undefined,
    append: (records) => log.append('commands', records),
    outcomeOf,
    async digestAt(position) {
      await until(`outcome ${position} is recorded`, () => replica.recording!.written > position);
      const [record] = await log.read('outcomes', position, 1);
      return decodeOutcome(record!.data).digest;
    },
  });
}

/** Opens a market of a condition that is prepared on the chain. */
export async function openMarket(
  { contracts, chain }: SettlementWorld, submit: (command: Command) => Promise<unknown>, marketId: string,
): Promise<void> {
  const token = async (outcome: number) => `0x${(await contracts.positionId(marketId, outcome)).toString(16).padStart(64, '0')}`;
  await submit({
    kind: 'OpenMarket', v: 3, ifOver: 'close', at: Date.now(), marketId, question: 'Will it?', description: '', category: 'general', contractAddress: marketId.slice(0, 42),
    maker: `0x${'aa'.repeat(20)}`, expiration: Math.floor(Date.now() / 1_000) + 86_400, chainId: chain.chainId, marketKind: 'standard',
    tokens: { yes: await token(0), no: await token(1) },
  });
}

/** The command of a signed order. */
export function placeOrder({ order, hash, signature }: SignedOrder, permit?: Permit & { nonce: bigint }): PlaceOrder {
  return {
    kind: 'PlaceOrder', v: 2, at: Date.now(), orderHash: hash, signature, ...orderFields(order),
    ...permit === undefined ? {} : { permit: permitFields(permit) },
  };
}

function permitFields({ nonce, value, deadline, v, r, s }: Permit & { nonce: bigint }): NonNullable<PlaceOrder['permit']> {
  return { nonce: String(nonce), value: String(value), deadline: String(deadline), v: Number(v) as 27 | 28, r, s };
}

function orderFields({ marketId, trader, side, outcome, price, size, nonce, expiration }: Order) {
  return {
    marketId, trader: trader.toLowerCase(), side: Number(side) as 0 | 1, outcome: Number(outcome) as 0 | 1, price: Number(price), size: String(size),
    nonce: String(nonce), expiration: String(expiration),
  };
}

/** Traders with collateral and shares of the market, allowed to the settlement. */
export async function fundTraders({ contracts, marketId }: SettlementWorld, traders: readonly Wallet[], amount: bigint): Promise<void> {
  for (const { address } of traders) {
    await contracts.stock(address, marketId, amount);
    await contracts.fund(address, amount);
  }
}

export function ofType<T extends Event['type']>(events: readonly Event[], type: T): Extract<Event, { type: T }>[] {
  return events.filter((event): event is Extract<Event, { type: T }> => event.type === type);
}

/** Of the events from a position on: every matched fill was settled once, by a transaction that was recorded with it before. */
export async function assertEachSettledOnce(stack: SettlementStack, from: number): Promise<{ submitted: SettlementSubmitted[] }> {
  const events = await stack.events(from);
  const matched = ofType(events, 'FillMatched').map(({ fill }) => fill);
  const settled = ofType(events, 'FillSettled').map(({ fill }) => fill);
  ok(matched.length > 0);
  deepEqual([...settled].sort((a, b) => a - b), matched);
  const submitted = new Set<string>();
  for (const event of events) {
    if (event.type === 'SettlementSubmitted') for (const fill of event.fills) submitted.add(`${event.txHash} ${fill}`);
    if (event.type === 'FillSettled') ok(submitted.has(`${event.txHash} ${event.fill}`), `fill ${event.fill}'s transaction was recorded first`);
  }
  return { submitted: ofType(events, 'SettlementSubmitted') };
}

async function eventsFrom(log: Log, from: number): Promise<Event[]> {
  const events: Event[] = [];
  for (let position = from; ;) {
    const page = await log.read('outcomes', position, 1_000);
    if (page.length === 0) return events;
    events.push(...page.flatMap(({ data }) => decodeOutcome(data).events));
    position += page.length;
  }
}
