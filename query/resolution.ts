/** `GET /resolution/{marketId}`: the state of a market's resolution. */
import { RequestError } from '../engine/records/errors.js';
import type { Database } from './database.js';
import { bytes, hex, jsonObject, positionOf, soleRow, type Answer, type Statement } from './statement.js';

/** An expired market that is neither resolved nor has an assertion: what can become of it, the chain tells. */
export interface Unresolved {
  readonly chainId: number;
  /** Lower-case hex. */
  readonly contractAddress: string;
  readonly kind: 'standard' | 'quick';
  /** Unix seconds. */
  readonly expiration: number;
}

const STANDING = 'from assertions where market_id = m.market_id and not rejected';
const EXPIRED = '(m.closed or m.expiration <= $2::bigint)';

/**
 * The JSON is built as text, because `winningOutcome` and `assertion` are not always present. The assertion is the latest one that was not
 * rejected or abandoned. A resolved market without a winner is paid half to half.
 * Once the market is resolved, the assertion is settled; it was true if it proposed the winning outcome. A market that the
 * engine has closed is expired also by a clock that is behind the engine's.
 */
const RESOLUTION_OF_MARKET: Statement = {
  name: 'resolution_of_market',
  text: `select (
  select '{"marketId":"' || ${hex('m.market_id')} || '","expired":' || ${EXPIRED} || ',"resolved":' || m.resolved
    || coalesce(',"winningOutcome":' || m.winning_outcome, case when m.resolved then ',"halved":true' else '' end)
    || coalesce(',"assertion":' || (
      select row_to_json(assertion)::text from (
        select ${hex('assertion_id')} as id, ${hex('proposer')} as proposer, outcome = 0 as "proposedOutcome", bond::text as "bondAmount",
          assertion_time as "assertionTime", expiration_time as "expirationTime", m.resolved as settled,
          m.resolved and outcome = m.winning_outcome as "settlementResolution", disputer is not null as disputed
        ${STANDING} order by position desc limit 1) assertion), '')
    || '}'
  from markets m where m.market_id = $1) as body, ${positionOf(['markets', 'resolutions'])} as position, ${jsonObject(`
    select chain_id as "chainId", ${hex('contract_address')} as "contractAddress", kind, expiration
    from markets m where m.market_id = $1 and ${EXPIRED} and not m.resolved and not exists (select 1 ${STANDING})`)} as unresolved`,
};

interface ResolutionRow {
  readonly body: string | null;
  readonly position: string;
  readonly unresolved: string | null;
}

/**
 * A market's resolution at the time `nowS` (Unix seconds): `expired`, `resolved`, `winningOutcome` once the market is resolved, or
 * `halved` if it is resolved without a winner, and `assertion` if there is one. Throws RequestError `unknown_market`.
 */
export async function resolution(
  db: Database, { marketId, nowS }: { marketId: string; nowS: number },
): Promise<Answer & { readonly unresolved?: Unresolved }> {
  const row = soleRow(await db.rows<ResolutionRow>(RESOLUTION_OF_MARKET, [bytes(marketId), nowS]));
  if (row.body === null) throw new RequestError('unknown_market');
  const answer = { body: row.body, position: Number(row.position) };
  return row.unresolved === null ? answer : { ...answer, unresolved: JSON.parse(row.unresolved) as Unresolved };
}
