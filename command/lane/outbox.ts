/**
 * A lane's durable state in Postgres: its requests, and every transaction from before its broadcast until it is over.
 */
import type { StandBy } from '../../engine/reactor.js';
import type { Bell } from '../../engine/waiting.js';
import type { Fees } from './fees.js';
import type { LaneTransaction, RecordedAttempt } from './open-transactions.js';
import type { TransactionEnding, HeldRequest, PublishedLaneState, Purpose } from './requests.js';
import { LANE_SQL } from './schema.js';
import { openSession, type OutboxSession } from './session.js';

/** One key on one chain. */
export interface LaneKey {
  readonly chainId: number;
  /** The key's name, by which requests ask for it. */
  readonly key: string;
  /** Lower-case hex. */
  readonly address: string;
}

export interface Outbox {
  /**
   * Resolves when this process alone holds the lane; stands by while another one does, and calls `standingBy` then.
   * Throws OutboxUnavailable when Postgres cannot be reached, and the signal's reason.
   */
  hold(lane: LaneKey, standBy: StandBy): Promise<HeldLane>;
}

export interface NonceEnding {
  readonly nonce: number;
  readonly ending: TransactionEnding;
}

export interface LoadedLane {
  /** The transactions that are not over, by nonce. */
  readonly open: readonly LaneTransaction[];
  /** The nonce after the last recorded one. */
  readonly nextNonce: number;
  /** Earlier addresses of the key's name that have open transactions. */
  readonly formerAddresses: readonly string[];
  /** The number of open transactions that a version with schema `sender` left behind. */
  readonly earlier: number;
}

/** A lane that this process holds. Once a call has thrown OutboxUnavailable, all later calls do. */
export interface HeldLane {
  /** Rings when a user asked for something, and when the session has ended. A ring may be lost. */
  readonly bell: Bell;
  /** Throws OutboxUnavailable once the session is known to have ended. */
  check(): void;
  load(): Promise<LoadedLane>;
  /** The same key's name with an earlier address, through the same session. */
  former(address: string): HeldLane;
  /** The next requests, `limit` at most. */
  waiting(limit: number): Promise<readonly HeldRequest[]>;
  refuse(refusals: readonly { readonly request: HeldRequest; readonly reason: string }[]): Promise<void>;
  /** Records all transactions or none; in the same statement their requests become `sent`. */
  record(transactions: readonly LaneTransaction[]): Promise<void>;
  recordAttempt(transaction: LaneTransaction, attempt: RecordedAttempt): Promise<void>;
  markBroadcast(txHashes: readonly string[]): Promise<void>;
  /** Keeps the endings and deletes the signed bytes, which are not needed any more. */
  markOver(endings: readonly NonceEnding[], purposes: ReadonlySet<Purpose>): Promise<void>;
  publish(state: Pick<PublishedLaneState, 'blockGasLimit'> & { readonly problem: string | undefined }): Promise<void>;
  /** Lets the lane go. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  /** `postgresql://…`; a direct connection, since locks and LISTEN are the session's. */
  readonly url: string;
  /** How often a standby process tries to take the lane. Default 500 ms. */
  readonly standByMs?: number;
  /** The time limit of a statement. Default 10 s. */
  readonly statementTimeoutMs?: number;
}

/** An outbox in schema `lane`, which is created when it is missing. Connects at `hold`. */
export function createOutbox({ url, standByMs, statementTimeoutMs }: OutboxOptions): Outbox {
  return {
    async hold(lane, standBy) {
      const { chainId, key, address } = lane;
      const session = await openSession({
        ...standBy, url, name: `lane ${chainId}`, standByMs, statementTimeoutMs,
        // By name, so that one process handles the requests; by address, so that one process uses the nonces.
        locks: [`lane:${chainId}:${key}`, `lane:${chainId}:${address}`], hears: { channel: 'lane_asked', payload: `${chainId}:${key}` },
      });
      return heldLane(session, lane);
    },
  };
}

