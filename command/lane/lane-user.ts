/**
 * A lane's user in Postgres: requests are rows, so they are durable, and the lane and its user may run in different
 * processes.
 */
import type { TransactionEnding, HeldLaneUser, PublishedLaneState, LaneUser, LaneUserKey, RequestStatus, TrackedRequest } from './requests.js';
import { USER_SQL } from './schema.js';
import { openSession, type OutboxSession } from './session.js';

export interface LaneUserOptions extends LaneUserKey {
  /** The outbox's database: `postgresql://…`, a direct connection. */
  readonly url: string;
  /** How often a standby process tries to take the ownership. Default 500 ms. */
  readonly standByMs?: number;
  readonly statementTimeoutMs?: number;
}

/** Connects at `hold`. */
export function openLaneUser(options: LaneUserOptions): LaneUser {
  const { url, chainId, key, purpose, standByMs, statementTimeoutMs } = options;
  return {
    async hold(standBy) {
      const session = await openSession({
        ...standBy, url, name: `lane user ${purpose} ${chainId}`, locks: [`lane-user:${chainId}:${purpose}`], standByMs, statementTimeoutMs,
        hears: { channel: 'lane_told', payload: `${chainId}:${purpose}` },
      });
      return heldLaneUser(session, { chainId, key, purpose });
    },
  };
}

function heldLaneUser(session: OutboxSession, { chainId, key, purpose }: LaneUserKey): HeldLaneUser {
  const whose = [chainId, purpose, key];
  let seenChange = -1;
  let seenRings = -1;
  return {
    async ask(requests) {
      const rows = requests.map(({ id, priority = 0, to, data, gasLimit, note = null }) => ({
        id, priority, to, data, gas: String(gasLimit), note,
      }));
      await session.query(USER_SQL.ask, [...whose, JSON.stringify(rows)]);
      session.wake({ channel: 'lane_asked', payload: `${chainId}:${key}` });
    },
    async changes() {
      seenRings = session.bell.rung();
      const rows = await session.query<TrackedRow>(USER_SQL.changes, [...whose, seenChange]);
      seenChange = rows.reduce((most, { change }) => Math.max(most, Number(change)), Math.max(0, seenChange));
      return rows.map(readTracked);
    },
    async list() {
      return (await session.query<TrackedRow>(USER_SQL.list, whose)).map(readTracked);
    },
    async forget(ids) { await session.query(USER_SQL.forget, [...whose, ids]); },
    async state() {
      const [row] = await session.query<StateRow>(USER_SQL.state, [chainId, key]);
      return row === undefined ? undefined : readState(row);
    },
    async wait(signal, timeoutMs) {
      if (session.bell.rung() !== seenRings) return 'rung';
      return session.bell.wait(signal, timeoutMs);
    },
    close: () => session.close(),
  };
}

interface TrackedRow {
  readonly id: string;
  readonly note: unknown;
  readonly status: 'waiting' | 'sent' | 'refused' | 'ended';
  readonly reason: string | null;
  readonly ending: TransactionEnding | null;
  readonly change: string;
  readonly asked_at_ms: string;
  readonly tx_hashes: readonly string[] | null;
}

function readTracked({
  id, note, status, reason, ending, asked_at_ms: askedAtMs, tx_hashes: txHashes,
}: TrackedRow): TrackedRequest {
  return {
    id, note, status: readStatus(status, reason, ending), txHashes: txHashes ?? [],
    askedAtMs: Math.round(Number(askedAtMs)),
  };
}

function readStatus(status: TrackedRow['status'], reason: string | null, ending: TransactionEnding | null): RequestStatus {
  switch (status) {
    case 'refused': return { kind: 'refused', reason: reason ?? '' };
    case 'ended': return { kind: 'ended', ending: ending ?? { kind: 'lost' } };
    case 'waiting':
    case 'sent': return { kind: status };
  }
}

interface StateRow {
  readonly address: string;
  readonly block_gas_limit: string | null;
  readonly problem: string | null;
  readonly problem_since_ms: string | null;
  readonly seen_at_ms: string;
}

function readState(row: StateRow): PublishedLaneState {
  return {
    address: row.address,
    blockGasLimit: row.block_gas_limit === null ? undefined : BigInt(row.block_gas_limit),
    problem: row.problem === null
      ? undefined
      : { text: row.problem, sinceMs: Math.round(Number(row.problem_since_ms)) },
    seenAtMs: Math.round(Number(row.seen_at_ms)),
  };
}
