/** Nonces cancelled on the chain, and markets resolved while orders rest: scenarios, to the limits of work. They hold for both engines. */
import type { CancelReason } from '../../engine/records/events.js';
import { NO, YES } from '../../engine/records/fields.js';
import { engines } from '../reference/compared-engines.js';
import {
  accepted, address, again, buy, bytes32, cancel, cancelled, cancelRepeated, clock, closed, fail, failed, factOf, filled, open, opened, play,
  rejected, rejectedOf, reinstated, repeated, rested, says, sell, settle, settled, tell, times, type Line, type Place,
} from '../support/scenario.js';

const LIMIT = 2_500;
const UINT64_MAX = 2n ** 64n - 1n;
const M: Line = [open('M'), opened('M')];

const cancelBelow = (trader: string, belowNonce: number | bigint, terms: { chainId?: number; fact?: Place } = {}) => tell({
  kind: 'CancelOrdersBelow', chainId: terms.chainId ?? 1, trader: address(trader), belowNonce: String(belowNonce), ...factOf(terms),
});
const raised = (trader: string, belowNonce: number | bigint, chainId = 1) => says({
  type: 'NonceFloorRaised', chainId, trader: address(trader), belowNonce: String(belowNonce),
});
const notRaised = (trader: string) => rejectedOf('nonce_cancelled', address(trader));

/** anna's asks of size 1 with the nonces 0, 1, … in market M. */
function asks(n: number): Line[] {
  return times(n, (i) => [[sell(`a${i}`, 'anna', 1, 600_000, { nonce: i }), accepted(`a${i}`), rested(`a${i}`, 1)]]);
}

function gone(from: number, to: number, reason: CancelReason = 'user') {
  return Array.from({ length: to - from }, (_, i) => cancelled(`a${from + i}`, reason, 1));
}

