/** The terms of orders as scenarios: FOK, FAK, post-only, a last time to be accepted, and self-trades. They hold for both engines. */
import { NO } from '../../engine/records/fields.js';
import { engines } from '../reference/compared-engines.js';
import {
  accepted, again, buy, cancel, cancelled, clock, closed, fail, failed, filled, open, opened, play, reinstated, rejected, repeated, rested, sell,
  settle, settled, tell, says, termed, times, address, type Line,
} from '../support/scenario.js';

const M: Line = [open('M'), opened('M')];
const ask: Line = [sell('ask', 'anna', 10, 600_000), accepted('ask'), rested('ask', 10)];
const bid: Line = [buy('bid', 'ben', 10, 500_000), accepted('bid'), rested('bid', 10)];

const fok: Record<string, Line[]> = {
  'all of it matches at once, over several levels': [
    M, ask, [sell('deep', 'anna', 10, 700_000), accepted('deep'), rested('deep', 10)],
    [buy('all', 'ben', 15, 700_000, { timeInForce: 'FOK' }), accepted('all'), termed('all'), filled(0, 'all', 'ask', 10, 6), filled(1, 'all', 'deep', 5, 4)],
  ],

  'or nothing happens: no order is known, no nonce is taken, what it would have met stays as it is': [
    M, ask, [sell('old', 'anna', 10, 550_000, { expiration: 100 }), accepted('old'), rested('old', 10)],
    [sell('own', 'ben', 10, 560_000), accepted('own'), rested('own', 10)],
    [buy('all', 'ben', 11, 699_999, { timeInForce: 'FOK', nonce: 7, at: 80_000 }), rejected('not_filled', 'all')],
    [buy('other', 'ben', 1, 1, { nonce: 7 }), accepted('other'), rested('other', 1)],
    [cancel('own'), cancelled('own', 'user', 10)],
    [clock(80_000), cancelled('old', 'expired', 10)],
  ],

  'it is decided anew when it comes again': [
    M, ask, [buy('all', 'ben', 11, 600_000, { timeInForce: 'FOK', nonce: 7 }), rejected('not_filled', 'all')],
    [sell('more', 'anna', 1, 600_000), accepted('more'), rested('more', 1)],
    [buy('all', 'ben', 11, 600_000, { timeInForce: 'FOK', nonce: 7 }), accepted('all'), termed('all'), filled(0, 'all', 'ask', 10, 6),
      filled(1, 'all', 'more', 1, 1)],
    [again('all'), repeated('all')],
  ],

  'prices that do not cross, an empty book and the other outcome fill nothing': [
    M, [buy('all', 'ben', 1, 600_000, { timeInForce: 'FOK' }), rejected('not_filled', 'all')], ask,
    [buy('all', 'ben', 1, 599_999, { timeInForce: 'FOK' }), rejected('not_filled', 'all')],
    [buy('all', 'ben', 1, 600_000, { timeInForce: 'FOK', outcome: NO }), rejected('not_filled', 'all')],
  ],

  'its trader\'s own orders fill nothing: they are cancelled, or are in its way': [
    M, [sell('own', 'ben', 10, 500_000), accepted('own'), rested('own', 10)],
    [buy('all', 'ben', 10, 600_000, { timeInForce: 'FOK' }), rejected('not_filled', 'all')], ask,
    [buy('all', 'ben', 10, 600_000, { timeInForce: 'FOK', selfTrade: 'cancel_newer' }), rejected('not_filled', 'all')],
    [buy('all', 'ben', 10, 600_000, { timeInForce: 'FOK' }), accepted('all'), termed('all'), cancelled('own', 'self_trade', 10), filled(0, 'all', 'ask', 10, 6)],
  ],

  'the limit of work leaves a part unfilled': [
    M, ...times(2_501, (i): Line[] => [[sell(`a${i}`, 'anna', 1, 600_000), accepted(`a${i}`), rested(`a${i}`, 1)]]),
    [buy('all', 'ben', 2_501, 600_000, { timeInForce: 'FOK' }), rejected('not_filled', 'all')],
    [buy('all', 'ben', 2_500, 600_000, { timeInForce: 'FOK' }), accepted('all'), termed('all'),
      ...Array.from({ length: 2_500 }, (_, i) => filled(i, 'all', `a${i}`, 1, 1))],
  ],

  'what the chain takes back later does not come back to it': [
    M, ask, [buy('all', 'ben', 4, 600_000, { timeInForce: 'FOK' }), accepted('all'), termed('all'), filled(0, 'all', 'ask', 4, 3)],
    [sell('late', 'cleo', 10, 600_000), accepted('late'), rested('late', 10)],
    [fail(0, 'seller_insufficient_shares', 'seller'), failed(0), cancelled('ask', 'settlement_failed', 10, 6), cancelled('all', 'time_in_force', 4, 0)],
  ],
};

