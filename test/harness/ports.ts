/** What the real roles take, in one object, and the part of it that is the same in every test and in the simulation. */
import { createLogFeed } from '../../command/feed/log-feed.js';
import type { Log } from '../../engine/log/log.js';
import type { Database } from '../../query/database.js';
import { watchesOf } from '../../service/chains/chain-watch.js';
import { api, type ApiPorts } from '../../service/roles/api.js';
import { readReplica } from '../../service/roles/engine-state.js';
import { engine, type EnginePorts } from '../../service/roles/engine.js';
import { indexer, type IndexerPorts } from '../../service/roles/indexer.js';
import { lane, type LanePorts } from '../../service/roles/lane.js';
import { prices, type PricesPorts } from '../../service/roles/prices.js';
import { relayer, type RelayerPorts } from '../../service/roles/relayer.js';
import type { Clock, Role, RunningRole } from '../../service/roles/role.js';
import { settlement, type SettlementPorts } from '../../service/roles/settlement.js';

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
const NO_READ_MODELS: Database = {
  rows: () => Promise.resolve([]), position: () => Promise.resolve(-1), waitForPosition: () => Promise.resolve(), close: () => Promise.resolve(),
};

/** No catalogue, no prices, no limits in reach, and reads that know nothing. */
const QUIET = {
  openCatalogue: () => Promise.resolve(), sources: [], assets: [], schedule: { assets: [], intervalS: 60, ahead: 0 }, tickMs: 1_000,
  quota: { gasPerOwner: 0n, gasPerToken: 0n }, db: NO_READ_MODELS, cancelAuth: 'open' as const,
  limits: { maxQueuedOrders: 1_000, maxOpenOrders: 1_000 }, metrics: { batch: () => undefined, order: () => undefined }, admit: () => undefined,
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

/** Starts the roles, one after the other. `started` gets each as soon as it works. */
export async function startRoles(ports: RolePorts, roles: Roles, started: (role: RunningRole) => void): Promise<void> {
  for (const [name, special] of Object.entries(roles)) {
    const role: Role<RolePorts> = ROLES[name as keyof typeof ROLES];
    started(await role.start(Object.assign({ ...ports }, special)));
  }
}
