/** A book as a ladder: the asks above, the bids below, the best prices next to each other. */
import type { Level, OutcomeBook } from '../../../client/src/client.js';
import { NONE, shownPrice, shownShares } from '../figures.js';
import type { TicketProposal } from '../trade/ticket.js';

const LEVELS = 10;

export interface LadderProps {
  readonly outcome: 0 | 1;
  readonly book: OutcomeBook | undefined;
  /** Takes what a click on a level proposes: to trade with the orders that rest there. */
  readonly onPropose: (proposal: TicketProposal) => void;
}

interface Rung extends Level {
  /** The size up to this level, from the best one on. */
  readonly total: bigint;
}

export function Ladder({ outcome, book, onPropose }: LadderProps) {
  const name = outcome === 0 ? 'YES' : 'NO';
  const [asks, bids] = [rungsOf(book?.asks), rungsOf(book?.bids)];
  const deepest = [...asks, ...bids].reduce((most, { total }) => total > most ? total : most, 1n);
  const rows = (side: 0 | 1, rungs: readonly Rung[]) => rungs.map((rung) => (
    <tr key={`${side} ${rung.price}`} class={side === 0 ? 'ask' : 'bid'} style={{ '--share': `${Number(rung.total * 1000n / deepest) / 10}%` }}>
      <td class="number">
        <button
          type="button" class="level" aria-label={`${side === 0 ? 'Buy' : 'Sell'} ${name} at ${shownPrice(rung.price)}`}
          onClick={() => { onPropose({ outcome, side, price: rung.price }); }}
        >
          {shownPrice(rung.price)}
        </button>
      </td>
      <td class="number">{shownShares(rung.size)}</td>
      <td class="number">{shownShares(rung.total)}</td>
    </tr>
  ));
  return (
    <table class="ladder" data-outcome={name}>
      <caption>{name}</caption>
      <thead><tr><th scope="col" class="number">Price</th><th scope="col" class="number">Shares</th><th scope="col" class="number">Total</th></tr></thead>
      <tbody>{asks.length === 0 ? <None side="asks" /> : rows(0, asks.toReversed())}</tbody>
      <tbody><tr class="between"><td colSpan={3}><Between book={book} /></td></tr></tbody>
      <tbody>{bids.length === 0 ? <None side="bids" /> : rows(1, bids)}</tbody>
    </table>
  );
}

function None({ side }: { readonly side: string }) {
  return <tr><td colSpan={3} class="hint">no {side}</td></tr>;
}

function Between({ book }: { readonly book: OutcomeBook | undefined }) {
  const [ask, bid] = [book?.asks[0]?.price, book?.bids[0]?.price];
  if (ask === undefined || bid === undefined) return <span class="hint">spread {NONE}</span>;
  return <span class="hint">spread {shownPrice(ask - bid)}</span>;
}

function rungsOf(levels: readonly Level[] | undefined): Rung[] {
  let total = 0n;
  return (levels ?? []).slice(0, LEVELS).map(({ price, size }) => ({ price, size, total: total += size }));
}
