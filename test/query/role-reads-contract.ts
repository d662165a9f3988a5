/** What roles get from the read models, wherever those are: Postgres', and those in memory that the simulation and the harness use. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import type { OrderReads } from '../../command/orders/role.js';
import type { EndedRelays } from '../../command/relayer/role.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import { createReferenceEngine } from '../reference/engine.js';
import { referencePositions } from '../reference/positions.js';
import { outcomesOf, randomOutcomes } from '../support/projected.js';

export interface RoleReadsAdapter {
  readonly orders: OrderReads;
  readonly relays: EndedRelays;
  /** Records the outcomes, and resolves when they are in the read models. */
  record(outcomes: readonly CommandOutcome[]): Promise<void>;
  close(): Promise<void>;
}

const hash = (byte: string) => `0x${byte.repeat(32)}`;
const address = (byte: string) => `0x${byte.repeat(20)}`;
const [market, trader] = [hash('a1'), address('b1')];

const opened: Event = {
  type: 'MarketOpened', v: 2, marketId: market, question: 'Will it?', description: '', category: 'general', contractAddress: address('c1'),
  maker: address('d1'), expiration: 1_900_000_000, chainId: 1, marketKind: 'standard', quick: null,
};
const order = { v: 1, marketId: market, side: 0, outcome: 0, price: 400_000 } as const;
const accepted = (orderNumber: number, size = '10'): Event => ({
  ...order, type: 'OrderAccepted', orderNumber, orderHash: hash(`e${orderNumber}`), trader, size, nonce: String(orderNumber), expiration: '1800000000',
});
const requested = (requestId: string): Event => (
  { type: 'RelayRequested', v: 1, requestId, chainId: 1, action: 'ctf-redemption', owner: trader, claims: [] });
const submitted = (requestId: string, txHash: string): Event => ({ ...requested(requestId), type: 'RelaySubmitted', txHash } as Event);
const ended = (requestId: string, txHash: string | null, ...succeeded: boolean[]): Event => (
  { ...requested(requestId), type: 'RelayEnded', txHash, results: succeeded.map((each) => ({ succeeded: each, reason: each ? null : 'no' })) } as Event);

