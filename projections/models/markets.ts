/** The `markets` projection: every market with its terms, whether it still takes orders, and how it is resolved. */
import type { MarketOpened, MarketTokenized } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { shownText } from '../../engine/records/market-text.js';
import { booleanArray, byteaArray, int2Array, int4Array, int8Array, numericArray, textArray } from '../columns.js';
import {
  foldEvents, handledBy, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * `question` and `description` are those that readers see (`shownText`).
 * `opened_position` is the log position of the market's MarketOpened.
 * `proposal`: 0 none that was not rejected, 1 proposed, 2 disputed. `state`: 0 open, 1 expired, 2 proposed, 3 disputed, 4 resolved.
 * `words` are those of the question: as a column they have statistics, by which Postgres knows whether to look them up or to go through the list.
 * `yes_token`, `no_token`: the ERC-1155 ids of the shares; null for a market without a chain. A resolved market without a `winning_outcome` is paid
 * half to half. `market_messages` has each position at which a market opened, closed, or went on to its resolution: those of the messages in the
 * channel `markets` of the streams.
 */
const TABLES = [`
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
  opened_position bigint not null,
  proposal smallint not null default 0,
  state smallint not null generated always as (case when resolved then 4 when proposal > 0 then proposal + 1 when closed then 1 else 0 end) stored,
  words tsvector not null generated always as (to_tsvector('simple', question)) stored
)`, `
create index markets_by_contract on markets (contract_address)`, `
create index markets_standard on markets (number) where kind = 'standard'`, `
create index markets_unresolved on markets (number) where kind = 'standard' and not resolved`, `
create index markets_by_state on markets (state, number) where kind = 'standard'`, `
create index markets_by_category on markets (category, state, number) where kind = 'standard'`, `
create index markets_by_expiration on markets (expiration, number) where kind = 'standard'`, `
create index markets_unresolved_by_expiration on markets (expiration, number) where kind = 'standard' and not resolved`, `
create index markets_by_state_and_expiration on markets (state, expiration, number) where kind = 'standard'`, `
create index markets_by_words on markets using gin (words) where kind = 'standard'`, `
create table market_messages (
  position bigint primary key
)`];

/** The values of the column `proposal`, and what a batch may do with it besides. */
const NONE = 0;
const PROPOSED = 1;
const DISPUTED = 2;
/** The proposal, if there is one, is disputed. */
const DISPUTE = -1;
const UNCHANGED_PROPOSAL = -2;

const INSERT_MARKETS = {
  name: 'insert_markets',
  text: `
    insert into markets (number, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind,
      created_at_ms, opened_position, closed, resolved, winning_outcome, yes_token, no_token, proposal)
    select (select coalesce(max(number) + 1, 0) from markets) + place, market_id, question, description, category,
      contract_address, maker, expiration, chain_id, kind, created_at_ms, opened_position, closed, resolved, nullif(winning_outcome, -1),
      yes_token, no_token, proposal
    from unnest($1::integer[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[], $8::bigint[], $9::bigint[],
      $10::text[], $11::bigint[], $12::bigint[], $13::boolean[], $14::boolean[], $15::smallint[], $16::numeric[], $17::numeric[],
      $18::smallint[])
      as opened (place, market_id, question, description, category, contract_address, maker, expiration, chain_id, kind,
        created_at_ms, opened_position, closed, resolved, winning_outcome, yes_token, no_token, proposal)`,
};

/** A closed or resolved market stays closed or resolved, and keeps its tokens. */
const CHANGE_MARKETS = {
  name: 'change_markets',
  text: `
    update markets set closed = closed or now_closed, resolved = resolved or now_resolved,
      winning_outcome = coalesce(nullif(winner, -1), winning_outcome),
      yes_token = coalesce(changed.yes, yes_token), no_token = coalesce(changed.no, no_token),
      proposal = case changed.proposal when ${UNCHANGED_PROPOSAL} then markets.proposal when ${DISPUTE} then sign(markets.proposal) * ${DISPUTED}
        else changed.proposal end
    from unnest($1::bytea[], $2::boolean[], $3::boolean[], $4::smallint[], $5::numeric[], $6::numeric[], $7::smallint[])
      as changed (id, now_closed, now_resolved, winner, yes, no, proposal)
    where market_id = id`,
};

const WRITE_MESSAGES = { name: 'write_market_messages', text: 'insert into market_messages (position) select * from unnest($1::bigint[])' };

/**
 * What happens to a market after it is opened: whether it is closed and resolved, its winner (-1 while there is none), its tokens, and its
 * proposal.
 */
interface Later {
  closed: boolean;
  resolved: boolean;
  winner: MarketOutcome | -1;
  tokens?: MarketTokenized;
  proposal: number;
}

interface Opened extends Later {
  readonly event: MarketOpened;
  readonly position: number;
  readonly at: number;
}

/** A batch's changes: the markets that it opens, and what happens to older markets. */
interface Changes {
  readonly opened: Map<string, Opened>;
  readonly older: Map<string, Later>;
  /** As in `market_messages`. */
  readonly messages: Set<number>;
}

const UNCHANGED: Later = { closed: false, resolved: false, winner: -1, proposal: UNCHANGED_PROPOSAL };

const EVENTS: Handlers<Changes> = {
  MarketOpened: ({ opened, messages }, event, { position, at }) => {
    opened.set(event.marketId, { event, position, at, ...UNCHANGED, proposal: NONE });
    messages.add(position);
  },
  MarketTokenized: (changes, event) => { laterOf(changes, event.marketId).tokens = event; },
  MarketClosed: (changes, { marketId }, outcome) => { goesOn(changes, marketId, outcome).closed = true; },
  MarketResolved: (changes, { marketId, winningOutcome: winner }, outcome) => {
    Object.assign(goesOn(changes, marketId, outcome), { resolved: true, winner });
  },
  MarketHalved: (changes, { marketId }, outcome) => { goesOn(changes, marketId, outcome).resolved = true; },
  // The engine keeps one proposal per market, so a dispute and a rejection are of the latest one.
  ResolutionProposed: (changes, { marketId }, outcome) => { goesOn(changes, marketId, outcome).proposal = PROPOSED; },
  ResolutionDisputed: (changes, { marketId }, outcome) => {
    const later = goesOn(changes, marketId, outcome);
    if (later.proposal === PROPOSED) later.proposal = DISPUTED;
    else if (later.proposal === UNCHANGED_PROPOSAL) later.proposal = DISPUTE;
  },
  ResolutionRejected: (changes, { marketId }, outcome) => { goesOn(changes, marketId, outcome).proposal = NONE; },
};

export const markets: Projection = {
  name: 'markets', version: 9, tables: TABLES, handles: handledBy(EVENTS), start: () => fold,
};

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const { opened, older, messages } = foldEvents(EVENTS, batch, { opened: new Map(), older: new Map(), messages: new Set<number>() });
  if (messages.size > 0) await query(WRITE_MESSAGES, [int8Array([...messages])]);
  if (opened.size > 0) await query(INSERT_MARKETS, [...openedColumns([...opened.values()]), ...laterColumns([...opened.values()])]);
  if (older.size > 0) await query(CHANGE_MARKETS, [byteaArray([...older.keys()]), ...laterColumns([...older.values()])]);
}

