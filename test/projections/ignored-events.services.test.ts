/** An event without a handler in a projection changes none of its rows, also when the rows that the event is about are there. */
import assert from 'node:assert/strict';
import type { Event } from '../../engine/records/events.js';
import { projections } from '../../projections/catalogue.js';
import { exampleEvents, subject } from '../support/example-events.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { logOf, outcomesOf, projectTo, readTables, type Rows } from '../support/projected.js';

const AT = 1_700_000_040_000;
const each = exampleEvents;

/** Every table has a row that a later event could change: a market, resting orders, a fill, shares, a payment, an assertion, a claim. */
const history: Event[][] = [
  [each.MarketOpened], [each.OrderAccepted, each.OrderRested],
  [each.OrderReduced],
  [{ ...each.OrderAccepted, orderHash: `0x${'02'.padStart(64, '0')}`, orderNumber: 2, side: 1, trader: subject.bob }, each.FillMatched],
  [each.SettlementSubmitted], [{ ...each.FillMatched, fill: 77, size: '1' }], [{ ...each.FillFailed, fill: 77, size: '1' }],
  // As many messages as a block of their positions has.
  ...Array.from({ length: 16 }, (_, n): Event[] => [{ ...each.FillMatched, fill: 78 + n, size: '1' }]),
  Array.from({ length: 16 }, (_, n): Event => ({ ...each.OrderRested, price: 1_000 + n })),
  [each.SharesTransferred], [each.PositionRedeemed], [each.ResolutionProposed],
  [each.RelayRequested], [each.PriceRecorded],
  [{ ...each.MarketOpened, marketId: `0x${'ab'.repeat(32)}`, quick: { asset: 'BTC', startTime: 1_800_000_000 - 900, endTime: 1_800_000_000 } }],
];

describe('projections: ignored events', () => {
  let url: string;
  before(async () => { ({ url } = await testDatabase()); });

  for (const projection of projections) {
    it(`leave every row of ${projection.name} as it was`, async () => {
      const rowsAfter = async (...events: Event[][]): Promise<Rows> => {
        await runSql(url, 'drop schema if exists read_models cascade');
        const outcomes = outcomesOf(AT, ...history, ...events);
        await projectTo(outcomes.length, { url, log: await logOf(outcomes), projections: [projection] });
        const { projection: versions, checkpoint, ...rows } = await readTables(url, [projection]);
        assert.deepEqual([versions?.length, checkpoint?.[0]?.['position']], [1, String(outcomes.length)]);
        return rows;
      };
      const before = await rowsAfter();
      assert.deepEqual(Object.keys(before).filter((table) => before[table]?.length === 0), [], 'a table is empty: add an event that fills it to `history`');
      const ignored = Object.values<Event>(each).filter(({ type }) => !projection.handles.has(type));
      assert.ok(ignored.length > 0);
      assert.deepEqual(await rowsAfter(...ignored.map((event) => [event])), before);
    });
  }
});
