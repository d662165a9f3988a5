/** The api role: takes orders and cancels, and sets positions to the balances on a chain. Answers from the replica of its process. */
import { availableParallelism } from 'node:os';
import { createGroupCommit } from '../../engine/log/group-commit.js';
import type { Log } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Replica } from '../../engine/run/replica.js';
import { neverFails, type Admit, type Clock, type Role } from '../../engine/running-role.js';
import { reading, type Reading } from '../../engine/state-table.js';
import { serve, type ServingRole } from '../../service/api/endpoint.js';
import type { ChainAccess } from '../chain/chain-access.js';
import type { ChainWatch } from '../chain/chain-watch.js';
import { minOrderSizeOf } from '../chain/chain.js';
import type { Exposure } from '../chain/exposure.js';
import { createExposures } from '../chain/exposures.js';
import { createHoldingsReader } from '../chain/holdings.js';
import type { SignerRecovery } from '../signing/recover.js';
import type { RecoveryThread } from '../signing/recovery-thread.js';
import type { PreparedDomain } from '../signing/typed-data.js';
import { createAccount, type AccountParts } from './account.js';
import { createCancelAfter } from './cancel-after.js';
import { createCancelAll } from './cancel-all.js';
import { createCancelOrder, type CancelOrderHandler, type CancelOrderParts } from './cancel-order.js';
import { createCancelOrders } from './cancel-orders.js';
import { createCaughtUp } from './caught-up.js';
import { createCheckOrder, type CheckOrderParts } from './check-order.js';
import { createCommandWriter } from './command-writer.js';
import { replicaEndpoints, orderEndpoints } from './endpoints.js';
import { createOrderFinder, type FindRecordedOrder } from './order-finder.js';
import { createOrderPlacing, createPlaceOrder, type PlaceOrderHandler } from './place-order.js';
import { createPlaceOrders } from './place-orders.js';
import { unlessHalted, type PlannedHalt } from './planned-halts.js';
import { createReduceOrder } from './reduce-order.js';
import { queueState, recoveryState } from './role-state.js';
import { createTradingStatus } from './trading-status.js';
import { createPositionSync, type PositionReads } from './sync-position.js';

/** A client whose command has no outcome within this time gets `outcome_unknown`. */
const ANSWER_WITHIN_MS = 10_000;
/** More orders than a commit carries at half the load wait for the log: then they wait for the main thread. */
const QUEUE = 8;

export interface ApiPorts {
  readonly log: Log;
  /** Identifies this start of the process in the records that it writes. */
  readonly writerId: string;
  readonly replica: Replica;
  readonly replicaState: Reading;
  readonly reads: OrderReads;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  /** The checks of what traders can pay, by chain id. Absent: those of the chains with the check on. */
  readonly exposures?: Exposures;
  /** The signing domains of orders by chain id. */
  readonly domains: ReadonlyMap<number, PreparedDomain>;
  readonly recovery: SignerRecovery;
  /** For the signers of batches, and of orders that queue; absent: `recovery` recovers them, too. */
  readonly recoveryThread?: RecoveryThread;
  /** How many cores there are for the process. Absent: as the system says. */
  readonly cores?: number;
  readonly clock: Pick<Clock, 'now'>;
  /** Throws RequestError while no such command may be stamped or written. */
  readonly admit: Admit;
  /** Times at which no orders are taken. */
  readonly plannedHalts: readonly PlannedHalt[];
  readonly limits: {
    /** Orders that wait for the log; more are refused. */
    readonly maxQueuedOrders: number;
    /** Open orders of one trader. */
    readonly maxOpenOrders: number;
  };
  readonly cancelAuth: CancelOrderParts['auth'];
  readonly metrics: OrderMetrics;
  /** Logs an unexpected error of a part of a request. Returns the id under which it is logged. */
  readonly failed: (error: unknown, what: string) => string;
}

type Exposures = Pick<ReadonlyMap<number, Exposure>, 'get'>;

/** What the role asks of the read models. */
export interface OrderReads extends PositionReads {
  readonly order: FindRecordedOrder;
}

export interface OrderMetrics {
  /** Counts an order or cancel by its result: `accepted`, `cancelled`, or the error code of the refusal. */
  order(result: string): void;
  /** Counts a batch that was committed to the log. */
  batch(records: number): void;
}

