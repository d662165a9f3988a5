/** The relayer's parts on a chain and a database that outlive them: sender, lane and history, each of which a test stops where it likes. */
import { randomUUID } from 'node:crypto';
import { createChainReads } from '../../command/chain/chain-reads.js';
import { openRelaySender, type RelaySender, type RelayHistory } from '../../command/relayer/sender.js';
import { relaySubmissionOf } from '../../command/relayer/note.js';
import { createQuota } from '../../command/relayer/quota.js';
import { createRelayer, type Relay } from '../../command/relayer/relayer.js';
import { createRpc } from '../../command/chain/rpc.js';
import { createLane } from '../../command/lane/lane.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import type { HeldLaneUser, LaneUser } from '../../command/lane/requests.js';
import { createKeccak256 } from '../../command/signing/keccak.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { decodeOutcome, encodeCommand, recordId } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import { createMemoryLog, type createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { startReplica } from '../../engine/run/replica.js';
import type { DeployedChain } from './deployed-chain.js';

/** What outlives a stop. */
export interface RelayWorld {
  readonly node: DeployedChain;
  readonly databaseUrl: string;
  readonly store: ReturnType<typeof createMemoryStore>;
}

/** Where a process ends: none of its later steps happens. */
export type Death = 'requested' | 'ended' | undefined;

export interface RelayProcess {
  readonly relay: Relay;
  readonly sender: RelaySender;
  readonly events: () => Promise<Event[]>;
  readonly reports: string[];
  stop(): Promise<void>;
}

const never = new Promise<never>(() => undefined);

/** A user of the lane whose process ends before it asks, or after an ending is recorded and before it is forgotten. */
function mortal(user: LaneUser, death: Death): LaneUser {
  const held = (inner: HeldLaneUser): HeldLaneUser => ({
    ...inner,
    ...death === 'requested' ? { ask: () => never } : {},
    // Its session ends with it.
    ...death === 'ended' ? { forget: () => inner.close().then(() => never) } : {},
  });
  return { hold: async (standBy) => held(await user.hold(standBy)) };
}

export async function startRelayProcess({ node, databaseUrl, store }: RelayWorld, death?: Death): Promise<RelayProcess> {
  const { chain } = node;
  const { chainId, contracts } = chain;
  const stopping = new AbortController();
  const { signal } = stopping;
  const reports: string[] = [];
  const report = (level: string, text: string) => { reports.push(`${level}: ${text}`); };
  const log = createMemoryLog(store);
  const replica = await startReplica({ log, record: { writerId: randomUUID() }, signal });
  await replica.caughtUp;
  const rpc = createRpc({ chainId, urls: [node.url], now: () => Math.round(performance.now()), report });
  const reads = createChainReads(chain, rpc);
  const [key] = [node.accounts[8]!];
  const relayer = key.address.toLowerCase();
  const history: RelayHistory = {
    open: () => replica.view.openRelays(chainId), nextBlock: () => Infinity, catchUp: () => Promise.resolve(),
    async record(command) {
      const position = await log.append('commands', [{ id: recordId(randomUUID()), data: encodeCommand(command) }]);
      const { events } = await replica.outcomeOf(position);
      return { position, taken: events.every(({ type }) => type !== 'CommandRejected') };
    },
  };
  const sender = openRelaySender({
    chainId, history, report, signal, now: () => Date.now(), endings: { contracts, confirmations: chain.confirmations, reads, relayer },
    timings: { pollMs: 20, answerWithinMs: 300, laneSilentMs: 60_000 },
    lane: mortal(openLaneUser({ url: databaseUrl, chainId, key: 'relayer', purpose: 'relay', standByMs: 20 }), death),
  });
  const keccak256 = await createKeccak256();
  const relay = createRelayer({
    keccak256, recovery: await createSignerRecovery(keccak256), now: () => Date.now(),
    quota: createQuota({ gasPerOwner: 0n, gasPerToken: 0n }, () => 0),
    chains: new Map([[chainId, {
      chain, reads, sender, lacks: () => undefined, relayer, maxFeePerGas: 10n ** 12n, token: () => ({ name: 'USD Coin (test)', version: '2' }), isKnownMarket: () => true,
      commitments: (owner) => replica.view.commitments({ trader: owner, chainId }),
      ended: () => Promise.resolve(undefined), readModelCaughtUp: () => Promise.resolve(),
    }]]),
  });
  return {
    relay, sender, reports,
    async events() {
      const records = await log.read('outcomes', 0, 10_000);
      return records.flatMap(({ data }) => decodeOutcome(data).events as Event[]);
    },
    async stop() {
      stopping.abort(new Error('stopped'));
      await Promise.race([sender.done, new Promise((resolve) => { setTimeout(resolve, 500).unref(); })]);
      await replica.done.catch(() => undefined);
    },
  };
}

/** The lane of the relayer's key, which relays and the keeper share. */
export async function startRelayLane({ node, databaseUrl, store }: RelayWorld): Promise<{ stop(): Promise<void> }> {
  const log = createMemoryLog(store);
  const { chain } = node;
  const rpc = createRpc({ chainId: chain.chainId, urls: [node.url], now: () => Math.round(performance.now()), report: () => undefined });
  return createLane({
    chain, rpc, key: 'relayer',
    privateKey: node.accounts[8]!.privateKey, outbox: createOutbox({ url: databaseUrl, standByMs: 20 }), now: () => Math.round(performance.now()),
    // The key may have sent before, for another database: a count that is believed takes several looks.
    report: () => undefined, policy: { pollMs: 20, looksApartMs: 20 },
    announce: async ({ txHash }, { purpose, note }) => {
      if (purpose !== 'relay') return;
      const command: Command = relaySubmissionOf(note, { chainId: chain.chainId, txHash, at: Date.now() });
      await log.append('commands', [{ id: recordId(`relay:${txHash}`), data: encodeCommand(command) }]);
    },
  });
}
