/** Markets by words, category and state, sorted, page by page: `GET /markets` with one of its parameters. */
import { RequestError } from '../engine/records/errors.js';
import { CATEGORIES, SELL, YES, type Category } from '../engine/records/fields.js';
import * as field from '../engine/records/answer-fields.js';
import { patterns } from '../engine/records/integers.js';
import { named } from '../engine/records/named-schema.js';
import { Type } from '../engine/records/schema-types.js';
import * as example from '../service/api/examples.js';
import { inQuery } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';
import type { Database } from './database.js';
import { cursor, keyAfter, page, type KeyPart } from './paging.js';
import { hex, jsonArray, jsonObject, positionOf, type Answer, type Statement } from './statement.js';

export const MARKETS_LIMIT = { byDefault: 100, max: 500 } as const;

/** In the order of `markets.state`. */
export const MARKET_STATES = ['open', 'expired', 'proposed', 'disputed', 'resolved'] as const;

/** SQL: what an entry shows of a market, and its best YES ask, from `markets` and `ask`. */
export const MARKET_FIELDS = `
  ${hex('market_id')} as id, question, description, category, ${hex('contract_address')} as "contractAddress", ${hex('maker')} as maker,
  expiration, chain_id as "chainId", resolved, coalesce(ask.price, 0) as "bestAskPrice", created_at_ms / 1000 as "createdAt",
  case when yes_token is not null then ${hex('market_id')} end as "conditionId", yes_token::text as "yesTokenId", no_token::text as "noTokenId"`;
/** SQL: the market's state. */
export const MARKET_STATE = `(array['${MARKET_STATES.join(`', '`)}'])[state + 1] as state`;
export const BEST_YES_ASK = `left join lateral (
  select price from levels
  where levels.market_id = markets.market_id and outcome = ${YES} and side = ${SELL} order by price limit 1) ask on true`;

const TokenId = named('TokenId', Type.String({ pattern: patterns.uint256, description: 'A uint256 as a decimal string.' }));
const WITHOUT_CHAIN = 'null for a market without a chain.';

/** An entry: what MARKET_FIELDS selects, and what a page adds. */
export const MarketEntry = field.answer('Market', {
  id: field.Bytes32, question: field.Question, description: Type.String(),
  category: field.oneOf(CATEGORIES, 'What the market is about.'),
  contractAddress: field.Address, maker: field.Address, expiration: field.Seconds, chainId: field.integer('Chain on which the market settles.', 1),
  resolved: Type.Boolean(), bestAskPrice: field.PriceOrNone, createdAt: field.Seconds,
  conditionId: field.orNull(field.Bytes32, `Condition of the conditional tokens, for splitPosition, mergePositions and redeemPositions; ${WITHOUT_CHAIN}`),
  yesTokenId: field.orNull(TokenId, `ERC-1155 id of the YES shares; ${WITHOUT_CHAIN}`),
  noTokenId: field.orNull(TokenId, `ERC-1155 id of the NO shares; ${WITHOUT_CHAIN}`),
  state: Type.Optional(field.oneOf(MARKET_STATES, 'Only in a page, and of one market.')),
  totalVolume: Type.Optional(field.amount('Only in a page, and of one market: stablecoin traded since the start')),
});
export const exampleEntry = {
  id: example.marketId, question: example.question, description: 'Resolves YES if the figure is reached before the year ends.', category: 'defi',
  contractAddress: example.contractAddress, maker: example.maker, expiration: example.expiration, chainId: 31_337, resolved: false,
  bestAskPrice: 600_000, createdAt: example.placedAt, conditionId: example.marketId,
  yesTokenId: '67342861206352183424271838154306187063461374310264017361302217042436938274305',
  noTokenId: '110289364510287301928475610293847561029384756102938475610293847561029384756102',
};

interface Sort {
  /** The tables of a market's key. */
  readonly from: string;
  readonly order: string;
  /** What the key is made of, and the market's number. */
  readonly columns: string;
  /** SQL: the key as JSON, from the columns. */
  readonly key: string;
  readonly parts: readonly KeyPart[];
  /** SQL: whether a market comes after the key of these parameters. */
  readonly after: (parameters: readonly string[]) => string;
}

const SORTS = {
  newest: {
    from: 'markets', order: 'number desc', columns: 'number', key: 'json_build_array(number)', parts: ['number'],
    after: ([number]) => `number < ${number}::integer`,
  },
  expiration: {
    from: 'markets', order: 'expiration, number', columns: 'expiration, number', key: 'json_build_array(expiration, number)', parts: ['number', 'number'],
    after: ([expiration, number]) => `(expiration, number) > (${expiration}::bigint, ${number}::integer)`,
  },
  volume: {
    from: 'market_volumes join markets using (market_id)', order: 'volume desc, market_volumes.market_id desc',
    columns: 'volume, market_volumes.market_id, number', key: `json_build_array(volume::text, ${hex('market_id')})`, parts: ['digits', 'hex'],
    after: ([volume, id]) => `(volume, market_volumes.market_id) < (${volume}::numeric, decode(substr(${id}::text, 3), 'hex'))`,
  },
} as const satisfies Record<string, Sort>;

