/** The role `api` over a bare engine: signed bodies in, answers out. Tests move its clock, its log, its engine and its read models by hand. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Wallet, id } from 'ethers';
import { openChain } from '../../command/chain/chain-access.js';
import type { Chain } from '../../command/chain/chain.js';
import type { Exposure } from '../../command/chain/exposure.js';
import { cancelAfter } from '../../command/orders/cancel-after.js';
import { cancelAll } from '../../command/orders/cancel-all.js';
import { cancelOrder, type CancelRequest } from '../../command/orders/cancel-order.js';
import { cancelOrders } from '../../command/orders/cancel-orders.js';
import { checkOrder } from '../../command/orders/check-order.js';
import type { RecordedOrder } from '../../command/orders/order-finder.js';
import { placeOrder } from '../../command/orders/place-order.js';
import { placeOrders } from '../../command/orders/place-orders.js';
import { reduceOrder } from '../../command/orders/reduce-order.js';
import { api, type ApiPorts } from '../../command/orders/role.js';
import { createSignerRecovery, type SignerRecovery } from '../../command/signing/recover.js';
import type { RecoveryThread } from '../../command/signing/recovery-thread.js';
import {
  cancelTypes, createKeccak256, orderTypes, prepareDomain, requestTypes, type OrderDomain, type PermitFields,
} from '../../command/signing/typed-data.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { decodeCommand, type CommandOutcome } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import type { ErrorCode, RequestError } from '../../engine/records/errors.js';
import { readReplica } from '../../engine/role-state.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import type { Replica } from '../../engine/run/replica.js';
import { viewOf } from '../../engine/run/view.js';
import type { Endpoint, Reply } from '../../service/api/endpoint.js';
import { madeUpContracts } from '../support/chain-settings.js';
import { newCommand } from '../support/commands.js';
import { answerOf } from './harness.js';
import { QUIET } from './ports.js';

export const domain: OrderDomain = { name: 'Settlement', version: '1', chainId: 31_337, verifyingContract: `0x${'c0'.repeat(20)}` };
export const marketId = id('a market');
export const otherMarketId = id('another market');
export const alice = new Wallet(id('alice'));
export const bob = new Wallet(id('bob'));

/** When the clock starts: a whole second. */
export const START_MS = 1_800_000_000_000;
export const START_S = START_MS / 1_000;

export type OrderWorld = Awaited<ReturnType<typeof orderWorld>>;

/** What tests move. */
interface OrderWorldParts {
  readonly engine: Engine;
  /** Every command so far, and its outcome; the first two opened the markets. */
  readonly commands: Command[];
  readonly outcomes: CommandOutcome[];
  readonly clock: { atMs: number };
  /** Where an outcome of the past is read. */
  originalOutcome: (position: number) => Promise<CommandOutcome>;
  /** Orders that the read models know and the engine does not. */
  readonly readModel: Map<string, RecordedOrder>;
  /** The appends so far, each with its number of commands. */
  readonly appends: number[];
  /** Commands that are in the log, and that the replica does not have before somebody waits for them. */
  readonly behind: Command[];
  /** What an append waits for, and what happens before its commands are decided. */
  appending: Promise<void>;
  beforeSubmit: () => void;
  /** How many signatures the thread has recovered, where there is one. */
  recoveredLater: number;
  /** The digest of permits, and the check of balances; absent at first, as without a chain. */
  permitDigest: ((permit: PermitFields) => Uint8Array) | undefined;
  exposure: Exposure | undefined;
  /** Runs a command past the endpoints. */
  run(command: Command): CommandOutcome;
}

/** What a world begins with. */
interface OrderWorldOptions {
  readonly minSize?: number;
  readonly maxOpenOrders?: number;
  /** Present: the signers of batches are recovered in a later turn of the event loop, as by a thread. */
  readonly recoversLater?: boolean;
  /** With more than one the signers of single orders that queue are, too. */
  readonly cores?: number;
}

