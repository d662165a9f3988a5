/** The settlement role: puts fills into transactions, in order, and requests a lane to send them. The indexer records whether they settled. */
import { randomUUID } from 'node:crypto';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createChainReads } from '../../command/chain/chain-reads.js';
import { createSettledOnChain } from '../../command/settlement/settled-on-chain.js';
import { runSettlement, type Settlement } from '../../command/settlement/settlement-worker.js';
import type { Replica } from '../../engine/run/replica.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { createWaitingAlarm } from '../chains/chain-alarms.js';
import { createSettlementHealth } from '../chains/settlement-health.js';
import type { Figure } from '../metrics.js';
import { OPERATOR } from './lane.js';
import type { SettlementHealth } from '../process/readiness.js';
import { neverFails } from '../process/failure.js';
import type { Role } from './role.js';
import type { SharedParts } from '../process/shared-parts.js';

const WATCH_MS = 5_000;

export const settlement: Role = {
  name: 'settlement',
  reads: 'unsettled fills, through the replica; commands, for the signed orders',
  writes: 'requests to the lane',
  async start(parts) {
    const replica = await parts.replica();
    const running = await Promise.all([...parts.chains.values()].map((access) => startSettlement(access, replica, parts)));
    const chains = () => running.map(({ health }) => health());
    return {
      routes: [], figures: settlementFigures(chains), failed: neverFails,
      health: () => ({ ...parts.replicaHealth(), chains: chains() }),
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

async function startSettlement(access: ChainAccess, { view }: Replica, parts: SharedParts) {
  const { log, now, urls } = parts;
  const { chain, rpc, report } = access;
  const { chainId } = chain;
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, access.signal]);
  const watch = await parts.watch(access);
  const settledOnChain = createSettledOnChain(chain, createChainReads(chain, rpc));
  let started: Settlement | undefined;
  await access.begin(async () => {
    await watch.verify();
    started ??= runSettlement({
      chain, log, report, now, signal, settledOnChain, catchUp: () => watch.catchUp(), verify: () => watch.verify(), newId: () => randomUUID(),
      lane: openLaneUser({ url: urls.outbox, chainId, key: OPERATOR, purpose: 'settlement' }),
      view: {
        nextFill: () => view.nextFill, unsettled: (from) => view.unsettledFills({ chainId, from }),
        nextBlock: () => view.cursor(chainId)?.nextBlock ?? 0, history: () => ({ position: view.position - 1, digest: view.digest }),
      },
    });
  });
  const health = createSettlementHealth({
    chainId, now, settlement: () => started?.status(), unsettled: () => view.unsettledFills({ chainId, from: 0 }),
  });
  const look = createWaitingAlarm({ chainId, report });
  const timer = setInterval(() => { look(health()); }, WATCH_MS).unref();
  return {
    health,
    async stop() {
      stopping.abort();
      clearInterval(timer);
      await started?.done;
    },
  };
}

/** The metrics of the settlement workers. */
export function settlementFigures(chains: () => readonly SettlementHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (chain: SettlementHealth) => number): Figure => (
    { name, help, read: () => chains().map((chain) => ({ labels: { chain: chain.chainId }, value: value(chain) })) });
  return [
    figure('exchange_settlement_waiting_fills', 'Number of fills that wait to be sent, counted up to 10,000', ({ waitingFills }) => waitingFills),
    figure('exchange_settlement_sent_fills', 'Number of fills in transactions that are neither confirmed nor failed', ({ sentFills }) => sentFills),
    figure('exchange_settlement_oldest_waiting_seconds', 'How long the oldest waiting fill has waited', ({ oldestWaitingS }) => oldestWaitingS ?? 0),
    figure('exchange_settlement_troubled', '1 when something blocks settlement', ({ settlementTrouble }) => settlementTrouble === null ? 0 : 1),
  ];
}
