/** The read models of prices and quick markets, event by event: what is kept, what is set once, and how a market ends. */
import assert from 'node:assert/strict';
import type { Event, MarketOpened } from '../../engine/records/events.js';
import { markets } from '../../projections/models/markets.js';
import { prices } from '../../projections/models/prices.js';
import { quickMarkets } from '../../projections/models/quick-markets.js';
import { exampleEvents, subject } from '../support/example-events.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { logOf, outcomesOf, projectTo, readTables, rowsOf, type Rows } from '../support/projected.js';

const AT = 1_700_000_040_000;
const each = exampleEvents;
const MARKET = subject.marketId;
const OTHER = `0x${'ab'.repeat(32)}`;
const MINUTE_MS = 60_000;
const INT64_MAX = '9223372036854775807';

const opened: MarketOpened = { ...each.MarketOpened, marketKind: 'quick', quick: { asset: 'BTC', startTime: 1_700_000_000, endTime: 1_700_000_900 } };
const row = (fields: object = {}) => ({
  number: 0, market_id: MARKET, chain_id: '137', contract_address: opened.contractAddress, asset: 'BTC', start_time: '1700000000', end_time: '1700000900',
  created_at_ms: String(AT), strike_price: null, strike_source: null, strike_at_ms: null, end_price: null, end_source: null, end_at_ms: null,
  outcome: null, paid: null, start_missed: false, end_missed: false, ...fields,
});
const strike = { strike_price: '6140993501000', strike_source: 'pyth', strike_at_ms: '1700000000000' };
const end = { end_price: '6140993501001', end_source: 'pyth', end_at_ms: '1700000900000' };
const priceOf = (asset: string, minutes: number, price = '1'): Event => (
  { ...each.PriceRecorded, asset, price, publishedAt: AT + minutes * MINUTE_MS });
const priceRow = (position: number, asset: string, minutes: number, price = '1') => (
  { position: String(position), asset, source: 'pyth', price, published_at_ms: String(AT + minutes * MINUTE_MS) });

const scenarios: readonly { readonly name: string; readonly history: Event[][]; readonly rows: Rows }[] = [
  { name: 'a quick market opens without prices', history: [[opened]], rows: { quick_markets: [row()] } },
  { name: 'another market has no row, whatever becomes of it', history: [
    [each.MarketOpened], [each.MarketClosed, each.MarketResolved], [each.MarketHalved],
  ], rows: {} },
  { name: 'prices are set, and decide', history: [[opened], [each.StrikePriceSet], [each.EndPriceSet, each.QuickMarketDecided]], rows: {
    quick_markets: [row({ ...strike, ...end, outcome: 0 })],
  } },
  { name: 'the chain pays', history: [[opened], [each.StrikePriceSet, each.EndPriceSet, each.QuickMarketDecided], [each.MarketResolved]], rows: {
    quick_markets: [row({ ...strike, ...end, outcome: 0, paid: 1 })],
  } },
  { name: 'a price is missed, and comes', history: [[opened], [each.PriceMissed], [{ ...each.PriceMissed, boundary: 'end' }], [each.StrikePriceSet]], rows: {
    quick_markets: [row({ ...strike, start_missed: true, end_missed: true })],
  } },
  { name: 'the chain pays half to half', history: [[opened], [each.PriceMissed, each.MarketHalved]], rows: {
    quick_markets: [row({ start_missed: true, paid: 2 })],
  } },
  { name: 'a market opens with the price that its start had already', history: [[opened, each.StrikePriceSet]], rows: { quick_markets: [row(strike)] } },
  { name: 'markets are numbered as they open', history: [
    [opened], [{ ...opened, marketId: OTHER }, { ...each.StrikePriceSet, marketId: OTHER, price: INT64_MAX }],
  ], rows: { quick_markets: [row(), row({ number: 1, market_id: OTHER, created_at_ms: String(AT + 1_000), ...strike, strike_price: INT64_MAX })] } },
  { name: 'prices are kept for 20 minutes before the asset\'s newest one, to the millisecond', history: [
    [priceOf('BTC', 0)], [priceOf('ETH', 0)], [priceOf('BTC', -1)], [priceOf('BTC', 20, INT64_MAX)], [priceOf('BTC', 1)], [priceOf('BTC', -1 / MINUTE_MS)],
  ], rows: {
    prices: [priceRow(0, 'BTC', 0), priceRow(1, 'ETH', 0), priceRow(3, 'BTC', 20, INT64_MAX), priceRow(4, 'BTC', 1)],
  } },
];

describe('projections: prices and quick markets', () => {
  let url: string;
  before(async () => { ({ url } = await testDatabase()); });
  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  for (const { name, history, rows } of scenarios) {
    for (const size of [1, 1_000]) {
      it(`${name} (${size === 1 ? 'batches of one' : 'one batch'})`, async () => {
        const outcomes = outcomesOf(AT, ...history);
        const projections = [prices, quickMarkets];
        await projectTo(outcomes.length, { url, log: await logOf(outcomes), projections, limits: { outcomes: size, events: 1_000 } });
        const tables = await readTables(url, projections);
        assert.deepEqual(
          { prices: rowsOf(tables, 'prices'), quick_markets: rowsOf(tables, 'quick_markets') }, { prices: [], quick_markets: [], ...rows });
      });
    }
  }

  it('the read model of markets has its question as a sentence', async () => {
    const event = {
      ...opened, question: 'BTC up or down, 1700000000 to 1700000900?', description: 'Higher? Times are Unix seconds.',
    };
    const outcomes = outcomesOf(AT, [event]);
    await projectTo(outcomes.length, { url, log: await logOf(outcomes), projections: [markets], limits: { outcomes: 1, events: 1_000 } });
    const [market] = rowsOf(await readTables(url, [markets]), 'markets');
    assert.deepEqual([market!['question'], market!['description']], ['BTC up or down, 14 Nov 2023 22:13:20–22:28:20 UTC?', 'Higher?']);
  });
});