export async function orderWorld(options: OrderWorldOptions = {}) {
  const engine = createEngine();
  const [commands, outcomes]: [Command[], CommandOutcome[]] = [[], []];
  const world: OrderWorldParts = {
    engine, commands, outcomes, clock: { atMs: START_MS }, readModel: new Map(), appends: [], behind: [],
    appending: Promise.resolve(), beforeSubmit: () => undefined, recoveredLater: 0, permitDigest: undefined, exposure: undefined,
    originalOutcome: (position) => Promise.resolve(outcomes[position]!),
    run(next) {
      const { outcome } = engine.step(encodeCommand(next));
      commands.push(next);
      outcomes.push(outcome);
      return outcome;
    },
  };
  for (const market of [marketId, otherMarketId]) {
    world.run(newCommand('OpenMarket', {
      at: START_MS - 1_000, marketId: market, contractAddress: market.slice(0, 42), expiration: START_S + 86_400, chainId: domain.chainId,
    }));
  }
  const ports = await portsOf(world, options);
  const [{ place, check, cancel, ...requests }, { cancel: cancelOpen, ...open }] = [await endpointsOf(ports, 'required'), await endpointsOf(ports, 'open')];
  // `requests` are those about several orders, or all of them; `open`: as with CANCEL_AUTH=open.
  return Object.assign(world, { place, check, cancel, cancelOpen, requests, open });
}

/** The log and the replica are the world's engine; the chain's node is asked nothing. */
async function portsOf(
  world: OrderWorldParts, { minSize: minOrderSize = 1, maxOpenOrders = 5_000, recoversLater = false, cores = 1 }: OrderWorldOptions,
): Promise<Omit<ApiPorts, 'cancelAuth'>> {
  const { engine, outcomes, behind } = world;
  const { chainId } = domain;
  const keccak256 = await createKeccak256();
  const recovery = await createSignerRecovery(keccak256);
  const chain: Chain = {
    chainId, name: 'Test chain', testnet: true, confirmations: 0, startBlock: 0, contracts: madeUpContracts('c'), domainName: domain.name,
    exposureCheck: false, minOrderSize,
  };
  const access = openChain({ chain, rpcUrls: ['http://127.0.0.1:1'], pollMs: 1_000, stalledAfterMs: Infinity }, { keccak256, report: () => undefined });
  const replica: Replica = {
    view: viewOf(engine), ready: true, caughtUp: Promise.resolve(), done: new Promise(() => undefined), recording: undefined, onStep: () => undefined,
    async outcomeOf(position, recordId) {
      if (position >= outcomes.length) for (const next of behind.splice(0)) world.run(next);
      return recordId === undefined ? await world.originalOutcome(position) : outcomes[position]!;
    },
  };
  return {
    ...QUIET, writerId: 'test', clock: { now: () => world.clock.atMs }, limits: { maxQueuedOrders: 10_000, maxOpenOrders },
    log: {
      ...createMemoryLog(), length: () => Promise.resolve(outcomes.length + behind.length),
      async append(_, records) {
        await world.appending;
        world.beforeSubmit();
        world.appends.push(records.length);
        for (const { data } of records) world.run(decodeCommand(data));
        return outcomes.length - records.length;
      },
    },
    replica, replicaState: readReplica(() => replica, () => outcomes.length),
    reads: { ...QUIET.reads, order: (hash) => Promise.resolve(world.readModel.get(hash)) },
    chains: new Map([[chainId, { ...access, begin: () => Promise.resolve(), permitDigest: () => world.permitDigest }]]),
    exposures: { get: () => world.exposure }, watch: () => assert.fail('nobody watches the chain'),
    domains: new Map([[chainId, prepareDomain(keccak256, domain)]]), recovery, cores,
    ...recoversLater && { recoveryThread: threadOf(world, recovery) },
  };
}

/** Answers in a later turn, as a thread does. */
function threadOf(world: OrderWorldParts, { recover }: SignerRecovery): RecoveryThread {
  return {
    stop: () => Promise.resolve(),
    async recover(...signed) {
      await setImmediate();
      world.recoveredLater += 1;
      return recover(...signed);
    },
  };
}

