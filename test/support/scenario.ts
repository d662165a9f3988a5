/** A notation for scenarios: what is done to an engine, line by line, and the whole events that must come of it. */
import { deepEqual } from 'node:assert/strict';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { CancelOrder, Command, OpenMarket, PlaceOrder } from '../../engine/records/commands.js';
import type { CancelReason, Event, FillMatched, OrderTermsSet, RejectionCode } from '../../engine/records/events.js';
import { BUY, SELL, YES, type ChainFact, type Culprit, type FailureReason, type Side } from '../../engine/records/fields.js';
import type { ComparedEngine } from '../reference/compared-engines.js';
import { newCommand } from './commands.js';

/** Second 0 of every scenario, in seconds since the Unix epoch. Times in scenarios count from here. */
export const ZERO_S = 1_700_000_000;

/** Names stand for ids: a market's, an order's hash, a trader's address. */
export const bytes32 = (name: string) => `0x${Buffer.from(name).toString('hex').padStart(64, '0')}`;
export const address = (name: string) => `0x${Buffer.from(name).toString('hex').padStart(40, '0')}`;
export const TX_HASH = bytes32('tx');

interface Story {
  /** The engine's time, in milliseconds since the Unix epoch. */
  now: number;
  position: number;
  command: Command | undefined;
  readonly markets: Map<string, OpenMarket>;
  readonly orders: Map<string, { readonly number: number; readonly placed: PlaceOrder }>;
  readonly fills: Map<number, FillMatched>;
}

type ScenarioCommand = (story: Story) => Command;
type Expected = (story: Story) => Event;
type Amount = number | bigint;

/** What is done, and the events that it causes, all of them and in order. */
export type Line = readonly [ScenarioCommand, ...Expected[]];

/** Does every line and compares whole outcomes: the engine's time and the events. */
export function play(engine: ComparedEngine, lines: readonly Line[]): void {
  const story: Story = { now: 0, position: 0, command: undefined, markets: new Map(), orders: new Map(), fills: new Map() };
  for (const [build, ...expected] of lines) {
    const command = build(story);
    story.command = command;
    story.now = Math.max(story.now, command.at);
    if (command.kind === 'OpenMarket') story.markets.set(command.marketId, command);
    const { outcome } = engine.step(command, encodeCommand(command));
    deepEqual(
      { command, at: outcome.at, events: outcome.events },
      { command, at: story.now, events: expected.map((event) => event(story)) },
    );
    story.position++;
  }
}

/** The same, done n times over: `lines` is given 0 to n-1. */
export function times(n: number, lines: (i: number) => readonly Line[]): Line[] {
  return Array.from({ length: n }, (_, i) => lines(i)).flat();
}

interface When {
  /** Milliseconds after second 0; absent: the engine's time. */
  readonly at?: number;
}

function stamp(story: Story, { at }: When): number {
  return at === undefined ? Math.max(story.now, ZERO_S * 1_000) : ZERO_S * 1_000 + at;
}

/** A place in a chain's history: chain, block and log. */
export type Place = readonly [number, number, number];

export interface ReportedFact {
  /** Where the chain says so; absent: it does not. */
  readonly fact?: Place;
}

export function factOf({ fact }: ReportedFact): { fact?: ChainFact } {
  return fact === undefined ? {} : { fact: { chainId: fact[0], block: fact[1], logIndex: fact[2] } };
}

interface MarketTerms extends When, ReportedFact {
  readonly expiration?: number;
  /** Default: close. */
  readonly ifOver?: OpenMarket['ifOver'];
  readonly chainId?: number;
  /** Names of the YES and the NO token. */
  readonly tokens?: readonly [string, string];
  /** The asset of a quick market, and its start in seconds after second 0. */
  readonly quick?: readonly [string, number];
}

export function open(market: string, terms: MarketTerms = {}): ScenarioCommand {
  return (story) => newCommand('OpenMarket', {
    at: stamp(story, terms), marketId: bytes32(market), question: `${market}?`, description: 'as it says', ifOver: terms.ifOver ?? 'close',
    contractAddress: address(market), maker: address('maker'), expiration: ZERO_S + (terms.expiration ?? 86_400),
    chainId: terms.chainId ?? 1,
    ...(terms.tokens === undefined ? {} : { tokens: { yes: bytes32(terms.tokens[0]), no: bytes32(terms.tokens[1]) } }),
    ...(terms.quick === undefined ? {} : { quick: { asset: terms.quick[0], startTime: ZERO_S + terms.quick[1] } }), ...factOf(terms),
  });
}

