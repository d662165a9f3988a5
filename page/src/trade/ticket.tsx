/** The ticket: what an order would cost and match, and its signature. */
import type { Market } from '../../../client/src/answers.js';

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

export function Ticket({ market }: TicketProps) {
  return <p class="hint">{market.resolved ? 'Trading is over.' : 'Trading'}</p>;
}