const fak: Record<string, Line[]> = {
  'what does not match at once is cancelled': [
    M, ask, [buy('some', 'ben', 15, 600_000, { timeInForce: 'FAK' }), accepted('some'), termed('some'), filled(0, 'some', 'ask', 10, 6),
      cancelled('some', 'time_in_force', 5, 0)],
    [buy('none', 'ben', 15, 600_000, { timeInForce: 'FAK' }), accepted('none'), termed('none'), cancelled('none', 'time_in_force', 15, 0)],
    [again('none'), repeated('none')],
  ],

  'a nonce is free again as with a cancelled order': [
    M, [buy('none', 'ben', 15, 600_000, { timeInForce: 'FAK', nonce: 7 }), accepted('none'), termed('none'), cancelled('none', 'time_in_force', 15, 0)],
    [buy('other', 'ben', 1, 1, { nonce: 7 }), accepted('other'), rested('other', 1)],
  ],

  'what the chain takes back is not matched again: it was filled, or is cancelled already': [
    M, ask, [buy('all', 'ben', 4, 600_000, { timeInForce: 'FAK' }), accepted('all'), termed('all'), filled(0, 'all', 'ask', 4, 3)],
    [buy('some', 'ben', 7, 600_000, { timeInForce: 'FAK' }), accepted('some'), termed('some'), filled(1, 'some', 'ask', 6, 4),
      cancelled('some', 'time_in_force', 1, 0)],
    [sell('late', 'cleo', 10, 600_000), accepted('late'), rested('late', 10)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('ask', 'settlement_failed', 4, 0), cancelled('all', 'time_in_force', 4, 0)],
    [fail(1, 'unknown', 'seller'), failed(1)],
  ],

  'why a filled order may not be open again: expired, closed, nonce cancelled come before its time in force': [
    [open('M', { expiration: 200 }), opened('M')], [open('N'), opened('N')], ask,
    [buy('a', 'ben', 1, 600_000, { timeInForce: 'FAK', expiration: 100 }), accepted('a'), termed('a'), filled(0, 'a', 'ask', 1, 1)],
    [buy('b', 'ben', 1, 600_000, { timeInForce: 'FAK' }), accepted('b'), termed('b'), filled(1, 'b', 'ask', 1, 1)],
    [sell('askN', 'anna', 10, 600_000, { market: 'N' }), accepted('askN'), rested('askN', 10)],
    [buy('c', 'ben', 1, 600_000, { market: 'N', timeInForce: 'FAK', nonce: 3 }), accepted('c'), termed('c'), filled(2, 'c', 'askN', 1, 1)],
    [fail(0, 'unknown', 'seller', { at: 80_000 }), failed(0), cancelled('ask', 'settlement_failed', 9, 8), cancelled('a', 'expired', 1, 0)],
    [tell({ kind: 'CancelOrdersBelow', chainId: 1, trader: address('ben'), belowNonce: '4' }),
      says({ type: 'NonceFloorRaised', chainId: 1, trader: address('ben'), belowNonce: '4' })],
    [fail(2, 'unknown', 'seller'), failed(2), cancelled('askN', 'settlement_failed', 10, 9), cancelled('c', 'user', 1, 0)],
    [clock(200_000), closed('M')],
    [fail(1, 'unknown', 'seller'), failed(1), cancelled('b', 'market_closed', 1, 0)],
  ],
};

