/** Seeded command histories that lead an engine into corners: few traders, few prices, everything repeated or late. */
import { createHash } from 'node:crypto';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { CancelOrder, Command, FailFill, OpenMarket, OrderPermit, PlaceOrder } from '../../engine/records/commands.js';
import { BUY, SELL, type Culprit, type FailureReason } from '../../engine/records/fields.js';
import { newCommand } from './commands.js';

/** 2023-11-14T22:13:20Z, where every history begins. */
export const START_MS = 1_700_000_000_000;
export const UINT64_MAX = '18446744073709551615';

export const failureReasons: readonly FailureReason[] = [
  'buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired',
  'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown',
];
export const culprits: readonly Culprit[] = ['buyer', 'seller', 'both'];

const hex = (value: number | bigint, digits: number) => `0x${value.toString(16).padStart(digits, '0')}`;
export const marketId = (n: number) => hex(0xaa000000 + n, 64);
export const traderAddress = (n: number) => hex(0xbb000000 + n, 40);
export const txHash = (n: number) => hex(0xcc000000 + n, 64);
const signature = (n: number) => hex(n, 130);

export interface Profile {
  /** Commands between storms in which orders pile up without crossing, so that the limits on work are met; 0: always storm. */
  readonly calm: number;
  /** Commands of a storm, where anything goes. */
  readonly storm: number;
  readonly traders: number;
  readonly markets: number;
  /** How many of a hundred commands advance the clock. */
  readonly clocks: number;
}

/** Few orders live at a time and each meets the others often. */
export const crowd: Profile = { calm: 0, storm: 1, traders: 4, markets: 3, clocks: 3 };
/** Thousands of orders rest when something happens to all of them. */
export const pile: Profile = { calm: 7_000, storm: 400, traders: 2, markets: 2, clocks: 1 };

export interface RandomCommands {
  next(): Command;
  /** Tells the generator what its last command caused, so that it can refer to orders and fills that exist. */
  learn(outcome: CommandOutcome): void;
}

