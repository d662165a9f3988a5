/**
 * The settlement role: takes in the fills of the feed, puts them into transactions, in order, and requests a lane to
 * send them. The indexer records whether they settled.
 */
import type { Log } from '../../engine/log/log.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Report } from '../../engine/report.js';
import { failureOf, neverFails, rejection, type Clock, type Role } from '../../engine/running-role.js';
import { reading } from '../../engine/state-table.js';
import type { ChainAccess } from '../chain/chain-access.js';
import { createChainReads } from '../chain/chain-reads.js';
import { watchChain } from '../chain/chain-watch.js';
import type { OpenFeed } from '../feed/kafka/kafka-feed.js';
import { OPERATOR } from '../lane/keys.js';
import type { OpenLaneUser } from '../lane/requests.js';
import { checkChains, checkOrder } from '../signing/history-check.js';
import type { PreparedDomain } from '../signing/typed-data.js';
import { runIntake, type Intake, type IntakeOptions } from './intake.js';
import { createSettlementState, intakeState, intakeStateOf, kafkaState, settlementState } from './role-state.js';
import type { QueueRules, SettlementTimings } from './rules.js';
import { createSettledOnChain } from './settled-on-chain.js';
import { runSettlement, type Settlement } from './settlement-worker.js';

export interface SettlementPorts {
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  /** The signing domains of orders by chain id: what the history has must be signed for them. */
  readonly domains: ReadonlyMap<number, PreparedDomain>;
  readonly openFeed: () => Promise<OpenFeed>;
  /** Opens what the intake keeps. */
  readonly openIntakeStore: IntakeOptions['openStore'];
  readonly laneUser: OpenLaneUser;
  /** For the signed orders, and for what the intake has missed. */
  readonly log: Log;
  /** Number of commands in the log, at most about a second old. */
  readonly logLength: () => number;
  /** Asks the indexers to look at a chain now. */
  readonly askToAdvance: (chainId: number) => void;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** A new UUID. */
  readonly newId: () => string;
  readonly report: Report;
  /** What differs from the worker's own times and rules; absent: nothing. */
  readonly timings?: Partial<SettlementTimings>;
  readonly rules?: Partial<QueueRules>;
}

export const settlement: Role<SettlementPorts> = {
  async start(ports) {
    const { chains: accesses, log } = ports;
    // Orders that settle nowhere have nothing to take in.
    if (accesses.size === 0) return { state: [], failed: neverFails(), stop: () => Promise.resolve() };
    const stopping = new AbortController();
    const open = await ports.openFeed();
    const foreign = rejection();
    const intake = runIntake({
      openStore: ports.openIntakeStore, feed: open.feed, log, now: () => ports.clock.now(), signal: stopping.signal,
      report: ports.report,
      checkChains: (ofMarkets) => { checkChains(ofMarkets, [...accesses.keys()]); },
    });
    await intake.begun;
    const running = await Promise.all([...accesses.values()].map((access) => (
      startSettlement(access, { intake, ports, stopping: stopping.signal, foreign: foreign.reject }))));
    return {
      failed: failureOf(Promise.race([foreign.promise, intake.done])),
      state: [
        reading(settlementState, () => Promise.all(running.map(({ state }) => state()))),
        reading(intakeState, () => [intakeStateOf(intake, open, ports.logLength())]),
        ...open.transport === 'log' ? [] : [reading(kafkaState, () => [open.status()].filter((status) => status !== undefined))],
      ],
      async stop() {
        stopping.abort(new Error('the process stops'));
        await Promise.all([intake.done.catch(() => undefined), ...running.map((each) => each.stop())]);
      },
    };
  },
};

interface SettlementParts {
  readonly intake: Intake;
  readonly ports: SettlementPorts;
  readonly stopping: AbortSignal;
  /** Called when the orders of the history are not for this chain's contract. */
  readonly foreign: (error: unknown) => void;
}

async function startSettlement(access: ChainAccess, { intake, ports, stopping, foreign }: SettlementParts) {
  const { log, clock, askToAdvance, domains, laneUser, newId, timings = {}, rules = {} } = ports;
  const { chain, rpc, report } = access;
  const { chainId } = chain;
  const signal = AbortSignal.any([stopping, access.signal]);
  const watch = watchChain({
    access, view: { cursor: () => cursorOf(intake, chainId) }, askToAdvance: () => { askToAdvance(chainId); },
    now: () => clock.monotonic(),
  });
  intake.onChange(() => { watch.stepped(); });
  const settledOnChain = createSettledOnChain(chain, createChainReads(chain, rpc));
  const now = () => clock.now();
  const lane = laneUser({ chainId, key: OPERATOR, purpose: 'settlement' });
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
      chain, log, report, now, signal, settledOnChain, catchUp: () => watch.catchUp(), verify: () => watch.verify(),
      newId,
      intake, lane, checkOrder: check, timings, rules,
    });
  });
  return {
    state: createSettlementState({
      chainId, now, settlement: () => started?.status(), waiting: async () => (await intake.counts(chainId)).waiting,
    }),
    async stop() { await started?.done; },
  };
}

/** How far a chain is recorded, as far as the fills have been taken in. */
function cursorOf(intake: Intake, chainId: number) {
  const barrier = intake.barrier(chainId);
  return barrier === undefined ? undefined : { ...barrier, nextBlock: barrier.block + 1, nextLog: 0 };
}
