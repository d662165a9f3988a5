/** Defaults: fills that fail through a trader's own doing, and the suspensions that follow. Scenarios that hold for both engines. */
import type { Culprit, FailureReason } from '../../engine/records/fields.js';
import { engines } from '../reference/compared-engines.js';
import {
  ZERO_S, accepted, again, buy, cancelled, clock, defaulted, fail, failed, filled, open, opened, play, reinstated, rejected, repeated, rested, sell,
  type Line,
} from '../support/scenario.js';

const DAY_MS = 86_400_000;
const YEAR_S = 31_536_000;
const M: Line = [open('M', { expiration: YEAR_S }), opened('M')];
const ask: Line = [sell('ask', 'anna', 100, 600_000, { expiration: YEAR_S }), accepted('ask'), rested('ask', 100)];

/** The time as events have it, from the milliseconds since the story's beginning. */
const time = (ms: number) => ZERO_S * 1_000 + ms;

/** ben's next order, placed at a time, which takes 1 of the ask. */
function takes(fill: number, at: number): Line {
  return [buy(`bid${fill}`, 'ben', 1, 600_000, { at, expiration: YEAR_S }), accepted(`bid${fill}`), filled(fill, `bid${fill}`, 'ask', 1, 1)];
}

interface Failure {
  readonly at: number;
  readonly reason?: FailureReason;
  readonly countDefault?: boolean;
}

/** The chain refuses the fill: ben could not pay. With a count, that is a default, which suspends ben until then. */
function fails(fill: number, { at, reason = 'buyer_insufficient_balance', countDefault = true }: Failure, counted?: readonly [number, number | null]): Line {
  return [
    fail(fill, reason, 'buyer', { at, countDefault }), failed(fill),
    ...counted === undefined ? [] : [defaulted('ben', counted[0], counted[1] === null ? null : time(counted[1]))],
    cancelled(`bid${fill}`, 'settlement_failed', 1, 0), reinstated('ask', 1), rested('ask', 1),
  ];
}

function refused(at: number): Line {
  return [buy('x', 'ben', 1, 100_000, { at, expiration: YEAR_S }), rejected('trader_suspended', 'x')];
}

/** ben defaults so often, a second apart, each time as soon as his suspension has ended. */
function defaults(times: number): Line[] {
  const lines: Line[] = [];
  let at = 0;
  for (let n = 1; n <= times; n++) {
    const suspensionMs = n === 1 ? 0 : Math.min(30_000 * 2 ** (n - 2), 3_600_000);
    lines.push(takes(n - 1, at), fails(n - 1, { at: at + 1_000 }, [n, n === 1 ? null : at + 1_000 + suspensionMs]));
    if (n > 1) lines.push(refused(at + 1_000 + suspensionMs - 1));
    at += 1_000 + suspensionMs;
  }
  return lines;
}

const OWN_DOING: readonly FailureReason[] = ['buyer_insufficient_balance', 'buyer_insufficient_allowance', 'transfer_rejected'];
const NOT_OWN_DOING: readonly FailureReason[] = [
  'order_expired', 'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transaction_reverted', 'unknown',
];

