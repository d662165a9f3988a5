/** Looking up an order: in the read models, and in the replica when they do not have the order yet. */
import assert from 'node:assert/strict';
import { LogUnavailable } from '../../engine/log/log.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import { RequestError } from '../../engine/records/errors.js';
import type { OrderView } from '../../engine/run/view.js';
import { createOrderLookup, findOrder } from '../../query/orders/order.js';
import { createOrderFinder } from '../../command/orders/order-finder.js';

const orderHash = `0x${'ab'.repeat(32)}`;
const marketId = `0x${'cd'.repeat(32)}`;
const trader = `0x${'ef'.repeat(20)}`;
const accepted: CommandOutcome = {
  at: 1_800_000_000_999, events: [
    { type: 'OrderAccepted', v: 1, orderHash, orderNumber: 7, marketId, side: 0, outcome: 1, price: 5, trader, size: '18446744073709551615', nonce: '1', expiration: '2' },
    { type: 'OrderRested', v: 1, orderHash, orderNumber: 7, marketId, side: 0, outcome: 1, price: 5, size: '18446744073709551615' },
  ],
};
const known: OrderView = {
  orderNumber: 7, marketId, chainId: 1, trader, side: 0, size: '18446744073709551615', remaining: '18446744073709551615', status: 'open', asOf: 9,
};
const asPlaced = `{"orderHash":"${orderHash}","marketId":"${marketId}","trader":"${trader}","side":0,"outcome":1,"price":5,`
  + '"size":18446744073709551615,"filledSize":0,"remainingSize":18446744073709551615,"nonce":1,"expiration":2,"status":"open","cancelReason":null,'
  + '"timestamp":1800000000,"history":[{"position":7,"type":"accepted","size":18446744073709551615,"timestamp":1800000000}]}';

/** The look-up over a read model that has `recorded` at log position 5, and the order as soon as somebody has waited for a position. */
function lookup({ recorded = null, live, outcomeOf = () => Promise.resolve(accepted) }: {
  recorded?: string | null; live?: OrderView; outcomeOf?: (position: number) => Promise<CommandOutcome>;
}) {
  const waited: number[] = [];
  const look = createOrderLookup({
    view: { order: () => live }, outcomeOf,
    db: {
      rows: <Row>() => Promise.resolve([{ body: waited.length > 0 ? '{"later":true}' : recorded, position: '5' } as Row]),
      waitForPosition: (position) => {
        waited.push(position);
        return Promise.resolve();
      },
    },
  });
  return { waited, look: async () => look({ orderHash }, { ip: '', signal: new AbortController().signal }) };
}

const codeOf = (work: Promise<unknown>) => work.then(() => assert.fail('answered'), (error: unknown) => {
  assert.ok(error instanceof RequestError, String(error));
  return error;
});

describe('service: finding an order for the command side', () => {
  const row = {
    orderNumber: '7', orderHash, marketId, trader, side: 0, size: '9', remaining: '4', status: 'open', closeReason: null, closedPosition: null,
  };
  const market = { marketId, chainId: 1, expiration: 0, closed: false, winner: undefined, tokens: undefined };
  const recorded = { orderNumber: 7, marketId, trader, side: 0, status: 'open', chainId: 1, size: '9', remaining: '4' };
  /** The finder over a read model that has the order. `stepped` is what the view knows of it once the read model was asked. */
  const finder = ({ live, stepped, position }: { live?: OrderView; stepped?: OrderView; position: number }) => {
    let asked = false;
    const rows = <Row>() => {
      asked = true;
      return Promise.resolve([row as Row]);
    };
    const view = { position, market: () => market, order: () => asked ? stepped : live };
    return createOrderFinder(view, (hash) => findOrder({ rows }, hash))(orderHash);
  };

  it('asks the replica first', async () => { assert.deepEqual(await finder({ live: known, position: 9 }), known); });

  it('asks the read models for an order that the engine has forgotten, and says so', async () => {
    assert.deepEqual(await finder({ position: 9 }), { ...recorded, forgotten: true });
  });

  it('does not call an order forgotten that the replica has not come to yet, or came to meanwhile', async () => {
    assert.deepEqual(await finder({ position: 7 }), { ...recorded, forgotten: false });
    assert.deepEqual(await finder({ stepped: known, position: 9 }), known);
  });
});

describe('service: looking up an order', () => {
  it('is answered from the read models when they have it', async () => {
    const { look, waited } = lookup({ recorded: '{}', live: known });
    assert.deepEqual([await look(), waited], [{ body: '{}', position: 5 }, []]);
  });

  it('is answered from the replica right after the order was accepted, at the order\'s own position', async () => {
    const { look, waited } = lookup({ live: known });
    assert.deepEqual([await look(), waited], [{ body: asPlaced, position: 7 }, []]);
  });

  for (const [what, change] of [['filled in part', { remaining: '1' }], ['cancelled', { status: 'cancelled' }]] as const) {
    it(`waits for the read models when the order has been ${what} since`, async () => {
      const { look, waited } = lookup({ live: { ...known, ...change } });
      assert.deepEqual([await look(), waited], [{ body: '{"later":true}', position: 5 }, [9]]);
    });
  }

  it('says how to wait for an order that nobody here knows', async () => {
    const { code, message } = await codeOf(lookup({}).look());
    assert.equal(code, 'unknown_order');
    assert.match(message, /the read models are at log position 5; .*send the X-Log-Position of its answer as X-Min-Log-Position$/);
  });

  it('is unavailable when the log cannot be read', async () => {
    assert.equal((await codeOf(lookup({ live: known, outcomeOf: () => Promise.reject(new LogUnavailable(false)) }).look())).code, 'unavailable');
  });
});