export const api: Role<ApiPorts, ServingRole> = {
  async start(ports) {
    const { log, metrics, writerId, domains, chains, recovery, recoveryThread, reads, replica, replicaState, admit, plannedHalts, limits } = ports;
    const { view, outcomeOf } = replica;
    const now = () => ports.clock.now();
    const admitOrders = unlessHalted(admit, { plannedHalts, now });
    const commits = createGroupCommit({ log, stream: 'commands', maxQueued: limits.maxQueuedOrders, committed: metrics.batch });
    const { submit, submitAll } = createCommandWriter({ commits, outcomeOf, writerId, answerWithinMs: ANSWER_WITHIN_MS });
    const exposures = ports.exposures ?? await startExposures(ports);
    const findOrder = createOrderFinder(view, reads.order);
    const domainOf = (chainId: number) => domains.get(chainId);
    const minSizes = new Map([...chains].map(([chainId, { chain }]) => [chainId, minOrderSizeOf(chain)]));
    const otherMinSize = minOrderSizeOf(undefined);
    const caughtUp = createCaughtUp({ log, view, outcomeOf, withinMs: ANSWER_WITHIN_MS });
    const parts: CheckOrderParts = {
      view, caughtUp, domainOf, recovery, submit, findOrder, originalOutcome: outcomeOf, now,
      permitDigestOf: (chainId) => chains.get(chainId)?.permitDigest(), exposureOf: (chainId) => exposures.get(chainId),
      maxOpenOrders: limits.maxOpenOrders, minSizeOf: (chainId) => minSizes.get(chainId) ?? otherMinSize,
    };
    const placing = createOrderPlacing(parts);
    const cancelOrder = createCancelOrder({ auth: ports.cancelAuth, domainOf, recovery, submit, findOrder, now });
    const signed = { view, auth: ports.cancelAuth, domains, recovery, submit, findOrder, originalOutcome: outcomeOf, caughtUp, now };
    const placeOrders = createPlaceOrders({
      placing, submitAll, recover: recoveryThread?.recover, counted: (result) => { metrics.order(result); }, failed: ports.failed,
    });
    const syncPosition = createPositionSync({ view, reads, chains, submit, now, watch: ports.watch });
    const recover = recoveryByLoad(ports, commits.queued);
    const orders = countedOrders(metrics, {
      placeOrder: admitted(admitOrders, 'order', createPlaceOrder(placing, recover)), cancelOrder: admitted(admit, 'other', cancelOrder),
    });
    return {
      routes: [
        // Before `/orders/{hash}`, which has the path of the check, too.
        ...serve(replicaEndpoints, {
          checkOrder: createCheckOrder(parts), account: createAccount({ view, holdingsOf: holdingsReaders(chains), now }),
          tradingStatus: createTradingStatus({ view, admit: admitOrders, plannedHalts, now }),
        }),
        ...serve(orderEndpoints, {
          ...orders, placeOrders: admitted(admitOrders, 'order', placeOrders),
          cancelOrders: admitted(admit, 'other', createCancelOrders(signed)), cancelAll: admitted(admit, 'other', createCancelAll(signed)),
          cancelAfter: admitted(admit, 'order', createCancelAfter(signed)), reduceOrder: admitted(admit, 'other', createReduceOrder(signed)),
          syncPosition: admitted(admit, 'other', syncPosition),
        }),
      ],
      failed: neverFails(),
      state: [
        replicaState, reading(queueState, () => [{ queued: commits.queued() }]),
        reading(recoveryState, () => [{ backend: recovery.backend }]),
      ],
      async stop() {
        await commits.drain();
        await recoveryThread?.stop();
      },
    };
  },
};

/**
 * Where the signer of a single order is recovered: by the main thread, or, while orders queue, by the thread of batches.
 * Undefined where the main thread always recovers: on a single core, of which the other thread would take its time.
 */
export function recoveryByLoad(
  { recovery, recoveryThread: thread, cores = availableParallelism() }: Pick<ApiPorts, 'recovery' | 'recoveryThread' | 'cores'>, queued: () => number,
): RecoveryThread['recover'] | undefined {
  if (thread === undefined || cores < 2) return undefined;
  let waiting = 0;
  return (digest, signature) => {
    // What comes after an order that waits for the thread waits, too: it would be placed before it.
    if (queued() < QUEUE && waiting === 0) return recovery.recover(digest, signature);
    const recovered = thread.recover(digest, signature);
    if (!(recovered instanceof Promise)) return recovered;
    waiting += 1;
    return recovered.then((found) => {
      waiting -= 1;
      return found;
    });
  };
}

interface OrderHandlers {
  readonly placeOrder: PlaceOrderHandler;
  readonly cancelOrder: CancelOrderHandler;
}

/** The same handlers, which also count each result. */
export function countedOrders(metrics: Pick<OrderMetrics, 'order'>, { placeOrder, cancelOrder }: OrderHandlers): OrderHandlers {
  const counted = async <T>(result: string, work: () => Promise<T>): Promise<T> => {
    try {
      const answer = await work();
      metrics.order(result);
      return answer;
    } catch (error) {
      metrics.order(error instanceof RequestError ? error.code : 'internal');
      throw error;
    }
  };
  return {
    placeOrder: (body, signal) => counted('accepted', () => placeOrder(body, signal)),
    cancelOrder: (request, signal) => counted('cancelled', () => cancelOrder(request, signal)),
  };
}

/** The handler of a command, behind the conditions under which the process takes such commands; throws at once where it does not. */
function admitted<Request extends unknown[], Answered>(
  admit: Admit, what: Parameters<Admit>[0], handler: (...request: Request) => Promise<Answered>,
): (...request: Request) => Promise<Answered> {
  return (...request) => {
    admit(what);
    return handler(...request);
  };
}

/** Readers of balances by chain id. */
function holdingsReaders(chains: ApiPorts['chains']): AccountParts['holdingsOf'] {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc }]) => [chainId, createHoldingsReader({ chain, rpc: clientRpc })]));
  return (chainId) => readers.get(chainId);
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
