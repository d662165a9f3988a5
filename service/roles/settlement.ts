/**
 * The settlement role: takes in the fills of the feed, puts them into transactions, in order, and requests a lane to send them. The indexer
 * records whether they settled.
 */
import { randomUUID } from 'node:crypto';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createChainReads } from '../../command/chain/chain-reads.js';
import { runIntake, type Intake } from '../../command/settlement/intake/intake.js';
import { openStore } from '../../command/settlement/intake/store.js';
import { laneOf } from '../../command/settlement/intake/owned-lane.js';
import { createSettledOnChain } from '../../command/settlement/settled-on-chain.js';
import { runSettlement, type Settlement } from '../../command/settlement/settlement-worker.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { reading } from '../../engine/state-table.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { openFillFeed } from '../feed/fill-feed.js';
import { watchChain } from '../chains/chain-watch.js';
import { reportTo } from '../logger.js';
import { OPERATOR } from './lane.js';
import { failureOf, neverFails, rejection } from '../process/failure.js';
import { checkChains, checkOrder } from '../process/history-check.js';
import type { Role } from './role.js';
import { createSettlementState, intakeState, intakeStateOf, kafkaState, settlementState } from './settlement-state.js';
import type { SharedParts } from '../process/shared-parts.js';

export const settlement: Role = {
  async start(parts) {
    const { chains: accesses, logger, urls, log } = parts;
    // Orders that settle nowhere have nothing to take in.
    if (accesses.size === 0) return { routes: [], state: [], failed: neverFails, stop: () => Promise.resolve() };
    const stopping = new AbortController();
    const open = await openFillFeed(parts);
    const foreign = rejection();
    const intake = runIntake({
      openStore: (session) => openStore({ url: urls.outbox, ...session }),
      feed: open.feed, log, chains: [...accesses.keys()], signal: stopping.signal, report: reportTo(logger),
      checkChains: (ofMarkets) => { checkChains(ofMarkets, [...accesses.keys()]); },
    });
    await intake.begun;
    const running = await Promise.all([...accesses.values()].map((access) => (
      startSettlement(access, { intake, parts, stopping: stopping.signal, foreign: foreign.reject }))));
    return {
      routes: [], failed: failureOf(Promise.race([foreign.promise, intake.done])),
      state: [
        reading(settlementState, () => running.map(({ state }) => state())),
        reading(intakeState, () => [intakeStateOf(intake, open, parts.logLength())]),
        ...open.transport === 'log' ? [] : [reading(kafkaState, () => [open.status()].filter((status) => status !== undefined))],
      ],
      async stop() {
        stopping.abort(new Error('the process stops'));
        await Promise.all([intake.done.catch(() => undefined), ...running.map((each) => each.stop())]);
      },
    };
  },
};

interface Surroundings {
  readonly intake: Intake;
  readonly parts: SharedParts;
  readonly stopping: AbortSignal;
  /** Called when the orders of the history are not for this chain's contract. */
  readonly foreign: (error: unknown) => void;
}

async function startSettlement(access: ChainAccess, { intake, parts, stopping, foreign }: Surroundings) {
  const { log, now, urls, advance, domains } = parts;
  const { chain, rpc, report } = access;
  const { chainId } = chain;
  const signal = AbortSignal.any([stopping, access.signal]);
  const watch = watchChain({
    access, view: { cursor: () => cursorOf(intake, chainId) }, askToAdvance: () => { advance.ask(chainId); }, now: () => performance.now(),
  });
  intake.onChange(() => { watch.stepped(); });
  const settledOnChain = createSettledOnChain(chain, createChainReads(chain, rpc));
  const view = intake.view(chainId);
  const lane = laneOf(intake, openLaneUser({ url: urls.outbox, chainId, key: OPERATOR, purpose: 'settlement' }));
  const check = (order: PlaceOrder): void => {
    const domain = domains.get(chainId);
    try {
      if (domain !== undefined) checkOrder(domain, order);
    } catch (error) {
      foreign(error);
      throw error;
    }
  };
  let started: Settlement | undefined;
  await access.begin(async () => {
    await watch.verify();
    started ??= runSettlement({
      chain, log, report, now, signal, settledOnChain, catchUp: () => watch.catchUp(), verify: () => watch.verify(), newId: () => randomUUID(),
      view, lane, checkOrder: check,
    });
  });
  return {
    state: createSettlementState({ chainId, now, settlement: () => started?.status(), unsettled: () => view.unsettled(0) }),
    async stop() { await started?.done; },
  };
}

/** How far a chain is recorded, as far as the fills have been taken in. */
function cursorOf(intake: Intake, chainId: number) {
  const barrier = intake.barrier(chainId);
  return barrier === undefined ? undefined : { ...barrier, nextBlock: barrier.block + 1, nextLog: 0 };
}
