/**
 * The tables of the read models: the projections write them, and the query API reads them.
 *
 * Each list belongs to one projection. The tables are created in the first schema of the search path: `read_models` for the live tables, a
 * shadow schema during a rebuild. Hex values are `bytea`. Amounts that may exceed 2^63 are `numeric`, in units of 1e-6. `*_ms` are
 * milliseconds since the Unix epoch, and `expiration` is in seconds.
 */

/** One row per projection: `position` is the number of folded outcomes, which is the position of the next one to fold. */
export const checkpointTable = `
create table if not exists projection (
  name text primary key,
  version integer not null,
  position bigint not null
)`;

/**
 * `opened_position` is the log position of the market's MarketOpened.
 * `yes_token`, `no_token`: the ERC-1155 ids of the shares; null for a market without a chain. A resolved market without a `winning_outcome` is paid
 * half to half.
 */
export const marketTables = [`
create table markets (
  number integer primary key,
  market_id bytea not null unique,
  question text not null,
  description text not null,
  category text not null,
  contract_address bytea not null,
  maker bytea not null,
  expiration bigint not null,
  chain_id bigint not null,
  kind text not null,
  closed boolean not null default false,
  resolved boolean not null default false,
  winning_outcome smallint,
  yes_token numeric(78),
  no_token numeric(78),
  created_at_ms bigint not null,
  opened_position bigint not null
)`, `
create index markets_by_contract on markets (contract_address)`];

/**
 * `status`: 0 open, 1 filled, 2 cancelled. `number` is the log position of the order's PlaceOrder. `level_history` has what each level was
 * after each outcome that touched it, also a size of 0: so it has every book as it was at any position. Its `place` is
 * (outcome * 2 + side) * 1000000 + price, and its `book` the book's `first_position`, at which the book had its first order: numbers instead of the
 * market's id, since every order writes a row or two.
 */
export const orderTables = [`
create table orders (
  number bigint primary key,
  order_hash bytea not null unique,
  market_id bytea not null,
  trader bytea not null,
  side smallint not null,
  outcome smallint not null,
  price integer not null,
  size numeric(20) not null,
  remaining numeric(20) not null,
  nonce numeric(20) not null,
  expiration numeric(20) not null,
  status smallint not null,
  placed_at_ms bigint not null,
  closed_at_ms bigint,
  closed_position bigint,
  close_reason text
)`, `
create index orders_open_by_trader on orders (trader, number) where status = 0`, `
create table levels (
  market_id bytea not null,
  outcome smallint not null,
  side smallint not null,
  price integer not null,
  size numeric(30) not null,
  primary key (market_id, outcome, side, price)
)`, `
create table level_history (
  book bigint not null,
  position bigint not null,
  place integer not null,
  size numeric(30) not null,
  at_ms bigint not null,
  primary key (book, place, position)
)`, `
create table books (
  market_id bytea primary key,
  first_position bigint not null,
  updated_at_ms bigint not null
)`];

/**
 * `settlement`: 0 matched, 1 pending, 2 confirmed, 3 failed. `number` is the fill number. `tx_hash` is the last submitted transaction; once
 * the fill is settled or failed, it is the transaction that did so. `submissions` has every transaction that was signed to settle the fill,
 * and the fill's place in the transaction.
 */
export const tradeTables = [`
create table trades (
  number bigint primary key,
  market_id bytea not null,
  outcome smallint not null,
  price integer not null,
  size numeric(20) not null,
  cost numeric(20) not null,
  taker_side smallint not null,
  maker_number bigint not null,
  taker_number bigint not null,
  buyer bytea not null,
  seller bytea not null,
  position bigint not null,
  at_ms bigint not null,
  settlement smallint not null,
  tx_hash bytea,
  settled_position bigint,
  settled_at_ms bigint,
  failure_reason text
)`, `
create index trades_by_market on trades (market_id, number) where settlement <> 3`, `
create index trades_by_buyer on trades (buyer, number) where settlement <> 3`, `
create index trades_by_seller on trades (seller, number) where settlement <> 3`, `
create index trades_by_maker on trades (maker_number)`, `
create index trades_by_taker on trades (taker_number)`, `
create index trades_unsettled on trades (number) where settlement < 2`, `
create index trades_failed on trades (settled_at_ms, settled_position) where settlement = 3`, `
create index trades_by_transaction on trades (tx_hash) where tx_hash is not null`, `
create table submissions (
  tx_hash bytea not null,
  fill bigint not null,
  batch_index integer not null,
  batch_size integer not null,
  position bigint not null,
  at_ms bigint not null,
  primary key (tx_hash, fill)
)`, `
create table market_volumes (
  market_id bytea primary key,
  volume numeric not null,
  trades bigint not null
)`, `
create table minute_volumes (
  market_id bytea not null,
  minute bigint not null,
  volume numeric not null,
  primary key (market_id, minute)
)`];

