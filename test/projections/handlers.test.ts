/** A read model's handlers: of events that there are, called in the order of the log; all other events are ignored. */
import assert from 'node:assert/strict';
import { projections } from '../../projections/catalogue.js';
import { foldEvents, handledBy, type Handlers } from '../../projections/projection.js';
import { exampleEvents } from '../support/example-events.js';

describe('projections: handlers', () => {
  it('do not compile for an event that there is not, nor with the fields of another event', () => {
    // @ts-expect-error A handler of an event that there is not.
    const superfluous: Handlers<unknown> = { OrderForgotten: () => undefined };
    // @ts-expect-error A handler of another event's fields.
    const mistaken: Handlers<unknown> = { ChainAdvanced: (_, { orderNumber }) => orderNumber };
    // @ts-expect-error Not a handler.
    const undecided: Handlers<unknown> = { ChainAdvanced: undefined };
    assert.ok([superfluous, mistaken, undecided].every((handlers) => typeof handlers === 'object'));
  });

  it('get each event of their type, with its outcome, in the order of the log, and no other event', () => {
    const { MarketOpened, ChainAdvanced, FillFailed } = exampleEvents;
    const handlers: Handlers<unknown[]> = {
      ChainAdvanced: (seen, { block }, { position }) => { seen.push(['block', block, position]); },
      MarketOpened: (seen, { marketId }, { at }) => { seen.push(['market', marketId, at]); },
    };
    const batch = [
      { position: 7, at: 70, events: [ChainAdvanced, FillFailed, MarketOpened] }, { position: 8, at: 80, events: [] },
      { position: 9, at: 90, events: [{ ...ChainAdvanced, block: 99 }] },
    ];
    assert.deepEqual(foldEvents(handlers, batch, []), [
      ['block', ChainAdvanced.block, 7], ['market', MarketOpened.marketId, 70], ['block', 99, 9],
    ]);
  });

  it('name together the event types that a projection handles', () => {
    const nothing = () => undefined;
    const handled = handledBy({ OrderRested: nothing, FillMatched: nothing }, { FillMatched: nothing, MarketOpened: nothing });
    assert.deepEqual(handled, new Set(['OrderRested', 'FillMatched', 'MarketOpened']));
  });

  it('are in every projection', () => {
    assert.deepEqual(projections.filter(({ handles }) => handles.size === 0).map(({ name }) => name), []);
  });
});
