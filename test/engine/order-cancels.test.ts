/** What traders ask of their orders as scenarios: several cancelled, all cancelled, the switch, and a smaller size. They hold for both engines. */
import { ALL_MARKETS } from '../../engine/records/fields.js';
import { WORK_LIMIT } from '../../engine/rules/limits.js';
import { engines } from '../reference/compared-engines.js';
import {
  accepted, again, buy, bytes32, address, cancel, cancelled, cancelRepeated, clock, closed, fail, failed, filled, open, opened, play, reduced,
  reinstated, rejected, rejectedOf, repeated, rested, says, sell, settle, settled, tell, times, ZERO_S, type Line,
} from '../support/scenario.js';

const M: Line = [open('M'), opened('M')];
const N: Line = [open('N'), opened('N')];
const X: Line = [open('X', { chainId: 2 }), opened('X')];
const at = (order: string, market: string, price = 600_000): Line => (
  [sell(order, 'anna', 10, price, { market }), accepted(order), rested(order, 10)]);
const anna = address('anna');

const several = (orders: readonly string[], more: { trader?: string; chainId?: number } = {}) => tell({
  kind: 'CancelOrders', chainId: more.chainId ?? 1, trader: address(more.trader ?? 'anna'), orderHashes: orders.map(bytes32),
});
interface CancelChanges { readonly market?: string; readonly deadline?: number; readonly at?: number; readonly chainId?: number }
const idOf = (market: string | undefined) => market === undefined ? ALL_MARKETS : bytes32(market);
const dead = ({ deadline }: CancelChanges) => deadline === undefined ? {} : { deadline: String(ZERO_S + deadline) };
const when = (changes: CancelChanges) => changes.at === undefined ? {} : { at: changes.at };
const all = (changes: CancelChanges = {}) => tell({
  kind: 'CancelAll', chainId: changes.chainId ?? 1, trader: anna, marketId: idOf(changes.market), ...dead(changes),
}, when(changes));
const allSaid = (orders: number, changes: CancelChanges = {}) => says({
  type: 'AllOrdersCancelled', chainId: changes.chainId ?? 1, trader: anna, marketId: idOf(changes.market), orders, deadline: dead(changes).deadline ?? null,
});
const allAgain = (position: number, changes: CancelChanges = {}) => says({
  type: 'CancelAllRepeated', chainId: 1, trader: anna, marketId: idOf(changes.market), position,
});
const after = (seconds: number, changes: CancelChanges = {}) => tell({ kind: 'CancelAfter', chainId: changes.chainId ?? 1, trader: anna, seconds, ...dead(changes) }, when(changes));
const armed = (firesAt: number, changes: CancelChanges = {}) => says({
  type: 'CancelAfterArmed', chainId: changes.chainId ?? 1, trader: anna, firesAt: ZERO_S * 1_000 + firesAt, deadline: dead(changes).deadline ?? null,
});
const disarmed = (changes: CancelChanges = {}) => says({ type: 'CancelAfterDisarmed', chainId: 1, trader: anna, deadline: dead(changes).deadline ?? null });
const reduce = (order: string, size: number | bigint, trader?: string) => tell({
  kind: 'ReduceOrder', orderHash: bytes32(order), size: String(size), ...trader === undefined ? {} : { trader: address(trader) },
});

const cancelOrders: Record<string, Line[]> = {
  'each open order of the trader on the chain is cancelled, once, in the order of the request': [
    M, X, at('a', 'M'), at('b', 'M', 700_000), at('x', 'X'),
    [buy('bid', 'ben', 1, 1), accepted('bid'), rested('bid', 1)],
    [several(['b', 'none', 'x', 'bid', 'a', 'b']), cancelled('b', 'user', 10), cancelled('a', 'user', 10)],
    [several(['a', 'b', 'x', 'bid', 'none']), rejectedOf('nothing_to_cancel', anna)],
    [several(['bid'], { trader: 'ben' }), cancelled('bid', 'user', 1)],
    [several(['x'], { chainId: 2 }), cancelled('x', 'user', 10)],
  ],

  'a filled order stays as it is': [
    M, at('a', 'M'), at('b', 'M'), [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'a', 10, 6)],
    [several(['a', 'b']), cancelled('b', 'user', 10)],
  ],
};

