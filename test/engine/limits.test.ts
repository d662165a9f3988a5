/** The limits of work per command, exactly; the work left to the next AdvanceClock; the size of the longest outcome. */
import { deepEqual, ok } from 'node:assert/strict';
import { encodeCommand, encodeOutcome } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import { MAX_RECORD_BYTES } from '../../engine/log/log.js';
import { engines, type EngineAnswer, type ComparedEngine } from '../reference/compared-engines.js';
import { newCommand } from '../support/commands.js';
import {
  accepted, buy, cancelled, clock, closed, fail, failed, filled, open, opened, play, reinstated, rested, sell, times, type Line,
} from '../support/scenario.js';

const LIMIT = 2_500;
const UINT64_MAX = 2n ** 64n - 1n;
const M: Line = [open('M'), opened('M')];

/** anna's asks `a0`, `a1`, … of size 1. */
function asks(n: number, terms: { expiration?: number } = {}): Line[] {
  return times(n, (i) => [[sell(`a${i}`, 'anna', 1, 600_000, terms), accepted(`a${i}`), rested(`a${i}`, 1)]]);
}

function all<T>(from: number, to: number, of: (i: number) => T): T[] {
  return Array.from({ length: to - from }, (_, i) => of(from + i));
}

const fills = (taker: string, to: number) => all(0, to, (i) => filled(i, taker, `a${i}`, 1, 1));
const pulledAsks = (from: number, to: number) => all(from, to, (i) => cancelled(`a${i}`, 'settlement_failed', 1));

/** ben's bid takes 1 from anna's first ask (fill 0), who has `n` more. */
function failedSale(n: number): Line[] {
  return [M, ...asks(n + 1), [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'a0', 1, 1)]];
}

const scenarios: Record<string, Line[]> = {
  '2,500 fills and nothing more that crosses: the rest of the order rests': [
    M, ...asks(LIMIT), [buy('bid', 'ben', LIMIT + 1, 600_000), accepted('bid'), ...fills('bid', LIMIT), rested('bid', 1)],
  ],
  '2,500 fills and nothing left: the order is filled': [
    M, ...asks(LIMIT + 1), [buy('bid', 'ben', LIMIT, 600_000), accepted('bid'), ...fills('bid', LIMIT)],
  ],
  '2,500 fills and one more ask that crosses: the rest of the order is cancelled': [
    M, ...asks(LIMIT + 1),
    [buy('bid', 'ben', LIMIT + 1, 600_000), accepted('bid'), ...fills('bid', LIMIT), cancelled('bid', 'match_limit', 1, 0)],
    [buy('bid2', 'ben', 1, 600_000), accepted('bid2'), filled(LIMIT, 'bid2', `a${LIMIT}`, 1, 1)],
  ],
  'orders that no longer live count as work too': [
    M, ...asks(LIMIT + 1, { expiration: 60 }),
    [buy('bid', 'ben', 1, 600_000, { at: 40_000 }), accepted('bid'), ...all(0, LIMIT, (i) => cancelled(`a${i}`, 'expired', 1)),
      cancelled('bid', 'match_limit', 1, 0)],
  ],
  'the clock does 2,500 pieces of work at a time: closings, then sweeps, then what no longer lives': [
    [open('M', { expiration: 100 }), opened('M')], [open('N'), opened('N')],
    [buy('n', 'ben', 1, 600_000, { market: 'N', expiration: 60 }), accepted('n'), rested('n', 1)], ...asks(LIMIT),
    [clock(100_000), closed('M'), ...all(0, LIMIT - 1, (i) => cancelled(`a${i}`, 'market_closed', 1))],
    [clock(100_000), cancelled(`a${LIMIT - 1}`, 'market_closed', 1), cancelled('n', 'expired', 1)],
    [clock(100_000)],
  ],
  'the culprit\'s order and 2,499 others are pulled at once': [
    ...failedSale(LIMIT - 1),
    [fail(0, 'seller_not_approved', 'seller'), failed(0), cancelled('a0', 'settlement_failed', 1, 0), ...pulledAsks(1, LIMIT), reinstated('bid', 1),
      rested('bid', 1)],
    [clock(0)],
  ],
  'what a failure could not pull is left to the clock, and trades no more: whoever meets it cancels it': [
    ...failedSale(LIMIT + 2),
    [fail(0, 'seller_not_approved', 'seller'), failed(0), cancelled('a0', 'settlement_failed', 1, 0), ...pulledAsks(1, LIMIT), reinstated('bid', 1),
      cancelled('bid', 'match_limit', 1, 0)],
    [sell('new', 'anna', 1, 600_000), accepted('new'), rested('new', 1)],
    [buy('own', 'anna', 1, 599_999), accepted('own'), rested('own', 1)],
    [buy('bid2', 'carl', 1, 600_000), accepted('bid2'), ...pulledAsks(LIMIT, LIMIT + 3), filled(1, 'bid2', 'new', 1, 1)],
    [clock(0)],
  ],
  'the clock pulls the rest, before what no longer lives': [
    ...failedSale(LIMIT + 2), [buy('dead', 'dora', 1, 100_000, { expiration: 60 }), accepted('dead'), rested('dead', 1)],
    [fail(0, 'seller_not_approved', 'seller'), failed(0), cancelled('a0', 'settlement_failed', 1, 0), ...pulledAsks(1, LIMIT), reinstated('bid', 1),
      cancelled('bid', 'match_limit', 1, 0)],
    [clock(40_000), ...pulledAsks(LIMIT, LIMIT + 3), cancelled('dead', 'expired', 1)],
  ],
};

