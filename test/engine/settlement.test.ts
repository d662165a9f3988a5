/** What a fill's result on the chain causes, as scenarios: settled, or failed and taken back. They hold for both engines. */
import { NO, type FailureReason } from '../../engine/records/fields.js';
import { engines } from '../reference/compared-engines.js';
import {
  accepted, buy, cancel, cancelled, cancelRepeated, clock, closed, fail, failed, filled, open, opened, play, rejected, reinstated,
  rested, sell, settle, settled, type Line,
} from '../support/scenario.js';

const M: Line = [open('M'), opened('M')];
const ask: Line = [sell('ask', 'anna', 10, 600_000), accepted('ask'), rested('ask', 10)];
/** ben takes all of anna's ask: fill 0, both orders are filled. */
const traded: Line[] = [M, ask, [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)]];

const settling: Record<string, Line[]> = {
  'a fill settles once': [
    ...traded,
    [settle(1), rejected('unknown_fill', 1)],
    [settle(0), settled(0)],
    [settle(0), rejected('unknown_fill', 0)],
    [fail(0, 'unknown', 'both'), rejected('unknown_fill', 0)],
  ],
  'a fill fails once': [
    ...traded,
    [fail(1, 'unknown', 'both'), rejected('unknown_fill', 1)],
    [fail(0, 'unknown', 'both'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('ask', 'settlement_failed', 10, 0)],
    [fail(0, 'unknown', 'both'), rejected('unknown_fill', 0)],
    [settle(0), rejected('unknown_fill', 0)],
  ],
  'the numbers of fills that failed are not used again': [
    ...traded, [fail(0, 'unknown', 'seller'), failed(0), cancelled('ask', 'settlement_failed', 10, 0), reinstated('bid', 10), rested('bid', 10)],
    [sell('ask2', 'carl', 10, 600_000), accepted('ask2'), filled(1, 'ask2', 'bid', 10, 6)],
  ],
};

const theFillsOrders: Record<string, Line[]> = {
  'the culprit\'s order is cancelled with all that remains and all that rests of it; the filled innocent one comes back': [
    M, [sell('ask', 'anna', 15, 600_000), accepted('ask'), rested('ask', 15)],
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('ask', 'settlement_failed', 15, 5), reinstated('bid', 10), rested('bid', 10)],
  ],
  'a culprit\'s order that is cancelled already stays so': [
    M, [sell('ask', 'anna', 15, 600_000), accepted('ask'), rested('ask', 15)],
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [cancel('ask'), cancelled('ask', 'user', 5)],
    [fail(0, 'unknown', 'seller'), failed(0), reinstated('bid', 10), rested('bid', 10)],
    [cancel('ask'), cancelRepeated('ask', 15)],
  ],
  'with both to blame, the buyer\'s order is cancelled before the seller\'s': [
    M, [buy('bid', 'ben', 10, 600_000), accepted('bid'), rested('bid', 10)],
    [sell('ask', 'anna', 15, 600_000), accepted('ask'), filled(0, 'ask', 'bid', 10, 6), rested('ask', 5)],
    [fail(0, 'unknown', 'both'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('ask', 'settlement_failed', 15, 5)],
  ],
  'an open innocent order gets its size back on the book, without losing its place': [
    M, [sell('ask', 'anna', 15, 600_000), accepted('ask'), rested('ask', 15)],
    [sell('next', 'carl', 15, 600_000), accepted('next'), rested('next', 15)],
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10), rested('ask', 10)],
    [buy('bid2', 'dora', 16, 600_000), accepted('bid2'), filled(1, 'bid2', 'ask', 15, 9), filled(2, 'bid2', 'next', 1, 1)],
  ],
  'a cancelled innocent order stays cancelled': [
    M, [sell('ask', 'anna', 15, 600_000), accepted('ask'), rested('ask', 15)],
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [cancel('ask'), cancelled('ask', 'user', 5)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0)],
    [cancel('ask'), cancelRepeated('ask', 15)],
  ],
  'a filled innocent order comes back before younger ones': [
    ...traded, [sell('next', 'carl', 10, 600_000), accepted('next'), rested('next', 10)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10), rested('ask', 10)],
    [buy('bid2', 'ben', 11, 600_000), accepted('bid2'), filled(1, 'bid2', 'ask', 10, 6), filled(2, 'bid2', 'next', 1, 1)],
  ],
  'a filled innocent order first matches what it crosses now, its trader\'s own orders and dead ones included': [
    ...traded, [buy('b1', 'anna', 1, 700_000), accepted('b1'), rested('b1', 1)],
    [buy('b2', 'carl', 2, 650_000), accepted('b2'), rested('b2', 2)],
    [buy('b3', 'dora', 3, 600_000, { expiration: 60 }), accepted('b3'), rested('b3', 3)],
    [buy('b4', 'dora', 4, 599_999), accepted('b4'), rested('b4', 4)],
    [fail(0, 'unknown', 'buyer', { at: 40_000 }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10),
      cancelled('b1', 'self_trade', 1), filled(1, 'ask', 'b2', 2, 2), cancelled('b3', 'expired', 3), rested('ask', 8)],
    [fail(1, 'unknown', 'buyer'), failed(1), cancelled('b2', 'settlement_failed', 2, 0), reinstated('ask', 2), rested('ask', 2)],
  ],
  'an order that fills again is filled, and can come back again': [
    ...traded, [buy('b2', 'carl', 10, 700_000), accepted('b2'), rested('b2', 10)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10), filled(1, 'ask', 'b2', 10, 7)],
    [cancel('ask'), rejected('already_filled', 'ask')],
    [fail(1, 'unknown', 'buyer'), failed(1), cancelled('b2', 'settlement_failed', 10, 0), reinstated('ask', 10), rested('ask', 10)],
  ],
  'a filled innocent order that no longer lives is cancelled, whether its market is open or not': [
    [open('M', { expiration: 40 }), opened('M')],
    [sell('ask', 'anna', 10, 600_000, { expiration: 60 }), accepted('ask'), rested('ask', 10)],
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [fail(0, 'unknown', 'buyer', { at: 40_000 }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('ask', 'expired', 10, 0)],
    [cancel('ask'), rejected('unknown_order', 'ask')],
  ],
  'a filled innocent order of a market that is not open is cancelled, before the clock closes the market': [
    [open('M', { expiration: 40 }), opened('M')], ask,
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [fail(0, 'unknown', 'buyer', { at: 40_000 }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('ask', 'market_closed', 10, 0)],
    [cancel('ask'), cancelRepeated('ask', 10)],
    [clock(40_000), closed('M')],
  ],
  'an open innocent order of a market that is not open gets its size back, until the clock sweeps it': [
    [open('M', { expiration: 40 }), opened('M')],
    [sell('ask', 'anna', 15, 600_000), accepted('ask'), rested('ask', 15)],
    [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [fail(0, 'unknown', 'buyer', { at: 40_000 }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10), rested('ask', 10)],
    [clock(40_000), closed('M'), cancelled('ask', 'market_closed', 15)],
  ],
  'one of an order\'s fills fails and another settles': [
    M, ask, [buy('b1', 'ben', 4, 600_000), accepted('b1'), filled(0, 'b1', 'ask', 4, 3)],
    [buy('b2', 'carl', 6, 600_000), accepted('b2'), filled(1, 'b2', 'ask', 6, 4)],
    [settle(1), settled(1)],
    [fail(0, 'unknown', 'buyer'), failed(0), cancelled('b1', 'settlement_failed', 4, 0), reinstated('ask', 4), rested('ask', 4)],
    [cancel('ask'), cancelled('ask', 'user', 4)],
  ],
};

/**
 * anna sells to ben in market M (chain 1); both have further orders on both sides, of both outcomes, in another market of chain 1
 * and in one of chain 2. Their numbers do not follow prices.
 */
const dependents: Line[] = [
  M, [open('N'), opened('N')], [open('P', { chainId: 2 }), opened('P')],
  ...['anna', 'ben'].flatMap((who): Line[] => [
    [sell(`${who} N sells`, who, 1, 900_000, { market: 'N' }), accepted(`${who} N sells`), rested(`${who} N sells`, 1)],
    [buy(`${who} N buys`, who, 1, 100_000, { market: 'N' }), accepted(`${who} N buys`), rested(`${who} N buys`, 1)],
    [sell(`${who} P sells`, who, 1, 900_000, { market: 'P' }), accepted(`${who} P sells`), rested(`${who} P sells`, 1)],
    [buy(`${who} P buys`, who, 1, 100_000, { market: 'P' }), accepted(`${who} P buys`), rested(`${who} P buys`, 1)],
    [sell(`${who} sells`, who, 1, 900_000), accepted(`${who} sells`), rested(`${who} sells`, 1)],
    [buy(`${who} buys`, who, 1, 100_000), accepted(`${who} buys`), rested(`${who} buys`, 1)],
    [sell(`${who} sells NO`, who, 1, 800_000, { outcome: NO }), accepted(`${who} sells NO`), rested(`${who} sells NO`, 1)],
    [sell(`${who} sells better`, who, 1, 850_000), accepted(`${who} sells better`), rested(`${who} sells better`, 1)],
  ]),
  ask, [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
];

function pulled(...names: string[]) {
  return names.map((name) => cancelled(name, 'settlement_failed', 1));
}

const pulling: Record<string, Line[]> = {
  ...Object.fromEntries((['buyer_insufficient_balance', 'buyer_insufficient_allowance'] as const).map((reason) => [
    `${reason}: the buyer's BUY orders in every market of the chain are pulled`, [
      ...dependents,
      [fail(0, reason, 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), ...pulled('ben N buys', 'ben buys'), reinstated('ask', 10),
        rested('ask', 10)] as Line,
    ],
  ])),
  'seller_not_approved: the seller\'s SELL orders in every market of the chain are pulled': [
    ...dependents,
    [fail(0, 'seller_not_approved', 'seller'), failed(0), cancelled('ask', 'settlement_failed', 10, 0),
      ...pulled('anna N sells', 'anna sells', 'anna sells NO', 'anna sells better'), reinstated('bid', 10), rested('bid', 10)],
  ],
  'seller_insufficient_shares: the seller\'s SELL orders of the same market and outcome are pulled': [
    ...dependents,
    [fail(0, 'seller_insufficient_shares', 'seller'), failed(0), cancelled('ask', 'settlement_failed', 10, 0),
      ...pulled('anna sells', 'anna sells better'), reinstated('bid', 10), rested('bid', 10)],
  ],
  'orders are pulled before the innocent order comes back, so that it does not meet them': [
    ...traded, [buy('b2', 'ben', 5, 700_000), accepted('b2'), rested('b2', 5)], [buy('b3', 'carl', 1, 600_000), accepted('b3'), rested('b3', 1)],
    [fail(0, 'buyer_insufficient_balance', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('b2', 'settlement_failed', 5),
      reinstated('ask', 10), filled(1, 'ask', 'b3', 1, 1), rested('ask', 9)],
  ],
  'orders that came back are pulled in their old place': [
    M, [sell('a0', 'anna', 1, 600_000), accepted('a0'), rested('a0', 1)],
    [buy('b0', 'ben', 1, 600_000), accepted('b0'), filled(0, 'b0', 'a0', 1, 1)],
    [buy('b1', 'ben', 1, 100_000), accepted('b1'), rested('b1', 1)],
    [sell('a1', 'anna', 1, 600_000), accepted('a1'), rested('a1', 1)],
    [buy('b2', 'ben', 1, 600_000), accepted('b2'), filled(1, 'b2', 'a1', 1, 1)],
    [fail(0, 'unknown', 'seller'), failed(0), cancelled('a0', 'settlement_failed', 1, 0), reinstated('b0', 1), rested('b0', 1)],
    [fail(1, 'buyer_insufficient_balance', 'buyer'), failed(1), cancelled('b2', 'settlement_failed', 1, 0), ...pulled('b0', 'b1'),
      reinstated('a1', 1), rested('a1', 1)],
  ],
  'orders are pulled though they no longer live or their market is not open': [
    M, [open('N', { expiration: 40 }), opened('N')], ask, [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)],
    [buy('dead', 'ben', 1, 100_000, { expiration: 60 }), accepted('dead'), rested('dead', 1)],
    [buy('shut', 'ben', 1, 100_000, { market: 'N' }), accepted('shut'), rested('shut', 1)],
    [fail(0, 'buyer_insufficient_balance', 'buyer', { at: 40_000 }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), ...pulled('dead', 'shut'),
      reinstated('ask', 10), rested('ask', 10)],
  ],
  'a trader whose orders were pulled may place new ones, and older ones come back as ever': [
    ...traded, [buy('b2', 'ben', 5, 500_000), accepted('b2'), rested('b2', 5)],
    [sell('a2', 'carl', 5, 500_000), accepted('a2'), filled(1, 'a2', 'b2', 5, 3)],
    [fail(0, 'buyer_insufficient_balance', 'buyer'), failed(0), cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10), rested('ask', 10)],
    [fail(1, 'unknown', 'seller'), failed(1), cancelled('a2', 'settlement_failed', 5, 0), reinstated('b2', 5), rested('b2', 5)],
    [buy('b3', 'ben', 1, 400_000), accepted('b3'), rested('b3', 1)],
    [clock(0)],
  ],
};

const otherReasons: readonly FailureReason[] = [
  'order_expired', 'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown',
];
const buyerReasons: readonly FailureReason[] = ['buyer_insufficient_balance', 'buyer_insufficient_allowance'];
const sellerReasons: readonly FailureReason[] = ['seller_insufficient_shares', 'seller_not_approved'];

/** Reasons that pull nothing with this culprit. */
const harmless = {
  buyer: [...otherReasons, ...sellerReasons],
  seller: [...otherReasons, ...buyerReasons],
  both: [...otherReasons, ...buyerReasons, ...sellerReasons],
};
const afterwards = {
  buyer: [cancelled('bid', 'settlement_failed', 10, 0), reinstated('ask', 10), rested('ask', 10)],
  seller: [cancelled('ask', 'settlement_failed', 10, 0), reinstated('bid', 10), rested('bid', 10)],
  both: [cancelled('bid', 'settlement_failed', 10, 0), cancelled('ask', 'settlement_failed', 10, 0)],
};

for (const [engine, create] of Object.entries(engines)) {
  for (const [subject, scenarios] of Object.entries({ settling, 'the orders of a failed fill': theFillsOrders, pulling })) {
    describe(`${engine}, ${subject}`, () => {
      for (const [name, lines] of Object.entries(scenarios)) it(name, () => { play(create(), lines); });
    });
  }
  describe(`${engine}, other reasons and culprits`, () => {
    for (const culprit of ['buyer', 'seller', 'both'] as const) {
      it(`${culprit}: no other orders are pulled`, () => {
        for (const reason of harmless[culprit]) {
          play(create(), [...dependents, [fail(0, reason, culprit), failed(0), ...afterwards[culprit]]]);
        }
      });
    }
  });
}
