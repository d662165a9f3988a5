/** A projection's table of events: every type has an entry, or the program does not compile; only handlers are called, in the order of the log. */
import assert from 'node:assert/strict';
import { eventSchemas, type Event } from '../../engine/records/events.js';
import { foldEvents, ignoredBy, type EventTable, type EventType } from '../../projections/event-table.js';
import { projections } from '../../projections/catalogue.js';
import { eventOfEachType } from '../support/event-of-each-type.js';

const types = Object.keys(eventSchemas) as EventType[];
const nothing = Object.fromEntries(types.map((type) => [type, 'ignored'])) as EventTable<unknown>;

describe('event table', () => {
  it('does not compile without an entry for every event type, nor with one that does not fit', () => {
    const { ChainAdvanced, ...others } = nothing;
    assert.equal(ChainAdvanced, 'ignored');
    // @ts-expect-error An event type without an entry: a new type needs a decision in every projection.
    const incomplete: EventTable<unknown> = others;
    // @ts-expect-error An entry for an event that there is not.
    const superfluous: EventTable<unknown> = { ...others, ChainAdvanced: 'ignored', OrderForgotten: 'ignored' };
    // @ts-expect-error A handler of another event's fields.
    const mistaken: EventTable<unknown> = { ...others, ChainAdvanced: (_, { orderNumber }) => orderNumber };
    // @ts-expect-error Neither a handler nor 'ignored'.
    const undecided: EventTable<unknown> = { ...others, ChainAdvanced: undefined };
    assert.ok([incomplete, superfluous, mistaken, undecided].every((table) => typeof table === 'object'));
  });

  it('hands each event to the handler of its type, with its outcome, in the order of the log', () => {
    const { MarketOpened, ChainAdvanced, FillFailed } = eventOfEachType;
    const table: EventTable<unknown[]> = {
      ...nothing,
      ChainAdvanced: (seen, { block }, { position }) => { seen.push(['block', block, position]); },
      MarketOpened: (seen, { marketId }, { at }) => { seen.push(['market', marketId, at]); },
    };
    const batch = [
      { position: 7, at: 70, events: [ChainAdvanced, FillFailed, MarketOpened] }, { position: 8, at: 80, events: [] },
      { position: 9, at: 90, events: [{ ...ChainAdvanced, block: 99 }] },
    ];
    assert.deepEqual(foldEvents(table, batch, []), [['block', ChainAdvanced.block, 7], ['market', MarketOpened.marketId, 70], ['block', 99, 9]]);
  });

  it('does not skip an event that it has no entry for', () => {
    const unknown = { type: 'OrderForgotten' } as unknown as Event;
    assert.throws(() => foldEvents(nothing, [{ position: 0, at: 0, events: [unknown] }], []), TypeError);
  });

  it('lists the types that several tables all ignore', () => {
    const handling = (type: EventType) => ({ ...nothing, [type]: () => undefined });
    const left = types.filter((type) => type !== 'OrderRested' && type !== 'FillMatched');
    assert.deepEqual(ignoredBy(handling('OrderRested'), handling('FillMatched')), new Set(left));
  });

  it('is not empty in any projection, and every event that has rows is handled by one', () => {
    for (const { name, ignored } of projections) assert.ok(ignored.size < types.length, name);
    assert.deepEqual(types.filter((type) => projections.every(({ ignored }) => ignored.has(type))),
      ['NonceFloorRaised', 'TraderDefaulted', 'ChainAdvanced', 'AnchorPassedOver', 'OrderRepeated', 'CancelRepeated', 'CommandRejected']);
  });
});
