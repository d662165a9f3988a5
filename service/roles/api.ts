/** The api role: takes orders and cancels, and sets positions to the balances on a chain. Answers from the replica of its process. */
import { minOrderSizeOf } from '../../command/chain/chain.js';
import { createCancelOrder } from '../../command/orders/cancel-order.js';
import { createCommandWriter } from '../../command/orders/command-writer.js';
import { createPlaceOrder } from '../../command/orders/place-order.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { createGroupCommit } from '../../engine/log/group-commit.js';
import type { Replica } from '../../engine/run/replica.js';
import { createOrderLookup } from '../../query/orders/order.js';
import { serve } from '../api/endpoint.js';
import { createExposures } from '../chains/exposures.js';
import { orderEndpoints } from '../endpoints.js';
import { observedOrders } from '../http/observe.js';
import { neverFails } from '../process/failure.js';
import type { SharedParts } from '../process/shared-parts.js';
import type { Conditions } from '../status/conditions.js';
import { createOrderFinder } from './handlers/order-finder.js';
import { createPositionSync } from './handlers/position-sync.js';
import type { Role } from './role.js';

/** A client whose command has no outcome within this time gets `outcome_unknown`. */
const ANSWER_WITHIN_MS = 10_000;

export const api: Role = {
  async start(parts) {
    const { config, log, metrics, writerId, domains, chains, now, conditions, replicaHealth } = parts;
    const replica = await parts.replica();
    const { view, outcomeOf } = replica;
    const db = await parts.readModels();
    const recovery = await createSignerRecovery(parts.keccak256);
    const commits = createGroupCommit({ log, stream: 'commands', maxQueued: config.maxQueuedOrders, committed: metrics.batch });
    const submit = createCommandWriter({ commits, outcomeOf, writerId, answerWithinMs: ANSWER_WITHIN_MS });
    const exposures = await startExposures(parts, replica);
    const findOrder = createOrderFinder(view, db);
    const domainOf = (chainId: number) => domains.get(chainId);
    const placeOrder = createPlaceOrder({
      view, domainOf, recovery, submit, findOrder, originalOutcome: outcomeOf, now,
      permitDigestOf: (chainId) => chains.get(chainId)?.permitDigest(), exposureOf: (chainId) => exposures.get(chainId),
      maxOpenOrders: config.maxOpenOrders, minSizeOf: (chainId) => minOrderSizeOf(chains.get(chainId)?.chain),
    });
    const cancelOrder = createCancelOrder({ auth: config.cancelAuth, domainOf, recovery, submit, findOrder, now });
    const syncPosition = createPositionSync({ view, db, chains, submit, now, watch: parts.watch });
    const orders = observedOrders(metrics, {
      placeOrder: admitted(conditions, 'order', placeOrder), cancelOrder: admitted(conditions, 'other', cancelOrder),
    });
    return {
      routes: serve(orderEndpoints, {
        ...orders, lookUpOrder: createOrderLookup({ view, outcomeOf, db }), syncPosition: admitted(conditions, 'other', syncPosition),
      }),
      health: replicaHealth, failed: neverFails,
      figures: [
        { name: 'exchange_queued_orders', help: 'Number of orders that wait for the log', read: () => commits.queued() },
        { name: 'exchange_recovery_backend_info', help: 'Library that recovers the signers of orders', read: () => [{ labels: { backend: recovery.backend }, value: 1 }] },
      ],
      stop: () => commits.drain(),
    };
  },
};

/** The handler of a command, behind the conditions under which the process takes such commands; throws at once where it does not. */
function admitted<Request extends unknown[], Answered>(
  { admit }: Conditions, what: Parameters<Conditions['admit']>[0], handler: (...request: Request) => Promise<Answered>,
): (...request: Request) => Promise<Answered> {
  return (...request) => {
    admit(what);
    return handler(...request);
  };
}

/** The exposure checks by chain id, for chains with the check on. Begins with every chain, also without the check: permits need its stablecoin. */
async function startExposures({ chains, watch }: SharedParts, replica: Replica) {
  const exposures = new Map<number, NonNullable<ReturnType<typeof createExposures>>>();
  for (const [chainId, access] of chains) {
    await access.begin(() => Promise.resolve());
    const exposure = access.chain.exposureCheck ? createExposures({ access, replica, watch: await watch(access) }) : undefined;
    if (exposure !== undefined) exposures.set(chainId, exposure);
  }
  return exposures;
}