export interface MarketSearch {
  readonly chainId?: number | undefined;
  /** Words of the question, or their beginnings. */
  readonly query?: string | undefined;
  readonly category?: Category | undefined;
  /** Every unresolved one without it. */
  readonly state?: typeof MARKET_STATES[number] | 'all' | undefined;
  readonly sort?: keyof typeof SORTS | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * A page of the standard markets that meet all conditions. Throws RequestError for a cursor of another list, and for words without any letter or
 * digit.
 */
export function searchMarkets(db: Database, search: MarketSearch): Promise<Answer> {
  const { sort = 'newest', limit = MARKETS_LIMIT.byDefault } = search;
  const list = `markets:${sort}`;
  const after = keyAfter(list, SORTS[sort].parts, search.cursor);
  return page(db, { list, ...statementOf({ ...search, sort, limit }, after) });
}

/** Without a name: which index is best depends on the values. The rows are numbered once they are found: Postgres would sort them all for that. */
function statementOf(
  { chainId, query, category, state, sort, limit }: MarketSearch & { readonly sort: keyof typeof SORTS; readonly limit: number },
  key: readonly unknown[] | undefined,
): { readonly statement: Statement; readonly values: readonly unknown[] } {
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const { from, order, columns, key: keyOf, after } = SORTS[sort] as Sort;
  const conditions = [`kind = 'standard'`, ...conditionOfState(state, given)];
  if (chainId !== undefined) conditions.push(`markets.chain_id = ${given(chainId)}::bigint`);
  if (category !== undefined) conditions.push(`category = ${given(category)}::text`);
  if (query !== undefined) conditions.push(`words @@ to_tsquery('simple', ${given(beginningsOf(query))}::text)`);
  if (key !== undefined) conditions.push(after(key.map(given)));
  const most = given(limit);
  const text = `
    with page as materialized (
      select row_number() over () as place, number, ${keyOf}::text as key from (
        select ${columns} from ${from} where ${conditions.join(' and ')}
        order by ${order} limit ${most}::integer) found
    )
    select ${jsonObject(`
      select ${jsonArray(`
        select ${MARKET_FIELDS}, ${MARKET_STATE}, totals.volume as "totalVolume"
        from page cross join lateral (select * from markets where markets.number = page.number limit 1) markets ${BEST_YES_ASK}
          left join lateral (select volume from market_volumes where market_volumes.market_id = markets.market_id) totals on true
        order by place`)} as markets, (select count(*) from page) as count`)} as body,
      (select key from page where place = ${most}::integer) as last, ${positionOf(['markets', 'orders', 'trades'])} as position`;
  return { statement: { text }, values };
}

function conditionOfState(state: MarketSearch['state'], given: (value: unknown) => string): readonly string[] {
  if (state === undefined) return ['not resolved'];
  return state === 'all' ? [] : [`state = ${given(MARKET_STATES.indexOf(state))}::smallint`];
}

/** Every word has to begin a word of the question. */
function beginningsOf(query: string): string {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu);
  if (words !== null) return words.map((word) => `'${word}':*`).join(' & ');
  throw new RequestError('invalid_request', '', [{ field: '/query', message: 'has words of the question, with letters or digits' }]);
}

export const marketSearchParameters = {
  query: inQuery('query', kind.optional(kind.upToCharacters(200)), {
    description: 'Words: each must begin a word of the question, in any case.', example: 'value locked',
  }),
  category: inQuery('category', kind.optional(kind.oneOf(CATEGORIES)), { description: 'Only markets of this category.', example: 'defi' }),
  state: inQuery('state', kind.optional(kind.oneOf([...MARKET_STATES, 'all'])), {
    description: 'open: takes orders. expired: takes no more, and nobody has proposed an outcome. proposed, disputed: an outcome is proposed, or its '
      + 'proposal is disputed. resolved. all. Without this parameter: all that are not resolved.',
    example: 'open',
  }),
  sort: inQuery('sort', kind.optional(kind.oneOf(['newest', 'expiration', 'volume'])), {
    description: 'newest (the default), expiration: the next one first, or volume: the most traded since the start first.', example: 'volume',
  }),
  limit: inQuery('limit', kind.optional(kind.upTo(MARKETS_LIMIT.max)), {
    description: `The highest number of entries in a page; ${MARKETS_LIMIT.byDefault} where another parameter of a page is given.`, example: 100,
  }),
  cursor,
};
