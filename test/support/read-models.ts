/** Read models with chosen rows for the query tests: the tables as projections create them, filled directly. */
import pg from 'pg';
import { projections } from '../../projections/catalogue.js';
import { tableNames } from '../../projections/projection.js';
import { READ_MODELS } from '../../projections/schema.js';
import { openReadModels, type Database } from '../../query/database.js';
import { DERIVE } from './derived-tables.js';
import { exchangeDatabase } from './postgres.js';

export type Row = Readonly<Record<string, unknown>>;
export type Table = 'markets' | 'orders' | 'reductions' | 'levels' | 'books' | 'trades' | 'submissions' | 'market_volumes' | 'minute_volumes' | 'positions'
  | 'redemptions' | 'assertions' | 'relays' | 'claims' | 'prices' | 'quick_markets';

export interface ReadModels {
  readonly db: Database;
  readonly url: string;
  /**
   * Adds rows; columns that a row does not name get the table's ordinary values. Counts, candles and whatever else follows from other tables
   * follow.
   */
  insert(table: Table, ...rows: Row[]): Promise<void>;
  /** Fills the tables that follow from others, after `run` has changed those. */
  derive(): Promise<void>;
  /** Sets the checkpoint, and the time of the last outcome before it. */
  advance(position: number, atMs?: number): Promise<void>;
  /** Removes every row and puts the checkpoint to 0. */
  clear(): Promise<void>;
  /** Runs a statement as the writer. */
  run(sql: string, values?: unknown[]): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

/** The nth id of its kind: 20 bytes. */
export const address = (n: number) => `0x${n.toString(16).padStart(40, 'a')}`;
/** The nth id of its kind: 32 bytes. */
export const bytes32 = (n: number) => `0x${n.toString(16).padStart(64, 'b')}`;

/** 2^64 - 1, beyond what a JSON number in JavaScript keeps. */
export const UINT64_MAX = '18446744073709551615';

const ordinary: Readonly<Record<Table, (n: number) => Row>> = {
  markets: (n) => ({
    number: n, market_id: bytes32(n), question: `Question ${n}?`, description: `Description ${n}`, category: 'general',
    contract_address: address(1_000 + n), maker: address(99), expiration: 2_000_000_000, chain_id: 31_337, kind: 'standard',
    closed: false, resolved: false, winning_outcome: null, yes_token: null, no_token: null, created_at_ms: 1_700_000_000_999, opened_position: n,
    proposal: 0,
  }),
  orders: (n) => ({
    number: n, order_hash: bytes32(n), market_id: bytes32(1), trader: address(1), side: 0, outcome: 0, price: 500_000, size: 100,
    remaining: 100, nonce: n, expiration: 1_900_000_000, status: 0, placed_at_ms: 1_700_000_000_000 + 1_000 * n,
    closed_at_ms: null, closed_position: null, close_reason: null,
  }),
  reductions: (n) => ({ order_number: 1, position: 100 + n, size: 50, reduced: 10, at_ms: 1_700_000_000_000 + 1_000 * n }),
  levels: () => ({ market_id: bytes32(1), outcome: 0, side: 0, price: 500_000, size: 100 }),
  books: () => ({ market_id: bytes32(1), first_position: 0, updated_at_ms: 1_700_000_000_999, changes_to_levels: 1_024, changes: '0x' }),
  trades: (n) => ({
    number: n, market_id: bytes32(1), outcome: 0, price: 500_000, size: 100, cost: 50, taker_side: 0, maker_number: 1,
    taker_number: 2, buyer: address(1), seller: address(2), position: 100 + n, at_ms: 1_700_000_000_000 + 1_000 * n,
    settlement: 0, tx_hash: null, settled_position: null, settled_at_ms: null, failure_reason: null,
  }),
  submissions: () => ({ tx_hash: bytes32(80), fills: [0], position: 200, at_ms: 1_700_000_100_000 }),
  market_volumes: () => ({ market_id: bytes32(1), chain_id: null, volume: 0, trades: 0, first_fill: null }),
  minute_volumes: () => ({ market_id: bytes32(1), minute: 0, volume: 0 }),
  positions: () => ({ market_id: bytes32(1), user_address: address(1), yes_shares: 0, no_shares: 0, yes_cost: 0, no_cost: 0, held: false }),
  redemptions: (n) => ({
    position: n, market_id: bytes32(1), user_address: address(1), payout: 100, tx_hash: bytes32(90), at_ms: 1_700_000_000_000 + 1_000 * n,
  }),
  assertions: (n) => ({
    market_id: bytes32(1), assertion_id: bytes32(n), position: n, proposer: address(5), outcome: 0, bond: 500_000_000,
    assertion_time: 1_700_000_000, expiration_time: 1_700_007_200, disputer: null, rejected: false,
  }),
  relays: (n) => ({
    request_id: bytes32(200 + n), position: n, chain_id: 31_337, action: 'ctf-redemption', owner: address(1), status: 0, tx_hash: null,
    requested_at_ms: 1_700_000_000_000 + 1_000 * n, ended_at_ms: null, results: null,
  }),
  claims: (n) => ({
    position: n, index: 0, request_id: bytes32(200 + n), market_id: bytes32(1), user_address: address(1), payout: 100, winning_outcome: 0, status: 0,
    tx_hash: null, at_ms: 1_700_000_000_000 + 1_000 * n, ended_at_ms: null, ended_position: null, reason: null,
  }),
  prices: (n) => ({ position: n, asset: 'BTC', source: 'pyth', price: 6_140_993_501_000, published_at_ms: 1_700_000_000_000 }),
  quick_markets: (n) => ({
    number: n, market_id: bytes32(n), chain_id: 31_337, contract_address: address(1_000 + n), asset: 'BTC', start_time: 1_700_000_100,
    end_time: 1_700_001_000, created_at_ms: 1_699_999_500_999, strike_price: null, strike_source: null, strike_at_ms: null, end_price: null,
    end_source: null, end_at_ms: null, outcome: null, paid: null, start_missed: false, end_missed: false,
  }),
};

/** A market has its row of volumes already. */
const AGAIN: Partial<Record<Table, string>> = {
  market_volumes: 'on conflict (market_id) do update set volume = excluded.volume, trades = excluded.trades',
};

/** A fresh database with empty read models. */
export async function readModels(): Promise<ReadModels> {
  const { url, drop } = await exchangeDatabase();
  const writer = new pg.Client({ connectionString: url, options: `-c search_path=${READ_MODELS}` });
  await writer.connect();
  const db = await openReadModels({ url });
  const run = (sql: string, values: unknown[] = []) => writer.query(sql, values);
  const clear = async () => {
    await writer.query(`truncate projection, ${projections.flatMap(tableNames).join(', ')}`);
    await writer.query('insert into projection select name, 1 from unnest($1::text[]) name', [projections.map(({ name }) => name)]);
    await writer.query('update checkpoint set position = 0, at_ms = 0');
  };
  const derive = async () => { await writer.query(DERIVE.join('; ')); };
  await clear();
  return {
    db, url, run, clear, derive,
    insert: async (table, ...rows) => {
      for (const row of rows) {
        const whole = { ...ordinary[table](Number(row['number'] ?? row['position'] ?? 0)), ...row };
        const values = Object.values(whole).map((value) => typeof value === 'string' && value.startsWith('0x') ? bytea(value) : value);
        const places = values.map((_, i) => `$${i + 1}`).join(', ');
        await writer.query(`insert into ${table} (${Object.keys(whole).join(', ')}) values (${places}) ${AGAIN[table] ?? ''}`, values);
      }
      await derive();
    },
    advance: async (position, atMs = 0) => {
      await writer.query('update checkpoint set position = $1, at_ms = $2', [position, atMs]);
      await writer.query(`select pg_notify('read_models', $1)`, [String(position)]);
    },
    close: async () => {
      await db.close();
      await writer.end();
      await drop();
    },
  };
}

function bytea(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}