const postOnly: Record<string, Line[]> = {
  'it rests where it meets nothing': [
    M, ask, [buy('below', 'ben', 1, 599_999, { postOnly: true }), accepted('below'), termed('below'), rested('below', 1)],
    [sell('taker', 'cleo', 1, 1), accepted('taker'), filled(0, 'taker', 'below', 1, 1)],
  ],

  'or nothing happens, and it is decided anew': [
    M, ask, [buy('at', 'ben', 1, 600_000, { postOnly: true, nonce: 7 }), rejected('would_match', 'at')],
    [cancel('ask'), cancelled('ask', 'user', 10)],
    [buy('at', 'ben', 1, 600_000, { postOnly: true, nonce: 7 }), accepted('at'), termed('at'), rested('at', 1)],
  ],

  'its trader\'s own orders and expired ones do not match: they are cancelled, and it rests; or it is cancelled itself': [
    M, [sell('own', 'ben', 10, 500_000), accepted('own'), rested('own', 10)],
    [sell('old', 'anna', 10, 550_000, { expiration: 100 }), accepted('old'), rested('old', 10)],
    [buy('x', 'ben', 1, 600_000, { postOnly: true }), rejected('would_match', 'x')],
    [buy('newer', 'ben', 1, 600_000, { postOnly: true, selfTrade: 'cancel_newer', at: 80_000 }), accepted('newer'), termed('newer'),
      cancelled('newer', 'self_trade', 1, 0)],
    [buy('older', 'ben', 1, 600_000, { postOnly: true }), accepted('older'), termed('older'), cancelled('own', 'self_trade', 10),
      cancelled('old', 'expired', 10), rested('older', 1)],
  ],

  'beside a time in force that never rests it is always refused, in the order of the rules': [
    M, ask, [buy('x', 'ben', 11, 600_000, { postOnly: true, timeInForce: 'FOK' }), rejected('not_filled', 'x')],
    [buy('x', 'ben', 10, 600_000, { postOnly: true, timeInForce: 'FOK' }), rejected('would_match', 'x')],
    [buy('x', 'ben', 11, 600_000, { postOnly: true, timeInForce: 'FAK' }), rejected('would_match', 'x')],
    [buy('y', 'ben', 11, 500_000, { postOnly: true, timeInForce: 'FAK' }), accepted('y'), termed('y'), cancelled('y', 'time_in_force', 11, 0)],
  ],

  'it never takes, also when it is open again: it rests, or is cancelled with what the failed fill gave back': [
    M, [buy('maker', 'ben', 4, 600_000, { postOnly: true }), accepted('maker'), termed('maker'), rested('maker', 4)],
    [sell('t1', 'anna', 4, 600_000), accepted('t1'), filled(0, 't1', 'maker', 4, 3)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('t1', 'settlement_failed', 4, 0), reinstated('maker', 4), rested('maker', 4)],
    [sell('t2', 'anna', 4, 600_000), accepted('t2'), filled(1, 't2', 'maker', 4, 3)],
    [sell('now', 'cleo', 1, 590_000), accepted('now'), rested('now', 1)],
    [fail(1, 'unknown', 'seller'), failed(1), cancelled('t2', 'settlement_failed', 4, 0), cancelled('maker', 'post_only', 4, 0)],
    [cancel('now'), cancelled('now', 'user', 1)],
  ],

  'as long as it is open, what comes back just rests': [
    M, [buy('maker', 'ben', 4, 600_000, { postOnly: true }), accepted('maker'), termed('maker'), rested('maker', 4)],
    [sell('t1', 'anna', 3, 600_000), accepted('t1'), filled(0, 't1', 'maker', 3, 2)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('t1', 'settlement_failed', 3, 0), reinstated('maker', 3), rested('maker', 3)],
  ],
};

const notAfter: Record<string, Line[]> = {
  'the time itself is not too late, a millisecond later is': [
    M, [buy('in', 'ben', 1, 1, { notAfter: 5_000, at: 5_000 }), accepted('in'), termed('in'), rested('in', 1)],
    [buy('out', 'ben', 1, 1, { notAfter: 5_000, at: 5_001 }), rejected('too_late', 'out')],
  ],

  'the history\'s time counts, whatever the command\'s own is': [
    M, [clock(6_000)], [buy('out', 'ben', 1, 1, { notAfter: 5_000, at: 5_000 }), rejected('too_late', 'out')],
  ],

  'an order that was accepted in time is repeated at any time': [
    M, [buy('in', 'ben', 1, 1, { notAfter: 5_000, at: 5_000 }), accepted('in'), termed('in'), rested('in', 1)], [again('in', { at: 9_000 }), repeated('in')],
  ],

  'it is looked at after size and expiration, and before the market': [
    [open('M', { expiration: 100 }), opened('M')],
    [buy('x', 'ben', 0, 1, { notAfter: 1, at: 50_000, expiration: 60 }), rejected('invalid_size', 'x')],
    [buy('x', 'ben', 1, 1, { notAfter: 1, expiration: 60 }), rejected('invalid_expiration', 'x')],
    [buy('x', 'ben', 1, 1, { notAfter: 1, market: 'none' }), rejected('too_late', 'x')],
  ],
};