async function endpointsOf(ports: Omit<ApiPorts, 'cancelAuth'>, cancelAuth: ApiPorts['cancelAuth']) {
  const { routes } = await api.start({ ...ports, cancelAuth });
  const bodyTo = (endpoint: Endpoint) => (body: Uint8Array, signal = new AbortController().signal): Promise<Reply> => (
    answerOf(routes, endpoint, { rawBody: Buffer.from(body), signal }));
  return {
    place: bodyTo(placeOrder), check: bodyTo(checkOrder), placeOrders: bodyTo(placeOrders), cancelOrders: bodyTo(cancelOrders),
    cancelAll: bodyTo(cancelAll), cancelAfter: bodyTo(cancelAfter),
    reduceOrder: (hash: string, body: Uint8Array): Promise<Reply> => answerOf(routes, reduceOrder, { params: { hash }, rawBody: Buffer.from(body) }),
    cancel: ({ orderHash, marketId: market, side, signature, deadline }: CancelRequest): Promise<Reply> => answerOf(routes, cancelOrder, {
      params: { hash: orderHash }, query: { marketId: market, side }, headers: { 'x-cancel-signature': signature, 'x-cancel-deadline': deadline },
    }),
  };
}

/** An order of Alice's as the read models have it. */
export function recorded(fields: Partial<RecordedOrder>): RecordedOrder {
  return {
    orderNumber: 0, marketId, trader: alice.address.toLowerCase(), side: 0, size: 25n, remaining: 25n, status: 'open', closedPosition: null, ...fields,
  };
}

export type Fields = Record<string, unknown>;

/** Alice's order to buy YES, with other fields where given. */
export function anOrder(fields: Fields = {}): Fields {
  return {
    marketId, trader: alice.address, side: 0, outcome: 0, price: 620_000, size: 25_000_000, nonce: 1, expiration: START_S + 3_600,
    makerFeeRecipient: `0x${'0'.repeat(40)}`, ...fields,
  };
}

export function signOrder(order: Fields, wallet = alice, over: OrderDomain = domain): Promise<string> {
  return wallet.signTypedData(over, { Order: [...orderTypes.Order] }, order);
}

/** A body's bytes; bigints are written as JSON integers. */
export function bodyOf(body: unknown): Buffer {
  const text = JSON.stringify(body, (_, value: unknown) => typeof value === 'bigint' ? `bigint ${value}` : value);
  return Buffer.from(text.replaceAll(/"bigint (-?\d+)"/g, '$1'));
}

/** The bytes of a signed order. */
export async function signedBody(fields: Fields = {}, wallet = alice): Promise<Buffer> {
  const order = anOrder({ trader: wallet.address, ...fields });
  return bodyOf({ order, signature: await signOrder(order, wallet) });
}

/** A signed cancel of Alice's. */
export async function signedCancel(
  orderHash: string, { deadline = String(START_S + 60), wallet = alice } = {},
): Promise<CancelRequest> {
  const message = { orderHash, trader: alice.address, deadline };
  const signature = await wallet.signTypedData(domain, { CancelOrder: [...cancelTypes.CancelOrder] }, message);
  return { orderHash, marketId, side: undefined, signature, deadline };
}

/** The body of a signed request, with the message's fields and the signature beside them. `without` names what stands in the path. */
export async function signedRequest(
  type: keyof typeof requestTypes, message: Fields, { wallet = alice, without = [] }: { wallet?: Wallet; without?: readonly string[] } = {},
): Promise<Buffer> {
  const signature = await wallet.signTypedData(domain, { [type]: [...requestTypes[type]] }, message);
  return bodyOf({ ...Object.fromEntries(Object.entries(message).filter(([name]) => !without.includes(name))), signature });
}

/** Fails unless the request is refused with just this code and fields; returns the error. */
export async function refused(answer: Promise<unknown>, code: ErrorCode, fields: readonly string[] = []): Promise<RequestError> {
  const error = await answer.then(
    (value) => assert.fail(`not refused but answered: ${JSON.stringify(value)}`),
    (reason: unknown) => reason as RequestError,
  );
  if (error.name !== 'RequestError') throw error;
  assert.deepEqual({ code: error.code, fields: error.fields.map(({ field }) => field) }, { code, fields });
  return error;
}