export interface Terms extends When {
  /** Default: the market `M`. */
  readonly market?: string;
  /** Default: YES. */
  readonly outcome?: 0 | 1;
  /** Seconds after second 0, or a full uint64 as it is. Default: an hour. */
  readonly expiration?: Amount;
  /** Default: a new, unique one. */
  readonly nonce?: Amount;
  readonly timeInForce?: PlaceOrder['timeInForce'];
  readonly postOnly?: true;
  /** Milliseconds after second 0. */
  readonly notAfter?: number;
  readonly selfTrade?: PlaceOrder['selfTrade'];
}

function place(order: string, side: Side, [trader, size, price]: readonly [string, Amount, number], terms: Terms): ScenarioCommand {
  return (story) => {
    const { expiration = 3_600 } = terms;
    const placed: PlaceOrder = newCommand('PlaceOrder', {
      at: stamp(story, terms), orderHash: bytes32(order), marketId: bytes32(terms.market ?? 'M'), trader: address(trader), side,
      outcome: terms.outcome ?? YES, price, size: String(size), nonce: String(terms.nonce ?? 1_000 + story.position),
      expiration: typeof expiration === 'bigint' ? String(expiration) : String(ZERO_S + expiration), signature: `0x${'5'.repeat(130)}`,
      ...askedIn(terms),
    });
    return placed;
  };
}

function askedIn({ timeInForce, postOnly, notAfter, selfTrade }: Terms): Partial<PlaceOrder> {
  return {
    ...timeInForce === undefined ? {} : { timeInForce }, ...postOnly === undefined ? {} : { postOnly },
    ...notAfter === undefined ? {} : { notAfter: ZERO_S * 1_000 + notAfter }, ...selfTrade === undefined ? {} : { selfTrade },
  };
}

/** `buy('bid', 'ben', 10, 600_000)`: the order `bid`, ben's, buys 10 at a price of 0.60. */
export function buy(order: string, trader: string, size: Amount, price: number, terms: Terms = {}): ScenarioCommand {
  return place(order, BUY, [trader, size, price], terms);
}

export function sell(order: string, trader: string, size: Amount, price: number, terms: Terms = {}): ScenarioCommand {
  return place(order, SELL, [trader, size, price], terms);
}

/** The very same order comes once more, with other terms where some are given. */
export function again(order: string, when: Terms = {}): ScenarioCommand {
  return (story) => ({ ...story.orders.get(order)!.placed, ...askedIn(when), at: stamp(story, when) });
}

export function cancel(order: string, asked: When & ReportedFact & { market?: string; side?: Side; trader?: string } = {}): ScenarioCommand {
  return (story) => {
    const command: CancelOrder = newCommand('CancelOrder', {
      at: stamp(story, asked), orderHash: bytes32(order), marketId: bytes32(asked.market ?? 'M'), ...factOf(asked),
    });
    if (asked.side !== undefined) command.side = asked.side;
    if (asked.trader !== undefined) command.trader = address(asked.trader);
    return command;
  };
}

export function clock(at: number): ScenarioCommand {
  return (story) => newCommand('AdvanceClock', { at: stamp(story, { at }) });
}

export function settle(fill: number, when: When & ReportedFact = {}): ScenarioCommand {
  return (story) => newCommand('SettleFill', { at: stamp(story, when), fill, txHash: TX_HASH, ...factOf(when) });
}

/** A failure that counts as nobody's default, as in histories from before defaults. */
export function fail(
  fill: number, reason: FailureReason, culprit: Culprit, when: When & ReportedFact & { countDefault?: boolean } = {},
): ScenarioCommand {
  const { countDefault = false } = when;
  return (story) => newCommand('FailFill', { at: stamp(story, when), fill, txHash: TX_HASH, reason, culprit, countDefault, ...factOf(when) });
}

/** Any other command, as it is but for its time. */
export function tell({ kind, ...fields }: Untimed<Command>, when: When = {}): ScenarioCommand {
  return (story) => newCommand(kind, { ...fields, at: stamp(story, when) } as never);
}

type Untimed<T> = T extends Command ? Omit<T, 'v' | 'at'> : never;

/** An event with all its fields. */
export function says(event: Unversioned<Event>): Expected {
  return () => ({ ...event, v: 1 }) as Event;
}

type Unversioned<T> = T extends Event ? Omit<T, 'v'> : never;

export function opened(market: string): Expected {
  return (story) => {
    const terms = story.markets.get(bytes32(market))!;
    const { marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind, quick } = terms;
    return {
      type: 'MarketOpened', v: 2, marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind,
      quick: quick === undefined ? null : { ...quick, endTime: expiration },
    };
  };
}

export function closed(market: string): Expected {
  return () => ({ type: 'MarketClosed', v: 1, marketId: bytes32(market) });
}

