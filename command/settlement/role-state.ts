/** What settlement says of itself: of each chain, of the intake of fills, and of what comes by Kafka. */
import * as field from '../../engine/records/answer-fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import { shortText, wholeSeconds, type StateTable } from '../../engine/state-table.js';
import type { OpenFeed } from '../feed/kafka/kafka-feed.js';
import type { Intake } from './intake.js';
import type { SettlementWorkerStatus } from './settlement-worker.js';

const settlementSchema = Type.Object({
  chainId: field.ChainId,
  waitingFills: field.integer('Number of fills that wait to be sent, counted up to 10,000.'),
  sentFills: field.integer('Number of fills in transactions that are neither confirmed nor failed.'),
  oldestWaitingS: field.orNull(field.integer('Seconds.'),
    'How long the oldest waiting fill has waited, in seconds; null when none waits, or another process settles.'),
  settlementProblem: field.orNull(Type.String(), 'What blocks settlement; null when nothing does.'),
});

export type SettlementState = Static<typeof settlementSchema>;

export const settlementState: StateTable<SettlementState> = {
  labels: { chain: ({ chainId }) => chainId },
  shows: { part: 'chains', schema: settlementSchema },
  rows: [
    {
      name: 'exchange_settlement_waiting_fills', help: 'Number of fills that wait to be sent, counted up to 10,000',
      value: ({ waitingFills }) => waitingFills,
    },
    {
      name: 'exchange_settlement_sent_fills',
      help: 'Number of fills in transactions that are neither confirmed nor failed', value: ({ sentFills }) => sentFills,
    },
    {
      name: 'exchange_settlement_oldest_waiting_seconds', help: 'How long the oldest waiting fill has waited',
      value: ({ oldestWaitingS }) => oldestWaitingS ?? 0, cause: ({ settlementProblem }) => settlementProblem,
      alerts: [{
        name: 'ExchangeFillsWait', severity: 'critical', when: { above: 300 }, forS: 0,
        means: 'A fill on chain {chain} has waited for {value:duration}.',
        todo: 'Look at the chain, then at the lane of the operator key.',
      }],
    },
    {
      name: 'exchange_settlement_blocked', help: '1 when something blocks settlement',
      value: ({ settlementProblem }) => settlementProblem === null ? 0 : 1,
      cause: ({ settlementProblem }) => settlementProblem,
      alerts: [{
        name: 'ExchangeSettlementBlocked', severity: 'critical', when: { is: 1 }, forS: 60,
        means: 'Settlement on chain {chain} is blocked.', todo: 'settlementProblem in /health/ready says by what.',
      }],
    },
  ],
};

const intakeSchema = field.answer('IntakeReadiness', {
  standby: Type.Boolean({ description: 'Another process takes in the fills, and settles them.' }),
  position: field.orNull(field.integer('Number of command outcomes.'),
    'Number of command outcomes that are taken in; null while that is not known.'),
  lag: field.orNull(field.integer('Number of commands.'),
    'Number of commands that are not taken in yet; null while that is not known.'),
  problem: field.orNull(Type.String(), 'Why nothing can be taken in; null when it can.'),
  kafkaProblem: field.orNull(Type.String(),
    'Why fills are taken from the log, and not from Kafka; null while they come by Kafka, or are not to.'),
});

export type IntakeState = Static<typeof intakeSchema>;

