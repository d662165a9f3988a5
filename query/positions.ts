/** Holdings: a user's YES and NO shares in one market or in all markets of a chain, and a market's largest holders. */
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { AnyCaseAddress } from '../engine/records/fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import { inPath, inQuery } from '../service/api/parameter.js';
import * as parameter from '../service/api/parameters.js';
import type { MarketReference } from '../service/api/request-fields.js';
import * as kind from '../service/api/request-fields.js';
import type { Database } from './database.js';
import { isPaged, keyAfter, NextCursor, page, pageParameters, type PageRequest } from './paging.js';
import { ofMarket, read, type Reads, type SharedReads } from './reading.js';
import { soleRow } from '../engine/log/postgres/connection.js';
import { answer, answering, bytes, hex, jsonArray, jsonObject, positionOf, type Answer, type Statement } from './statement.js';

/** How many of the largest holders `GET /holders/{marketId}` lists. */
const HOLDER_ENTRIES = 10;
/** How many entries a page has. */
export const POSITIONS_LIMIT = { byDefault: 100, max: 500 } as const;

/** After a user has sold everything, the row has only zeros and does not count. */
const EXISTS = '(yes_shares <> 0 or no_shares <> 0 or yes_cost <> 0 or no_cost <> 0)';
const HOLDS = '(yes_shares > 0 or no_shares > 0)';

const ofUserInMarket = answering('position', ['markets', 'positions'], `(
  select coalesce(${jsonObject(`
    select yes_shares as "yesShares", no_shares as "noShares", yes_cost + no_cost as "totalInvested", yes_cost as "yesCost",
      no_cost as "noCost"
    from positions where positions.market_id = markets.market_id and user_address = $3 and ${EXISTS}`)}, '{"yesShares":0,"noShares":0}')
  from markets where market_id = $1 or contract_address = $2 order by number limit 1)`);

const POSITION = `
  ${hex('market_id')} as "marketId", question as "marketQuestion", ${hex('contract_address')} as "contractAddress", expiration,
  resolved, yes_shares as "yesShares", no_shares as "noShares", yes_cost + no_cost as "totalInvested"`;

const ofUserOnChain = answering('positions_of_user', ['markets', 'positions'], jsonObject(`
  select ${jsonArray(`
    select ${POSITION} from positions join markets using (market_id)
    where user_address = $1 and positions.chain_id = $2::bigint and held order by number desc`)} as positions`));

/** $3 is the end of the page before, $4 the limit. */
const pageOfUser: Statement = {
  name: 'positions_page',
  text: `
    with page as materialized (
      select * from positions
      where user_address = $1 and chain_id = $2::bigint and held and opened_position < coalesce($3::bigint, ${Number.MAX_SAFE_INTEGER})
      order by opened_position desc limit $4::integer
    )
    select ${jsonObject(`
      select ${jsonArray(`
        select ${POSITION} from page join markets using (market_id) order by page.opened_position desc`)} as positions`)} as body,
      (select case when count(*) = $4::integer then json_build_array(min(opened_position))::text end from page) as last,
      ${positionOf(['markets', 'positions'])} as position`,
};

/** The shares of both outcomes together, as the index has them. */
const SIZE = '(greatest(yes_shares, 0) + greatest(no_shares, 0))';

/** $2 and $3 are the size and the user at the end of the page before, $4 the limit. */
const holdersOf: Statement = {
  name: 'holders',
  text: `
    with page as materialized (
      select user_address, yes_shares, no_shares, ${SIZE} as size from positions
      where market_id = $1 and ${HOLDS} and ${SIZE} <= coalesce($2::numeric, 'infinity')
        and (${SIZE} < coalesce($2::numeric, 'infinity') or user_address > $3::bytea)
      order by ${SIZE} desc, user_address limit $4::integer
    )
    select ${jsonObject(`
      select ${hex('m.market_id')} as "marketId", ${jsonArray(`
          select ${hex('user_address')} as "userAddress", greatest(yes_shares, 0) as "yesShares", greatest(no_shares, 0) as "noShares"
          from page order by size desc, user_address`)} as "topHolders",
        coalesce((select holders from market_holders where market_id = $1), 0) as "totalHolders"
      from markets m where m.market_id = $1`)} as body,
      (select case when count(*) = $4::integer
        then (array_agg(json_build_array(size::text, ${hex('user_address')})::text order by size, user_address desc))[1] end from page) as last,
      ${positionOf(['markets', 'positions'])} as position`,
};

/**
 * `GET /positions/{marketAddress}`: a user's holdings in a market, given by its contract's address or its id. A user
 * without holdings gets only `yesShares` and `noShares`, both 0. Throws RequestError `unknown_market`.
 */
export function position(db: Database, { market, user }: { market: MarketReference; user: string }): Promise<Answer> {
  const [marketId, contract] = 'marketId' in market ? [bytes(market.marketId), null] : [null, bytes(market.contractAddress)];
  return answer(db, ofUserInMarket, [marketId, contract, bytes(user)], 'unknown_market');
}

/**
 * A user's holdings in units of 1e-6, with the last log position that they include; zeros for a user without holdings.
 */
export interface HeldPosition {
  readonly yesShares: bigint;
  readonly noShares: bigint;
  readonly totalInvested: bigint;
  readonly position: number;
}

const held: Statement = {
  name: 'held_position',
  text: `
    select coalesce(sum(yes_shares), 0) as "yesShares", coalesce(sum(no_shares), 0) as "noShares",
      coalesce(sum(yes_cost + no_cost), 0) as "totalInvested", ${positionOf(['positions'])} as position
    from positions where market_id = $1 and user_address = $2`,
};

