/** The api role: takes orders and cancels, and sets positions to the balances on a chain. Answers from the replica of its process. */
import { minOrderSizeOf } from '../../command/chain/chain.js';
import { createCancelOrder } from '../../command/orders/cancel-order.js';
import { createCommandWriter } from '../../command/orders/command-writer.js';
import { createPlaceOrder } from '../../command/orders/place-order.js';
import type { SignerRecovery } from '../../command/signing/recover.js';
import type { PreparedDomain } from '../../command/signing/typed-data.js';
import { createGroupCommit } from '../../engine/log/group-commit.js';
import type { Log } from '../../engine/log/log.js';
import type { Replica } from '../../engine/run/replica.js';
import type { Database } from '../../query/database.js';
import { createOrderLookup } from '../../query/orders/order.js';
import { reading, type Reading } from '../../engine/state-table.js';
import { serve } from '../api/endpoint.js';
import type { ChainAccess } from '../chains/chain-access.js';
import type { ChainWatch } from '../chains/chain-watch.js';
import { createExposures } from '../chains/exposures.js';
import type { Config } from '../config.js';
import { orderEndpoints } from '../endpoints.js';
import { observedOrders } from '../http/observe.js';
import { neverFails } from '../process/failure.js';
import type { Conditions } from '../status/conditions.js';
import type { Metrics } from '../status/metrics.js';
import { queueState, recoveryState } from './api-state.js';
import { createOrderFinder } from './handlers/order-finder.js';
import { createPositionSync } from './handlers/position-sync.js';
import type { Clock, Role } from './role.js';

/** A client whose command has no outcome within this time gets `outcome_unknown`. */
const ANSWER_WITHIN_MS = 10_000;

export interface ApiPorts {
  readonly log: Log;
  /** Identifies this start of the process in the records that it writes. */
  readonly writerId: string;
  readonly replica: Replica;
  readonly replicaState: Reading;
  /** The read models. */
  readonly db: Database;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  /** The signing domains of orders by chain id. */
  readonly domains: ReadonlyMap<number, PreparedDomain>;
  readonly recovery: SignerRecovery;
  readonly clock: Pick<Clock, 'now'>;
  /** Throws RequestError while no such command may be stamped or written. */
  readonly admit: Conditions['admit'];
  readonly limits: Pick<Config, 'maxOpenOrders'> & { readonly maxQueuedOrders: number };
  readonly cancelAuth: Config['cancelAuth'];
  readonly metrics: Pick<Metrics, 'batch' | 'order'>;
}

export const api: Role<ApiPorts> = {
  async start(ports) {
    const { log, metrics, writerId, domains, chains, recovery, db, replica, replicaState, admit, limits } = ports;
    const { view, outcomeOf } = replica;
    const now = () => ports.clock.now();
    const commits = createGroupCommit({ log, stream: 'commands', maxQueued: limits.maxQueuedOrders, committed: metrics.batch });
    const submit = createCommandWriter({ commits, outcomeOf, writerId, answerWithinMs: ANSWER_WITHIN_MS });
    const exposures = await startExposures(ports);
    const findOrder = createOrderFinder(view, db);
    const domainOf = (chainId: number) => domains.get(chainId);
    const placeOrder = createPlaceOrder({
      view, domainOf, recovery, submit, findOrder, originalOutcome: outcomeOf, now,
      permitDigestOf: (chainId) => chains.get(chainId)?.permitDigest(), exposureOf: (chainId) => exposures.get(chainId),
      maxOpenOrders: limits.maxOpenOrders, minSizeOf: (chainId) => minOrderSizeOf(chains.get(chainId)?.chain),
    });
    const cancelOrder = createCancelOrder({ auth: ports.cancelAuth, domainOf, recovery, submit, findOrder, now });
    const syncPosition = createPositionSync({ view, db, chains, submit, now, watch: ports.watch });
    const orders = observedOrders(metrics, {
      placeOrder: admitted(admit, 'order', placeOrder), cancelOrder: admitted(admit, 'other', cancelOrder),
    });
    return {
      routes: serve(orderEndpoints, {
        ...orders, lookUpOrder: createOrderLookup({ view, outcomeOf, db }), syncPosition: admitted(admit, 'other', syncPosition),
      }),
      failed: neverFails,
      state: [
        replicaState, reading(queueState, () => [{ queued: commits.queued() }]),
        reading(recoveryState, () => [{ backend: recovery.backend }]),
      ],
      stop: () => commits.drain(),
    };
  },
};

/** The handler of a command, behind the conditions under which the process takes such commands; throws at once where it does not. */
function admitted<Request extends unknown[], Answered>(
  admit: Conditions['admit'], what: Parameters<Conditions['admit']>[0], handler: (...request: Request) => Promise<Answered>,
): (...request: Request) => Promise<Answered> {
  return (...request) => {
    admit(what);
    return handler(...request);
  };
}

/** The exposure checks by chain id, for chains with the check on. Begins with every chain, also without the check: permits need its stablecoin. */
async function startExposures({ chains, watch, replica }: ApiPorts) {
  const exposures = new Map<number, NonNullable<ReturnType<typeof createExposures>>>();
  for (const [chainId, access] of chains) {
    await access.begin(() => Promise.resolve());
    const exposure = access.chain.exposureCheck ? createExposures({ access, replica, watch: await watch(access) }) : undefined;
    if (exposure !== undefined) exposures.set(chainId, exposure);
  }
  return exposures;
}
