/** Read models of a chosen size that SQL writes: for what lists cost. Trades are as uneven as users are: one market and one trader have many. */
import pg from 'pg';
import { projections } from '../../projections/catalogue.js';
import { openSession } from '../../projections/database.js';
import { tableNames } from '../../projections/projection.js';
import { createReadModels, grantReader, READ_MODELS } from '../../projections/schema.js';
import { DERIVE } from './derived-tables.js';

export interface Size {
  readonly markets: number;
  readonly trades: number;
  /** Holders of the busy market, and markets in which the busy trader holds shares. */
  readonly holders: number;
  /** Open orders of the busy trader, in as many markets. */
  readonly openOrders: number;
}

/** The time of the newest trade, in milliseconds. */
export const NEWEST_MS = 1_760_000_000_000;
/** Trades are a hundred days long, and the last of them are not settled yet. */
const SPAN_MS = 100 * 86_400_000;
export const UNSETTLED = 1_000;

/** SQL: the id of the nth market, and the address of the nth trader. */
const market = (n: string) => `sha256(int4send((${n})::integer))`;
const trader = (n: string) => `substr(sha256(int4send((${n})::integer)), 1, 20)`;

/** The market with every third trade, and the trader with every eighth. */
export const BUSY = 0;

/** Writes the read models of this database, which has none yet. */
export async function generateReadModels(url: string, size: Size): Promise<void> {
  const session = await openSession(url, READ_MODELS);
  await createReadModels({ session, schema: READ_MODELS, projections });
  await grantReader(session, READ_MODELS);
  await session.close();
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${READ_MODELS} -c work_mem=256MB -c maintenance_work_mem=512MB` });
  await client.connect();
  try {
    for (const table of projections.flatMap(tableNames)) await client.query(`alter table ${table} set unlogged`);
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(`
      select indexname as name, indexdef as definition from pg_indexes
      where schemaname = '${READ_MODELS}' and indexdef not like 'CREATE UNIQUE%'`);
    for (const { name } of indexes) await client.query(`drop index ${name}`);
    for (const statement of [...statementsFor(size), ...DERIVE]) await client.query(statement);
    for (const { definition } of indexes) await client.query(definition);
    await client.query(`update checkpoint set position = 1000000000, at_ms = ${NEWEST_MS}`);
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

function statementsFor({ markets, trades, holders, openOrders }: Size): string[] {
  const of = (number: string) => `case when ${number} % 3 = 0 then ${BUSY} else ${number} / 70 % ${markets} end`;
  const at = (number: string) => `${NEWEST_MS} - ${SPAN_MS} + ${number} * ${SPAN_MS}::bigint / ${trades}`;
  const state = (number: string) => `case when ${number} >= ${trades - UNSETTLED} then 1 when ${number} % 1000 = 7 then 3 else 2 end`;
  return [`
    insert into markets (number, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind, closed,
      resolved, proposal, created_at_ms, opened_position)
    select n, ${market('n')}, 'Will event ' || n || ' of group ' || n % 1000 || ' happen?', 'It resolves YES if it does.',
      (array['defi', 'protocol', 'stablecoin', 'general'])[least(n % 10, 3) + 1], ${trader('-n - 1')}, ${trader('9')}, 1700000000 + n * 61 % 100000000,
      case when n % 10 = 9 then 137 else 31337 end, 'standard', n % 2 = 1, n % 5 = 1, case when n % 1000 = 3 then 2 when n % 100 = 5 then 1 else 0 end,
      ${NEWEST_MS}, n
    from generate_series(0, ${markets - 1}) n`, `
    insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller, position, at_ms,
      settlement, tx_hash, settled_position, settled_at_ms, failure_reason)
    select n, ${market(of('n'))}, n / 3 % 2, 100000 + n * 7919 % 800000, 1000000, 500000, 0, n, n, ${trader(`case when n % 8 = 0 then 0 else n % 50000 end`)},
      ${trader('n % 49999 + 1')}, n, ${at('n')}, ${state('n')}, ${market('n / 50')}, n, ${at('n')} + 5000, null
    from generate_series(0::bigint, ${trades - 1}) n`, `
    insert into positions (market_id, user_address, yes_shares, no_shares, yes_cost, no_cost, held)
    select ${market(`${BUSY}`)}, ${trader('n')}, 1000000::numeric + n * 7919 % 1000003, n % 3 * 1000, 500000, 0, true from generate_series(1, ${holders}) n
    union all select ${market('n')}, ${trader('0')}, 1000000 * (n % 10), 0, n % 10 * 5, 0, true from generate_series(1, ${Math.min(holders, markets - 1)}) n
    union all select ${market('n')}, ${trader('m')}, 1000000, 0, 5, 0, true from generate_series(1, ${markets - 1}) n, generate_series(1, 5) m`, `
    insert into orders (number, order_hash, market_id, trader, side, outcome, price, size, remaining, nonce, expiration, status, placed_at_ms)
    select n, ${market('n')}, ${market(`n % ${markets}`)}, ${trader(`case when n < ${openOrders} then 0 else n % 5000 + 1 end`)}, n % 2, n / 2 % 2, 500000,
      1000000, 1000000, n, 1900000000, case when n < ${openOrders} or n % 20 = 0 then 0 else 1 end, ${NEWEST_MS}
    from generate_series(0, ${openOrders * 20}) n`, `
    insert into levels (market_id, outcome, side, price, size)
    select ${market('n')}, o, s, 500000 + (2 * s - 1) * (p + 1) * 1000, 5000000
    from generate_series(0, ${markets - 1}) n, generate_series(0, 1) o, generate_series(0, 1) s, generate_series(0, 2) p`, `
    insert into redemptions (position, market_id, user_address, payout, tx_hash, at_ms)
    select n, ${market(`n % ${markets}`)}, ${trader(`n % 3 * 7`)}, 1000000, ${market('n')}, ${NEWEST_MS} from generate_series(0, ${holders * 5}) n`, `
    insert into quick_markets (number, market_id, chain_id, contract_address, asset, start_time, end_time, created_at_ms, start_missed, end_missed)
    select n, ${market('-n - 1')}, 31337, ${trader('n')}, case n % 2 when 0 then 'BTC' else 'ETH' end, 1600000000 + n * 450, 1600000900 + n * 450, 0, false, false
    from generate_series(0, ${markets - 1}) n`, `
    insert into price_candles
    select 'BTC', i, 1600000000 / i * i + n * i, 5, 9, 1, 7, 60 from unnest(array[60, 3600]) i, generate_series(0::bigint, ${holders * 10}) n`, `
    insert into minute_volumes
    select market_id, at_ms / 60000, sum(cost) from trades where settlement <> 3 group by 1, 2`, `
    insert into market_volumes (market_id, volume, trades)
    select market_id, coalesce(sum(cost) filter (where settlement <> 3), 0), count(*) filter (where settlement <> 3) from trades group by 1`, `
    insert into claims (position, index, request_id, market_id, user_address, payout, winning_outcome, status, at_ms, ended_at_ms, ended_position)
    select n, 0, ${market('n')}, ${market(`n % ${markets}`)}, ${trader('n')}, 5, 0, case when n % 10 = 0 then 1 when n % 10 = 1 then 3 else 2 end, ${NEWEST_MS}, ${NEWEST_MS}, n
    from generate_series(0, ${holders}) n`];
}