const selfTrade: Record<string, Line[]> = {
  'the newer order keeps what it has matched, and its rest is cancelled': [
    M, ask, [sell('own', 'ben', 10, 650_000), accepted('own'), rested('own', 10)],
    [buy('taker', 'ben', 15, 700_000, { selfTrade: 'cancel_newer' }), accepted('taker'), termed('taker'), filled(0, 'taker', 'ask', 10, 6),
      cancelled('taker', 'self_trade', 5, 0)],
    [cancel('own'), cancelled('own', 'user', 10)],
  ],

  'it is the incoming order\'s rule that counts': [
    M, [sell('own', 'ben', 10, 600_000, { selfTrade: 'cancel_newer' }), accepted('own'), termed('own'), rested('own', 10)],
    [buy('taker', 'ben', 15, 600_000), accepted('taker'), cancelled('own', 'self_trade', 10), rested('taker', 15)],
  ],

  'an own order that expires or is cancelled anyway is in nobody\'s way': [
    M, [sell('own', 'ben', 10, 600_000, { expiration: 100 }), accepted('own'), rested('own', 10)],
    [buy('taker', 'ben', 1, 600_000, { selfTrade: 'cancel_newer', at: 80_000 }), accepted('taker'), termed('taker'), cancelled('own', 'expired', 10),
      rested('taker', 1)],
  ],

  'an order that comes back may be the older one': [
    M, [buy('maker', 'ben', 4, 600_000, { selfTrade: 'cancel_newer' }), accepted('maker'), termed('maker'), rested('maker', 4)],
    [sell('t1', 'anna', 4, 600_000), accepted('t1'), filled(0, 't1', 'maker', 4, 3)],
    [sell('young', 'ben', 1, 590_000), accepted('young'), rested('young', 1)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('t1', 'settlement_failed', 4, 0), reinstated('maker', 4), cancelled('young', 'self_trade', 1),
      rested('maker', 4)],
  ],

  'the default is the rule of orders without terms': [
    M, [sell('own', 'ben', 10, 600_000), accepted('own'), rested('own', 10)],
    [buy('taker', 'ben', 15, 600_000, { notAfter: 9_000 }), accepted('taker'), termed('taker'), cancelled('own', 'self_trade', 10), rested('taker', 15)],
  ],
};

const repeats: Record<string, Line[]> = {
  'an order that took effect keeps its terms, whatever terms it is sent again with': [
    M, bid, [buy('maker', 'cleo', 4, 600_000), accepted('maker'), rested('maker', 4)],
    [again('maker', { timeInForce: 'FAK', postOnly: true, notAfter: 1 }), repeated('maker')],
    [sell('t1', 'anna', 4, 600_000), accepted('t1'), filled(0, 't1', 'maker', 4, 3)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('t1', 'settlement_failed', 4, 0), reinstated('maker', 4), rested('maker', 4)],
  ],

  'an order that was refused because of the book has no terms yet': [
    M, ask, [buy('x', 'ben', 11, 600_000, { timeInForce: 'FOK', nonce: 7 }), rejected('not_filled', 'x')],
    [buy('x', 'ben', 11, 600_000, { nonce: 7 }), accepted('x'), filled(0, 'x', 'ask', 10, 6), rested('x', 1)],
    [settle(0), settled(0)],
  ],
};

const groups = { 'a FOK order': fok, 'a FAK order': fak, 'a post-only order': postOnly, 'notAfter': notAfter, 'selfTrade': selfTrade, 'the terms': repeats };
for (const [engine, create] of Object.entries(engines)) {
  for (const [group, scenarios] of Object.entries(groups)) {
    describe(`${group} (${engine})`, () => {
      for (const [name, lines] of Object.entries(scenarios)) it(name, () => { play(create(), lines); });
    });
  }
}
