/** The exposure check of a chain in one process: its reservations are kept up to date by the replica's steps. */
import type { Replica } from '../../engine/run/replica.js';
import { recordedBlock } from '../../engine/run/view.js';
import type { ChainAccess } from './chain-access.js';
import { createChainReads } from './chain-reads.js';
import type { ChainWatch } from './chain-watch.js';
import { createExposure, type Exposure } from './exposure.js';
import { createHoldingsReader } from './holdings.js';
import { createPermitCheck } from './permit-check.js';
import { createReservations, type Reservations } from './reservations.js';

/**
 * The exposure check; undefined if it is off for the chain. The replica must have caught up with the log. Orders that
 * another process has accepted and not yet written to the log are not counted: docs/chain.md, "Exposure".
 */
export function createExposures(
  { access: { chain, clientRpc }, replica, watch }: { access: ChainAccess; replica: Replica; watch: ChainWatch },
): Exposure | undefined {
  if (!chain.exposureCheck) return undefined;
  const { chainId } = chain;
  const { view } = replica;
  return createExposure({
    chainId, reservations: reservationsOf(replica, chainId), recordedBlock: () => recordedBlock(view, chainId),
    problem: () => watch.problem(),
    confirmations: chain.confirmations, latestBlock: () => watch.latestBlock(),
    catchUp: () => watch.catchUp(), permitHolds: createPermitCheck(chain, createChainReads(chain, clientRpc)),
    readHoldings: createHoldingsReader({ chain, rpc: clientRpc }),
    tokenOf: (marketId, outcome) => view.market(marketId)?.tokens?.[outcome],
  });
}

function reservationsOf({ view, onStep }: Replica, chainId: number): Reservations {
  const reservations = createReservations({
    isHere: (marketId) => view.market(marketId)?.chainId === chainId, traderOf: (orderHash) => view.traderOf(orderHash),
  });
  for (const fill of view.unsettledFills({ chainId, from: 0 })) reservations.addFill(fill);
  for (const order of view.openOrders()) {
    if (order.chainId === chainId) reservations.addOrder({ ...order, size: order.remaining });
  }
  onStep(({ outcome: { events } }) => { reservations.fold(events); });
  return reservations;
}