/** Mulberry32: numbers of 0 to 2^32-1, the same for the same seed. */
export function createRandom(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** What generators draw with. */
export interface Dice {
  /** 0 to n-1. */
  readonly below: (n: number) => number;
  /** True once in n. */
  readonly once: (n: number) => boolean;
  readonly pick: <T>(list: readonly T[]) => T;
}

/** The same draws for the same seed. */
export function createDice(seed: number): Dice {
  const random = createRandom(seed);
  const below = (n: number) => random() % n;
  return { below, once: (n) => below(n) === 0, pick: (list) => list[below(list.length)]! };
}

interface Memory extends Dice {
  readonly profile: Profile;
  readonly seed: number;
  /** The clock that commands are stamped with, give or take. */
  now: number;
  issued: number;
  /** The latest orders, accepted or not. */
  readonly recent: PlaceOrder[];
  marketsOpened: number;
  readonly expirations: Map<string, number>;
  fills: number;
  readonly unsettled: number[];
}

export function createRandomCommands(seed: number, profile: Profile): RandomCommands {
  const memory: Memory = {
    ...createDice(seed), profile, seed, now: START_MS, issued: 0, recent: [], marketsOpened: 0, expirations: new Map(), fills: 0, unsettled: [],
  };
  return {
    next: () => {
      const turn = memory.issued++ % (profile.calm + profile.storm);
      return turn < profile.calm ? calm(memory) : storm(memory, turn === profile.calm);
    },
    learn(outcome) {
      for (const event of outcome.events) {
        if (event.type === 'MarketResolved') memory.expirations.set(event.marketId, 0);
        if (event.type !== 'FillMatched') continue;
        memory.fills = event.fill + 1;
        memory.unsettled.push(event.fill);
      }
    },
  };
}

function calm(memory: Memory): Command {
  const { below, once } = memory;
  if (needsMarket(memory)) return openMarket(memory, 100_000);
  if (once(50)) memory.now += 1;
  const order = freshOrder(memory);
  order.side = below(2) === 0 ? BUY : SELL;
  if (!once(5)) {
    // Most orders of one calm are one trader's in one book.
    order.trader = traderAddress(0);
    order.marketId = liveMarkets(memory).at(-1)!;
    order.side = cycleOf(memory) % 4 < 2 ? SELL : BUY;
    order.outcome = 0;
  }
  order.price = order.side === BUY ? 499_999 - below(100) : 500_001 + below(100);
  order.size = String(1 + below(3));
  order.expiration = String(soon(memory) + 2_000 + below(3));
  return once(100) ? cancelOf(memory) : remember(memory, order);
}

/** How many calms and storms there were. */
function cycleOf({ issued, profile }: Memory): number {
  return Math.floor((issued - 1) / (profile.calm + profile.storm));
}

function storm(memory: Memory, first: boolean): Command {
  const { below, once, profile } = memory;
  memory.now += once(16) ? below(2_000) : below(60);
  // Everything expires on a whole second: be there at that very millisecond, and one before.
  if (once(12)) memory.now = Math.ceil(memory.now / 1_000) * 1_000 - below(2);
  if (first && profile.calm > 0) {
    // An order through the whole pile makes fills that then fail; every other time all orders, or markets, have expired by then.
    memory.now += [0, 2_050, 0, 100_000][cycleOf(memory) % 4]! * 1_000;
    const buys = cycleOf(memory) % 4 < 2;
    return remember(memory, {
      ...freshOrder(memory), marketId: liveMarkets(memory).at(-1) ?? marketId(0), trader: traderAddress(9),
      side: buys ? BUY : SELL, outcome: 0, price: buys ? 999_999 : 1, size: UINT64_MAX, expiration: String(soon(memory) + 3_000),
    });
  }
  if (needsMarket(memory) || once(200)) return openMarket(memory, profile.calm > 0 ? 100_000 : 20 + below(400));
  const kind = below(100);
  if (kind < 62) return placeOrder(memory);
  if (kind < 76) return cancelOf(memory);
  if (kind < 76 + profile.clocks) return advanceClock(memory);
  if (kind < 90) return newCommand('SettleFill', { at: at(memory), fill: someFill(memory), txHash: txHash(memory.issued) });
  return failFill(memory);
}

/** Usually now, sometimes late: clocks of several writers disagree. */
function at({ now, once, below }: Memory): number {
  return once(20) ? now - below(5_000) : now;
}

/** The first whole second after the 60 s that an order must at least last. */
function soon({ now }: Memory): number {
  return Math.floor(now / 1_000) + 60;
}

function liveMarkets({ expirations, now }: Memory): string[] {
  return [...expirations.keys()].filter((id) => now < expirations.get(id)! * 1_000);
}

function needsMarket(memory: Memory): boolean {
  return memory.marketsOpened === 0 || liveMarkets(memory).length < memory.profile.markets;
}

function someMarket(memory: Memory): string {
  const live = liveMarkets(memory);
  return memory.pick(live.length === 0 || memory.once(30) ? [...memory.expirations.keys()] : live);
}

function openMarket(memory: Memory, secondsAhead: number): OpenMarket {
  const { once, below, pick, expirations } = memory;
  const repeated = expirations.size > 0 && once(5);
  const expiration = Math.floor(memory.now / 1_000) + (once(10) ? below(3) - 1 : secondsAhead);
  const id = repeated ? pick([...expirations.keys()]) : marketId(memory.marketsOpened++);
  if (!repeated) {
    expirations.set(id, expiration);
    if (expirations.size > memory.profile.markets + 3) expirations.delete(expirations.keys().next().value!);
  }
  return newCommand('OpenMarket', {
    at: at(memory), marketId: id, question: `Will ${id.slice(-4)} happen?`, description: once(2) ? '' : 'Ünïcode “text”',
    category: pick(['defi', 'protocol', 'stablecoin', 'general'] as const), contractAddress: traderAddress(500 + memory.marketsOpened),
    maker: traderAddress(400), expiration, chainId: 1 + below(2), marketKind: once(2) ? 'standard' : 'quick',
  });
}

function freshOrder(memory: Memory): PlaceOrder {
  const { below, once, issued, seed } = memory;
  // A hash table under test meets both well spread hashes and ones that differ in their last bytes only.
  const orderHash = seed % 2 === 0 ? hex(issued, 64) : `0x${createHash('sha256').update(`${seed} ${issued}`).digest('hex')}`;
  const order: PlaceOrder = newCommand('PlaceOrder', {
    at: at(memory), orderHash, marketId: someMarket(memory), trader: traderAddress(below(memory.profile.traders)), side: BUY,
    outcome: below(2) === 0 ? 0 : 1, price: 500_000, size: '1', nonce: String(1_000 + issued), expiration: '0',
    signature: signature(issued),
  });
  const permit: OrderPermit = { nonce: UINT64_MAX, value: String(2n ** 256n - 1n), deadline: '1', v: 27, r: txHash(1), s: txHash(2) };
  return once(50) ? { ...order, permit } : order;
}

function remember(memory: Memory, order: PlaceOrder): PlaceOrder {
  memory.recent.push(order);
  if (memory.recent.length > 200) memory.recent.splice(0, 100);
  return order;
}

function placeOrder(memory: Memory): PlaceOrder {
  const { below, pick, once, recent } = memory;
  if (recent.length > 0 && once(25)) return { ...pick(recent), at: at(memory), signature: signature(below(1_000)) };
  const order = freshOrder(memory);
  order.side = below(2) === 0 ? BUY : SELL;
  order.price = once(40) ? pick([1, 999_999]) : once(10) ? 1 + below(999_999) : 500_000 + below(7) - 3;
  order.size = once(200) ? '0' : once(80) ? UINT64_MAX : once(20) ? String(BigInt(memory.below(2 ** 31)) * 8_589_934_597n + 1n) : String(1 + below(12));
  if (once(6)) order.nonce = once(10) ? UINT64_MAX : String(below(8));
  if (once(100)) order.marketId = marketId(999_999);
  order.expiration = once(100) ? UINT64_MAX : once(100) ? '0' : String(soon(memory) + pick([-1, 0, 0, 1, 1, 2, 3, 5, 10, 30]));
  return remember(memory, order);
}

function cancelOf(memory: Memory): CancelOrder {
  const { below, pick, once, recent } = memory;
  const unknown = recent.length === 0 || once(40);
  const target = unknown ? { ...freshOrder(memory), orderHash: txHash(memory.issued) } : pick(recent.slice(once(4) ? 0 : -30));
  const command: CancelOrder = newCommand('CancelOrder', { at: at(memory), orderHash: target.orderHash, marketId: target.marketId });
  if (once(15)) command.marketId = pick([...memory.expirations.keys(), marketId(999_999)]);
  if (once(2)) command.side = once(10) ? (target.side === BUY ? SELL : BUY) : target.side;
  if (once(2)) {
    command.trader = once(10) ? traderAddress(below(memory.profile.traders + 1)) : target.trader;
    command.signature = signature(memory.issued);
    command.deadline = String(soon(memory));
  }
  return command;
}

function advanceClock(memory: Memory): Command {
  const { below, once } = memory;
  if (once(10)) memory.now += below(30_000);
  if (once(60)) memory.now += below(200_000);
  return newCommand('AdvanceClock', { at: at(memory) });
}

/** Mostly an unsettled fill; also settled and failed ones, and numbers never given. */
function someFill({ below, once, unsettled, fills }: Memory): number {
  if (fills === 0 || once(30)) return fills + below(3);
  if (unsettled.length === 0 || once(15)) return below(fills);
  const index = once(2) ? below(unsettled.length) : Math.max(0, unsettled.length - 1 - below(5));
  const number = unsettled[index]!;
  unsettled[index] = unsettled[unsettled.length - 1]!;
  unsettled.pop();
  return number;
}

function failFill(memory: Memory): FailFill {
  const { pick, once } = memory;
  const reason = pick(once(2) ? failureReasons : failureReasons.slice(0, 4));
  const likely = reason.startsWith('buyer') ? 'buyer' : reason.startsWith('seller') ? 'seller' : 'both';
  const culprit = once(3) ? pick(culprits) : likely;
  // Few failures count, so that not all traders are suspended. No random number is drawn for it: older histories keep their digests.
  const countDefault = memory.issued % 16 === 0;
  return newCommand('FailFill', { at: at(memory), fill: someFill(memory), txHash: txHash(memory.issued), reason, culprit, countDefault });
}
