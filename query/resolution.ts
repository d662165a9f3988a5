/** `GET /resolution/{marketId}`: how far a market's resolution is. */
import type { Database } from './database.js';
import { answer, answering, bytes, hex, type Answer } from './statement.js';

/**
 * Put together as text, because `winningOutcome` and `assertion` are not always there. The assertion is the latest one that was not
 * rejected; resolved, it is settled, and has held if the market's winner is what it said.
 */
const resolutionOf = answering('resolution_of_market', ['markets', 'resolutions'], `(
  select '{"marketId":"' || ${hex('m.market_id')} || '","expired":' || (m.expiration <= $2::bigint) || ',"resolved":' || m.resolved
    || coalesce(',"winningOutcome":' || m.winning_outcome, '')
    || coalesce(',"assertion":' || (
      select row_to_json(assertion)::text from (
        select ${hex('assertion_id')} as id, ${hex('proposer')} as proposer, outcome = 0 as "proposedOutcome", bond::text as "bondAmount",
          assertion_time as "assertionTime", expiration_time as "expirationTime", m.resolved as settled,
          m.resolved and outcome = m.winning_outcome as "settlementResolution", disputer is not null as disputed
        from assertions where market_id = m.market_id and not rejected order by position desc limit 1) assertion), '')
    || '}'
  from markets m where m.market_id = $1)`);

/**
 * A market's resolution at a time in Unix seconds: `expired`, `resolved`, `winningOutcome` once it is resolved, and `assertion` while
 * there is one. Throws RequestError `unknown_market`.
 */
export function resolution(db: Database, { marketId, nowS }: { marketId: string; nowS: number }): Promise<Answer> {
  return answer(db, resolutionOf, [bytes(marketId), nowS], 'unknown_market');
}
