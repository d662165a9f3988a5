/** Prices and quick markets, as scenarios: which price counts at a start and an end, and who has won. They hold for both engines. */
import type { RecordPrice } from '../../engine/records/commands.js';
import { engines } from '../reference/compared-engines.js';
import {
  TX_HASH, ZERO_S, address, buy, bytes32, clock, closed, factOf, open, opened, play, rejected, rejectedOf, says, tell, times, tokenized,
  type Line, type Place,
} from '../support/scenario.js';

/** When it was published, in milliseconds after second 0; which price; which source; when it is recorded (default: at once). */
type Priced = readonly [number, number, { rank?: number; at?: number; asset?: string }?];

const SOURCES = ['pyth', 'coinbase', 'binance'];
const fieldsOf = ([afterMs, price, { rank = 0, asset = 'BTC' } = {}]: Priced): Omit<RecordPrice, 'kind' | 'v' | 'at'> => (
  { asset, source: SOURCES[rank]!, rank, price: String(price), publishedAt: ZERO_S * 1_000 + afterMs });
const observe = (...priced: Priced) => tell({ kind: 'RecordPrice', ...fieldsOf(priced) }, { at: priced[2]?.at ?? priced[0] });
const recorded = (...priced: Priced) => says({ type: 'PriceRecorded', ...fieldsOf(priced) });
const countedOf = (market: string, priced: Priced) => {
  const { source, price, publishedAt } = fieldsOf(priced);
  return { marketId: bytes32(market), source, price, publishedAt };
};
const strike = (market: string, ...priced: Priced) => says({ type: 'StrikePriceSet', ...countedOf(market, priced) });
const ended = (market: string, ...priced: Priced) => says({ type: 'EndPriceSet', ...countedOf(market, priced) });
const decided = (market: string, winningOutcome: 0 | 1) => says({ type: 'QuickMarketDecided', marketId: bytes32(market), winningOutcome });
const missed = (market: string, boundary: 'start' | 'end') => says({ type: 'PriceMissed', marketId: bytes32(market), boundary });
const halve = (market: string, fact?: Place) => tell({ kind: 'HalveMarket', marketId: bytes32(market), ...factOf(fact === undefined ? {} : { fact }) });
const halved = (market: string) => says({ type: 'MarketHalved', marketId: bytes32(market) });
const resolve = (market: string) => tell({ kind: 'ResolveMarket', marketId: bytes32(market), winningOutcome: 1 });
const resolved = (market: string) => says({ type: 'MarketResolved', marketId: bytes32(market), winningOutcome: 1 });

const moved = { from: address('anna'), to: address('ben'), txHash: TX_HASH };
const move = (token: string) => tell({ kind: 'RecordTransfer', chainId: 1, ...moved, items: [{ token: bytes32(token), amount: '7' }] });
const DAYS_30 = 30 * 86_400_000;

/** Second 100 to second 1,000, opened at second 0. */
const Q: Line = [open('Q', { at: 0, quick: ['BTC', 100], expiration: 1_000 }), opened('Q')];
/** The next one, to second 1,900. */
const R: Line = [open('R', { at: 0, quick: ['BTC', 1_000], expiration: 1_900 }), opened('R')];
const old = rejectedOf('old_price', 'BTC');
const struck: Line = [observe(100_000, 500), recorded(100_000, 500), strike('Q', 100_000, 500)];