/** A command of the longest legal values that end the same: the engine is driven to outcomes as long as they can be. */
function longest(engine: ComparedEngine) {
  const T = 9_000_000_000_000_000;
  const word = (kind: string, n: number) => `0x${kind.repeat(32)}${n.toString(16).padStart(32, '0')}`;
  const marketId = word('f', 0);
  const token = (n: number) => word('a', n);
  const chainId = Number.MAX_SAFE_INTEGER;
  const trader = (n: number) => `0x${'e'.repeat(32)}${n.toString(16).padStart(8, '0')}`;
  const step = (command: Command): EngineAnswer => engine.step(command, encodeCommand(command));
  return {
    open: (n = 0, description = '\u0001'.repeat(10_000)) => step(newCommand('OpenMarket', {
      at: T, marketId: word('f', n), question: '\u0001'.repeat(1_000), description, category: 'stablecoin', contractAddress: trader(0),
      maker: trader(0), expiration: Number.MAX_SAFE_INTEGER, chainId, tokens: { yes: token(2 * n), no: token(2 * n + 1) },
    })),
    place: (n: number, who: number, side: 0 | 1, size: bigint) => step(newCommand('PlaceOrder', {
      at: T, orderHash: word('d', n), marketId, trader: trader(who), side, outcome: 0, price: 999_999, size: String(size),
      nonce: String(UINT64_MAX - BigInt(n)), expiration: String(UINT64_MAX), signature: `0x${'c'.repeat(130)}`,
    })),
    fail: (fill: number) => step(newCommand('FailFill', {
      at: T, fill, txHash: word('b', 0), reason: 'buyer_insufficient_allowance', culprit: 'buyer',
    })),
    transfer: (items: number) => step(newCommand('RecordTransfer', {
      at: T, chainId, from: trader(1), to: trader(2), txHash: word('b', 0),
      items: Array.from({ length: items }, (_, n) => ({ token: token(n), amount: String(2n ** 256n - 1n) })),
    })),
    /** The first of them is fill 0, the others are as long as numbers can be. */
    submit: (fills: number) => step(newCommand('SubmitSettlement', {
      at: T, chainId, txHash: word('b', 0), fills: Array.from({ length: fills }, (_, n) => (n === 0 ? 0 : Number.MAX_SAFE_INTEGER - n)),
    })),
    cancelBelow: (who: number) => step(newCommand('CancelOrdersBelow', { at: T, chainId, trader: trader(who), belowNonce: String(UINT64_MAX) })),
  };
}

