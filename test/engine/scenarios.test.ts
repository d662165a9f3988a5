/** The matching rules as scenarios: placing, matching, cancelling, and the passing of time. They hold for both engines. */
import { BUY, NO, SELL } from '../../engine/records/fields.js';
import { engines } from '../reference/compared-engines.js';
import {
  accepted, again, buy, cancel, cancelled, cancelRepeated, clock, closed, fail, failed, filled, open, opened, play, rejected,
  reinstated, repeated, rested, sell, settle, settled, ZERO_S, type Line,
} from '../support/scenario.js';

const UINT64_MAX = 2n ** 64n - 1n;
const M: Line = [open('M'), opened('M')];
const ask: Line = [sell('ask', 'anna', 10, 600_000), accepted('ask'), rested('ask', 10)];
const bid: Line = [buy('bid', 'ben', 10, 500_000), accepted('bid'), rested('bid', 10)];

const placing: Record<string, Line[]> = {
  'an order that meets nothing rests': [M, ask],

  'a rejected order breaks the first of these rules: size, expiration, market known, market open, nonce': [
    [open('M', { expiration: 100 }), opened('M')],
    [sell('ask', 'anna', 10, 600_000, { nonce: 7, expiration: 5_000 }), accepted('ask'), rested('ask', 10)],
    [sell('x', 'anna', 0, 600_000, { nonce: 7, expiration: 59, market: 'none', at: 0 }), rejected('invalid_size', 'x')],
    [sell('x', 'anna', 1, 600_000, { nonce: 7, expiration: 59, market: 'none' }), rejected('invalid_expiration', 'x')],
    [sell('x', 'anna', 1, 600_000, { nonce: 7, expiration: 60, market: 'none' }), rejected('unknown_market', 'x')],
    [sell('x', 'anna', 1, 600_000, { nonce: 7, expiration: 60 }), rejected('duplicate_nonce', 'x')],
    [sell('x', 'anna', 1, 600_000, { nonce: 7, expiration: 5_000, at: 100_000 }), rejected('market_closed', 'x')],
  ],

  'an order known is repeated before any rule is looked at, whatever became of it': [
    [open('M', { expiration: 100 }), opened('M')], ask,
    [again('ask'), repeated('ask')],
    [again('ask', { at: 200_000 }), repeated('ask')],
    [cancel('ask'), cancelled('ask', 'user', 10)],
    [again('ask'), repeated('ask')],
  ],

  'a rejected order is not known: it may come again': [
    [sell('ask', 'anna', 10, 600_000), rejected('unknown_market', 'ask')], M, ask,
  ],

  'an expiration is at least 60 s after the second that the order came in': [
    M,
    [sell('early', 'anna', 1, 600_000, { at: 999, expiration: 59 }), rejected('invalid_expiration', 'early')],
    [sell('ask', 'anna', 1, 600_000, { at: 999, expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [sell('late', 'anna', 1, 600_000, { at: 1_000, expiration: 60 }), rejected('invalid_expiration', 'late')],
  ],

  'an order that came in late is accepted only if it would still live': [
    M, [clock(39_999)],
    [sell('ask', 'anna', 1, 600_000, { at: 0, expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [clock(40_000), cancelled('ask', 'expired', 1)],
    [sell('late', 'anna', 1, 600_000, { at: 0, expiration: 60 }), rejected('invalid_expiration', 'late')],
  ],

  'a nonce is taken by an open order, also by one that no longer lives': [
    M, [sell('ask', 'anna', 1, 600_000, { nonce: 7, expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [buy('x', 'anna', 1, 1, { nonce: 7, outcome: NO }), rejected('duplicate_nonce', 'x')],
    [buy('bid', 'ben', 1, 1, { nonce: 7 }), accepted('bid'), rested('bid', 1)],
    [buy('x', 'anna', 1, 1, { nonce: 7, at: 50_000 }), rejected('duplicate_nonce', 'x')],
    [cancel('ask'), cancelled('ask', 'user', 1)],
    [buy('x', 'anna', 1, 1, { nonce: 7 }), accepted('x'), rested('x', 1)],
  ],

  'a nonce is taken by a filled order until its last fill has settled': [
    M, [sell('ask', 'anna', 2, 600_000, { nonce: 7 }), accepted('ask'), rested('ask', 2)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 1, 1)],
    [buy('bid2', 'ben', 1, 600_000), accepted('bid2'), filled(1, 'bid2', 'ask', 1, 1)],
    [settle(1), settled(1)],
    [sell('x', 'anna', 1, 600_000, { nonce: 7 }), rejected('duplicate_nonce', 'x')],
    [settle(0), settled(0)],
    [sell('x', 'anna', 1, 600_000, { nonce: 7 }), accepted('x'), rested('x', 1)],
  ],

  'a nonce is free after a cancel, though fills of the order are unsettled': [
    M, [sell('ask', 'anna', 2, 600_000, { nonce: 7 }), accepted('ask'), rested('ask', 2)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 1, 1)],
    [cancel('ask'), cancelled('ask', 'user', 1)],
    [sell('x', 'anna', 1, 600_000, { nonce: 7 }), accepted('x'), rested('x', 1)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 1, 0)],
  ],
};

const matching: Record<string, Line[]> = {
  'prices cross when they are equal; a trade is at the resting order\'s price': [
    M, ask,
    [buy('low', 'ben', 4, 599_999), accepted('low'), rested('low', 4)],
    [buy('equal', 'ben', 4, 600_000), accepted('equal'), filled(0, 'equal', 'ask', 4, 3)],
    [buy('high', 'ben', 4, 999_999), accepted('high'), filled(1, 'high', 'ask', 4, 3)],
    [sell('deep', 'anna', 4, 1), accepted('deep'), filled(2, 'deep', 'low', 4, 3)],
  ],

  'the best price first, then the lowest number': [
    M, [sell('a', 'anna', 1, 600_000), accepted('a'), rested('a', 1)],
    [sell('b', 'anna', 1, 500_000), accepted('b'), rested('b', 1)],
    [sell('c', 'anna', 1, 500_000), accepted('c'), rested('c', 1)],
    [sell('d', 'anna', 1, 700_000), accepted('d'), rested('d', 1)],
    [buy('bid', 'ben', 5, 600_000), accepted('bid'), filled(0, 'bid', 'b', 1, 1), filled(1, 'bid', 'c', 1, 1), filled(2, 'bid', 'a', 1, 1), rested('bid', 2)],
  ],

  'markets and outcomes have books of their own': [
    M, [open('N'), opened('N')], ask,
    [buy('no', 'ben', 1, 999_999, { outcome: NO }), accepted('no'), rested('no', 1)],
    [buy('other', 'ben', 1, 999_999, { market: 'N' }), accepted('other'), rested('other', 1)],
  ],

  'the cost is rounded up to a whole unit': [
    M, [sell('one', 'anna', 1, 1), accepted('one'), rested('one', 1)],
    [buy('b1', 'ben', 1, 1), accepted('b1'), filled(0, 'b1', 'one', 1, 1)],
    [sell('even', 'anna', 1_000_000, 1), accepted('even'), rested('even', 1_000_000)],
    [buy('b2', 'ben', 1_000_000, 1), accepted('b2'), filled(1, 'b2', 'even', 1_000_000, 1)],
    [sell('odd', 'anna', 1_000_001, 1), accepted('odd'), rested('odd', 1_000_001)],
    [buy('b3', 'ben', 1_000_001, 1), accepted('b3'), filled(2, 'b3', 'odd', 1_000_001, 2)],
  ],

  'sizes, nonces and expirations are exact over the whole uint64': [
    M, [sell('ask', 'anna', UINT64_MAX, 999_999, { nonce: UINT64_MAX, expiration: UINT64_MAX }), accepted('ask'), rested('ask', UINT64_MAX)],
    [sell('x', 'anna', 1, 1, { nonce: UINT64_MAX }), rejected('duplicate_nonce', 'x')],
    [sell('y', 'anna', 1, 999_999, { nonce: UINT64_MAX - 1n }), accepted('y'), rested('y', 1)],
    [buy('b1', 'ben', 1, 999_999), accepted('b1'), filled(0, 'b1', 'ask', 1, 1)],
    [buy('b2', 'ben', UINT64_MAX, 999_999), accepted('b2'), filled(1, 'b2', 'ask', UINT64_MAX - 1n, 18_446_725_626_965_477_905n),
      filled(2, 'b2', 'y', 1, 1)],
  ],

  'who would trade with himself loses the resting order': [
    M, ask,
    [buy('own', 'anna', 4, 700_000), accepted('own'), cancelled('ask', 'self_trade', 10), rested('own', 4)],
  ],

  'a resting order that no longer lives is cancelled when it is met, before its trader is looked at, and not earlier': [
    M, [sell('a', 'anna', 2, 500_000, { expiration: 60 }), accepted('a'), rested('a', 2)],
    [sell('b', 'anna', 3, 500_000, { expiration: 60 }), accepted('b'), rested('b', 3)],
    [sell('c', 'anna', 3, 600_000, { expiration: 60 }), accepted('c'), rested('c', 3)],
    [buy('bid', 'ben', 1, 500_000, { at: 39_999 }), accepted('bid'), filled(0, 'bid', 'a', 1, 1)],
    [buy('own', 'anna', 1, 500_000, { at: 40_000 }), accepted('own'), cancelled('a', 'expired', 1), cancelled('b', 'expired', 3), rested('own', 1)],
  ],
};

const cancelling: Record<string, Line[]> = {
  'an unknown order, another market, the other side: unknown_order, before not_order_owner': [
    M, [open('N'), opened('N')], ask,
    [cancel('none', { trader: 'ben' }), rejected('unknown_order', 'none')],
    [cancel('ask', { market: 'N', trader: 'ben' }), rejected('unknown_order', 'ask')],
    [cancel('ask', { side: BUY, trader: 'ben' }), rejected('unknown_order', 'ask')],
    [cancel('ask', { side: SELL, trader: 'ben' }), rejected('not_order_owner', 'ask')],
    [cancel('ask', { side: SELL, trader: 'anna' }), cancelled('ask', 'user', 10)],
    [cancel('ask', { trader: 'ben' }), rejected('not_order_owner', 'ask')],
  ],

  'what is cancelled is what remains; a second cancel tells it again': [
    M, ask, [buy('bid', 'ben', 4, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 4, 3)],
    [cancel('ask'), cancelled('ask', 'user', 6)],
    [cancel('ask'), cancelRepeated('ask', 6)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 4, 0)],
    [cancel('ask'), cancelRepeated('ask', 10)],
  ],

  'a filled order cannot be cancelled': [
    M, ask, [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [cancel('ask', { trader: 'ben' }), rejected('not_order_owner', 'ask')],
    [cancel('ask'), rejected('already_filled', 'ask')],
    [cancel('bid'), rejected('already_filled', 'bid')],
  ],

  'a closed order is forgotten at the millisecond when it stops living': [
    M, [sell('ask', 'anna', 1, 600_000, { expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [cancel('ask', { at: 39_998 }), cancelled('ask', 'user', 1)],
    [cancel('ask', { at: 39_999 }), cancelRepeated('ask', 1)],
    [again('ask', { at: 0 }), repeated('ask')],
    [cancel('ask', { at: 40_000 }), rejected('unknown_order', 'ask')],
    [again('ask', { at: 0 }), rejected('invalid_expiration', 'ask')],
  ],

  'a closed order is not forgotten while a fill is unsettled, nor an open one ever': [
    M, [sell('ask', 'anna', 1, 600_000, { expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [buy('bid', 'ben', 2, 600_000, { expiration: 60 }), accepted('bid'), filled(0, 'bid', 'ask', 1, 1), rested('bid', 1)],
    [cancel('ask', { at: 40_000 }), rejected('already_filled', 'ask')],
    [again('ask'), repeated('ask')],
    [settle(0), settled(0)],
    [cancel('ask'), rejected('unknown_order', 'ask')],
    [again('bid', { at: 1_000_000 }), repeated('bid')],
    [cancel('bid'), cancelled('bid', 'user', 1)],
    [cancel('bid'), rejected('unknown_order', 'bid')],
  ],
};

const passingTime: Record<string, Line[]> = {
  'time is the highest that any command has told, also one that was rejected': [
    M, [sell('ask', 'anna', 1, 600_000, { at: 0, expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [cancel('none', { at: 40_000 }), rejected('unknown_order', 'none')],
    [clock(0), cancelled('ask', 'expired', 1)],
  ],

  'a market of an old version is opened once, and only if it has some time left': [
    [open('M', { expiration: 0, at: 0, ifOver: 'reject' }), rejected('invalid_expiration', 'M')],
    [open('M', { expiration: 1, at: 999, ifOver: 'reject' }), opened('M')],
    [open('M', { expiration: 0, ifOver: 'reject' }), rejected('market_exists', 'M')],
    [open('N', { expiration: 1, at: 1_000, ifOver: 'reject' }), rejected('invalid_expiration', 'N')],
  ],

  'a market that is over is opened once, and closed at once': [
    [open('M', { expiration: 1, at: 999 }), opened('M')],
    [open('N', { expiration: 1, at: 1_000 }), opened('N'), closed('N')],
    [open('N', { expiration: 1 }), rejected('market_exists', 'N')], [open('N', { expiration: 100 }), rejected('market_exists', 'N')],
    [buy('bid', 'ben', 1, 500_000, { market: 'N' }), rejected('market_closed', 'bid')],
    [clock(1_000), closed('M')], [clock(1_000)],
  ],

  'a market closes at its expiration: orders first, by side and price; then the clock finds nothing more to do': [
    [open('M', { expiration: 100, at: 0 }), opened('M')], ask, bid,
    [sell('ask2', 'anna', 1, 550_000), accepted('ask2'), rested('ask2', 1)],
    [sell('no', 'anna', 1, 550_000, { outcome: NO }), accepted('no'), rested('no', 1)],
    [buy('ok', 'ben', 1, 550_000, { at: 99_999 }), accepted('ok'), filled(0, 'ok', 'ask2', 1, 1)],
    [buy('late', 'ben', 1, 550_000, { at: 100_000 }), rejected('market_closed', 'late')],
    [clock(100_000), closed('M'), cancelled('bid', 'market_closed', 10), cancelled('ask', 'market_closed', 10), cancelled('no', 'market_closed', 1)],
    [clock(100_000)],
    [open('M'), rejected('market_exists', 'M')],
  ],

  'markets close by expiration, then by order of opening; then come orders of other markets that no longer live': [
    [open('C', { expiration: 101, at: 0 }), opened('C')], [open('B', { expiration: 100 }), opened('B')], [open('A', { expiration: 100 }), opened('A')], M,
    [sell('e', 'anna', 1, 600_000, { expiration: 121 }), accepted('e'), rested('e', 1)],
    [sell('d', 'anna', 1, 600_000, { expiration: 120 }), accepted('d'), rested('d', 1)],
    [buy('c', 'ben', 1, 600_000, { outcome: NO, expiration: 120 }), accepted('c'), rested('c', 1)],
    [sell('a', 'anna', 1, 600_000, { market: 'A', expiration: 60 }), accepted('a'), rested('a', 1)],
    [sell('b', 'anna', 1, 600_000, { market: 'B' }), accepted('b'), rested('b', 1)],
    [clock(101_000), closed('B'), closed('A'), closed('C'), cancelled('b', 'market_closed', 1), cancelled('a', 'market_closed', 1),
      cancelled('d', 'expired', 1), cancelled('c', 'expired', 1), cancelled('e', 'expired', 1)],
  ],

  'an order is swept at the millisecond when it stops living': [
    M, [sell('ask', 'anna', 1, 600_000, { at: 0, expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [clock(39_999)], [clock(40_000), cancelled('ask', 'expired', 1)], [clock(40_000)],
  ],

  'expirations are exact to the end of time, which has 53 bits': [
    [open('M', { expiration: Number.MAX_SAFE_INTEGER - ZERO_S }), opened('M')],
    [buy('a', 'anna', 1, 1, { expiration: 9_007_199_254_761n }), accepted('a'), rested('a', 1)],
    [buy('b', 'anna', 1, 1, { expiration: 9_007_199_254_760n }), accepted('b'), rested('b', 1)],
    [buy('c', 'anna', 1, 1, { expiration: 9_007_199_254_761n + 2n ** 63n }), accepted('c'), rested('c', 1)],
    [clock(9_007_199_254_739_999 - ZERO_S * 1_000)],
    [clock(9_007_199_254_740_000 - ZERO_S * 1_000), cancelled('b', 'expired', 1)],
    [clock(Number.MAX_SAFE_INTEGER - ZERO_S * 1_000)],
    [buy('d', 'anna', 1, 1, { expiration: 9_007_199_254_799n }), rejected('invalid_expiration', 'd')],
    [buy('d', 'anna', 1, 1, { expiration: 9_007_199_254_800n }), accepted('d'), rested('d', 1)],
  ],

  'an order that was filled and came back stops living when it always would have': [
    M, [sell('ask', 'anna', 1, 600_000, { at: 0, expiration: 60 }), accepted('ask'), rested('ask', 1)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 1, 1)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 1, 0), reinstated('ask', 1), rested('ask', 1)],
    [clock(40_000), cancelled('ask', 'expired', 1)],
  ],
};

for (const [engine, create] of Object.entries(engines)) {
  for (const [subject, scenarios] of Object.entries({ placing, matching, cancelling, 'passing time': passingTime })) {
    describe(`${engine}, ${subject}`, () => {
      for (const [name, lines] of Object.entries(scenarios)) it(name, () => { play(create(), lines); });
    });
  }
}
