/** `GET /resolution/{marketId}`: the state of a market's resolution. */
import type { Database } from './database.js';
import { answer, answering, bytes, hex, type Answer } from './statement.js';

/**
 * The JSON is built as text, because `winningOutcome` and `assertion` are not always present. The assertion is the latest one that was not
 * rejected or abandoned. A resolved market without a winner is paid half to half.
 * Once the market is resolved, the assertion is settled; it was true if it proposed the winning outcome. A market that the
 * engine has closed is expired also by a clock that is behind the engine's.
 */
const resolutionOf = answering('resolution_of_market', ['markets', 'resolutions'], `(
  select '{"marketId":"' || ${hex('m.market_id')} || '","expired":' || (m.closed or m.expiration <= $2::bigint) || ',"resolved":' || m.resolved
    || coalesce(',"winningOutcome":' || m.winning_outcome, case when m.resolved then ',"halved":true' else '' end)
    || coalesce(',"assertion":' || (
      select row_to_json(assertion)::text from (
        select ${hex('assertion_id')} as id, ${hex('proposer')} as proposer, outcome = 0 as "proposedOutcome", bond::text as "bondAmount",
          assertion_time as "assertionTime", expiration_time as "expirationTime", m.resolved as settled,
          m.resolved and outcome = m.winning_outcome as "settlementResolution", disputer is not null as disputed
        from assertions where market_id = m.market_id and not rejected order by position desc limit 1) assertion), '')
    || '}'
  from markets m where m.market_id = $1)`);

/**
 * A market's resolution at the time `nowS` (Unix seconds): `expired`, `resolved`, `winningOutcome` once the market is resolved, or
 * `halved` if it is resolved without a winner, and `assertion` if there is one. Throws RequestError `unknown_market`.
 */
export function resolution(db: Database, { marketId, nowS }: { marketId: string; nowS: number }): Promise<Answer> {
  return answer(db, resolutionOf, [bytes(marketId), nowS], 'unknown_market');
}