const cancelAll: Record<string, Line[]> = {
  'all open orders on the chain, in all its markets, or in one of them': [
    M, N, X, at('a', 'N'), at('b', 'M'), at('x', 'X'), at('c', 'M', 700_000),
    [all({ market: 'M' }), allSaid(2, { market: 'M' }), cancelled('b', 'user', 10), cancelled('c', 'user', 10)],
    at('d', 'M'), [all(), allSaid(2), cancelled('a', 'user', 10), cancelled('d', 'user', 10)],
    [all(), allSaid(0)],
    [all({ chainId: 2 }), allSaid(1, { chainId: 2 }), cancelled('x', 'user', 10)],
  ],

  'a market of another chain, or of none, is unknown, also before anything else of it is looked at': [
    M, X, at('a', 'M'), [all({ market: 'X' }), rejectedOf('unknown_market', anna)], [all({ market: 'none', deadline: 60 }), rejectedOf('unknown_market', anna)],
    [all({ market: 'none', deadline: 60, at: 60_000 }), rejectedOf('too_late', anna)],
  ],

  'the same signed request takes effect once, until its deadline has passed': [
    M, at('a', 'M'), [all({ deadline: 60 }), allSaid(1, { deadline: 60 }), cancelled('a', 'user', 10)], at('b', 'M'),
    [all({ deadline: 60, at: 59_999 }), allAgain(2)],
    [all({ deadline: 60, market: 'M', at: 59_999 }), allSaid(1, { deadline: 60, market: 'M' }), cancelled('b', 'user', 10)],
    at('c', 'M'), [all({ deadline: 60, market: 'M', at: 59_999 }), allAgain(5, { market: 'M' })],
    [all({ deadline: 60, at: 60_000 }), rejectedOf('too_late', anna)],
    [all({ deadline: 61 }), allSaid(1, { deadline: 61 }), cancelled('c', 'user', 10)],
    [all({ deadline: 61 }), allAgain(9)],
  ],

  'also one that found nothing': [
    M, [all({ deadline: 60 }), allSaid(0, { deadline: 60 })], at('a', 'M'), [all({ deadline: 60 }), allAgain(1)],
  ],

  'a filled order that would be open again is cancelled, if it was placed before': [
    M, N, at('a', 'M'), at('n', 'N'),
    [buy('b1', 'ben', 10, 600_000), accepted('b1'), filled(0, 'b1', 'a', 10, 6)],
    [buy('b2', 'ben', 10, 600_000, { market: 'N' }), accepted('b2'), filled(1, 'b2', 'n', 10, 6)],
    [all({ market: 'M' }), allSaid(0, { market: 'M' })], at('later', 'M'),
    [buy('b3', 'ben', 10, 600_000), accepted('b3'), filled(2, 'b3', 'later', 10, 6)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('b1', 'settlement_failed', 10, 0), cancelled('a', 'user', 10, 0)],
    [fail(1, 'unknown', 'buyer'), failed(1), cancelled('b2', 'settlement_failed', 10, 0), reinstated('n', 10), rested('n', 10)],
    [fail(2, 'unknown', 'buyer'), failed(2), cancelled('b3', 'settlement_failed', 10, 0), reinstated('later', 10), rested('later', 10)],
  ],
};

