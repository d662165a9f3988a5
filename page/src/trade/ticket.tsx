/** The ticket: what an order would cost and match, what the account lacks for it, and its signature. */
import { useEffect, useMemo } from 'preact/hooks';
import { batch, useComputed, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals';
import type { CheckedOrder, Market } from '../../../client/src/answers.js';
import { Outcome, Side } from '../../../client/src/vocabulary.js';
import { configuration, relayToken } from '../exchange.js';
import { shownMoney, shownPrice, shownShares } from '../figures.js';
import { amountIn, MAX_AMOUNT, type AmountInput } from '../orders/amount-input.js';
import { payoffOf } from '../orders/payoff.js';
import { Refused } from '../refusal.js';
import { nowS, shownTime } from '../time.js';
import { wallet } from '../wallet/wallet.js';
import { ActionResult, useAction } from './action.js';
import { AmountField } from './amount-field.js';
import { Mends } from './mends.js';
import { OwnOrders } from './own-orders.js';
import { createOrderCheck, type CheckState } from './order-check.js';
import { createPlacing, type TicketFields, type Placing } from './placing.js';
import { Sets } from './sets.js';
import { UnansweredList } from './unanswered-list.js';

export interface TicketProps {
  readonly market: Market;
  /** What a click on a level of the book proposes. */
  readonly proposal: TicketProposal | undefined;
}

/** An outcome (0 is YES), a side (0 buys) and a price in units of 1e-6. */
export interface TicketProposal {
  readonly outcome: 0 | 1;
  readonly side: 0 | 1;
  readonly price: bigint;
}

export function Ticket({ market, proposal }: TicketProps) {
  const now = wallet.value;
  return (
    <div class="stack">
      {isOver(market) ? <p class="hint">Trading is over.</p> : <OrderForm market={market} proposal={proposal} />}
      <UnansweredList />
      {now !== undefined && <OwnOrders key={`${now.address} ${market.id}`} user={now.address} chainId={market.chainId} market={market} />}
      {now !== undefined && !market.resolved && market.conditionId !== null && <Sets market={market} />}
    </div>
  );
}

/** By the market's state, and by the exchange's clock where that has not been told yet. */
function isOver({ resolved, state = 'open', expiration }: Market): boolean {
  return resolved || state !== 'open' || nowS.value >= expiration;
}

const OUTCOMES = [[Outcome.Yes, 'YES'], [Outcome.No, 'NO']] as const;
const SIDES = [[Side.Buy, 'Buy', 'buy'], [Side.Sell, 'Sell', 'sell']] as const;
const TERMS = { GTC: 'until cancelled (GTC)', FOK: 'all at once or not (FOK)', FAK: 'at once, rest cancelled (FAK)' } as const;
const LIVES = { 'an hour': 3_600, 'a day': 86_400, 'a week': 604_800, '30 days': 2_592_000 } as const;

function OrderForm({ market, proposal }: TicketProps) {
  const form = useForm(market, proposal);
  const check = useMemo(() => createOrderCheck(market), [market.id]);
  const placing = useMemo(() => createPlacing(market), [market.id]);
  const action = useAction();
  useEffect(() => () => { check.close(); }, [check]);
  useSignalEffect(() => { check.show(form.fields.value, placing.permit.value); });
  const now = wallet.value;
  const fields = form.fields.value;
  const [name, verb] = [OUTCOMES[form.outcome.value][1], SIDES[form.side.value][1]];
  return (
    <form
      class="stack ticket" aria-label="Order" noValidate onSubmit={(event) => {
        event.preventDefault();
        if (fields !== undefined && now !== undefined) {
          const what = `${verb} ${shownShares(fields.size)} ${name} at ${shownPrice(fields.price)}`;
          action.run(what, () => placing.place(fields, now.address, what));
        }
      }}
    >
      <div class="segments" role="group" aria-label="Side">
        {SIDES.map(([side, title, look]) => (
          <button key={title} type="button" class={look} aria-pressed={form.side.value === side} onClick={() => { form.side.value = side; }}>{title}</button>
        ))}
      </div>
      <div class="segments" role="group" aria-label="Outcome">
        {OUTCOMES.map(([outcome, title]) => (
          <button key={title} type="button" aria-pressed={form.outcome.value === outcome} onClick={() => { form.outcome.value = outcome; }}>{title}</button>
        ))}
      </div>
      <AmountField id="ticket-price" label="Price of a share" text={form.price} input={form.priceInput.value} />
      <AmountField id="ticket-size" label="Shares" text={form.size} input={form.sizeInput.value} />
      <div class="field">
        <label for="ticket-terms">Time in force</label>
        <select id="ticket-terms" value={form.terms.value} onChange={({ currentTarget }) => { form.terms.value = currentTarget.value as keyof typeof TERMS; }}>
          {Object.entries(TERMS).map(([each, title]) => <option key={each} value={each}>{title}</option>)}
        </select>
      </div>
      <div class="field">
        <label for="ticket-life">Expires in</label>
        <select id="ticket-life" value={form.life.value} onChange={({ currentTarget }) => { form.life.value = currentTarget.value as keyof typeof LIVES; }}>
          {Object.keys(LIVES).map((each) => <option key={each} value={each}>{each}</option>)}
        </select>
      </div>
      <label class="row">
        <input
          type="checkbox" checked={form.postOnly.value} disabled={form.terms.value !== 'GTC'}
          onChange={({ currentTarget }) => { form.postOnly.value = currentTarget.checked; }}
        />
        Post only: refused if it would match at once
      </label>
      {fields !== undefined && <Payoff fields={fields} />}
      {now !== undefined && fields !== undefined && (
        <Checked state={check.state.value} fields={fields} market={market} placing={placing} onMended={check.again} />
      )}
      <button type="submit" class="primary" disabled={now === undefined || fields === undefined || action.state.value.kind === 'busy'}>
        {verb} {name}
      </button>
      {now === undefined && <p class="hint">Connect a wallet, at the top of the page, to trade.</p>}
      <ActionResult action={action} />
    </form>
  );
}

interface Form {
  readonly fields: ReadonlySignal<TicketFields | undefined>;
  readonly priceInput: ReadonlySignal<AmountInput>;
  readonly sizeInput: ReadonlySignal<AmountInput>;
}

function useForm(market: Market, proposal: TicketProposal | undefined) {
  const [outcome, side] = [useSignal<Outcome>(Outcome.Yes), useSignal<Side>(Side.Buy)];
  const [price, size] = [useSignal(''), useSignal('')];
  const [terms, life] = [useSignal<keyof typeof TERMS>('GTC'), useSignal<keyof typeof LIVES>('a day')];
  const postOnly = useSignal(false);
  useEffect(() => {
    if (proposal === undefined) return;
    batch(() => {
      [outcome.value, side.value] = [proposal.outcome, proposal.side];
      price.value = shownPrice(proposal.price);
    });
  }, [proposal]);
  const priceInput = useComputed(() => amountIn(price.value, {
    min: configuration.value?.limits.minPrice ?? 1n, max: configuration.value?.limits.maxPrice ?? 999_999n,
  }));
  const sizeInput = useComputed(() => {
    const chain = configuration.value?.chains.find(({ chainId }) => chainId === market.chainId);
    return amountIn(size.value, { min: chain?.minOrderSize ?? 1n, max: MAX_AMOUNT });
  });
  const fields = useComputed<TicketFields | undefined>(() => {
    const [readPrice, readSize] = [priceInput.value, sizeInput.value];
    if (readPrice.kind !== 'amount' || readSize.kind !== 'amount') return undefined;
    return {
      outcome: outcome.value, side: side.value, price: readPrice.units, size: readSize.units, timeInForce: terms.value,
      postOnly: postOnly.value && terms.value === 'GTC', livesS: LIVES[life.value],
    };
  });
  const form: Form = { fields, priceInput, sizeInput };
  return { ...form, outcome, side, price, size, terms, life, postOnly };
}

/** What the whole order comes to at its own price; matches may be better. */
function Payoff({ fields }: { readonly fields: TicketFields }) {
  const { gives, gets } = payoffOf(fields);
  const expires = <><dt>Expires</dt><dd>{shownTime(nowS.value + fields.livesS)}</dd></>;
  return fields.side === Side.Buy
    ? <dl class="facts"><dt>Cost at most</dt><dd>{shownMoney(gives)}</dd><dt>Pays if it wins</dt><dd>{shownMoney(gets)}</dd>{expires}</dl>
    : <dl class="facts"><dt>Gives</dt><dd>{shownShares(gives)} shares</dd><dt>Brings at least</dt><dd>{shownMoney(gets)}</dd>{expires}</dl>;
}

interface CheckedProps {
  readonly state: CheckState;
  readonly fields: TicketFields;
  readonly market: Market;
  readonly placing: Placing;
  readonly onMended: () => void;
}

/** What the exchange says that the order would do as the next one. */
function Checked({ state, fields, market, placing, onMended }: CheckedProps) {
  return (
    <div class="stack checked" aria-busy={state.kind === 'checking'} aria-live="polite">
      {state.kind === 'failed' && <Refused error={state.error} />}
      {state.checked?.accepted === true && <Accepted checked={state.checked} side={fields.side} />}
      {state.checked?.refusal !== undefined && (
        <>
          <p class="refusal">
            {state.checked.refusal.code}: {state.checked.refusal.error}
            {state.checked.refusal.errors?.map(({ field, message }) => `; ${field} ${message}`).join('')}
          </p>
          <Mends
            market={market} side={fields.side} refusal={state.checked.refusal} onMended={onMended}
            onPermit={relayToken.value === undefined ? () => placing.signPermit(fields) : undefined}
          />
        </>
      )}
    </div>
  );
}

function Accepted({ checked, side }: { readonly checked: CheckedOrder; readonly side: Side }) {
  const { matches = [], filledSize = 0n, restingSize = 0n, cancelledSize = 0n, cost = 0n, payout = 0n, ownOrdersCancelled = 0 } = checked;
  return (
    <>
      <p>
        {filledSize === 0n
          ? 'Nothing matches at once'
          : `${shownShares(filledSize)} match at once for ${shownMoney(cost)}${side === Side.Buy ? `, which pay ${shownMoney(payout)} if the outcome wins` : ''}`}
        {restingSize > 0n ? `; ${shownShares(restingSize)} rest in the book` : ''}
        {cancelledSize > 0n ? `; ${shownShares(cancelledSize)} are cancelled at once` : ''}.
        {ownOrdersCancelled > 0 ? ` ${ownOrdersCancelled} of your own orders are cancelled, since they would trade with this one.` : ''}
      </p>
      {matches.length > 0 && (
        <table>
          <caption class="visually-hidden">What the order would match</caption>
          <thead><tr><th scope="col" class="number">Price</th><th scope="col" class="number">Shares</th><th scope="col" class="number">Cost</th></tr></thead>
          <tbody>
            {matches.slice(0, SHOWN_MATCHES).map((match) => (
              <tr key={String(match.price)}>
                <td class="number">{shownPrice(match.price)}</td>
                <td class="number">{shownShares(match.size)}</td>
                <td class="number">{shownMoney(match.cost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {matches.length > SHOWN_MATCHES && <p class="hint">And {matches.length - SHOWN_MATCHES} prices more.</p>}
    </>
  );
}

const SHOWN_MATCHES = 8;
