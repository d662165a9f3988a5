/**
 * The settlement role: takes in the fills of the feed, puts them into transactions, in order, and requests a lane to send them. The indexer
 * records whether they settled.
 */
import { createChainReads } from '../../command/chain/chain-reads.js';
import type { OpenLaneUser } from '../../command/lane/requests.js';
import { runIntake, type Intake, type IntakeOptions } from '../../command/settlement/intake.js';
import { createSettledOnChain } from '../../command/settlement/settled-on-chain.js';
import type { SettlementTimings } from '../../command/settlement/rules.js';
import { runSettlement, type Settlement } from '../../command/settlement/settlement-worker.js';
import type { PreparedDomain } from '../../command/signing/typed-data.js';
import type { Log } from '../../engine/log/log.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { Report } from '../../engine/report.js';
import type { ChainAccess } from '../chains/chain-access.js';
import type { OpenFeed } from '../feed/fill-feed.js';
import { createWaitingAlarm } from '../chains/chain-alarms.js';
import { watchChain } from '../chains/chain-watch.js';
import { createSettlementHealth } from '../chains/settlement-health.js';
import type { Figure } from '../status/metrics.js';
import { OPERATOR } from './lane.js';
import type { IntakeHealth, SettlementHealth } from '../status/readiness.js';
import { failureOf, neverFails, rejection } from '../process/failure.js';
import { checkChains, checkOrder } from '../process/history-check.js';
import type { Clock, Role } from './role.js';

const WATCH_MS = 5_000;

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
  /** What differs from the worker's own times; absent: nothing. */
  readonly timings?: Partial<SettlementTimings>;
}

export const settlement: Role<SettlementPorts> = {
  async start(ports) {
    const { chains: accesses, log } = ports;
    // Orders that settle nowhere have nothing to take in.
    if (accesses.size === 0) return { routes: [], figures: [], failed: neverFails, health: () => ({ reasons: [] }), stop: () => Promise.resolve() };
    const stopping = new AbortController();
    const open = await ports.openFeed();
    const foreign = rejection();
    const intake = runIntake({
      openStore: ports.openIntakeStore, feed: open.feed, log, now: () => ports.clock.now(), signal: stopping.signal, report: ports.report,
      checkChains: (ofMarkets) => { checkChains(ofMarkets, [...accesses.keys()]); },
    });
    await intake.begun;
    const running = await Promise.all([...accesses.values()].map((access) => (
      startSettlement(access, { intake, ports, stopping: stopping.signal, foreign: foreign.reject }))));
    const chains = () => running.map(({ health }) => health());
    const intakes = () => [intakeHealth(intake, open, ports.logLength())];
    return {
      routes: [], figures: [...settlementFigures(chains), ...intakeFigures(intakes), ...kafkaFigures(open)],
      failed: failureOf(Promise.race([foreign.promise, intake.done])),
      health: () => ({ reasons: [], intakes: intakes(), chains: chains() }),
      async stop() {
        stopping.abort(new Error('the process stops'));
        await Promise.all([intake.done.catch(() => undefined), ...running.map((each) => each.stop())]);
      },
    };
  },
};

interface Surroundings {
  readonly intake: Intake;
  readonly ports: SettlementPorts;
  readonly stopping: AbortSignal;
  /** Called when the orders of the history are not for this chain's contract. */
  readonly foreign: (error: unknown) => void;
}

async function startSettlement(access: ChainAccess, { intake, ports, stopping, foreign }: Surroundings) {
  const { log, clock, askToAdvance, domains, laneUser, newId, timings = {} } = ports;
  const { chain, rpc, report } = access;
  const { chainId } = chain;
  const signal = AbortSignal.any([stopping, access.signal]);
  const watch = watchChain({
    access, view: { cursor: () => cursorOf(intake, chainId) }, askToAdvance: () => { askToAdvance(chainId); }, now: () => clock.monotonic(),
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
      chain, log, report, now, signal, settledOnChain, catchUp: () => watch.catchUp(), verify: () => watch.verify(), newId,
      intake, lane, checkOrder: check, timings,
    });
  });
  let waiting = 0;
  const health = createSettlementHealth({ chainId, now, settlement: () => started?.status(), waiting: () => waiting });
  const look = createWaitingAlarm({ chainId, report });
  const timer = setInterval(() => {
    // A running worker counts for itself.
    if (started === undefined) intake.counts(chainId).then((counts) => { ({ waiting } = counts); }, () => undefined);
    look(health());
  }, WATCH_MS).unref();
  return {
    health,
    async stop() {
      clearInterval(timer);
      await started?.done;
    },
  };
}

/** How far a chain is recorded, as far as the fills have been taken in. */
function cursorOf(intake: Intake, chainId: number) {
  const barrier = intake.barrier(chainId);
  return barrier === undefined ? undefined : { ...barrier, nextBlock: barrier.block + 1, nextLog: 0 };
}

/** What Kafka does says nothing about a process that stands by. */
export function intakeHealth(intake: Pick<Intake, 'status'>, feed: Pick<OpenFeed, 'status'>, logLength: number): IntakeHealth {
  const { standby, position, trouble } = intake.status();
  const lag = position === undefined ? null : Math.max(0, logLength - position);
  return { standby, position: position ?? null, lag, trouble: trouble ?? null, kafkaTrouble: standby ? null : feed.status()?.trouble ?? null };
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

/** The metrics of the intake. */
export function intakeFigures(intakes: () => readonly IntakeHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (intake: IntakeHealth) => number): Figure => (
    { name, help, read: () => intakes().map((each) => ({ labels: {}, value: value(each) })) });
  return [
    figure('exchange_intake_holds', '1 while this process takes in the fills to settle', ({ standby }) => standby ? 0 : 1),
    figure('exchange_intake_lag_records', 'Number of records of the log that the intake does not include yet', ({ lag }) => lag ?? 0),
    figure('exchange_intake_troubled', '1 when nothing can be taken in', ({ trouble }) => trouble === null ? 0 : 1),
  ];
}

/** The metrics of what comes by Kafka; without values where the feed is straight from the log. */
export function kafkaFigures(feed: Pick<OpenFeed, 'status'>): readonly Figure[] {
  const figure = (name: string, help: string, key: 'fromLog' | 'alarms'): Figure => ({
    name, help,
    read() {
      const status = feed.status();
      return status === undefined ? [] : status[key];
    },
  });
  return [
    figure('exchange_intake_from_log_messages', 'Number of messages that did not come by Kafka and were taken from the log', 'fromLog'),
    figure('exchange_intake_alarms', 'Number of gaps and of messages that cannot be used that were found in the Kafka topic', 'alarms'),
  ];
}
