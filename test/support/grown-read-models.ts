/** Read models as a long history of settled trades leaves them, that SQL writes: for what their growth costs. */
import type pg from 'pg';
import { READ_MODELS } from '../../projections/schema.js';
import { timeOf, type Before } from '../bench/outcome-history.js';
import { onDatabase } from './sql.js';

export interface Growth {
  readonly trades: number;
  readonly markets: number;
  readonly traders: number;
  /** What the read models include. */
  readonly after: Before;
}

/** Log positions of a trade: maker, taker, settlement, and of the first one of a transaction the transaction. */
const POSITIONS = 4;
/** How many fills one transaction settles. */
const BATCH = 50;
/** Changes of levels in a block; a trade has two. */
const BLOCK_TRADES = 8;
/** Messages in a block of a channel. */
const BLOCK = 16;
const BLOCK_BYTES = 176;

/** The tables that grow with the trades, by the session that writes them: two at a time. */
const TABLES = [['orders', 'level_history', 'order_messages'], ['trades', 'submissions', 'trade_messages']] as const;

/**
 * Adds trades of two orders each, all settled, to read models that the worker has made and that have the markets; in the tables as they are, logged
 * and with all of their indexes. Returns how far the history is then.
 */
export async function growReadModels(url: string, growth: Growth): Promise<Before> {
  const { position, fill } = growth.after;
  const end = { position: position + POSITIONS * growth.trades, fill: fill + growth.trades };
  await onDatabase(url, async (client) => {
    await client.query(`set search_path to ${READ_MODELS}`);
    for (const statement of countsOf(growth)) await client.query(statement);
  });
  const statements = [ofOrders(growth), ofTrades(growth)];
  await Promise.all(TABLES.map((tables, i) => onDatabase(url, async (client) => {
    await client.query(`set search_path to ${READ_MODELS}; set work_mem = '256MB'; set maintenance_work_mem = '1GB'; set synchronous_commit = off`);
    const makeIndexes = await dropIndexes(client, tables);
    for (const statement of statements[i] ?? []) await client.query(statement);
    for (const statement of makeIndexes) await client.query(statement);
  })));
  await onDatabase(url, async (client) => {
    await client.query(`set search_path to ${READ_MODELS}`);
    await client.query('update checkpoint set position = $1, at_ms = $2', [end.position, timeOf(end.position - 1)]);
    // Not of tables that are empty now: what would be best for them would be used when they are not.
    await client.query(`analyze ${[...growth.trades === 0 ? [] : TABLES.flat(), 'positions'].join()}`);
    await client.query('checkpoint');
  });
  return end;
}

/** Drops the tables' indexes; returns the statements that make them again. */
async function dropIndexes(client: pg.Client, tables: readonly string[]): Promise<string[]> {
  const { rows: keys } = await client.query<{ drop: string; make: string }>(`
    select format('alter table %I drop constraint %I', relname, conname) as drop,
      format('alter table %I add constraint %I %s', relname, conname, pg_get_constraintdef(pg_constraint.oid)) as make
    from pg_constraint join pg_class on pg_class.oid = conrelid
    where relname = any($1) and connamespace = '${READ_MODELS}'::regnamespace and contype in ('p', 'u')`, [tables]);
  const { rows: indexes } = await client.query<{ drop: string; make: string }>(`
    select format('drop index %I', indexname) as drop, indexdef as make from pg_indexes
    where schemaname = '${READ_MODELS}' and tablename = any($1) and indexdef not like 'CREATE UNIQUE%'`, [tables]);
  const all = [...keys, ...indexes];
  for (const { drop } of all) await client.query(drop);
  return all.map(({ make }) => make);
}

/** SQL: as `spread` in `outcome-history.ts`. */
const spread = (n: string, digits: number) => (
  `substr(int8send((${n} + 1) * 2654435761 & 4294967295), 5) || '\\x${'ab0f'.repeat((digits - 8) / 4)}'::bytea`);
const market = (n: string) => spread(n, 64);
const trader = (n: string) => spread(n, 40);
const hash = (n: string) => `sha256(int8send(${n}))`;
const time = (position: string) => `(${timeOf(0)} + 2 * (${position}))`;
/** SQL: a number of the nth trade from 0 to before `most`, another one for each seed. */
const dice = (seed: number, most: number) => `(hashint8extended(fill, ${seed}) & ${Number.MAX_SAFE_INTEGER}) % ${most}`;

/** SQL: a row for each trade with its numbers and parties. The first trades are of one market after the other. */
const traded = ({ trades, markets, traders, after: { position, fill } }: Growth) => `
  generate_series(0::bigint, ${trades - 1}) n
    cross join lateral (select ${fill} + n as fill, ${position} + ${POSITIONS} * n as maker, ${position} + ${POSITIONS} * (n - n % ${BATCH}) + 3 as sent) numbers
    cross join lateral (
      select case when fill < ${markets} then fill else ${dice(1, markets)} end as market_place, ${dice(2, traders)} as buyer_place,
        ${dice(3, traders - 1)} + 1 as further, fill % 2 as outcome, n % 2 as maker_side, 400000 + 1000 * (n % 200) as price, 1 + n % 500 as shares) chosen
    cross join lateral (
      select ${market('market_place')} as market_id, ${trader('buyer_place')} as buyer, ${trader(`(buyer_place + further) % ${traders}`)} as seller,
        maker + 1 as taker, maker + 2 as settled, ${hash('-1 - fill + n % 50')} as tx_hash) ids`;