function heldLane(session: OutboxSession, { chainId, key, address }: LaneKey): HeldLane {
  const byKey = [chainId, key];
  const byAddress = [chainId, address];
  const tell = (purposes: Iterable<Purpose>): void => {
    for (const purpose of purposes) session.wake({ channel: 'lane_told', payload: `${chainId}:${purpose}` });
  };
  return {
    bell: session.bell,
    check: () => { session.check(); },
    async load() {
      const open = await session.query<TransactionRow>(LANE_SQL.open, byAddress);
      const [last] = await session.query<{ next: string }>(LANE_SQL.nextNonce, byAddress);
      const former = await session.query<{ address: string }>(LANE_SQL.former, [...byKey, address]);
      const [left] = await session.query<{ there: boolean }>(LANE_SQL.hasEarlier, []);
      const [earlier] = left?.there === true ? await session.query<{ open: number }>(LANE_SQL.earlier, byAddress) : [];
      return {
        open: open.map(readTransaction), nextNonce: Number(last?.next ?? 0), earlier: earlier?.open ?? 0,
        formerAddresses: former.map((each) => each.address),
      };
    },
    former: (other) => heldLane(session, { chainId, key, address: other }),
    async waiting(limit) {
      return (await session.query<RequestRow>(LANE_SQL.waiting, [...byKey, limit])).map(readRequest);
    },
    async refuse(refusals) {
      await session.query(
        LANE_SQL.refuse, [...byKey, JSON.stringify(refusals.map(({ request: { id }, reason }) => ({ id, reason })))],
      );
      tell(new Set(refusals.map(({ request }) => request.purpose)));
    },
    async record(transactions) {
      const rows = transactions.flatMap(({ nonce, request, attempts: [first] }) => (
        first === undefined
          ? []
          : [{ nonce, request: request?.id ?? null, hash: first.txHash, raw: first.raw, ...feeTexts(first.fees) }]));
      await session.query(LANE_SQL.record, [...byAddress, JSON.stringify(rows)]);
      tell(purposesOf(transactions));
    },
    async recordAttempt(transaction, { txHash, raw, fees }) {
      const { max, priority } = feeTexts(fees);
      await session.query(LANE_SQL.recordAttempt, [...byAddress, transaction.nonce, txHash, raw, max, priority]);
      tell(purposesOf([transaction]));
    },
    async markBroadcast(txHashes) { await session.query(LANE_SQL.markBroadcast, [...byAddress, txHashes]); },
    async markOver(endings, purposes) {
      await session.query(LANE_SQL.markOver, [...byAddress, JSON.stringify(endings)]);
      tell(purposes);
    },
    async publish({ blockGasLimit, problem }) {
      await session.query(
        LANE_SQL.publish,
        [...byKey, address, blockGasLimit === undefined ? null : String(blockGasLimit), problem ?? null],
      );
    },
    close: () => session.close(),
  };
}

export function purposesOf(transactions: readonly LaneTransaction[]): Set<Purpose> {
  return new Set(transactions.flatMap(({ request }) => request === undefined ? [] : [request.purpose]));
}

interface RequestRow {
  readonly id: string;
  readonly purpose: Purpose;
  readonly priority: number;
  readonly to_address: string;
  readonly data: string;
  readonly gas_limit: string;
  readonly note: unknown;
}

function readRequest({
  id, purpose, priority, to_address: to, data, gas_limit: gasLimit, note,
}: RequestRow): HeldRequest {
  return { id, purpose, priority, to, data, gasLimit: BigInt(gasLimit), note };
}

type TransactionRow = (RequestRow | { readonly id: null }) & {
  readonly nonce: string;
  readonly attempts: readonly { hash: string; raw: string; max: string; priority: string; broadcast: boolean }[];
};

function readTransaction(row: TransactionRow): LaneTransaction {
  return {
    nonce: Number(row.nonce),
    request: row.id === null ? undefined : readRequest(row),
    attempts: row.attempts.map(({ hash, raw, max, priority, broadcast }) => ({
      txHash: hash, raw, fees: { maxFeePerGas: BigInt(max), maxPriorityFeePerGas: BigInt(priority) }, broadcast,
    })),
  };
}

function feeTexts({ maxFeePerGas, maxPriorityFeePerGas }: Fees): { max: string; priority: string } {
  return { max: String(maxFeePerGas), priority: String(maxPriorityFeePerGas) };
}