function laterOf({ opened, older }: Changes, marketId: string): Later {
  let later = opened.get(marketId) ?? older.get(marketId);
  if (later === undefined) older.set(marketId, later = { ...UNCHANGED });
  return later;
}

/** What happens to the market at this position, of which the streams tell. */
function goesOn(changes: Changes, marketId: string, { position }: FoldedOutcome): Later {
  changes.messages.add(position);
  return laterOf(changes, marketId);
}

function openedColumns(rows: readonly Opened[]): unknown[] {
  const texts = rows.map(({ event }) => shownText(event));
  return [
    int4Array(rows.map((_, place) => place)),
    byteaArray(rows.map(({ event }) => event.marketId)),
    textArray(texts.map(({ question }) => question)),
    textArray(texts.map(({ description }) => description)),
    textArray(rows.map(({ event }) => event.category)),
    byteaArray(rows.map(({ event }) => event.contractAddress)),
    byteaArray(rows.map(({ event }) => event.maker)),
    int8Array(rows.map(({ event }) => event.expiration)),
    int8Array(rows.map(({ event }) => event.chainId)),
    textArray(rows.map(({ event }) => event.marketKind)),
    int8Array(rows.map(({ at }) => at)),
    int8Array(rows.map(({ position }) => position)),
  ];
}

function laterColumns(rows: readonly Later[]): unknown[] {
  return [
    booleanArray(rows.map(({ closed }) => closed)),
    booleanArray(rows.map(({ resolved }) => resolved)),
    int2Array(rows.map(({ winner }) => winner)),
    numericArray(rows.map(({ tokens }) => tokens === undefined ? 'NULL' : BigInt(tokens.yesToken))),
    numericArray(rows.map(({ tokens }) => tokens === undefined ? 'NULL' : BigInt(tokens.noToken))),
    int2Array(rows.map(({ proposal }) => proposal)),
  ];
}
