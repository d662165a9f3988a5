/** The relayer and the lane of its key, each in a process that a test stops where it likes, on a chain and a database that outlive them. */
import type { LaneUser } from '../../command/lane/requests.js';
import { relayEndpoints } from '../../command/relayer/endpoints.js';
import { relayerState, type RelayerState } from '../../command/relayer/role-state.js';
import { createMemoryLog, type MemoryStore } from '../../engine/log/memory/memory-log.js';
import { orAborted } from '../../engine/waiting.js';
import type { DeployedChain } from '../support/deployed-chain.js';
import { startHarness, type Harness } from './harness.js';
import { createMemoryReads } from './memory/reads.js';
import type { Roles } from './ports.js';
import { postgresStores } from './stores.js';

/** What outlives a stop. */
export interface RelayWorld {
  readonly node: DeployedChain;
  readonly databaseUrl: string;
  readonly store: MemoryStore;
  /** How long a request waits until the lane has signed; default: longer than that takes anywhere. */
  readonly answerWithinMs?: number;
}

/** Where a process ends: none of its later steps happens. */
export type Death = 'requested' | 'ended' | undefined;

export interface RelayProcess extends Harness {
  /** Asks for an approval; resolves with the hash of its transaction. */
  approve(body: Buffer): Promise<string>;
  state(): Promise<RelayerState>;
}

const never = new Promise<never>(() => undefined);

/** A user of the lane whose process ends before it asks, or after an ending is recorded and before it is forgotten. */
function mortal(user: LaneUser, death: Death): LaneUser {
  return {
    async hold(standBy) {
      const held = await user.hold(standBy);
      const dead = () => orAborted(never, standBy.signal);
      return {
        ...held,
        ...death === 'requested' ? { ask: dead } : {},
        // Its session ends with it.
        ...death === 'ended' ? { forget: () => held.close().then(dead) } : {},
      };
    },
  };
}

/** Starts the relayer, with an indexer beside it: the next one may be another process. */
export async function startRelayProcess(world: RelayWorld, death?: Death): Promise<RelayProcess> {
  const { answerWithinMs = 40_000 } = world;
  const harness = await start(world, { indexer: {}, relayer: { timings: { pollMs: 20, answerWithinMs, laneSilentMs: 60_000 } } }, death);
  return {
    ...harness,
    async approve(rawBody) {
      const { body } = await harness.answer(relayEndpoints['ctf-approval'], { rawBody, token: { id: 1, name: 'a test', scopes: ['relay'] } });
      return (JSON.parse(body) as { tx_hash: string }).tx_hash;
    },
    state: async () => (await harness.stateOf(relayerState))[0]!,
  };
}

/** The lane of the relayer's key, which relays and the keeper share. The key may have sent before: a count that is believed takes several looks. */
export function startRelayLane(world: RelayWorld): Promise<Harness> {
  return start(world, { lane: { policy: { looksApartMs: 20 } } });
}

function start({ node, databaseUrl, store }: RelayWorld, roles: Roles, death?: Death): Promise<Harness> {
  const { chain, url, operatorKey, accounts: { 8: key } } = node;
  const stores = postgresStores(databaseUrl);
  return startHarness({
    log: createMemoryLog(store), roles,
    chains: [{
      chain, rpcUrls: [url], operatorKey, relayerKey: key!.privateKey, relayer: key!.address.toLowerCase(), pollMs: 20, stalledAfterMs: Infinity,
    }],
    ports: {
      ...stores, endedRelays: createMemoryReads({ outcomes: () => store.records.outcomes }),
      laneUser: (whose) => whose.purpose === 'relay' ? mortal(stores.laneUser(whose), death) : stores.laneUser(whose),
    },
  });
}
