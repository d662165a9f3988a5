/** What a filter of the history lets through: by market, by trader and by type, all of one and the same event. */
import assert from 'node:assert/strict';
import type { RowSource } from '../../query/statement.js';
import { matching, ownOrdersIn, type Entry, type HistoryFilter } from '../../query/history/filter.js';
import { logOf } from '../support/projected.js';
import { addressOf, restingOrder } from '../support/stream-scene.js';

const address = (n: number) => `0x${n.toString(16).padStart(40, 'a')}`;
const bytes32 = (n: number) => `0x${n.toString(16).padStart(64, 'b')}`;

const [ALICE, BOB, CAROL] = [address(1), address(2), address(3)];
const [RAIN, SUN] = [bytes32(1), bytes32(2)];

type Json = Record<string, unknown>;

/** Each entry's command and its events. Alice has placed order 0, Bob orders 1 and 5. */
const ENTRIES: readonly (readonly [command: Json, ...events: Json[]])[] = [
  [{ kind: 'PlaceOrder', marketId: RAIN, trader: ALICE }, { type: 'OrderAccepted', marketId: RAIN, trader: ALICE, orderNumber: 0 }, { type: 'OrderRested', marketId: RAIN, orderNumber: 0 }],
  [
    { kind: 'PlaceOrder', marketId: RAIN, trader: BOB }, { type: 'OrderAccepted', marketId: RAIN, trader: BOB, orderNumber: 1 },
    { type: 'FillMatched', marketId: RAIN, buyer: ALICE, seller: BOB, makerNumber: 0, takerNumber: 1 },
  ],
  [{ kind: 'PlaceOrder', marketId: SUN, trader: CAROL }, { type: 'CommandRejected', code: 'duplicate_nonce', subject: bytes32(9) }],
  [{ kind: 'AdvanceClock' }, { type: 'OrderCancelled', marketId: RAIN, orderNumber: 0 }, { type: 'MarketClosed', marketId: SUN }],
  [{ kind: 'SubmitSettlement', fills: [0] }, { type: 'SettlementSubmitted', fills: [0] }],
  [{ kind: 'RecordTransfer', from: ALICE, to: CAROL }, { type: 'SharesTransferred', marketId: SUN, from: ALICE, to: CAROL }],
  [{ kind: 'RequestRelay', owner: CAROL, claims: [{ marketId: RAIN }, { marketId: SUN }] }, { type: 'RelayRequested', owner: CAROL, claims: [{ marketId: RAIN }, { marketId: SUN }] }],
  [{ kind: 'AdvanceClock' }],
  [{ kind: 'OpenMarket', marketId: SUN, description: `Not about ${RAIN} or ${BOB}` }, { type: 'MarketOpened', marketId: SUN, description: `Not about ${RAIN} or ${BOB}`, maker: BOB }],
  [{ kind: 'CancelOrder', orderHash: bytes32(7), marketId: RAIN, trader: BOB }, { type: 'CancelRepeated', orderHash: bytes32(7), orderNumber: 5 }],
  [{ kind: 'CancelOrder', orderHash: bytes32(7), marketId: RAIN }, { type: 'CommandRejected', code: 'unknown_order' }],
];

const entries: Entry[] = ENTRIES.map(([command, ...events], position) => ({
  command: { position, id: '', data: Buffer.from(JSON.stringify(command)) },
  outcome: { position, id: '', data: Buffer.from(JSON.stringify({ at: 1, events })) },
}));

describe('query: the filter of the history', () => {
  const placed: Readonly<Record<string, readonly number[]>> = { [ALICE]: [0], [BOB]: [1, 5] };
  const ownOrders = (trader: string, numbers: readonly number[]) => (
    Promise.resolve(new Set(numbers.filter((number) => placed[trader]?.includes(number)))));
  const cases: [what: string, filter: HistoryFilter, positions: number[]][] = [
    ['nothing asked for', {}, ENTRIES.map((_, i) => i)],
    ['a market', { market: RAIN }, [0, 1, 3, 6, 9, 10]],
    ['another market, whose text names the first', { market: SUN }, [2, 3, 5, 6, 8]],
    ['a market that nobody has', { market: bytes32(77) }, []],
    ['a trader: also as a party of a fill, a sender, and by an order that time has cancelled', { trader: ALICE }, [0, 1, 3, 5]],
    ['a trader who has placed and cancelled, not a market\'s maker', { trader: BOB }, [1, 9]],
    ['a trader whose order was refused, who got shares and claims', { trader: CAROL }, [2, 5, 6]],
    ['a type', { event: 'OrderCancelled' }, [3]],
    ['a type that the history does not have', { event: 'FillFailed' }, []],
    ['type and market of one event', { event: 'OrderCancelled', market: RAIN }, [3]],
    ['type and market of different events', { event: 'OrderCancelled', market: SUN }, []],
    ['type and trader of one event', { event: 'OrderAccepted', trader: BOB }, [1]],
    ['type and trader of different events', { event: 'OrderAccepted', trader: CAROL }, []],
    ['a rejection by its command\'s market and trader', { event: 'CommandRejected', market: SUN, trader: CAROL }, [2]],
    ['a rejection of a command without a trader', { event: 'CommandRejected', market: RAIN }, [10]],
    ['all three', { event: 'FillMatched', market: RAIN, trader: ALICE }, [1]],
    ['a cancelled order by trader and market', { event: 'OrderCancelled', market: RAIN, trader: ALICE }, [3]],
    ['a settlement, which names fills only', { event: 'SettlementSubmitted', market: RAIN }, []],
  ];
  for (const [what, filter, positions] of cases) {
    it(what, async () => {
      const found = await matching(entries, filter, ownOrders);
      assert.deepEqual(found.map(({ command }) => command.position), positions);
    });
  }

  it('asks the log whose an order is that the read models have no more', async () => {
    const rows = () => Promise.resolve([{ number: '7', own: false }, { number: '8', own: true }]);
    const log = await logOf([restingOrder(0, 3), restingOrder(1, 4)]);
    const ownOrders = ownOrdersIn({ rows: rows as RowSource['rows'] }, log);
    assert.deepEqual(await ownOrders(addressOf(3), [7, 8, 0, 1]), new Set([8, 0]));
  });
});
