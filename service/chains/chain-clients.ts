/** What clients' requests ask of a chain: whether a trader can pay for an order, and what a position really is. */
import type { Chain } from '../../command/chain/chain.js';
import { createExposure, type Exposure } from '../../command/chain/exposure.js';
import { createHoldingsReader } from '../../command/chain/holdings.js';
import { createReservations, type Reservations } from '../../command/chain/reservations.js';
import type { Rpc } from '../../command/chain/chain.js';
import { syncPosition, type SyncParts } from '../../command/chain/sync-position.js';
import { findMarket, traderOfOrder } from '../../command/orders/engine-view.js';
import { chainCursor } from '../../engine/rules/chain-cursor.js';
import type { Event } from '../../engine/records/events.js';
import { openOrdersOf } from '../../engine/run/open-orders.js';
import type { State } from '../../engine/rules/state.js';
import { unsettledFills } from '../../engine/run/unsettled-fills.js';

export interface ChainClientParts {
  readonly chain: Chain;
  /** Nodes that clients' reads may wear out without the workers' noticing. */
  readonly rpc: Rpc;
  readonly state: State;
  /** Calls the listener with each command's events, in order, in the turn in which the engine takes it. */
  readonly onEvents: (listener: (events: readonly Event[]) => void) => void;
  /** Resolves when the history has got to the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  /** Why the chain is not followed at present; undefined when it is. */
  readonly trouble: () => string | undefined;
  readonly submit: SyncParts['submit'];
}

export interface ChainClients {
  /** Absent where the chain does not ask for it. */
  readonly exposure: Exposure | undefined;
  /** The log position of the correction; undefined where there was nothing to correct. Throws RequestError `chain_unavailable`. */
  readonly sync: (asked: Pick<SyncParts, 'marketId' | 'user' | 'known'>) => Promise<number | undefined>;
}

/** The engine must have caught up with its log. */
export function createChainClients(parts: ChainClientParts): ChainClients {
  const { chain, state, catchUp, trouble, submit } = parts;
  const read = createHoldingsReader({ chain, rpc: parts.rpc });
  const recordedBlock = () => recordedBlockOf(state, chain.chainId);
  return {
    exposure: chain.exposureCheck
      ? createExposure({
          chainId: chain.chainId, reservations: reservationsOf(parts), recordedBlock, catchUp, trouble, readHoldings: read,
          tokenOf: (marketId, outcome) => findMarket(state, marketId)?.tokens?.[outcome],
        })
      : undefined,
    sync: (asked) => syncPosition({
      ...asked, recordedBlock, catchUp, submit, now: () => Date.now(),
      readShares: async (block) => {
        const tokens = findMarket(state, asked.marketId)?.tokens ?? [];
        const { shares: [yes = 0n, no = 0n] } = await read({ trader: asked.user, tokens, block });
        return { yes, no };
      },
    }),
  };
}

/** The block that the history has all of, and nothing of later ones; undefined while the facts of one come in. */
export function recordedBlockOf(state: State, chainId: number): number | undefined {
  const { block, nextBlock, nextLog } = chainCursor(state, chainId) ?? {};
  return block !== undefined && nextBlock === block + 1 && nextLog === 0 ? block : undefined;
}

/** What is promised now, kept up to date from here on. */
function reservationsOf({ chain: { chainId }, state, onEvents }: ChainClientParts): Reservations {
  const reservations = createReservations({
    isHere: (marketId) => findMarket(state, marketId)?.chainId === chainId, traderOf: (orderHash) => traderOfOrder(state, orderHash),
  });
  for (const fill of unsettledFills(state, { chainId, from: 0 })) reservations.addFill(fill);
  for (const { address } of state.traders) {
    for (const order of openOrdersOf(state, address)) {
      if (order.chainId === chainId) reservations.addOrder({ ...order, trader: address, size: order.remaining });
    }
  }
  onEvents((events) => { reservations.fold(events); });
  return reservations;
}