/** How much longer this outcome would be with the longest positions, fill numbers and time there can be. */
function longestBytes({ outcome, digest }: EngineAnswer): number {
  const widest = (event: Event) => Object.fromEntries(Object.entries(event).map(([name, value]) => (
    [name, ['orderNumber', 'makerNumber', 'takerNumber', 'fill'].includes(name) ? Number.MAX_SAFE_INTEGER : value]
  )));
  const text = JSON.stringify({ at: Number.MAX_SAFE_INTEGER, events: outcome.events.map(widest) });
  return encodeOutcome(text, digest).length;
}

for (const [name, create] of Object.entries(engines)) {
  describe(`${name} at its limits`, () => {
    for (const [scenario, lines] of Object.entries(scenarios)) it(scenario, () => { play(create(), lines); });

    it('writes 2,500 fills and 2,500 cancels of the longest values within a record', () => {
      const { open: openMarket, place, fail: failFill } = longest(create());
      ok(longestBytes(openMarket()) < MAX_RECORD_BYTES);
      // As many digits as 2,500 sizes and costs can have that one order's size still covers.
      const size = (n: number) => (n < 1_600 ? 10_000_020_000_000_000n : 1_000_002_000_000_000n);
      for (let n = 0; n <= LIMIT; n++) place(n, 1, 1, size(n));
      const bought = place(10_000, 2, 0, UINT64_MAX);
      deepEqual(kinds(bought), { OrderAccepted: 1, FillMatched: LIMIT, OrderCancelled: 1 });
      ok(longestBytes(bought) < MAX_RECORD_BYTES, `${longestBytes(bought)} bytes`);

      place(10_001, 3, 0, size(LIMIT));
      for (let n = 0; n <= LIMIT; n++) place(20_000 + n, 3, 0, UINT64_MAX);
      const pulled = failFill(LIMIT);
      deepEqual(kinds(pulled), { FillFailed: 1, TraderDefaulted: 1, OrderCancelled: LIMIT + 1, OrderReinstated: 1 });
      ok(longestBytes(pulled) < MAX_RECORD_BYTES, `${longestBytes(pulled)} bytes`);
    });

    it('writes a transfer of 256 tokens, and a settlement of 1,000 fills, of the longest values within a record', () => {
      const { open: openMarket, place, transfer, submit } = longest(create());
      for (let n = 0; n < 128; n++) openMarket(n, '');
      const moved = transfer(256);
      deepEqual(kinds(moved), { SharesTransferred: 256 });
      ok(longestBytes(moved) < MAX_RECORD_BYTES, `${longestBytes(moved)} bytes`);

      place(0, 1, 1, 1n);
      place(1, 2, 0, 1n);
      const submitted = submit(1_000);
      deepEqual(kinds(submitted), { SettlementSubmitted: 1 });
      ok(longestBytes(submitted) < MAX_RECORD_BYTES, `${longestBytes(submitted)} bytes`);
    });

    it('writes 2,500 cancels of a raised floor, of the longest values, within a record', () => {
      const { open: openMarket, place, cancelBelow } = longest(create());
      openMarket();
      for (let n = 0; n <= LIMIT; n++) place(n, 1, 1, UINT64_MAX);
      const cancelled = cancelBelow(1);
      deepEqual(kinds(cancelled), { NonceFloorRaised: 1, OrderCancelled: LIMIT });
      ok(longestBytes(cancelled) < MAX_RECORD_BYTES, `${longestBytes(cancelled)} bytes`);
    });
  });
}

function kinds({ outcome }: EngineAnswer): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of outcome.events) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}