const floors: Record<string, Line[]> = {
  'orders with lower nonces are cancelled by number, on both sides, in every market of the chain, and of this trader only': [
    M, [open('N'), opened('N')], [open('P', { chainId: 2 }), opened('P')],
    [sell('nine', 'anna', 1, 900_000, { nonce: 9 }), accepted('nine'), rested('nine', 1)],
    [buy('three', 'anna', 1, 100_000, { nonce: 3, market: 'N', outcome: NO }), accepted('three'), rested('three', 1)],
    [buy('ten', 'anna', 1, 100_000, { nonce: 10 }), accepted('ten'), rested('ten', 1)],
    [buy('there', 'anna', 1, 100_000, { nonce: 1, market: 'P' }), accepted('there'), rested('there', 1)],
    [sell('eight', 'anna', 1, 800_000, { nonce: 8 }), accepted('eight'), rested('eight', 1)],
    [buy('his', 'ben', 1, 100_000, { nonce: 3 }), accepted('his'), rested('his', 1)],
    [cancelBelow('anna', 10), raised('anna', 10), cancelled('nine', 'user', 1), cancelled('three', 'user', 1), cancelled('eight', 'user', 1)],
    [cancel('nine'), cancelRepeated('nine', 1)],
    [cancel('ten'), cancelled('ten', 'user', 1)],
    [clock(0)],
  ],
  'a floor only rises': [
    M, [cancelBelow('anna', 0), notRaised('anna')],
    [cancelBelow('anna', 5), raised('anna', 5)],
    [cancelBelow('anna', 5), notRaised('anna')],
    [cancelBelow('anna', 4), notRaised('anna')],
    [cancelBelow('anna', 4, { chainId: 2 }), raised('anna', 4, 2)],
    [cancelBelow('anna', UINT64_MAX), raised('anna', UINT64_MAX)],
    [sell('x', 'anna', 1, 1, { nonce: UINT64_MAX - 1n }), rejected('nonce_cancelled', 'x')],
    [sell('x', 'anna', 1, 1, { nonce: UINT64_MAX }), accepted('x'), rested('x', 1)],
  ],
  'floors are exact over the whole uint64': [
    M, [sell('a', 'anna', 1, 600_000, { nonce: 2n ** 32n - 1n }), accepted('a'), rested('a', 1)],
    [sell('b', 'anna', 1, 600_000, { nonce: 2n ** 33n }), accepted('b'), rested('b', 1)],
    [cancelBelow('anna', 2n ** 32n), raised('anna', 2n ** 32n), cancelled('a', 'user', 1)],
    [cancelBelow('anna', 2n ** 33n), raised('anna', 2n ** 33n)],
    [sell('x', 'anna', 1, 600_000, { nonce: 2n ** 33n - 1n }), rejected('nonce_cancelled', 'x')],
    [cancelBelow('anna', 2n ** 33n + 1n), raised('anna', 2n ** 33n + 1n), cancelled('b', 'user', 1)],
  ],
  'cancelled nonces are refused after every other rule but the taken nonce': [
    [open('M', { expiration: 100 }), opened('M')],
    [sell('ask', 'anna', 1, 600_000, { nonce: 7, expiration: 5_000 }), accepted('ask'), rested('ask', 1)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 1, 1)],
    [cancelBelow('anna', 8), raised('anna', 8)],
    [again('ask'), repeated('ask')],
    [sell('x', 'anna', 0, 1, { nonce: 7, market: 'N' }), rejected('invalid_size', 'x')],
    [sell('x', 'anna', 1, 1, { nonce: 7, expiration: 59, market: 'N' }), rejected('invalid_expiration', 'x')],
    [sell('x', 'anna', 1, 1, { nonce: 7, market: 'N' }), rejected('unknown_market', 'x')],
    [sell('x', 'anna', 1, 1, { nonce: 7 }), rejected('nonce_cancelled', 'x')],
    [sell('x', 'anna', 1, 1, { nonce: 6 }), rejected('nonce_cancelled', 'x')],
    [sell('x', 'ben', 1, 700_000, { nonce: 7 }), accepted('x'), rested('x', 1)],
    [sell('y', 'anna', 1, 700_000, { nonce: 8 }), accepted('y'), rested('y', 1)],
    [sell('z', 'anna', 1, 1, { nonce: 8 }), rejected('duplicate_nonce', 'z')],
    [sell('x2', 'anna', 1, 1, { nonce: 7, expiration: 5_000, at: 100_000 }), rejected('market_closed', 'x2')],
  ],
  'who was never seen may cancel nonces before using them': [
    M, [cancelBelow('anna', 2), raised('anna', 2)], [sell('x', 'anna', 1, 1, { nonce: 1 }), rejected('nonce_cancelled', 'x')],
    [sell('y', 'anna', 1, 600_000, { nonce: 2 }), accepted('y'), rested('y', 1)],
  ],
  'a floor of another chain does not count': [
    [open('P', { chainId: 2 }), opened('P')], [cancelBelow('anna', 5), raised('anna', 5)],
    [sell('x', 'anna', 1, 600_000, { nonce: 1, market: 'P' }), accepted('x'), rested('x', 1)],
  ],
  'the chain tells of it once': [
    [cancelBelow('anna', 5, { fact: [1, 3, 0] }), raised('anna', 5)],
    [cancelBelow('anna', 9, { fact: [1, 3, 0] }), rejectedOf('known_fact', '1:3:0')],
    [cancelBelow('anna', 4, { fact: [1, 3, 1] }), notRaised('anna')],
    [cancelBelow('anna', 9, { fact: [1, 3, 1] }), rejectedOf('known_fact', '1:3:1')],
    [cancelBelow('anna', 9, { fact: [1, 3, 2] }), raised('anna', 9)],
  ],
  'a filled order with a cancelled nonce does not come back': [
    M, ...asks(1), [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'a0', 1, 1)],
    [cancelBelow('anna', 1), raised('anna', 1)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 1, 0), cancelled('a0', 'user', 1, 0)],
  ],
  'what no longer lives, or whose market is not open, is not cancelled for its nonce': [
    [open('M', { expiration: 50 }), opened('M')],
    [sell('short', 'anna', 1, 600_000, { nonce: 1, expiration: 60 }), accepted('short'), rested('short', 1)],
    [sell('long', 'anna', 1, 600_000, { nonce: 2 }), accepted('long'), rested('long', 1)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'short', 1, 1)],
    [buy('bid2', 'ben', 1, 600_000), accepted('bid2'), filled(1, 'bid2', 'long', 1, 1)],
    [cancelBelow('anna', 9), raised('anna', 9)],
    [fail(0, 'unknown', 'buyer', { at: 50_000 }), failed(0), cancelled('bid', 'settlement_failed', 1, 0), cancelled('short', 'expired', 1, 0)],
    [fail(1, 'unknown', 'buyer'), failed(1), cancelled('bid2', 'settlement_failed', 1, 0), cancelled('long', 'market_closed', 1, 0)],
  ],
  '2,500 orders are cancelled at once, and the clock finds nothing more': [
    M, ...asks(LIMIT), [cancelBelow('anna', LIMIT), raised('anna', LIMIT), ...gone(0, LIMIT)], [clock(0)],
  ],
  'what is more than that is left to the clock': [
    M, ...asks(LIMIT + 2), [cancelBelow('anna', LIMIT + 1), raised('anna', LIMIT + 1), ...gone(0, LIMIT)],
    [clock(0), ...gone(LIMIT, LIMIT + 1)], [clock(0)],
  ],
  'what is left trades no more: whoever meets it cancels it, for the first reason': [
    M, [sell('dead', 'anna', 1, 700_000, { nonce: 9_999, expiration: 60 }), accepted('dead'), rested('dead', 1)], ...asks(LIMIT + 3),
    [cancelBelow('anna', LIMIT + 2), raised('anna', LIMIT + 2), ...gone(0, LIMIT)],
    [buy('bid', 'ben', 1, 650_000), accepted('bid'), ...gone(LIMIT, LIMIT + 2), filled(0, 'bid', `a${LIMIT + 2}`, 1, 1)],
    [fail(0, 'seller_not_approved', 'seller'), failed(0), cancelled(`a${LIMIT + 2}`, 'settlement_failed', 1, 0), cancelled('dead', 'settlement_failed', 1),
      reinstated('bid', 1), rested('bid', 1)],
  ],
  'of two sweeps that an order waits for, the older one gives the reason': [
    M, [sell('sold', 'anna', 1, 500_000, { nonce: 99_999 }), accepted('sold'), rested('sold', 1)], ...asks(2 * LIMIT + 2),
    [buy('bid', 'ben', 1, 500_000), accepted('bid'), filled(0, 'bid', 'sold', 1, 1)],
    [cancelBelow('anna', 2 * LIMIT + 1), raised('anna', 2 * LIMIT + 1), ...gone(0, LIMIT)],
    [fail(0, 'seller_not_approved', 'seller'), failed(0), cancelled('sold', 'settlement_failed', 1, 0), ...gone(LIMIT, 2 * LIMIT - 1, 'settlement_failed'),
      reinstated('bid', 1), rested('bid', 1)],
    [buy('bid2', 'carl', 1, 600_000), accepted('bid2'), ...gone(2 * LIMIT - 1, 2 * LIMIT + 1), ...gone(2 * LIMIT + 1, 2 * LIMIT + 2, 'settlement_failed'),
      rested('bid2', 1)],
    [clock(0)],
  ],
  'an open order that waits to be swept gets a failed fill\'s size back first': [
    M, ...asks(LIMIT), [sell('last', 'anna', 10, 500_000, { nonce: LIMIT }), accepted('last'), rested('last', 10)],
    [buy('bid', 'ben', 4, 500_000), accepted('bid'), filled(0, 'bid', 'last', 4, 2)],
    [cancelBelow('anna', LIMIT + 1), raised('anna', LIMIT + 1), ...gone(0, LIMIT)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 4, 0), reinstated('last', 4), rested('last', 4)],
    [clock(0), cancelled('last', 'user', 10)],
  ],
};

