/** `GET /api/v1/users/{address}/account`: what a user has on a chain, what of it is needed for open orders and unsettled fills, and a trading ban. */
import * as field from '../../engine/records/answer-fields.js';
import { RequestError } from '../../engine/records/errors.js';
import { BUY } from '../../engine/records/fields.js';
import { Type } from '../../engine/records/schema-types.js';
import { recordedBlock, type EngineView } from '../../engine/run/view.js';
import { anybody } from '../../service/api/authority.js';
import { defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as parameter from '../../service/api/parameters.js';
import { problems } from '../../service/api/problems.js';
import { ChainUnavailable } from '../chain/chain.js';
import type { Holdings, HoldingsQuestion } from '../chain/holdings.js';

export interface AccountParts {
  readonly view: Pick<EngineView, 'commitments' | 'cursor' | 'openOrderCount' | 'position' | 'suspendedUntil' | 'time'>;
  /** Reads balances of a chain; undefined for a chain that is not configured. */
  readonly holdingsOf: (chainId: number) => ((question: HoldingsQuestion) => Promise<Holdings>) | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}
export type AccountHandler = (asked: { readonly user: string; readonly chainId: number }) => Promise<Reply>;

/** Throws RequestError `unknown_chain`, and `chain_unavailable` while the chain cannot be read. */
export function createAccount({ view, holdingsOf, now }: AccountParts): AccountHandler {
  return async ({ user, chainId }) => {
    const read = holdingsOf(chainId);
    if (read === undefined) throw new RequestError('unknown_chain');
    const { block, holdings } = await holdingsNow(view, chainId, (at) => read({ trader: user, tokens: [], block: at }));
    const { collateral, allowance, approved } = holdings;
    // From here on nothing is awaited, so that all of it is of one moment.
    const { inOrders, inFills, shares } = needs(view, user, chainId);
    const until = view.suspendedUntil(user);
    // Where nothing happens, the history's time stands still.
    const ban = until > Math.max(view.time, now()) ? Math.ceil(until / 1_000) : null;
    return {
      position: view.position - 1,
      body: `{"chainId":${chainId},"block":${block},"balance":${collateral},"allowance":${allowance},"approved":${approved},`
        + `"neededByOrders":${inOrders},"neededByFills":${inFills},"available":${positive(least(collateral, allowance) - inOrders - inFills)},`
        + `"shares":[${shares.join()}],"openOrders":${view.openOrderCount(user)},"suspendedUntil":${ban}}`,
    };
  };
}

/** How often a read is repeated because the history recorded another block during it. */
const MAX_TRIES = 10;

/** What is held at the end of the last block that is in the history: a fill that a later one settles is paid there, and not here. */
async function holdingsNow(
  view: AccountParts['view'], chainId: number, readAt: (block: number) => Promise<Holdings>,
): Promise<{ readonly block: number; readonly holdings: Holdings }> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const block = recordedBlock(view, chainId);
    if (block === undefined) throw new RequestError('chain_unavailable', 'the last block in the history is not there as a whole');
    const holdings = await readAt(block).catch((error: unknown) => {
      throw error instanceof ChainUnavailable ? new RequestError('chain_unavailable', 'the balances cannot be read') : error;
    });
    if (recordedBlock(view, chainId) === block) return { block, holdings };
  }
  throw new RequestError('chain_unavailable', 'the history records blocks faster than balances can be read');
}

/** What the user's orders and fills need: stablecoin, and the shares of each outcome as JSON. */
function needs(view: AccountParts['view'], trader: string, chainId: number): { inOrders: bigint; inFills: bigint; shares: string[] } {
  let [inOrders, inFills] = [0n, 0n];
  const sold = new Map<string, { marketId: string; outcome: number; orders: bigint; fills: bigint }>();
  for (const { fill, marketId, outcome, side, size, cost } of view.commitments({ trader, chainId })) {
    if (side === BUY) {
      if (fill === undefined) inOrders += cost; else inFills += cost;
      continue;
    }
    const key = `${marketId}${outcome}`;
    const shares = sold.get(key) ?? { marketId, outcome, orders: 0n, fills: 0n };
    if (fill === undefined) shares.orders += size; else shares.fills += size;
    sold.set(key, shares);
  }
  const shares = [...sold.values()].map(({ marketId, outcome, orders, fills }) => (
    `{"marketId":"${marketId}","outcome":${outcome},"neededByOrders":${orders},"neededByFills":${fills}}`));
  return { inOrders, inFills, shares };
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function positive(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

const needed = {
  neededByOrders: field.amount('What open orders need'), neededByFills: field.amount('What fills need that the chain has not settled yet'),
};

export const getAccount = defineEndpoint({
  id: 'getAccount', role: 'api', method: 'GET', path: '/api/v1/users/{address}/account', tag: 'Users', summary: 'What a user has and needs on a chain',
  description: 'Balance and allowances are those at the end of `block`, the last one that is in the history, as the check of orders takes them: a deposit or an approval counts some seconds after it is final. Shares are listed '
    + 'where an order or a fill sells them, so there are as many entries as open orders at most, besides those of unsettled fills.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId },
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The account.',
    schema: field.answer('Account', {
      chainId: field.ChainId, block: field.integer('Block at whose end balance, allowance and approval were read.'),
      balance: field.amount('Stablecoin of the user'), allowance: field.amount('Stablecoin that the settlement contract may take'),
      approved: Type.Boolean({ description: 'Whether the settlement contract may take the user\'s shares.' }),
      ...needed, available: field.amount('What is left for further buys'),
      shares: Type.Array(field.answer('NeededShares', { marketId: field.Bytes32, outcome: field.Outcome, ...needed })),
      openOrders: field.integer('Number of open orders in all markets of all chains.'),
      suspendedUntil: field.orNull(field.Seconds, 'Until when orders of the user are refused with trader_suspended; null without a ban.'),
    }),
    examples: {
      'one order to buy, one to sell': {
        chainId: 31_337, block: 1_204, balance: 100_000_000, allowance: 1_000_000_000, approved: true, neededByOrders: 15_500_000,
        neededByFills: 6_000_000, available: 78_500_000, shares: [{ marketId: `0x${'4d'.repeat(32)}`, outcome: 0, neededByOrders: 5_000_000, neededByFills: 0 }], openOrders: 2,
        suspendedUntil: null,
      },
    },
    headers: { 'X-Log-Position': 'Log position up to which orders and fills are counted.' },
  },
  errors: ['unknown_chain', 'chain_unavailable'],
  limit: 'reads', consistent: true,
}, ({ account }: { readonly account: AccountHandler }) => (asked) => account(asked));