function ofOrders(growth: Growth): string[] {
  const { trades, markets, after: { position } } = growth;
  return [`
    insert into orders (number, order_hash, market_id, trader, side, outcome, price, size, remaining, nonce, expiration, status, placed_at_ms,
      closed_at_ms, closed_position, chain_id)
    select number, ${hash('number')}, market_id, trader, side, outcome, price, shares * 1000000, 0, number, 1900000000, 1, ${time('number')},
      ${time('taker')}, taker, 31337
    from ${traded(growth)} cross join lateral (values
      (maker, case when maker_side = 0 then buyer else seller end, maker_side),
      (taker, case when maker_side = 0 then seller else buyer end, 1 - maker_side)) placed (number, trader, side)`, `
    insert into level_history (book, position, changes)
    select (select array_agg(first_position order by first_position) from books)[block % ${markets} + 1], ${position} + ${POSITIONS * BLOCK_TRADES} * block + 1,
      substr(${Array.from({ length: Math.ceil(BLOCK_BYTES / 32) }, (_, i) => hash(`block * 10 + ${i}`)).join(' || ')}, 1, ${BLOCK_BYTES})
    from generate_series(0::bigint, ${Math.floor(trades / BLOCK_TRADES) - 1}) block`, `
    insert into order_messages (trader, position, positions) ${blocksOf(growth, { of: trader, count: growth.traders, perTrade: 3 })}`];
}

function ofTrades(growth: Growth): string[] {
  return [`
    insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller, position, at_ms,
      settlement, tx_hash, settled_position, settled_at_ms)
    select fill, market_id, outcome, price, shares * 1000000, shares * price, 1 - maker_side, maker, taker, buyer, seller, taker, ${time('taker')},
      2, tx_hash, settled, ${time('settled')}
    from ${traded(growth)}`, `
    insert into submissions (tx_hash, position, at_ms, fills)
    select tx_hash, sent, ${time('sent')}, array_agg(fill) from ${traded(growth)} group by tx_hash, sent`, `
    insert into trade_messages (market_id, position, positions) ${blocksOf(growth, { of: market, count: growth.markets, perTrade: 2 })}`];
}

/** SQL: blocks of positions of messages, of one channel after the other. */
function blocksOf({ trades, after: { position } }: Growth, { of, count, perTrade }: {
  readonly of: (n: string) => string; readonly count: number; readonly perTrade: number;
}): string {
  const step = Math.floor(POSITIONS * BLOCK / perTrade);
  const places = Array.from({ length: BLOCK }, (_, i) => `place + ${i}`);
  return `
    select ${of(`block % ${count}`)}, place + ${BLOCK - 1}, array[${places.join()}]
    from generate_series(0::bigint, ${Math.floor(trades * perTrade / BLOCK) - 1}) block cross join lateral (select ${position} + ${step} * block as place) places`;
}

/** What does not grow with the trades: a row for each market, for each trader in it, and for each interval of time. */
function countsOf({ trades, markets, traders, after: { position, fill } }: Growth): string[] {
  const [from, to] = [position, position + POSITIONS * trades].map((at) => Math.floor(timeOf(at) / 1_000));
  const each = `generate_series(0, ${markets - 1}::bigint) n`;
  return [`
    insert into books (market_id, first_position, updated_at_ms, changes_to_levels, changes)
    select ${market('n')}, ${position} + n, ${time(`${position}`)}, 1024, '' from ${each} on conflict do nothing`, `
    update market_volumes set volume = volume + ${trades / markets} * 125000000::bigint, trades = trades + ${trades / markets},
      first_fill = coalesce(first_fill, ${fill} + n)
    from ${each} where market_id = ${market('n')}`, `
    insert into positions (market_id, user_address, chain_id, opened_position, yes_shares, no_shares, yes_cost, no_cost, held)
    select ${market('n')}, ${trader('m')}, 31337, n, 1000000000000, 1000000000000, 500000000000, 500000000000, true
    from ${each}, generate_series(0, ${traders - 1}::bigint) m on conflict do nothing`, `
    insert into recent_order_messages select ${trader('m')}, array[1, 2, 3, 4, 5, 6, 7, 8] from generate_series(0, ${traders - 1}::bigint) m on conflict do nothing`, `
    insert into recent_trade_messages select ${market('n')}, array[1, 2, 3, 4, 5, 6, 7, 8] from ${each} on conflict do nothing`, `
    insert into market_holders select ${market('n')}, ${traders} from ${each} on conflict do nothing`, `
    insert into minute_volumes
    select ${market('n')}, minute, 100000000 from ${each}, generate_series(${from} / 60, ${to} / 60) minute on conflict do nothing`,
  ...[60, 300, 900, 3_600, 86_400].map((interval) => `
    insert into candles
    select series, ${interval}, start * ${interval}, 400000, 599000, 400000, 500000, 100000000, 100, 0, 0
    from market_volumes cross join lateral (select first_fill * 2 + outcome as series from generate_series(0, 1) outcome) outcomes,
      generate_series(${from} / ${interval}, ${to} / ${interval}) start on conflict do nothing`)];
}
