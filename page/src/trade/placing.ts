/** Signs orders and sends them. */
import { signal, type ReadonlySignal } from '@preact/signals';
import type { Market } from '../../../client/src/answers.js';
import type { OrderPermit, OrderRequest, Placed } from '../../../client/src/orders.js';
import type { Hex, Outcome, Side } from '../../../client/src/vocabulary.js';
import { exchange } from '../exchange.js';
import { shortened, shownShares } from '../figures.js';
import { costOf } from '../orders/payoff.js';
import { nowS } from '../time.js';

/** What the ticket's form says. */
export interface TicketFields {
  readonly outcome: Outcome;
  readonly side: Side;
  readonly price: bigint;
  readonly size: bigint;
  readonly timeInForce: 'GTC' | 'FOK' | 'FAK';
  readonly postOnly: boolean;
  /** How long the order may rest, in seconds. */
  readonly livesS: number;
}

export interface Placing {
  /** Goes with orders instead of an allowance, until it has been used. */
  readonly permit: ReadonlySignal<OrderPermit | undefined>;
  /** Signs a permit of what the order costs, for where nobody relays. */
  signPermit(fields: TicketFields): Promise<string>;
  /** Signs and sends. Throws Refusal, OutcomeUnknown, or why the wallet has not signed. */
  place(fields: TicketFields, trader: Hex, what: string): Promise<string>;
}

/**
 * So long after its signature an order that nobody has answered may still be taken. Later the exchange refuses it for
 * ever, so the page can ask again without placing what its user wants no more.
 */
const TAKEN_WITHIN_MS = 60_000;

export function requestOf(market: Market, { livesS, postOnly, ...fields }: TicketFields): OrderRequest {
  return { market, ...fields, ...postOnly && { postOnly }, expiration: nowS.peek() + livesS };
}

export function createPlacing(market: Market): Placing {
  const permit = signal<(OrderPermit & { readonly owner: Hex }) | undefined>(undefined);
  return {
    permit,
    async signPermit({ price, size }) {
      const client = exchange.peek();
      const { address: user } = client;
      const { neededByOrders, neededByFills } = await client.read.account({ user, chainId: market.chainId });
      const value = costOf(price, size) + neededByOrders + neededByFills;
      permit.value = { ...await client.relay.signPermit({ chainId: market.chainId, value }), owner: user };
      return 'The allowance is signed. It goes with the order.';
    },
    async place(fields, trader, what) {
      const client = exchange.peek();
      const { owner, ...carried } = permit.peek() ?? {};
      const request = requestOf(market, fields);
      const signed = await client.sign(owner === trader ? { ...request, permit: carried as OrderPermit } : request);
      // A wallet may answer late, with an account that was changed meanwhile.
      if (client.address !== trader || exchange.peek() !== client) throw new Error('The account has changed meanwhile: nothing was sent.');
      const notAfter = nowS.peek() * 1_000 + TAKEN_WITHIN_MS;
      const placed = await client.place({ ...signed, terms: { ...signed.terms, notAfter } });
      permit.value = undefined;
      return `${what}: ${placedInWords(placed)}`;
    },
  };
}

function placedInWords({ matches, remainingSize, orderHash, replayed }: Placed): string {
  const matched = matches === 0 ? 'nothing has matched at once' : `${matches} ${matches === 1 ? 'match' : 'matches'} at once`;
  const cancelled = remainingSize === undefined || remainingSize === 0n ? '' : `, ${shownShares(remainingSize)} were cancelled`;
  return `accepted, ${matched}${cancelled}${replayed ? ' (it had been accepted before)' : ''}. Order ${shortened(orderHash)}.`;
}
