/**
 * Which rows of the read models go with the stored horizon, and the statements that remove them, a piece at a time. All else stays: what is open or
 * unsettled, what counts or sums up everything, and what is few.
 */
import type { Query } from '../projection.js';

const POSITION = '(select position from history_horizon)';
const FILL = '(select fill from history_horizon)';

/**
 * SQL: whether the order goes. It was closed before the horizon, and so were its fills, so no later event names it and no later message is about it.
 * The newest order stays: by it a start knows that the log is the same one.
 */
const orderGoes = (order: string) => `${order}.closed_position < ${POSITION} and ${order}.number < (select max(number) from orders)
  and not exists (select from trades where maker_number = ${order}.number and trades.number >= ${FILL})
  and not exists (select from trades where taker_number = ${order}.number and trades.number >= ${FILL})`;

/** SQL: whether all of a transaction's fills go. */
const allGo = (fills: string) => `not exists (select from unnest(${fills}) fill where fill >= ${FILL})`;

/** SQL: the position before which a book's history goes: that of the whole book from which the book at the horizon is made. */
const wholeBook = (book: string) => `(
  select whole.position from level_history whole where whole.book = ${book} and whole.levels is not null and whole.position <= ${POSITION}
  order by whole.position desc limit 1)`;

/** SQL: the position before which messages of an asset go: at the horizon the last two are needed. */
const lastPrices = (asset: string) => `(
  select last.position from price_messages last where last.asset = ${asset} and last.position < ${POSITION}
  order by last.position desc offset 1 limit 1)`;

/** SQL: the position before which messages of markets go: at the horizon the last one is needed. */
const LAST_MARKET = `(select last.position from market_messages last where last.position < ${POSITION} order by last.position desc limit 1)`;

/** SQL: the minutes before which volumes go. */
const MINUTE = '(select at_ms / 60000 from history_horizon)';

/** SQL, by table: whether the row `t` goes; null where there is no horizon. Of a table that is not named here, every row stays. */
const GOES: Readonly<Record<string, string>> = {
  trades: `t.number < ${FILL}`,
  failed_trades: `t.number < ${FILL}`,
  submissions: `t.position < ${POSITION} and ${allGo('t.fills')}`,
  unannounced_settlements: `t.fill < ${FILL}`,
  trade_messages: `t.position < ${POSITION}`,
  minute_volumes: `t.minute < ${MINUTE}`,
  orders: orderGoes('t'),
  reductions: `not exists (select from orders where orders.number = t.order_number and (${orderGoes('orders')}) is not true)`,
  order_messages: `t.position < ${POSITION}`,
  level_history: `t.position < ${wholeBook('t.book')}`,
  price_messages: `t.position < ${lastPrices('t.asset')}`,
  market_messages: `t.position < ${LAST_MARKET}`,
};

/** SQL: whether the row `t` of the table stays. What goes may be there all the same, so whoever compares tables leaves it out on both sides. */
export function stays(table: string): string {
  const goes = GOES[table];
  return goes === undefined ? 'true' : `(${goes}) is not true`;
}

/** Removes what goes of one table, and what belongs to it. */
export interface TableSweep {
  readonly table: string;
  /** Where the first piece begins. */
  readonly first: readonly unknown[];
  /** Removes or passes at most so many rows, in one statement and so in a transaction of its own. */
  piece(query: Query, from: readonly unknown[], rows: number): Promise<SweptPiece>;
}

export interface SweptPiece {
  readonly removed: number;
  /** Where the next piece begins; undefined when nothing is left. */
  readonly next: readonly unknown[] | undefined;
}

/** SQL: notes the last removed positions of channels; `ended` selects `channel` and `position`, perhaps more than one of a channel. */
const noteEnds = (ended: string) => `
  insert into message_ends (channel, position) select channel, max(position) from (${ended}) ended group by channel
  on conflict (channel) do update set position = greatest(message_ends.position, excluded.position)`;

/** A sweep by number. Parameters of the SQL: the number to begin after, and the rows. It selects how many go, how many were passed, and the last. */
function byNumber(table: string, text: string): TableSweep {
  const statement = { name: `remove_${table}`, text };
  return {
    table, first: [-1],
    async piece(query, from, rows) {
      const [row] = await query<[string, string, string | null]>(statement, [...from, rows]);
      const [removed, passed, last] = row ?? ['0', '0', null];
      return { removed: Number(removed), next: Number(passed) < rows ? undefined : [last] };
    },
  };
}

const TRADES = byNumber('trades', `
  with old as materialized (
    select number, market_id, buyer, seller, position, tx_hash, settled_at_ms, settled_position from trades
    where number > $1::bigint and number < ${FILL} order by number limit $2::integer
  ), ended as (${noteEnds(`
    select market_id as channel, position from old union all select buyer, position from old union all select seller, position from old`)}
  ), failed as (
    delete from failed_trades using old
    where failed_trades.settled_at_ms = old.settled_at_ms and failed_trades.settled_position = old.settled_position and failed_trades.number = old.number
  ), unannounced as (
    delete from unannounced_settlements using old where unannounced_settlements.tx_hash = old.tx_hash and unannounced_settlements.fill = old.number
  ), gone as (
    delete from trades using old where trades.number = old.number
  )
  select count(*), count(*), max(number) from old`);