/** Registers the tests; each has read models of its own. */
export function describeRoleReads(make: () => Promise<RoleReadsAdapter>): void {
  let adapter: RoleReadsAdapter;
  beforeEach(async () => { adapter = await make(); });
  afterEach(() => adapter.close());

  const record = (...lists: Event[][]) => adapter.record(outcomesOf(1_700_000_000_000, ...lists));

  it('orders and positions after a random history are those of the reference', async () => {
    const engine = createReferenceEngine();
    const outcomes = randomOutcomes(5, 800, engine);
    await adapter.record(outcomes);
    const { orders } = adapter;
    const found = await Promise.all(engine.orders().map(({ placed }) => orders.order(placed.orderHash)));
    deepEqual(found.map((each) => [each?.orderNumber, each?.remaining, each?.status, each?.closedPosition === null]),
      engine.orders().map(({ number, remaining, status }) => [number, remaining, status, status === 'open']));
    const held = [...referencePositions(outcomes)];
    ok(held.length > 10 && found.length > 100);
    for (const [key, { shares }] of held) {
      const [marketId = '', user = '', outcome] = key.split(' ');
      const position = await orders.position({ marketId, user });
      equal(outcome === '0' ? position.yesShares : position.noShares, shares, key);
    }
  });

  it('an order has its terms, and how it ended with the position of the command that closed it; reinstated it is open again', async () => {
    const fill = {
      v: 1, marketId: market, fill: 0, outcome: 0, price: 400_000, size: '10', cost: '4', takerSide: 1, makerNumber: 1, takerNumber: 2, buyer: trader,
      seller: trader,
    } as const;
    const known = { orderNumber: 1, marketId: market, trader, side: 0, size: 10n };
    const of = async (number: number) => {
      const found = await adapter.orders.order(hash(`e${number}`));
      return found && { orderNumber: found.orderNumber, marketId: found.marketId, trader: found.trader, side: found.side, size: found.size,
        remaining: found.remaining, status: found.status, closedPosition: found.closedPosition };
    };
    const rested: Event = { ...order, type: 'OrderRested', orderNumber: 1, orderHash: hash('e1'), size: '10' };
    await record([opened], [accepted(1), rested]);
    deepEqual(await of(1), { ...known, remaining: 10n, status: 'open', closedPosition: null });
    equal(await of(2), undefined);
    await record([accepted(2), { ...fill, type: 'FillMatched' }]);
    deepEqual(await of(1), { ...known, remaining: 0n, status: 'filled', closedPosition: 2 });
    await record([
      { ...fill, type: 'FillFailed', txHash: hash('f1'), reason: 'seller_insufficient_shares', culprit: 'seller' },
      { ...order, type: 'OrderReinstated', orderNumber: 1, orderHash: hash('e1'), size: '10' }, rested,
    ]);
    deepEqual(await of(1), { ...known, remaining: 10n, status: 'open', closedPosition: null });
    await record([{ ...order, type: 'OrderCancelled', orderNumber: 1, orderHash: hash('e1'), remaining: '10', rested: '10', reason: 'user' }]);
    deepEqual(await of(1), { ...known, remaining: 10n, status: 'cancelled', closedPosition: 4 });
  });

  it('a market is found by its contract; of another contract there is none', async () => {
    await record([opened]);
    deepEqual(await adapter.orders.marketId({ contractAddress: address('c1') }), market);
    deepEqual(await adapter.orders.marketId({ marketId: hash('77') }), hash('77'), 'an id is taken as it is');
    await rejects(adapter.orders.marketId({ contractAddress: address('c2') }), { name: 'RequestError', code: 'unknown_market' });
  });

  it('a position has both outcomes\' shares, what they cost, and the log position', async () => {
    const moved = { type: 'SharesTransferred', v: 1, marketId: market, from: address('00'), to: trader, txHash: hash('f2') } as const;
    await record([opened], [{ ...moved, outcome: 0, amount: '7' }, { ...moved, outcome: 1, amount: '7' }]);
    deepEqual({ ...await adapter.orders.position({ marketId: market, user: trader }) },
      { yesShares: 7n, noShares: 7n, totalInvested: 7n, position: 1 });
    deepEqual({ ...await adapter.orders.position({ marketId: market, user: address('b2') }) },
      { yesShares: 0n, noShares: 0n, totalInvested: 0n, position: 1 });
  });

  it('a wait ends when the position is there, and is refused when it does not come', async () => {
    await record([opened]);
    await adapter.orders.waitForPosition(0, { timeoutMs: 30_000 });
    await rejects(adapter.orders.waitForPosition(1, { timeoutMs: 1 }), { name: 'RequestError', code: 'not_caught_up' });
    const waiting = adapter.orders.waitForPosition(1, { timeoutMs: 30_000 });
    const relayer = adapter.relays.caughtUp(1);
    await record([accepted(1)]);
    await Promise.all([waiting, relayer]);
  });

  it('a relayed request has ended with its transaction, and whether all of it succeeded; asked for again it has not', async () => {
    const [sent, failed, unsent, again] = ['01', '02', '03', '04'].map(hash) as [string, string, string, string];
    const status = () => Promise.all([sent, failed, unsent, again].map((each) => adapter.relays.ended(each)));
    await record([opened], ...[sent, failed, unsent, again].map((each) => [requested(each)]));
    deepEqual(await status(), [undefined, undefined, undefined, undefined]);
    await record([submitted(sent, hash('11')), submitted(failed, hash('12')), submitted(again, hash('14'))]);
    deepEqual(await status(), [
      { txHash: hash('11'), succeeded: true }, { txHash: hash('12'), succeeded: true }, undefined, { txHash: hash('14'), succeeded: true },
    ]);
    await record([ended(sent, hash('11'), true, true), ended(failed, hash('22'), true, false), ended(unsent, null, false), ended(again, hash('14'), false)]);
    deepEqual(await status(), [
      { txHash: hash('11'), succeeded: true }, { txHash: hash('22'), succeeded: false }, undefined, { txHash: hash('14'), succeeded: false },
    ]);
    await record([requested(again)]);
    equal(await adapter.relays.ended(again), undefined);
    equal(await adapter.relays.ended(hash('05')), undefined);
  });
}
