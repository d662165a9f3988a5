/** A trader's open orders, which can be cancelled and made smaller. */
import { useEffect, useMemo } from 'preact/hooks';
import { useComputed, useSignal } from '@preact/signals';
import type { Hex } from '../../../client/src/vocabulary.js';
import { exchange } from '../exchange.js';
import { shownPrice, shownShares } from '../figures.js';
import { amountIn } from '../orders/amount-input.js';
import type { LiveOrder } from '../orders/order-life.js';
import { followOrders } from '../portfolio/live-orders.js';
import { Refused } from '../refusal.js';
import { ActionResult, useAction, type ClickAction } from './action.js';
import { AmountField } from './amount-field.js';

interface OwnOrdersProps {
  readonly user: Hex;
  readonly chainId: number;
  /** Only orders of this market; absent: of all. */
  readonly market?: { readonly id: Hex; readonly chainId: number };
}

export function OwnOrders({ user, chainId, market }: OwnOrdersProps) {
  const open = useMemo(() => followOrders(user, chainId, market?.id), [user, chainId, market?.id]);
  useEffect(() => () => { open.close(); }, [open]);
  const action = useAction();
  const orders = [...open.orders.value.values()];
  const isBusy = action.state.value.kind === 'busy';
  const cancelAll = (): void => {
    action.run('Cancel all', async () => {
      const { cancelled } = await exchange.peek().cancelAll(market === undefined ? { chainId } : { market });
      return `${cancelled} ${cancelled === 1 ? 'order was' : 'orders were'} cancelled.`;
    });
  };
  return (
    <section class="stack own-orders" aria-labelledby="own-orders-title">
      <div class="row spread">
        <h3 id="own-orders-title">Your open orders</h3>
        {orders.length > 0 && <button type="button" disabled={isBusy} onClick={cancelAll}>Cancel all{market === undefined ? '' : ' in this market'}</button>}
      </div>
      <Refused error={open.error.value} />
      {orders.length === 0
        ? <p class="hint">{open.status.value === 'reading' ? 'Reading your orders…' : 'None.'}</p>
        : <OrderRows orders={orders} withMarket={market === undefined} action={action} />}
      {open.hasMore.value && <button type="button" disabled={open.status.value === 'reading'} onClick={open.more}>More orders</button>}
      <ActionResult action={action} />
    </section>
  );
}

interface OrderRowsProps {
  readonly orders: readonly LiveOrder[];
  readonly withMarket: boolean;
  readonly action: ClickAction;
}

function OrderRows({ orders, withMarket, action }: OrderRowsProps) {
  return (
    <div class="scroll">
      <table>
        <caption class="visually-hidden">Your open orders</caption>
        <thead>
          <tr>
            {withMarket && <th scope="col">Market</th>}
            <th scope="col">Order</th>
            <th scope="col" class="number">Price</th>
            <th scope="col" class="number">Open of</th>
            <th scope="col"><span class="visually-hidden">Change</span></th>
          </tr>
        </thead>
        <tbody>{orders.map((order) => <OrderRow key={order.orderHash} {...{ order, withMarket, action }} />)}</tbody>
      </table>
    </div>
  );
}

function OrderRow({ order, withMarket, action }: { readonly order: LiveOrder; readonly withMarket: boolean; readonly action: ClickAction }) {
  const isReducing = useSignal(false);
  const { side, outcome, price, size, remainingSize, orderHash, marketId, marketQuestion } = order;
  const name = `${side === 0 ? 'Buy' : 'Sell'} ${outcome === 0 ? 'YES' : 'NO'}`;
  const what = `the ${side === 0 ? 'buy' : 'sell'} of ${shownShares(remainingSize)} ${outcome === 0 ? 'YES' : 'NO'} at ${shownPrice(price)}`;
  const cancel = (): void => {
    action.run(`Cancel ${what}`, async () => {
      const { remainingSize: left } = await exchange.peek().cancel({ orderHash, marketId });
      return `Cancelled: ${shownShares(left)} were still open.`;
    });
  };
  return (
    <tr>
      {withMarket && <td><a href={`#/markets/${marketId}`}>{marketQuestion ?? marketId.slice(0, 10)}</a></td>}
      <td><a class={side === 0 ? 'up' : 'down'} href={`#/history/${orderHash}`}>{name}</a></td>
      <td class="number">{shownPrice(price)}</td>
      <td class="number">{shownShares(remainingSize)} of {shownShares(size)}</td>
      <td>
        <div class="row">
          <button type="button" class="plain" aria-label={`Cancel ${what}`} disabled={action.state.value.kind === 'busy'} onClick={cancel}>Cancel</button>
          <button
            type="button" class="plain" aria-label={`Reduce ${what}`} aria-expanded={isReducing.value}
            onClick={() => { isReducing.value = !isReducing.peek(); }}
          >Reduce
          </button>
        </div>
        {isReducing.value && <Reduction order={order} action={action} what={what} onSent={() => { isReducing.value = false; }} />}
      </td>
    </tr>
  );
}

interface ReductionProps {
  readonly order: LiveOrder;
  readonly action: ClickAction;
  readonly what: string;
  readonly onSent: () => void;
}

/** A smaller size of the whole order, its filled part included; the order keeps its place. */
function Reduction({ order: { orderHash, marketId, size }, action, what, onSent }: ReductionProps) {
  const text = useSignal('');
  const input = useComputed(() => amountIn(text.value, { min: 1n, max: size - 1n }));
  const read = input.value;
  return (
    <form
      class="row" aria-label={`Reduce ${what}`} noValidate onSubmit={(event) => {
        event.preventDefault();
        if (read.kind !== 'amount') return;
        action.run(`Reduce ${what}`, async () => {
          const { status } = await exchange.peek().reduce({ orderHash, marketId }, read.units);
          onSent();
          return status === 'reduced' ? `Reduced to ${shownShares(read.units)}.` : 'So much was filled already: the rest is cancelled.';
        });
      }}
    >
      <AmountField id={`reduce-${orderHash.slice(2, 12)}`} label="New size of the whole order" text={text} input={read} />
      <button type="submit" disabled={read.kind !== 'amount' || action.state.value.kind === 'busy'}>Reduce</button>
    </form>
  );
}