/** The order of the line's own command was taken in. */
export function accepted(order: string): Expected {
  return (story) => {
    const placed = story.command as PlaceOrder;
    story.orders.set(order, { number: story.position, placed });
    const { trader, size, nonce, expiration } = placed;
    return { type: 'OrderAccepted', v: 1, ...naming(story, order), trader, size, nonce, expiration };
  };
}

/** The terms of the order that the line's own command placed. */
export function termed(order: string): Expected {
  return (story) => {
    const { timeInForce = 'GTC', postOnly = false, notAfter = null, selfTrade = 'cancel_older' }: Partial<Omit<OrderTermsSet, 'v'>> = story.orders.get(order)!.placed;
    return { type: 'OrderTermsSet', v: 1, ...naming(story, order), timeInForce, postOnly, notAfter, selfTrade };
  };
}

function naming(story: Story, order: string) {
  const { number, placed } = story.orders.get(order)!;
  const { orderHash, marketId, side, outcome, price } = placed;
  return { orderHash, orderNumber: number, marketId, side, outcome, price };
}

export function rested(order: string, size: Amount): Expected {
  return (story) => ({ type: 'OrderRested', v: 1, ...naming(story, order), size: String(size) });
}

export function reinstated(order: string, size: Amount): Expected {
  return (story) => ({ type: 'OrderReinstated', v: 1, ...naming(story, order), size: String(size) });
}

/** `filled(0, 'bid', 'ask', 10, 6)`: fill 0 is 10 for a cost of 6, taken by `bid` from `ask`, at the latter's price. */
export function filled(fill: number, takerName: string, makerName: string, size: Amount, cost: Amount): Expected {
  return (story) => {
    const taker = story.orders.get(takerName)!;
    const maker = story.orders.get(makerName)!;
    const { marketId, outcome, price } = maker.placed;
    const [buyer, seller] = taker.placed.side === BUY ? [taker, maker] : [maker, taker];
    const event: FillMatched = {
      type: 'FillMatched', v: 1, fill, marketId, outcome, price, size: String(size), cost: String(cost), takerSide: taker.placed.side,
      makerNumber: maker.number, takerNumber: taker.number, buyer: buyer.placed.trader, seller: seller.placed.trader,
    };
    story.fills.set(fill, event);
    return event;
  };
}

export function settled(fill: number): Expected {
  return (story) => ({ ...story.fills.get(fill)!, type: 'FillSettled', txHash: TX_HASH });
}

/** With the reason and the culprit of the line's own command. */
export function failed(fill: number): Expected {
  return (story) => {
    const { command } = story;
    if (command?.kind !== 'FailFill') throw new Error('only FailFill makes a fill fail');
    return { ...story.fills.get(fill)!, type: 'FillFailed', txHash: TX_HASH, reason: command.reason, culprit: command.culprit };
  };
}

export function defaulted(trader: string, defaults: number, suspendedUntil: number | null): Expected {
  return () => ({ type: 'TraderDefaulted', v: 1, trader: address(trader), defaults, suspendedUntil });
}

/** `atRest`: how much of it stood on the book; default: all that remained. */
export function cancelled(order: string, reason: CancelReason, remaining: Amount, atRest: Amount = remaining): Expected {
  return (story) => ({
    type: 'OrderCancelled', v: 1, ...naming(story, order), remaining: String(remaining), rested: String(atRest), reason,
  });
}

/** To the size `size`, of which `remaining` is open, by `by`. */
export function reduced(order: string, size: Amount, remaining: Amount, by: Amount): Expected {
  return (story) => ({
    type: 'OrderReduced', v: 1, ...naming(story, order), size: String(size), remaining: String(remaining), reduced: String(by),
  });
}

export function repeated(order: string): Expected {
  return (story) => ({ type: 'OrderRepeated', v: 1, orderHash: bytes32(order), orderNumber: story.orders.get(order)!.number });
}

export function cancelRepeated(order: string, remaining: Amount): Expected {
  return (story) => {
    const { number, placed } = story.orders.get(order)!;
    return {
      type: 'CancelRepeated', v: 1, orderHash: bytes32(order), orderNumber: number, size: placed.size, remaining: String(remaining),
    };
  };
}

/** `subject`: the name of the order or market, or the fill's number. */
export function rejected(code: RejectionCode, subject: string | number): Expected {
  return rejectedOf(code, typeof subject === 'number' ? String(subject) : bytes32(subject));
}

/** The subject is this very text. */
export function rejectedOf(code: RejectionCode, subject: string): Expected {
  return () => ({ type: 'CommandRejected', v: 1, code, subject });
}

export function tokenized(market: string, [yes, no]: readonly [string, string]): Expected {
  return () => ({ type: 'MarketTokenized', v: 1, marketId: bytes32(market), yesToken: bytes32(yes), noToken: bytes32(no) });
}