const stories: Record<string, Line[]> = {
  'the second default within a day suspends for 30 s, each further one twice as long, up to an hour': [M, ask, ...defaults(11)],

  'a suspended trader\'s orders are rejected until the last millisecond, and one known is repeated': [
    M, ask, takes(0, 0), fails(0, { at: 0 }, [1, null]), takes(1, 1), fails(1, { at: 1_000 }, [2, 31_000]),
    [again('bid1', { at: 1_001 }), repeated('bid1')],
    refused(30_999),
    takes(2, 31_000),
  ],

  'a suspension comes after the market and before the nonce': [
    M, [open('O', { expiration: 100 }), opened('O')], ask, takes(0, 0), fails(0, { at: 0 }, [1, null]),
    [buy('nonce', 'ben', 1, 1, { nonce: 7 }), accepted('nonce'), rested('nonce', 1)],
    takes(1, 90_000),
    [fail(1, 'buyer_insufficient_balance', 'buyer', { at: 90_000, countDefault: true }), failed(1), defaulted('ben', 2, time(120_000)),
      cancelled('bid1', 'settlement_failed', 1, 0), cancelled('nonce', 'settlement_failed', 1), reinstated('ask', 1), rested('ask', 1)],
    [buy('x', 'ben', 1, 1, { market: 'none' }), rejected('unknown_market', 'x')],
    [buy('x', 'ben', 1, 1, { market: 'O', at: 101_000 }), rejected('market_closed', 'x')],
    [buy('x', 'ben', 1, 1, { nonce: 7 }), rejected('trader_suspended', 'x')],
  ],

  'others are not suspended, and neither are the trader\'s open orders': [
    M, ask, [sell('his', 'ben', 5, 900_000), accepted('his'), rested('his', 5)],
    takes(0, 0), fails(0, { at: 0 }, [1, null]), takes(1, 1), fails(1, { at: 1_000 }, [2, 31_000]),
    [buy('hers', 'clara', 5, 900_000, { at: 1_002 }), accepted('hers'), filled(2, 'hers', 'ask', 5, 3)],
    [sell('more', 'anna', 5, 950_000), accepted('more'), rested('more', 5)],
  ],

  'fills that were matched before a default was known fail with it: one default': [
    M, ask, takes(0, 0), takes(1, 0), takes(2, 0),
    fails(0, { at: 1_000 }, [1, null]), fails(2, { at: 1_001 }), fails(1, { at: DAY_MS }),
    takes(3, DAY_MS), fails(3, { at: DAY_MS + 1_000 }, [2, DAY_MS + 31_000]),
  ],

  'a day later the count begins again': [
    M, ask, takes(0, 0), fails(0, { at: 0 }, [1, null]),
    takes(1, 1), fails(1, { at: DAY_MS }, [2, DAY_MS + 30_000]),
    takes(2, DAY_MS + 30_000), fails(2, { at: 2 * DAY_MS + 1 }, [1, null]),
    takes(3, 2 * DAY_MS + 1),
  ],

  'what a trader can bring about alone counts, and nothing else does': [
    M, ask,
    ...OWN_DOING.flatMap((reason, i): Line[] => [takes(i, 2 * i * DAY_MS), fails(i, { at: 2 * i * DAY_MS, reason }, [1, null])]),
    ...NOT_OWN_DOING.flatMap((reason, i): Line[] => [takes(3 + i, 5 * DAY_MS), fails(3 + i, { at: 5 * DAY_MS, reason })]),
  ],

  'nobody defaults when both are to blame, or in a record from before defaults': [
    M, ask, takes(0, 0), fails(0, { at: 0, countDefault: false }), takes(1, 0), fails(1, { at: 0, countDefault: false }),
    takes(2, 0),
    [fail(2, 'buyer_insufficient_balance', 'both', { countDefault: true }), failed(2), cancelled('bid2', 'settlement_failed', 1, 0),
      cancelled('ask', 'settlement_failed', 98 + 1 + 1, 98 + 1)],
    [clock(0)],
  ],

  ...Object.fromEntries((['seller_insufficient_shares', 'seller_not_approved', 'transfer_rejected'] as const).map((reason) => [
    `a seller defaults: ${reason}`, sellersDefault(reason, 'seller'),
  ])),
};

function sellersDefault(reason: FailureReason, culprit: Culprit): Line[] {
  return [
    M, ask, takes(0, 0),
    [fail(0, reason, culprit, { countDefault: true }), failed(0), defaulted('anna', 1, null), cancelled('ask', 'settlement_failed', 100, 99),
      reinstated('bid0', 1), rested('bid0', 1)],
  ];
}

for (const [name, create] of Object.entries(engines)) {
  describe(`defaults, ${name}`, () => {
    for (const [story, lines] of Object.entries(stories)) it(story, () => { play(create(), lines); });
  });
}