/** A user's holdings in a market, from the read model. */
export async function heldPosition(
  db: Database, { marketId, user }: { marketId: string; user: string },
): Promise<HeldPosition> {
  const rows = await db.rows<Record<keyof HeldPosition, string>>(held, [bytes(marketId), bytes(user)]);
  const { yesShares, noShares, totalInvested, position } = soleRow(rows);
  return {
    yesShares: BigInt(yesShares), noShares: BigInt(noShares), totalInvested: BigInt(totalInvested),
    position: Number(position),
  };
}

/**
 * `GET /users/{address}/positions`: a user's holdings on a chain, newest market first; all of them, or page by page.
 */
export function positionsOfUser(
  db: Database, { user, chainId, ...asked }: PageRequest & { user: string; chainId: number },
): Promise<Answer> {
  if (!isPaged(asked)) return answer(db, ofUserOnChain, [bytes(user), chainId]);
  const { limit = POSITIONS_LIMIT.byDefault, cursor } = asked;
  const [before] = keyAfter('positions', ['number'], cursor) ?? [];
  return page(db, { list: 'positions', statement: pageOfUser, values: [bytes(user), chainId, before ?? null, limit] });
}

/**
 * `GET /holders/{marketId}`: the users with the most shares of both market outcomes together, ten or page by page, and
 * the number of users with shares. Throws RequestError `unknown_market`.
 */
export async function holders(
  db: Database, { marketId, ...asked }: PageRequest & { marketId: string },
): Promise<Answer> {
  const { limit = HOLDER_ENTRIES, cursor } = asked;
  const [size = null, user = NOBODY] = (keyAfter('holders', ['digits', 'hex'], cursor) ?? []) as string[];
  const list = isPaged(asked) ? 'holders' : undefined;
  return page(db, { list, statement: holdersOf, values: [bytes(marketId), size, bytes(user), limit], missing: 'unknown_market' });
}

/** No address comes before it. */
const NOBODY = '0x';

export const getHolders = defineEndpoint({
  ...ofMarket,
  id: 'getHolders', path: '/api/v1/holders/{marketId}', summary: 'The ten largest holders of a market',
  description: 'Sorted by the size of their positions, largest first. With `limit` or `cursor`: page by page.',
  parameters: { ...ofMarket.parameters, ...pageParameters({ ...POSITIONS_LIMIT, byDefault: HOLDER_ENTRIES }) },
  shownLimit: { name: 'maxHolders', value: HOLDER_ENTRIES, description: 'Most holders in an answer.' },
  answer: {
    description: 'The holders.',
    schema: field.answer('Holders', {
      marketId: field.Bytes32,
      topHolders: Type.Array(field.answer('Holder', { userAddress: field.Address, ...field.shares }), {
        description: 'Sorted by the size of their positions, largest first.',
      }),
      totalHolders: field.integer('Number of holders.'), nextCursor: NextCursor,
    }),
    examples: {
      'two holders': {
        marketId: example.marketId, totalHolders: 2,
        topHolders: [
          { userAddress: example.alice, yesShares: 10_000_000, noShares: 0 },
          { userAddress: example.bob, yesShares: 0, noShares: 2_500_000 },
        ],
      },
    },
  },
}, ({ db, share }: SharedReads) => share('holders', ['markets', 'positions'], (params) => holders(db, params)));

const reading = { ...read, tag: 'Users' } as const;

export const listUserPositions = defineEndpoint({
  ...reading,
  id: 'listUserPositions', path: '/api/v1/users/{address}/positions', summary: 'All positions of a user on a chain',
  description: 'One entry per market, with the amount invested, newest market first. All of them, or with `limit` or `cursor` page by page.',
  parameters: { user: parameter.userInPath, chainId: parameter.chainId, ...pageParameters(POSITIONS_LIMIT) },
  answer: {
    description: 'The positions.',
    schema: field.answer('UserPositions', {
      positions: Type.Array(field.answer('UserPosition', {
        marketId: field.Bytes32, marketQuestion: field.Question, contractAddress: field.Address,
        expiration: field.Seconds, resolved: Type.Boolean(),
        ...field.shares, totalInvested: field.Invested,
      })),
      nextCursor: NextCursor,
    }),
    examples: {
      'one position': {
        positions: [{
          marketId: example.marketId, marketQuestion: example.question, contractAddress: example.contractAddress,
          expiration: example.expiration,
          resolved: false, yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000,
        }],
      },
    },
  },
  errors: ['unavailable'],
}, ({ db }: Reads) => (params) => positionsOfUser(db, params));

export const getPosition = defineEndpoint({
  ...reading,
  id: 'getPosition', path: '/api/v1/positions/{marketAddress}', summary: 'A user\'s position in one market',
  description: 'Costs are average costs. Without a position, the answer has only `yesShares` and `noShares`, both 0.',
  parameters: {
    market: inPath('marketAddress', kind.marketReference(AnyCaseAddress), {
      description: 'The address of the market\'s contract.', example: example.contractAddress,
    }),
    user: inQuery('user', kind.address, { description: 'Owner of the position.', example: example.alice }),
  },
  answer: {
    description: 'The position.',
    schema: field.answer('Position', {
      ...field.shares,
      totalInvested: Type.Optional(field.Invested), yesCost: Type.Optional(field.yesCost),
      noCost: Type.Optional(field.noCost),
    }, { description: 'Without a position: only yesShares and noShares, both 0.' }),
    examples: {
      position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000, yesCost: 6_000_000, noCost: 0 },
      none: { yesShares: 0, noShares: 0 },
    },
  },
  errors: ['unknown_market', 'unavailable'],
}, ({ db }: Reads) => (params) => position(db, params));
