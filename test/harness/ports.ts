/** What the real roles take, in one object, and the part of it that is the same in every test and in the simulation. */
import { watchesOf } from '../../command/chain/chain-watch.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { indexer, type IndexerPorts } from '../../command/indexer/role.js';
import { lane, type LanePorts } from '../../command/lane/role.js';
import { api, type ApiPorts, type OrderReads } from '../../command/orders/role.js';
import { prices, type PricesPorts } from '../../command/prices/role.js';
import { relayer, type RelayerPorts } from '../../command/relayer/role.js';
import { settlement, type SettlementPorts } from '../../command/settlement/role.js';
import { SUBMISSIONS } from '../../command/submissions.js';
import type { Log } from '../../engine/log/log.js';
import { RequestError } from '../../engine/records/errors.js';
import { readReplica } from '../../engine/role-state.js';
import { engine, type EnginePorts } from '../../engine/role.js';
import type { Clock, Role, RunningRole } from '../../engine/running-role.js';
import type { ServingRole } from '../../service/api/endpoint.js';

const ROLES = { api, engine, indexer, lane, prices, relayer, settlement };

type PortsOf<R> = R extends Role<infer Ports> ? Ports : never;

/** The roles to start, in this order, each with the ports that differ for it alone. */
export type Roles = { readonly [Name in keyof typeof ROLES]?: Partial<PortsOf<typeof ROLES[Name]>> };

/** Each role has its own, which `Roles` gives. */
type Own = 'timings' | 'rules';

/** The ports of all roles. */
export interface RolePorts
  extends EnginePorts, ApiPorts, Omit<IndexerPorts, Own>, LanePorts, Omit<SettlementPorts, Own>, Omit<RelayerPorts, Own>, PricesPorts {
  readonly log: Log;
  readonly clock: Clock;
}

/** Read models that know nothing, which is enough where the engine has forgotten no order. */
const NO_READ_MODELS: OrderReads = {
  order: () => Promise.resolve(undefined), marketId: () => Promise.reject(new RequestError('unknown_market')),
  position: () => Promise.resolve({ yesShares: 0n, noShares: 0n, totalInvested: 0n, position: -1 }), waitForPosition: () => Promise.resolve(),
};

/** No catalogue, no prices, no limits in reach, and reads that know nothing. */
export const QUIET = {
  catalogue: { read: () => Promise.resolve([]), chainId: 0 }, sources: [], assets: [],
  schedule: { assets: [], intervalS: 60, ahead: 0 }, tickMs: 1_000,
  quota: { gasPerOwner: 0n, gasPerToken: 0n }, reads: NO_READ_MODELS, submissions: SUBMISSIONS, cancelAuth: 'open' as const,
  limits: { maxQueuedOrders: 1_000, maxOpenOrders: 1_000 }, metrics: { batch: () => undefined, order: () => undefined }, admit: () => undefined,
  plannedHalts: [], failed: (error: unknown) => { throw error as Error; },
};

/** Ports that follow from others, or have the same contents nearly everywhere. */
type Derived = keyof typeof QUIET | 'replicaState' | 'watch' | 'openFeed';

/** The ports of a process with this replica. What `given` has is taken as it is. */
export function portsOf(given: Omit<RolePorts, Derived> & Partial<RolePorts>): RolePorts {
  const { log, replica, logLength, askToAdvance, clock } = given;
  return {
    ...QUIET, replicaState: readReplica(() => replica, logLength),
    watch: watchesOf({ replica: () => Promise.resolve(replica), askToAdvance, now: () => clock.monotonic() }),
    openFeed: () => Promise.resolve({ feed: createLogFeed(log), transport: 'log', status: () => undefined }),
    ...given,
  };
}

/** Most roles serve no endpoints. */
export type StartedRole = RunningRole & Partial<ServingRole>;

/** Starts the roles, one after the other. `started` gets each as soon as it works. */
export async function startRoles(ports: RolePorts, roles: Roles, started: (role: StartedRole) => void): Promise<void> {
  for (const [name, special] of Object.entries(roles)) {
    const role: Role<RolePorts, StartedRole> = ROLES[name as keyof typeof ROLES];
    started(await role.start(Object.assign({ ...ports }, special)));
  }
}