/** The columns that change have no index, and each page has free space: so an update writes one row version and no index entries. */
export const positionTables = [`
create table positions (
  market_id bytea not null,
  user_address bytea not null,
  yes_shares numeric not null,
  no_shares numeric not null,
  yes_cost numeric not null,
  no_cost numeric not null,
  primary key (market_id, user_address)
) with (fillfactor = 70)`, `
create index positions_by_user on positions (user_address)`];

/** `position` is the log position of the command that recorded the payment. Each command records one payment. */
export const redemptionTables = [`
create table redemptions (
  position bigint primary key,
  market_id bytea not null,
  user_address bytea not null,
  payout numeric not null,
  tx_hash bytea not null,
  at_ms bigint not null
)`, `
create index redemptions_by_user on redemptions (user_address, position)`];

/** Every assertion of a market's outcome. `position` is the log position of its proposal; `disputer` is null until somebody disputes it. */
export const assertionTables = [`
create table assertions (
  market_id bytea not null,
  assertion_id bytea not null,
  position bigint not null,
  proposer bytea not null,
  outcome smallint not null,
  bond numeric not null,
  assertion_time bigint not null,
  expiration_time bigint not null,
  disputer bytea,
  rejected boolean not null,
  primary key (market_id, assertion_id)
)`];

/**
 * Requests to the relayer: the latest one per id. `status`: 0 requested, 1 submitted, 2 succeeded, 3 failed. `position` is the log position of
 * the RequestRelay. `tx_hash` is the transaction that was submitted last; once the request has ended, it is the one that ended it. `results`
 * is RelayEnded's, as JSON text: text, because jsonb refuses U+0000.
 *
 * Claims: the redemptions that a request is to make, by their place in the request. A claim succeeds when its request has, or when the chain
 * has paid its user in its market, whichever comes first. `at_ms` is when it was requested.
 */
export const claimTables = [`
create table relays (
  request_id bytea primary key,
  position bigint not null unique,
  chain_id bigint not null,
  action text not null,
  owner bytea not null,
  status smallint not null,
  tx_hash bytea,
  requested_at_ms bigint not null,
  ended_at_ms bigint,
  results text
)`, `
create table claims (
  position bigint not null,
  index smallint not null,
  request_id bytea not null,
  market_id bytea not null,
  user_address bytea not null,
  payout numeric not null,
  winning_outcome smallint not null,
  status smallint not null,
  tx_hash bytea,
  at_ms bigint not null,
  ended_at_ms bigint,
  ended_position bigint,
  reason text,
  primary key (position, index)
)`, `
create index claims_pending on claims (position, index) where status < 2`, `
create index claims_pending_by_user on claims (user_address, market_id) where status < 2`, `
create index claims_failed on claims (ended_at_ms, ended_position, index) where status = 3`];

/**
 * `position` is the log position of the price's RecordPrice. `price` is in units of 1e-8 US dollars, and fits into 63 bits. Each asset has the
 * prices of the 20 minutes before its newest one.
 */
export const priceTables = [`
create table prices (
  position bigint primary key,
  asset text not null,
  source text not null,
  price numeric(19) not null,
  published_at_ms bigint not null
)`, `
create index prices_by_asset on prices (asset, published_at_ms)`];

/**
 * Quick markets, numbered in the order of opening. Prices are in units of 1e-8 US dollars. `outcome` follows from the prices; `paid` is whom the
 * chain pays, 2 for both outcomes one half. A price can be missed and come later.
 */
export const quickMarketTables = [`
create table quick_markets (
  number integer primary key,
  market_id bytea not null unique,
  chain_id bigint not null,
  contract_address bytea not null,
  asset text not null,
  start_time bigint not null,
  end_time bigint not null,
  created_at_ms bigint not null,
  strike_price numeric(19),
  strike_source text,
  strike_at_ms bigint,
  end_price numeric(19),
  end_source text,
  end_at_ms bigint,
  outcome smallint,
  paid smallint,
  start_missed boolean not null,
  end_missed boolean not null
)`, `
create index quick_markets_by_asset on quick_markets (asset, end_time)`];