const cancelAfter: Record<string, Line[]> = {
  'when the time has come, all orders on the chain are cancelled by the clock': [
    M, N, X, at('a', 'M'), at('n', 'N'), at('x', 'X'), [after(5), armed(5_000)], at('c', 'M', 700_000),
    [clock(4_999)], [clock(5_000), cancelled('a', 'cancel_after', 10), cancelled('n', 'cancel_after', 10), cancelled('c', 'cancel_after', 10)],
    at('d', 'M'), [clock(60_000)], [cancel('d'), cancelled('d', 'user', 10)], [cancel('x', { market: 'X' }), cancelled('x', 'user', 10)],
  ],

  'none of them trades after that time, also before the clock has come': [
    M, at('a', 'M'), [after(5), armed(5_000)],
    [buy('bid', 'ben', 1, 600_000, { at: 5_000 }), accepted('bid'), cancelled('a', 'cancel_after', 10), rested('bid', 1)],
    [clock(5_001)],
  ],

  'a request in time puts it off, 0 ends it, and one that is late arms it anew': [
    M, at('a', 'M'), [after(5), armed(5_000)], [after(5, { at: 4_000 }), armed(9_000)], [clock(5_000)],
    [after(0, { at: 6_000 }), disarmed()], [clock(9_000)], [after(1), armed(10_000)],
    [after(7, { at: 10_000 }), armed(17_000)], [clock(10_000), cancelled('a', 'cancel_after', 10)], at('b', 'M'),
    [clock(17_000), cancelled('b', 'cancel_after', 10)],
  ],

  'each chain has a switch of its own': [
    M, X, at('a', 'M'), at('x', 'X'), [after(5), armed(5_000)], [after(3, { chainId: 2 }), armed(3_000, { chainId: 2 })],
    [clock(3_000), cancelled('x', 'cancel_after', 10)], [clock(5_000), cancelled('a', 'cancel_after', 10)],
  ],

  'an older request changes nothing any more, the same one takes effect again': [
    M, at('a', 'M'), [after(5, { deadline: 60 }), armed(5_000, { deadline: 60 })], [after(0, { deadline: 59 }), rejectedOf('outdated_request', anna)],
    [after(5, { deadline: 60, at: 1_000 }), armed(6_000, { deadline: 60 })], [after(0, { deadline: 61 }), disarmed({ deadline: 61 })],
    [after(5, { deadline: 60 }), rejectedOf('outdated_request', anna)], [after(5, { deadline: 60, at: 60_000 }), rejectedOf('too_late', anna)],
    [after(5), armed(65_000)], [after(9, { deadline: 70 }), armed(69_000, { deadline: 70 })], [clock(65_000)],
  ],

  'a trader without orders may arm it, and it ends without a trace': [
    M, [after(5), armed(5_000)], [clock(5_000)], at('a', 'M'), [clock(60_000)],
  ],

  'what was filled when it fired does not come back': [
    M, at('a', 'M'), [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'a', 10, 6)], [after(5), armed(5_000)],
    [fail(0, 'unknown', 'buyer', { at: 5_000 }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('a', 'cancel_after', 10, 0)],
  ],

  'switches that fire together fire by their times, then by when they were armed': [
    M, [buy('b', 'ben', 1, 1), accepted('b'), rested('b', 1)], at('a', 'M'), [sell('c', 'cleo', 1, 600_000), accepted('c'), rested('c', 1)],
    [tell({ kind: 'CancelAfter', chainId: 1, trader: address('cleo'), seconds: 5 }),
      says({ type: 'CancelAfterArmed', chainId: 1, trader: address('cleo'), firesAt: ZERO_S * 1_000 + 5_000, deadline: null })],
    [after(5), armed(5_000)],
    [tell({ kind: 'CancelAfter', chainId: 1, trader: address('ben'), seconds: 4 }),
      says({ type: 'CancelAfterArmed', chainId: 1, trader: address('ben'), firesAt: ZERO_S * 1_000 + 4_000, deadline: null })],
    [clock(9_000), cancelled('b', 'cancel_after', 1), cancelled('c', 'cancel_after', 1), cancelled('a', 'cancel_after', 10)],
  ],
};

