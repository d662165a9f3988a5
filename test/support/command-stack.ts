/** The command side on a bare engine: signed bodies in, answers out; tests move its clock and its read models by hand. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import type { KnownOrder, Submit } from '../../command/orders/answer.js';
import { createCancelAfter } from '../../command/orders/cancel-after.js';
import { createCancelAll } from '../../command/orders/cancel-all.js';
import { createCancelOrders, type SignedRequestHandler } from '../../command/orders/cancel-orders.js';
import type { Written } from '../../command/orders/command-writer.js';
import { createPlaceOrders } from '../../command/orders/place-orders.js';
import { createReduceOrder, type ReduceOrderHandler } from '../../command/orders/reduce-order.js';
import type { Exposure } from '../../command/chain/exposure.js';
import { createCancelOrder, type CancelOrderHandler, type CancelRequest } from '../../command/orders/cancel-order.js';
import {
  createKeccak256, cancelTypes, orderTypes, prepareDomain, requestTypes, type OrderDomain, type PermitFields,
} from '../../command/signing/typed-data.js';
import { createCheckOrder, type CheckOrderHandler } from '../../command/orders/check-order.js';
import { createOrderPlacing, createPlaceOrder, type PlaceOrderHandler } from '../../command/orders/place-order.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { encodeCommand, type CommandOutcome } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { createEngine, type Engine } from '../../engine/run/engine.js';
import { viewOf } from '../../engine/run/view.js';
import type { ErrorCode, RequestError } from '../../engine/records/errors.js';

export const domain: OrderDomain = { name: 'Settlement', version: '1', chainId: 31_337, verifyingContract: `0x${'c0'.repeat(20)}` };
export const marketId = id('a market');
export const otherMarketId = id('another market');
export const alice = new Wallet(id('alice'));
export const bob = new Wallet(id('bob'));

/** When the clock starts: a whole second. */
export const START_MS = 1_800_000_000_000;
export const START_S = START_MS / 1_000;

export interface CommandStack {
  readonly engine: Engine;
  /** Every command so far, and its outcome; the first two opened the markets. */
  readonly commands: Command[];
  readonly outcomes: CommandOutcome[];
  readonly clock: { atMs: number };
  /** Where an outcome of the past is read. */
  originalOutcome: (position: number) => Promise<CommandOutcome>;
  /** Orders that the read models know and the engine does not. */
  readonly readModel: Map<string, KnownOrder>;
  readonly place: PlaceOrderHandler;
  readonly check: CheckOrderHandler;
  readonly cancel: CancelOrderHandler;
  readonly cancelOpen: CancelOrderHandler;
  /** The requests about several orders, or all of them; `open`: as with CANCEL_AUTH=open. */
  readonly requests: TraderRequests;
  readonly open: TraderRequests;
  /** The appends so far, each with its number of commands; those of single commands are not counted. */
  readonly appends: number[];
  /** Commands that are in the log, and that the endpoints' view does not have before they catch up. */
  readonly behind: Command[];
  /** What happens between an endpoint's last look and its command. */
  beforeSubmit: () => void;
  /** The digest of permits, and the check of balances; absent at first, as without a chain. */
  permitDigest: ((permit: PermitFields) => Uint8Array) | undefined;
  exposure: Exposure | undefined;
  /** Runs a command past the endpoints. */
  run(command: Command): CommandOutcome;
}

export interface TraderRequests {
  readonly placeOrders: SignedRequestHandler;
  readonly cancelOrders: SignedRequestHandler;
  readonly cancelAll: SignedRequestHandler;
  readonly cancelAfter: SignedRequestHandler;
  readonly reduceOrder: ReduceOrderHandler;
}

export async function createCommandStack({ minSize = 1, maxOpenOrders = 5_000 } = {}): Promise<CommandStack> {
  const engine = createEngine();
  const view = viewOf(engine);
  const keccak256 = await createKeccak256();
  const recovery = await createSignerRecovery(keccak256);
  const prepared = prepareDomain(keccak256, domain);
  const clock = { atMs: START_MS };
  const commands: Command[] = [];
  const outcomes: CommandOutcome[] = [];
  const readModel = new Map<string, KnownOrder>();
  const run = (command: Command): CommandOutcome => {
    const { outcome } = engine.step(encodeCommand(command));
    commands.push(command);
    outcomes.push(outcome);
    return outcome;
  };
  const submit: Submit<Written> = (command) => {
    stack.beforeSubmit();
    const outcome = run(command);
    return Promise.resolve({ position: outcomes.length - 1, outcome });
  };
  const submitAll = (all: readonly Written[]) => {
    stack.appends.push(all.length);
    return all.map((command) => submit(command));
  };
  const caughtUp = () => {
    for (const command of stack.behind.splice(0)) run(command);
    return Promise.resolve();
  };
  const parts = {
    view, caughtUp, maxOpenOrders, minSizeOf: () => minSize,
    domainOf: (chainId: number) => chainId === domain.chainId ? prepared : undefined,
    permitDigestOf: (chainId: number) => chainId === domain.chainId ? stack.permitDigest : undefined,
    exposureOf: (chainId: number) => chainId === domain.chainId ? stack.exposure : undefined,
    recovery, submit,
    findOrder: (hash: string) => Promise.resolve(view.order(hash) ?? readModel.get(hash)),
    originalOutcome: (position: number) => stack.originalOutcome(position),
    now: () => clock.atMs,
  };
  for (const market of [marketId, otherMarketId]) {
    run({
      kind: 'OpenMarket', v: 3, ifOver: 'close', at: START_MS - 1_000, marketId: market, question: 'Will it?', description: '', category: 'general',
      contractAddress: market.slice(0, 42), maker: `0x${'aa'.repeat(20)}`, expiration: START_S + 86_400, chainId: domain.chainId,
      marketKind: 'standard',
    });
  }
  const placing = createOrderPlacing(parts);
  const requestsWith = (auth: 'required' | 'open'): TraderRequests => {
    const signed = { ...parts, auth, domains: new Map([[domain.chainId, prepared]]) };
    return {
      placeOrders: createPlaceOrders({ placing, submitAll, counted: () => undefined, failed: (error) => { throw error as Error; } }),
      cancelOrders: createCancelOrders(signed), cancelAll: createCancelAll(signed), cancelAfter: createCancelAfter(signed),
      reduceOrder: createReduceOrder(signed),
    };
  };
  const stack: CommandStack = {
    requests: requestsWith('required'), open: requestsWith('open'), appends: [], behind: [], engine, commands, outcomes, clock, readModel, run, beforeSubmit: () => undefined,
    permitDigest: undefined, exposure: undefined,
    originalOutcome: (position) => Promise.resolve(outcomes[position]!),
    place: createPlaceOrder(placing), check: createCheckOrder(parts),
    cancel: createCancelOrder({ ...parts, auth: 'required' }), cancelOpen: createCancelOrder({ ...parts, auth: 'open' }),
  };
  return stack;
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
