/** The sender's durable memory in Postgres: every transaction before it is broadcast, until it is over. One process holds a lane. */
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fees } from './fees.js';
import { CREATE_SCHEMA, SQL } from './outbox-schema.js';
import type { Attempt, Ending, TransactionRequest } from './sender.js';

export interface OutboxAttempt extends Attempt {
  readonly fees: Fees;
  /** A node is known to have taken it. */
  readonly broadcast: boolean;
}

export interface OutboxTransaction {
  readonly nonce: number;
  readonly request: TransactionRequest;
  /** At least one, the latest last. */
  readonly attempts: readonly OutboxAttempt[];
}

/** The transactions of one key on one chain. */
export interface LaneKey {
  readonly chainId: number;
  /** Lower-case hex. */
  readonly address: string;
}

export interface Outbox {
  /**
   * Resolves when this process alone holds the lane; stands by while another one does, and calls `standingBy` then. Throws
   * OutboxUnavailable when Postgres cannot be reached, and the signal's reason.
   */
  hold(lane: LaneKey, options: { readonly signal: AbortSignal; readonly standingBy: () => void }): Promise<HeldLane>;
}

/**
 * A lane that this process holds. The lock belongs to the session that writes: when that ends, nothing more is written by it, and
 * every call throws OutboxUnavailable. Whoever holds the lane next finds what was written.
 */
export interface HeldLane {
  /** Throws OutboxUnavailable once the session is known to have ended. */
  check(): void;
  /** What is not over, by nonce, and how many nonces are taken: the last recorded one and 1. */
  load(): Promise<{ readonly open: readonly OutboxTransaction[]; readonly recordedNonces: number }>;
  /** All or none. */
  record(transactions: readonly OutboxTransaction[]): Promise<void>;
  recordAttempt(nonce: number, attempt: OutboxAttempt): Promise<void>;
  /** The transaction that has this attempt, over or not. */
  find(txHash: string): Promise<OutboxTransaction | undefined>;
  markBroadcast(txHashes: readonly string[]): Promise<void>;
  /** Its ending is kept; its bytes, which the chain has now, are not. */
  markOver(endings: readonly { readonly nonce: number; readonly ending: Ending }[]): Promise<void>;
  /** Lets the lane go. */
  close(): Promise<void>;
}

/** Postgres cannot be reached, refused, or has broken off: whether the last call was carried out is found by holding the lane anew. */
export class OutboxUnavailable extends Error {
  constructor(cause: unknown) {
    super(`the outbox is not available: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'OutboxUnavailable';
  }
}

export interface OutboxOptions {
  /** `postgresql://…`; a direct connection, since the lock is the session's. */
  readonly url: string;
  /** How often a process that stands by tries again. Default 500 ms. */
  readonly standByMs?: number;
  /** After this time without an answer a statement is given up. Default 10 s. */
  readonly statementTimeoutMs?: number;
}

/** Postgres lets go of the lock 25 s after this machine has vanished. */
const SETTINGS = ['synchronous_commit=on', 'tcp_keepalives_idle=10', 'tcp_keepalives_interval=5', 'tcp_keepalives_count=3'];
/** A session that does not say goodbye within this time is left to end by itself. */
const GOODBYE_MS = 2_000;

/** An outbox in schema `sender`, which is made where it is missing. Connects when a lane is held. */
export function createOutbox({ url, standByMs = 500, statementTimeoutMs = 10_000 }: OutboxOptions): Outbox {
  return {
    async hold(lane, { signal, standingBy }) {
      const client = new pg.Client({
        connectionString: url, application_name: `sender ${lane.chainId}`, connectionTimeoutMillis: statementTimeoutMs,
        query_timeout: statementTimeoutMs, keepAlive: true, keepAliveInitialDelayMillis: 10_000,
        options: [`statement_timeout=${statementTimeoutMs}`, ...SETTINGS].map((setting) => `-c ${setting}`).join(' '),
      });
      // A session that breaks while idle is noticed by the next statement.
      client.on('error', () => undefined);
      try {
        await client.connect();
        await client.query(CREATE_SCHEMA);
        for (let told = false; !await lock(client, lane); told = true) {
          if (!told) standingBy();
          await sleep(standByMs, undefined, { signal });
        }
        signal.throwIfAborted();
      } catch (error) {
        void end(client);
        if (signal.aborted) throw signal.reason;
        throw new OutboxUnavailable(error);
      }
      return heldLane(client, lane);
    },
  };
}

async function lock(client: pg.Client, { chainId, address }: LaneKey): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(SQL.lock, [`sender:${chainId}:${address}`]);
  return rows[0]!.locked;
}

function heldLane(client: pg.Client, { chainId, address }: LaneKey): HeldLane {
  let ended = false;
  client.once('end', () => { ended = true; });

  /** A failed statement ends the session: after it nobody knows what is recorded before the lane is held and loaded anew. */
  async function query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      return (await client.query<Row>(text, [chainId, address, ...values])).rows;
    } catch (error) {
      void end(client);
      throw new OutboxUnavailable(error);
    }
  }

  return {
    check() {
      if (ended) throw new OutboxUnavailable('its session has ended');
    },
    async load() {
      const open = await query<TransactionRow>(SQL.open, []);
      const [last] = await query<{ recorded: string }>(SQL.recordedNonces, []);
      return { open: open.map(readTransaction), recordedNonces: Number(last!.recorded) };
    },
    async record(transactions) {
      const rows = transactions.map(({ nonce, request: { to, data, gasLimit, note }, attempts }) => {
        const { txHash, raw, fees } = attempts[0]!;
        return { nonce, to, data, gas: String(gasLimit), note: note ?? null, hash: txHash, raw, ...feeTexts(fees) };
      });
      await query(SQL.record, [JSON.stringify(rows)]);
    },
    async recordAttempt(nonce, { txHash, raw, fees }) {
      const { max, priority } = feeTexts(fees);
      await query(SQL.recordAttempt, [nonce, txHash, raw, max, priority]);
    },
    async find(txHash) {
      const [row] = await query<TransactionRow>(SQL.find, [txHash]);
      return row === undefined ? undefined : readTransaction(row);
    },
    async markBroadcast(txHashes) { await query(SQL.markBroadcast, [txHashes]); },
    async markOver(endings) { await query(SQL.markOver, [JSON.stringify(endings)]); },
    close: () => end(client),
  };
}

interface TransactionRow {
  readonly nonce: string;
  readonly to_address: string;
  readonly data: string;
  readonly gas_limit: string;
  readonly note: unknown;
  readonly attempts: readonly { hash: string; raw: string; max: string; priority: string; broadcast: boolean }[];
}

function readTransaction({ nonce, to_address: to, data, gas_limit: gasLimit, note, attempts }: TransactionRow): OutboxTransaction {
  return {
    nonce: Number(nonce),
    request: { to, data, gasLimit: BigInt(gasLimit), note },
    attempts: attempts.map(({ hash, raw, max, priority, broadcast }) => ({
      txHash: hash, raw, fees: { maxFeePerGas: BigInt(max), maxPriorityFeePerGas: BigInt(priority) }, broadcast,
    })),
  };
}

function feeTexts({ maxFeePerGas, maxPriorityFeePerGas }: Fees): { max: string; priority: string } {
  return { max: String(maxFeePerGas), priority: String(maxPriorityFeePerGas) };
}

async function end(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => undefined), sleep(GOODBYE_MS, undefined, { ref: false })]);
}