const reducing: Record<string, Line[]> = {
  'the order keeps its place, and has the new size from then on': [
    M, at('first', 'M'), at('second', 'M'), [reduce('first', 4, 'anna'), reduced('first', 4, 4, 6)],
    [buy('b1', 'ben', 3, 600_000), accepted('b1'), filled(0, 'b1', 'first', 3, 2)],
    [buy('b2', 'ben', 3, 600_000), accepted('b2'), filled(1, 'b2', 'first', 1, 1), filled(2, 'b2', 'second', 2, 2)],
    [reduce('first', 4), says({ type: 'ReduceRepeated', orderHash: bytes32('first'), orderNumber: 1, size: '4' })],
    [reduce('first', 3), rejected('already_filled', 'first')],
  ],

  'the size is that of the whole order, filled part included': [
    M, at('a', 'M'), [buy('b', 'ben', 4, 600_000), accepted('b'), filled(0, 'b', 'a', 4, 3)], [reduce('a', 7), reduced('a', 7, 3, 3)],
    [reduce('a', 10), rejected('not_reduced', 'a')], [reduce('a', 8), rejected('not_reduced', 'a')],
    [reduce('a', 7), says({ type: 'ReduceRepeated', orderHash: bytes32('a'), orderNumber: 1, size: '7' })],
    [again('a'), repeated('a')],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('b', 'settlement_failed', 4, 0), reinstated('a', 4), rested('a', 4)],
    [cancel('a'), cancelled('a', 'user', 7)],
  ],

  'to no more than its filled part, the rest is cancelled': [
    M, at('a', 'M'), [buy('b', 'ben', 4, 600_000), accepted('b'), filled(0, 'b', 'a', 4, 3)], [reduce('a', 4), cancelled('a', 'user', 6)],
    [reduce('a', 4), cancelRepeated('a', 6)], [reduce('a', 3), cancelRepeated('a', 6)], [reduce('a', 5), rejected('already_cancelled', 'a')],
    [reduce('a', 10), says({ type: 'ReduceRepeated', orderHash: bytes32('a'), orderNumber: 1, size: '10' })],
    at('c', 'M'), [reduce('c', 0), cancelled('c', 'user', 10)],
  ],

  'of an order that is unknown, forgotten or another trader\'s nothing is said': [
    M, at('a', 'M'), [reduce('none', 1), rejected('unknown_order', 'none')], [reduce('a', 1, 'ben'), rejected('not_order_owner', 'a')],
    [cancel('a'), cancelled('a', 'user', 10)], [clock(3_580_000)], [reduce('a', 1), rejected('unknown_order', 'a')],
  ],

  'sizes are exact over the whole uint64': [
    M, [sell('big', 'anna', 2n ** 64n - 1n, 600_000), accepted('big'), rested('big', 2n ** 64n - 1n)],
    [reduce('big', 2n ** 63n), reduced('big', 2n ** 63n, 2n ** 63n, 2n ** 63n - 1n)], [reduce('big', 1), reduced('big', 1, 1, 2n ** 63n - 1n)],
    [buy('b', 'ben', 2, 600_000), accepted('b'), filled(0, 'b', 'big', 1, 1), rested('b', 1)],
    [settle(0), settled(0)],
  ],

  'a market that closes takes the reduced order along': [
    [open('M', { expiration: 100 }), opened('M')], at('a', 'M'), [reduce('a', 4), reduced('a', 4, 4, 6)],
    [clock(100_000), closed('M'), cancelled('a', 'market_closed', 4)],
  ],
};

const groups = { 'cancelling several orders': cancelOrders, 'cancelling all orders': cancelAll, 'the switch': cancelAfter, 'reducing an order': reducing };
for (const [engine, create] of Object.entries(engines)) {
  for (const [group, scenarios] of Object.entries(groups)) {
    describe(`${group} (${engine})`, () => {
      for (const [name, lines] of Object.entries(scenarios)) it(name, () => { play(create(), lines); });
    });
  }

  describe(`more orders than one command may cancel (${engine})`, () => {
    const orders = WORK_LIMIT + 2;
    const many = times(orders, (i): Line[] => [[sell(`o${i}`, 'anna', 1, 600_000), accepted(`o${i}`), rested(`o${i}`, 1)]]);
    const gone = (reason: 'user' | 'cancel_after', from: number, to: number) => (
      Array.from({ length: to - from }, (_, i) => cancelled(`o${from + i}`, reason, 1)));

    it('the clock cancels the rest of all orders, and none of them trades before', () => {
      play(create(), [
        M, ...many, [all(), allSaid(orders), ...gone('user', 0, WORK_LIMIT)],
        [buy('b1', 'ben', 1, 600_000), accepted('b1'), ...gone('user', WORK_LIMIT, orders), rested('b1', 1)], [clock(1)],
      ]);
    });

    it('the clock comes again for what the switch has to cancel', () => {
      play(create(), [
        M, ...many, [after(5), armed(5_000)], [clock(5_000), ...gone('cancel_after', 0, WORK_LIMIT)],
        at('young', 'M'), [clock(5_001), ...gone('cancel_after', WORK_LIMIT, orders)], [clock(5_002)],
      ]);
    });
  });
}
