/** Settlement on a chain of its own: the roles indexer, lane and settlement over a log and a Postgres that outlive their process. */
import { deepEqual, ok } from 'node:assert/strict';
import { HDNodeWallet, type Wallet } from 'ethers';
import type { Chain } from '../../command/chain/chain.js';
import { indexerState, type IndexerState } from '../../command/indexer/role-state.js';
import type { LaneRequest, LaneUser } from '../../command/lane/requests.js';
import { settlementState, type SettlementState } from '../../command/settlement/role-state.js';
import type { Order, Permit } from '../../contracts-abi/settlement.js';
import type { Log } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import type { Event, SettlementSubmitted } from '../../engine/records/events.js';
import { TEST_MNEMONIC } from '../../stack/chain/anvil.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { chainOf } from '../support/chain-settings.js';
import { newCommand } from '../support/commands.js';
import { settlementContracts, type SettlementContracts, type SignedOrder } from '../support/settlement-contracts.js';
import { startHarness, type Harness } from './harness.js';
import { memoryAdvance } from './memory/advance.js';
import type { RolePorts, Roles } from './ports.js';
import { postgresStores } from './stores.js';

/** What outlives a stop: the chain, the log's records, the stores of lane and settlement, and who is asked to look at the chain. */
export interface SettlementWorld {
  readonly contracts: SettlementContracts;
  readonly chain: Chain;
  /** The operator's key, which only the lane uses. */
  readonly operator: HDNodeWallet;
  readonly marketId: string;
  readonly openLog: () => Promise<Log>;
  readonly databaseUrl: string;
  readonly advance: Pick<RolePorts, 'askToAdvance' | 'onAskedToAdvance'>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  /** Where the outbox and the fills are. */
  readonly databaseUrl: string;
  /** Absent: in memory. */
  readonly openLog?: () => Promise<Log>;
  readonly confirmations?: number;
}

export interface ProcessOptions {
  readonly settlement?: Roles['settlement'];
  readonly lane?: Roles['lane'];
  /** Another node than the chain itself, such as a proxy before it. */
  readonly url?: string;
  /** Whether the process has the role indexer; its other two roles can do without. */
  readonly indexer?: boolean;
  /** Changes what settlement asks of the lane. */
  readonly altered?: (request: LaneRequest) => LaneRequest;
}

export interface SettlementProcess extends Harness {
  /** Places a signed order past the API, so also one with a bad signature. */
  place(signed: SignedOrder, permit?: Permit & { nonce: bigint }): ReturnType<Harness['submit']>;
  /** Resolves when no fill is unsettled. */
  settled(): Promise<unknown>;
  /** Resolves when the history has all facts up to the block that is final now. */
  caughtUp(): Promise<void>;
  /** What the roles settlement and indexer say of the chain. */
  queue(): Promise<SettlementState>;
  indexing(): Promise<IndexerState>;
}

/** A chain with the contracts, one market, and an operator. */
export async function settlementWorld({ databaseUrl, openLog, confirmations = 0 }: WorldOptions): Promise<SettlementWorld> {
  const contracts = await settlementContracts();
  const { deployed, settlement, send, read } = contracts;
  const operator = HDNodeWallet.fromPhrase(TEST_MNEMONIC, undefined, 'm/44\'/60\'/0\'/0/7');
  await send(contracts.operator, settlement, 'grantRole', [await read(settlement, 'OPERATOR_ROLE'), operator.address]);
  const store = createMemoryStore();
  return {
    contracts, operator, databaseUrl, marketId: contracts.marketId, advance: memoryAdvance(), stop: () => contracts.stop(),
    openLog: openLog ?? (() => Promise.resolve(createMemoryLog(store))),
    chain: chainOf(deployed, { chainId: TEST_CHAIN_ID, confirmations, domainName: contracts.orderDomain.name }),
  };
}

/** Starts the roles on the world; the market is opened at the first start. */
export async function startSettlement(world: SettlementWorld, options: ProcessOptions = {}): Promise<SettlementProcess> {
  const { indexer = true, altered, url = world.contracts.chain.url } = options;
  const roles: Roles = {
    ...indexer ? { indexer: { timings: { retryMs: 20, longestRetryMs: 100 } } } : {},
    lane: {
      ...options.lane,
      policy: { idlePollMs: POLL_MS, backoff: { firstMs: 20, longestMs: 20 }, looksApartMs: 20, bumpAfterMs: 60_000, ...options.lane?.policy },
    },
    // Tests say how many fills gather: the first one does not go alone.
    settlement: { ...options.settlement, rules: { quietMs: Infinity, ...options.settlement?.rules } },
  };
  return startOn(world, { url, roles, altered });
}

/** The role indexer alone, in a process beside the one that settles. */
export function startIndexer(world: SettlementWorld): Promise<SettlementProcess> {
  return startOn(world, { url: world.contracts.chain.url, roles: { indexer: {} } });
}

const POLL_MS = 20;

async function startOn(
  { contracts, chain, operator, openLog, databaseUrl, marketId, advance }: SettlementWorld,
  { url, roles, altered }: { url: string; roles: Roles; altered?: ProcessOptions['altered'] | undefined },
): Promise<SettlementProcess> {
  const log = await openLog();
  const stores = postgresStores(databaseUrl);
  const harness = await startHarness({
    log, roles, chains: [{ chain, rpcUrls: [url], operatorKey: operator.privateKey, pollMs: POLL_MS, stalledAfterMs: Infinity }],
    ports: { ...stores, ...advance, laneUser: (whose) => altering(stores.laneUser(whose), altered) },
  });
  const { view } = harness.replica;
  if (view.market(marketId) === undefined) await openMarket({ contracts, chain }, harness.submit, marketId);
  return {
    ...harness,
    place: (signed, permit) => harness.submit(placeOrder(signed, permit)),
    settled: () => harness.until('every fill is settled or has failed', () => (
      [...view.unsettledFills({ chainId: chain.chainId, from: 0 })].length === 0)),
    async caughtUp() {
      const { watch, chains } = harness.ports;
      await (await watch(chains.get(chain.chainId)!)).catchUp();
    },
    queue: async () => (await harness.stateOf(settlementState))[0]!,
    indexing: async () => (await harness.stateOf(indexerState))[0]!,
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

/** Opens a market of a condition that is prepared on the chain. */
async function openMarket(
  { contracts, chain }: Pick<SettlementWorld, 'contracts' | 'chain'>, submit: (command: Command) => Promise<unknown>, marketId: string,
): Promise<void> {
  const token = async (outcome: number) => `0x${(await contracts.positionId(marketId, outcome)).toString(16).padStart(64, '0')}`;
  await submit(newCommand('OpenMarket', {
    at: Date.now(), marketId, contractAddress: marketId.slice(0, 42), expiration: Math.floor(Date.now() / 1_000) + 86_400,
    chainId: chain.chainId, tokens: { yes: await token(0), no: await token(1) },
  }));
}

/** The command of a signed order. */
export function placeOrder({ order, hash, signature }: SignedOrder, permit?: Permit & { nonce: bigint }): PlaceOrder {
  return newCommand('PlaceOrder', {
    at: Date.now(), orderHash: hash, signature, ...orderFields(order), ...permit === undefined ? {} : { permit: permitFields(permit) },
  });
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
export async function assertEachSettledOnce({ events: eventsFrom }: Harness, from: number): Promise<{ submitted: SettlementSubmitted[] }> {
  const events = await eventsFrom(from);
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