/** Orders that stay are passed again in each round: those that have been open since before the horizon. */
const ORDERS = byNumber('orders', `
  with old as materialized (
    select number from orders where number > $1::bigint and number < ${POSITION} order by number limit $2::integer
  ), gone as (
    delete from orders using old where orders.number = old.number and ${orderGoes('orders')} returning orders.number
  ), reduced as (
    delete from reductions using gone where reductions.order_number = gone.number
  )
  select (select count(*) from gone), count(*), max(number) from old`);

const MARKET_MESSAGES = byNumber('market_messages', `
  with old as materialized (
    select position from market_messages where position > $1::bigint and position < ${LAST_MARKET} order by position limit $2::integer
  ), gone as (
    delete from market_messages using old where market_messages.position = old.position
  )
  select count(*), count(*), max(position) from old`);

/** Of transactions; the index is made by `prepareSweeps`. */
const SUBMISSIONS = byNumber('submissions', `
  with old as materialized (
    select tx_hash, position, fills from submissions where position > $1::bigint and position < ${POSITION} order by position limit $2::integer
  ), gone as (
    delete from submissions using old where submissions.tx_hash = old.tx_hash and submissions.position = old.position and ${allGo('old.fills')}
    returning submissions.position
  )
  select (select count(*) from gone), count(*), max(position) from old`);

interface Grouped {
  readonly table: string;
  /** The first column of the primary key, its type, and a value that is not above any. */
  readonly group: string;
  readonly type: 'bytea' | 'text' | 'bigint';
  readonly least: unknown;
  /** The second one. */
  readonly key: string;
  /** SQL: the key before which rows of a group go. */
  readonly before: (group: string) => string;
  /** Whether the keys are positions of messages of the channel that the group is. */
  readonly isChannel?: boolean;
}

/**
 * A sweep of a table whose rows are in groups, by its primary key. It goes from group to group, and in each only over the rows that go: the rows that
 * stay cost nothing, and need no further index.
 */
function byGroup({ table, group, type, least, key, before, isChannel = false }: Grouped): TableSweep {
  const statement = { name: `remove_${table}`, text: `
    with recursive groups (id) as (
      (select ${group} from ${table} where ${group} >= $1::${type} order by ${group} limit 1)
      union all
      select (select next.${group} from ${table} next where next.${group} > groups.id order by next.${group} limit 1)
      from groups where groups.id is not null
    ), old as materialized (
      select groups.id, old.${key} as key from groups cross join lateral (
        select ${key} from ${table}
        where ${group} = groups.id and ${key} > case when groups.id = $1::${type} then $2::bigint else -1 end and ${key} < ${before('groups.id')}
        order by ${key} limit $3::integer) old
      where groups.id is not null limit $3::integer
    ), ${isChannel ? `ended as (${noteEnds('select id as channel, key as position from old')}), ` : ''}gone as (
      delete from ${table} using old where ${table}.${group} = old.id and ${table}.${key} = old.key
    )
    select (select count(*) from old), id, key from old order by id desc, key desc limit 1` };
  return {
    table, first: [least, -1],
    async piece(query, from, rows) {
      const [row] = await query<[string, unknown, string]>(statement, [...from, rows]);
      if (row === undefined) return { removed: 0, next: undefined };
      const [removed, id, last] = row;
      return { removed: Number(removed), next: Number(removed) < rows ? undefined : [id, last] };
    },
  };
}

const NO_BYTES = Buffer.alloc(0);
const atHorizon = () => POSITION;

export const SWEEPS: readonly TableSweep[] = [
  TRADES, SUBMISSIONS, ORDERS,
  byGroup({ table: 'trade_messages', group: 'market_id', type: 'bytea', least: NO_BYTES, key: 'position', before: atHorizon, isChannel: true }),
  byGroup({ table: 'order_messages', group: 'trader', type: 'bytea', least: NO_BYTES, key: 'position', before: atHorizon, isChannel: true }),
  byGroup({ table: 'minute_volumes', group: 'market_id', type: 'bytea', least: NO_BYTES, key: 'minute', before: () => MINUTE }),
  byGroup({ table: 'level_history', group: 'book', type: 'bigint', least: -1, key: 'position', before: wholeBook }),
  byGroup({ table: 'price_messages', group: 'asset', type: 'text', least: '', key: 'position', before: lastPrices }),
  MARKET_MESSAGES,
];

/**
 * SQL: makes the index by which submissions are found. Only where history is removed: every settlement would pay for it. Writers wait meanwhile,
 * which is once, and after each rebuild of the trades.
 */
export const prepareSweeps = `
do $$ begin
  if to_regclass('submissions_by_position') is null then
    create index submissions_by_position on submissions (position);
  end if;
end $$`;