const resolve = (market: string, winningOutcome: 0 | 1, fact?: Place) => tell({
  kind: 'ResolveMarket', marketId: bytes32(market), winningOutcome, ...factOf(fact === undefined ? {} : { fact }),
});
const resolved = (market: string, winningOutcome: 0 | 1) => says({ type: 'MarketResolved', marketId: bytes32(market), winningOutcome });

const resolving: Record<string, Line[]> = {
  'a market is resolved once': [
    [resolve('M', YES), rejected('unknown_market', 'M')], M,
    [resolve('M', NO, [1, 0, 0]), closed('M'), resolved('M', NO)],
    [resolve('M', NO, [1, 0, 0]), rejectedOf('known_fact', '1:0:0')],
    [resolve('M', NO, [1, 0, 1]), rejected('market_resolved', 'M')],
    [resolve('M', YES), rejected('market_resolved', 'M')],
  ],
  'a market that has expired and been closed is not closed again': [
    [open('M', { expiration: 100 }), opened('M')], [clock(100_000), closed('M')], [resolve('M', YES), resolved('M', YES)], [clock(200_000)],
  ],
  'a market that has expired and not been closed yet is closed by its resolution, and not by the clock': [
    [open('M', { expiration: 100 }), opened('M')], ...asks(1), [clock(99_999)],
    [tell({ kind: 'ResolveMarket', marketId: bytes32('M'), winningOutcome: YES }, { at: 100_000 }), closed('M'), resolved('M', YES)],
    [clock(100_000), ...gone(0, 1, 'market_closed')], [clock(200_000)],
  ],
  'its orders wait for the clock, and may be cancelled meanwhile, but trade no more': [
    M, ...asks(3), [buy('low', 'ben', 1, 100_000), accepted('low'), rested('low', 1)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'a0', 1, 1)],
    [resolve('M', YES), closed('M'), resolved('M', YES)],
    [buy('late', 'ben', 1, 600_000), rejected('market_closed', 'late')],
    [cancel('a1'), cancelled('a1', 'user', 1)],
    [clock(0), cancelled('low', 'market_closed', 1), ...gone(2, 3, 'market_closed')],
    [clock(0)],
  ],
  'a filled order does not come back to it; the chain may still settle or refuse its fills': [
    M, ...asks(3), [buy('b0', 'ben', 1, 600_000), accepted('b0'), filled(0, 'b0', 'a0', 1, 1)],
    [buy('b1', 'ben', 1, 600_000), accepted('b1'), filled(1, 'b1', 'a1', 1, 1)],
    [resolve('M', YES), closed('M'), resolved('M', YES)],
    [fail(0, 'market_resolved', 'buyer'), failed(0), cancelled('b0', 'settlement_failed', 1, 0), cancelled('a0', 'market_closed', 1, 0)],
    [settle(1), settled(1)],
  ],
  'an open order of it gets a failed fill\'s size back, until the clock sweeps it': [
    M, [sell('ask', 'anna', 3, 600_000), accepted('ask'), rested('ask', 3)],
    [buy('bid', 'ben', 1, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 1, 1)],
    [resolve('M', YES), closed('M'), resolved('M', YES)],
    [fail(0, 'market_resolved', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 1, 0), reinstated('ask', 1), rested('ask', 1)],
    [clock(0), cancelled('ask', 'market_closed', 3)],
  ],
  'other markets go on': [
    M, [open('N', { expiration: 100 }), opened('N')], [resolve('M', YES), closed('M'), resolved('M', YES)],
    [buy('bid', 'ben', 1, 600_000, { market: 'N' }), accepted('bid'), rested('bid', 1)],
    [clock(100_000), closed('N'), cancelled('bid', 'market_closed', 1)],
  ],
};

for (const [engine, create] of Object.entries(engines)) {
  for (const [subject, scenarios] of Object.entries({ 'nonce floors': floors, resolving })) {
    describe(`${engine}, ${subject}`, () => {
      for (const [name, lines] of Object.entries(scenarios)) it(name, () => { play(create(), lines); });
    });
  }
}