export const intakeState: StateTable<IntakeState> = {
  shows: {
    part: 'intakes', schema: intakeSchema, description: 'State of the settlement role: how far the fills to settle have come in.',
  },
  rows: [
    {
      name: 'exchange_intake_holds', help: '1 while this process takes in the fills to settle',
      value: ({ standby }) => standby ? 0 : 1,
      alerts: [{
        name: 'ExchangeNoIntake', severity: 'critical', when: { promql: 'max(exchange_intake_holds) == 0' }, forS: 60,
        means: 'No settlement process takes in fills.',
        todo: 'Fills wait. Start a settlement process, or look why none takes over.',
      }],
    },
    {
      name: 'exchange_intake_lag_records', help: 'Number of records of the log that the intake does not include yet',
      value: ({ lag }) => lag ?? 0,
      alerts: [{
        name: 'ExchangeIntakeBehind', severity: 'warning', when: { above: 10_000 }, forS: 300,
        means: 'The settlement worker at {instance} is {value} records behind.',
        todo: 'Its Postgres, or what it reads: Kafka, else the log.',
      }],
    },
    {
      name: 'exchange_intake_blocked', help: '1 when nothing can be taken in',
      value: ({ problem }) => problem === null ? 0 : 1, cause: ({ problem }) => problem,
      alerts: [{
        name: 'ExchangeIntakeBlocked', severity: 'critical', when: { is: 1 }, forS: 120,
        means: '{instance} cannot take in fills.',
        todo: 'Fills wait. intakes[].problem of its /health/ready says why.',
      }],
    },
  ],
};

/** What comes by Kafka; there is none where the feed is straight from the log. */
export const kafkaState: StateTable<{ readonly fromLog: number; readonly alerts: number }> = {
  rows: [
    {
      name: 'exchange_intake_from_log_messages',
      help: 'Number of messages that did not come by Kafka and were taken from the log', value: ({ fromLog }) => fromLog,
      alerts: [{
        name: 'ExchangeIntakeFromLog', severity: 'warning', forS: 300,
        when: {
          promql: 'increase(exchange_intake_from_log_messages[2m]) > 0 or increase(exchange_intake_alerts[2m]) > 0',
        },
        means: 'Fills do not come to {instance} by Kafka, or not whole.',
        todo: 'They are settled from the log, later. intakes[].kafkaProblem of its /health/ready says why; '
          + 'for what the topic lacks, the alerts in its log do.',
      }],
    },
    {
      name: 'exchange_intake_alerts',
      help: 'Number of gaps and of messages that cannot be used that were found in the Kafka topic',
      value: ({ alerts }) => alerts,
    },
  ],
};

/** What Kafka does says nothing about a process that stands by. */
export function intakeStateOf(intake: Pick<Intake, 'status'>, feed: Pick<OpenFeed, 'status'>, logLength: number): IntakeState {
  const { standby, position, problem } = intake.status();
  return {
    standby, position: position ?? null, lag: position === undefined ? null : Math.max(0, logLength - position),
    problem: problem ?? null, kafkaProblem: standby ? null : feed.status()?.problem ?? null,
  };
}

export interface SettlementStateParts {
  readonly chainId: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Undefined until the worker runs. */
  readonly settlement: () => SettlementWorkerStatus | undefined;
  /** How many fills wait for the chain, counted up to 10,000; asked while no worker runs. */
  readonly waiting: () => Promise<number>;
}

/** A function that returns the current state. */
export function createSettlementState({
  chainId, now, settlement, waiting,
}: SettlementStateParts): () => Promise<SettlementState> {
  /** Since when fills have waited without a running worker. */
  let unsettledSinceMs: number | undefined;
  const ageOf = (sinceMs: number | undefined): number | null => (
    sinceMs === undefined ? null : wholeSeconds(now() - sinceMs));
  return async () => {
    const status = settlement();
    if (status === undefined) {
      // What cannot be counted now is counted at the next look; the intake tells why.
      const waitingFills = await waiting().catch(() => 0);
      if (waitingFills > 0) unsettledSinceMs ??= now();
      return { chainId, waitingFills, sentFills: 0, settlementProblem: null, oldestWaitingS: ageOf(unsettledSinceMs) };
    }
    // A worker that has no problem and does not hold the requests is on standby: another process settles the fills.
    const standsBy = !status.holds && status.problem === undefined;
    return {
      chainId, waitingFills: status.waiting, sentFills: status.inHand, settlementProblem: shortText(status.problem),
      oldestWaitingS: standsBy ? null : ageOf(status.oldestWaitingSinceMs),
    };
  };
}