const scenarios: Record<string, Line[]> = {
  'the first price of the first source at a start and at an end counts, at once': [
    Q, [observe(99_999, 400), recorded(99_999, 400)], struck,
    [observe(101_000, 600), recorded(101_000, 600)],
    [observe(1_000_000, 501), recorded(1_000_000, 501), ended('Q', 1_000_000, 501), decided('Q', 0)],
    [observe(1_001_000, 9), recorded(1_001_000, 9)],
  ],
  'a lower price at the end is NO': [Q, struck, [observe(1_000_000, 499), recorded(1_000_000, 499), ended('Q', 1_000_000, 499), decided('Q', 1)]],
  'a tie is YES': [Q, struck, [observe(1_000_000, 500), recorded(1_000_000, 500), ended('Q', 1_000_000, 500), decided('Q', 0)]],
  'prices are compared as numbers, to the last of 63 bits': [
    Q, [tell({ kind: 'RecordPrice', ...fieldsOf([100_000, 1]), price: '9223372036854775807' }, { at: 100_000 }),
      says({ type: 'PriceRecorded', ...fieldsOf([100_000, 1]), price: '9223372036854775807' }),
      says({ type: 'StrikePriceSet', ...countedOf('Q', [100_000, 1]), price: '9223372036854775807' })],
    [tell({ kind: 'RecordPrice', ...fieldsOf([1_000_000, 1]), price: '9223372036854775806' }, { at: 1_000_000 }),
      says({ type: 'PriceRecorded', ...fieldsOf([1_000_000, 1]), price: '9223372036854775806' }),
      says({ type: 'EndPriceSet', ...countedOf('Q', [1_000_000, 1]), price: '9223372036854775806' }), decided('Q', 1)],
  ],
  'a window is 15 s long, both ends included': [
    Q, [observe(115_001, 1), recorded(115_001, 1)], [observe(115_000, 2), recorded(115_000, 2), strike('Q', 115_000, 2)],
  ],
  'the end of one market is the start of the next, at one price': [
    Q, R, struck,
    [observe(1_000_500, 7), recorded(1_000_500, 7), ended('Q', 1_000_500, 7), decided('Q', 1), strike('R', 1_000_500, 7)],
  ],
  'another source is waited with, for a better one or an earlier price of its own, until nothing more can come': [
    Q, [observe(101_000, 5, { rank: 2 }), recorded(101_000, 5, { rank: 2 })],
    [observe(102_000, 6, { rank: 2 }), recorded(102_000, 6, { rank: 2 })],
    [observe(103_000, 7, { rank: 1 }), recorded(103_000, 7, { rank: 1 })],
    [observe(100_500, 8, { rank: 1, at: 104_000 }), recorded(100_500, 8, { rank: 1 })],
    [observe(100_000, 9, { rank: 2, at: 104_000 }), old],
    [clock(119_999)],
    [clock(120_000), strike('Q', 100_500, 8, { rank: 1 })],
    [observe(100_000, 9, { rank: 0, at: 120_000 }), old],
  ],
  'the first source counts when it comes after others': [
    Q, [observe(101_000, 5, { rank: 1 }), recorded(101_000, 5, { rank: 1 })],
    [observe(114_000, 6), recorded(114_000, 6), strike('Q', 114_000, 6)],
  ],
  'a price that is missed is told once, and still counts when it comes, from any source': [
    Q, [clock(119_999)], [clock(120_000), missed('Q', 'start')], [clock(121_000)],
    [observe(1_000_000, 500, { rank: 1 }), recorded(1_000_000, 500, { rank: 1 })],
    [clock(1_020_000), closed('Q')],
    [clock(1_020_000), ended('Q', 1_000_000, 500, { rank: 1 })],
    [observe(100_000, 501, { rank: 2, at: 9_000_000 }), recorded(100_000, 501, { rank: 2 }), strike('Q', 100_000, 501, { rank: 2 }), decided('Q', 1)],
  ],
  'the clock passes one boundary at a time, by time and then by asset, after it has closed markets': [
    [open('E', { at: 0, quick: ['ETH', 100], expiration: 1_000 }), opened('E')], Q, R,
    [clock(5_000_000), closed('E'), closed('Q'), closed('R')],
    [clock(5_000_000), missed('Q', 'start')], [clock(5_000_000), missed('E', 'start')],
    [clock(5_000_000), missed('Q', 'end'), missed('R', 'start')], [clock(5_000_000), missed('E', 'end')],
    [clock(5_000_000), missed('R', 'end')], [clock(5_000_000)],
  ],
  'one price per second and asset is recorded': [
    [observe(5_000, 1), recorded(5_000, 1)], [observe(5_999, 2), old], [observe(5_999, 2, { asset: 'ETH' }), recorded(5_999, 2, { asset: 'ETH' })],
    [observe(4_000, 3, { at: 6_000 }), old], [observe(6_000, 3), recorded(6_000, 3)],
  ],
  'a price from the future is refused': [
    [observe(6_001, 1, { at: 5_000 }), rejectedOf('future_price', 'BTC')], [observe(6_000, 1, { at: 5_000 }), recorded(6_000, 1)],
  ],
  'a market that opens late has the price of its start at once, and a price recorded before it may be the best': [
    Q, struck,
    [open('L', { at: 110_000, quick: ['BTC', 100], expiration: 500 }), opened('L'), strike('L', 100_000, 500)],
    [open('M', { at: 110_000, quick: ['BTC', 105], expiration: 500 }), opened('M')],
    [observe(106_000, 4, { at: 110_000 }), recorded(106_000, 4), strike('M', 106_000, 4)],
  ],
  'a quick market lasts 20 s to a day': [
    [open('Q', { at: 0, quick: ['BTC', 981], expiration: 1_000 }), rejected('invalid_expiration', 'Q')],
    [open('Q', { at: 0, quick: ['BTC', 1_000], expiration: 1_000 }), rejected('invalid_expiration', 'Q')],
    [open('Q', { at: 0, quick: ['BTC', 980], expiration: 1_000 }), opened('Q')],
    [open('D', { at: 0, quick: ['BTC', 599], expiration: 87_000 }), rejected('invalid_expiration', 'D')],
    [open('D', { at: 0, quick: ['BTC', 600], expiration: 87_000 }), opened('D')],
  ],
  'a market that is recorded after its end has its shares, its prices and its end like any other': [
    [open('Q', { at: 2_000_000, quick: ['BTC', 100], expiration: 1_000, tokens: ['y', 'n'] }), opened('Q'), tokenized('Q', ['y', 'n']), closed('Q')],
    [buy('bid', 'ben', 1, 500_000, { market: 'Q' }), rejected('market_closed', 'bid')],
    [move('y'), says({ type: 'SharesTransferred', marketId: bytes32('Q'), outcome: 0, ...moved, amount: '7' })],
    [clock(2_000_000), missed('Q', 'start')],
    [observe(1_003_000, 500, { rank: 1, at: 2_000_000 }), recorded(1_003_000, 500, { rank: 1 }), ended('Q', 1_003_000, 500, { rank: 1 })],
    [observe(100_000, 501, { rank: 2 }), recorded(100_000, 501, { rank: 2 }), strike('Q', 100_000, 501, { rank: 2 }), decided('Q', 1)],
    [resolve('Q'), resolved('Q')], [move('y'), says({ type: 'SharesTransferred', marketId: bytes32('Q'), outcome: 0, ...moved, amount: '7' })],
    [open('H', { quick: ['BTC', 100], expiration: 1_000 }), opened('H'), closed('H'), strike('H', 100_000, 501, { rank: 2 }),
      ended('H', 1_003_000, 500, { rank: 1 }), decided('H', 1)],
    [halve('H'), halved('H')],
  ],
  'a market that is recorded after its end is told what its boundaries have, and what they have missed': [
    Q, struck, [clock(1_000_000), closed('Q')], [clock(1_020_000), missed('Q', 'end')],
    [open('L', { quick: ['BTC', 100], expiration: 1_000 }), opened('L'), closed('L'), strike('L', 100_000, 500), missed('L', 'end')],
    [open('R', { quick: ['BTC', 1_000], expiration: 1_900 }), opened('R'), missed('R', 'start')],
    [open('S', { quick: ['BTC', 1_000], expiration: 1_900, ifOver: 'reject' }), opened('S')],
    [observe(1_001_000, 499, { at: 1_100_000 }), recorded(1_001_000, 499), ended('Q', 1_001_000, 499), decided('Q', 1), ended('L', 1_001_000, 499),
      decided('L', 1), strike('R', 1_001_000, 499), strike('S', 1_001_000, 499)],
    [open('N', { quick: ['BTC', 100], expiration: 1_000 }), opened('N'), closed('N'), strike('N', 100_000, 500), ended('N', 1_001_000, 499), decided('N', 1)],
  ],
  'also where the other markets of a missed boundary have ended since': [
    Q, [clock(120_000), missed('Q', 'start')], [halve('Q'), closed('Q'), halved('Q')],
    [open('L', { at: 2_000_000, quick: ['BTC', 100], expiration: 1_000 }), opened('L'), closed('L'), missed('L', 'start')],
    [clock(2_000_000), missed('L', 'end')], [clock(2_000_000)],
  ],
  'what is wrong with a market remains so after its end': [
    [open('Q', { at: 2_000_000, quick: ['BTC', 981], expiration: 1_000 }), rejected('invalid_expiration', 'Q')],
    [open('Q', { quick: ['BTC', 100], expiration: 1_000, ifOver: 'reject' }), rejected('invalid_expiration', 'Q')],
    ...times(100, (i) => [[open(`n${i}`, { quick: ['BTC', 100], expiration: 200 + i }), opened(`n${i}`), closed(`n${i}`)]]),
    [open('Q', { quick: ['BTC', 100], expiration: 999 }), rejected('too_many_markets', 'Q')],
  ],
  'a boundary that no market waits for is forgotten after 30 days': [
    Q, struck,
    [open('L', { at: DAYS_30 + 100_000, quick: ['BTC', 100], expiration: 1_000 }), opened('L'), closed('L'), strike('L', 100_000, 500)],
    [open('M', { at: DAYS_30 + 100_001, quick: ['BTC', 100], expiration: 1_000 }), opened('M'), closed('M')],
    [clock(DAYS_30 + 100_001), closed('Q')], [clock(DAYS_30 + 100_001), missed('M', 'start')],
    [clock(DAYS_30 + 2_000_000), missed('Q', 'end'), missed('L', 'end'), missed('M', 'end')],
    [open('N', { quick: ['BTC', 100], expiration: 1_000 }), opened('N'), closed('N'), missed('N', 'start'), missed('N', 'end')],
    [observe(100_000, 501, { at: DAYS_30 + 2_000_000 }), recorded(100_000, 501), strike('M', 100_000, 501), strike('N', 100_000, 501)],
  ],
  'at most 100 markets start or end at a time': [
    ...times(100, (i) => [[open(`n${i}`, { at: 0, quick: ['BTC', 100], expiration: 200 + i }), opened(`n${i}`)]]),
    [open('Q', { at: 0, quick: ['BTC', 100], expiration: 999 }), rejected('too_many_markets', 'Q')],
    [open('Q', { at: 0, quick: ['BTC', 0], expiration: 100 }), rejected('too_many_markets', 'Q')],
    [open('Q', { at: 0, quick: ['ETH', 100], expiration: 999 }), opened('Q')],
  ],
  'the chain may pay half to half: then the market has ended, and prices change nothing': [
    Q, R, struck, [clock(1_000_000), closed('Q')],
    [halve('Q', [1, 5, 0]), halved('Q')], [halve('Q', [1, 5, 1]), rejected('market_resolved', 'Q')], [resolve('Q'), rejected('market_resolved', 'Q')],
    [observe(1_000_000, 7), recorded(1_000_000, 7), strike('R', 1_000_000, 7)],
    [halve('none'), rejected('unknown_market', 'none')], [halve('R', [2, 0, 0]), rejected('unknown_market', 'R')],
    [halve('R'), closed('R'), halved('R')],
  ],
  'a market that the chain resolved needs no price': [
    Q, [resolve('Q'), closed('Q'), resolved('Q')], [observe(50_000, 1, { at: 120_000 }), recorded(50_000, 1)],
    [observe(49_999, 1, { at: 120_000 }), old], [clock(5_000_000)],
  ],
};

for (const [name, create] of Object.entries(engines)) {
  describe(`${name}, with prices`, () => {
    for (const [what, lines] of Object.entries(scenarios)) it(what, () => { play(create(), lines); });
  });
}
