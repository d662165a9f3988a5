/** `GET /resolution/{marketId}`: the state of a market's resolution. */
import { RequestError } from '../engine/records/errors.js';
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { defineEndpoint } from '../service/api/endpoint.js';
import * as example from '../service/api/examples.js';
import type { Database } from './database.js';
import { ofMarket, type Reads } from './reading.js';
import { soleRow } from '../engine/log/postgres/connection.js';
import { bytes, hex, jsonObject, positionOf, type Answer, type Statement } from './statement.js';

/** An expired market that is neither resolved nor has an assertion: what can become of it, the chain tells. */
export interface Unresolved {
  readonly chainId: number;
  /** Lower-case hex. */
  readonly contractAddress: string;
  readonly kind: 'standard' | 'quick';
  /** Unix seconds. */
  readonly expiration: number;
}

/** What the chain would take at present. */
export interface OfferedResolution {
  /** What a proposal signs and posts, and why none is taken at present; absent for a quick market. */
  readonly proposal?: { readonly bond: bigint; readonly refusal: string | undefined };
  /** From when the market can be paid half to half, in Unix seconds by the chain's time. */
  readonly halvableFromS?: number;
}

/** `resolutionOptions` is undefined where the chain is not configured or does not answer in time. */
interface ChainTells {
  readonly resolutionOptions: (market: Unresolved) => Promise<OfferedResolution | undefined>;
}

const STANDING = 'from assertions where market_id = m.market_id and not rejected';
const EXPIRED = '(m.closed or m.expiration <= $2::bigint)';

/**
 * The JSON is built as text, because `winningOutcome` and `assertion` are not always present. The assertion is the
 * latest one that was not rejected or abandoned. A resolved market without a winner is paid half to half. Once the
 * market is resolved, the assertion is settled; it was true if it proposed the winning outcome. A market that the
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
 * A market's resolution at the time `nowS` (Unix seconds): `expired`, `resolved`, `winningOutcome` once the market is
 * resolved, or `halved` if it is resolved without a winner, and `assertion` if there is one. Throws RequestError
 * `unknown_market`.
 */
export async function resolution(
  db: Database, { marketId, nowS }: { marketId: string; nowS: number },
): Promise<Answer & { readonly unresolved?: Unresolved }> {
  const row = soleRow(await db.rows<ResolutionRow>(RESOLUTION_OF_MARKET, [bytes(marketId), nowS]));
  if (row.body === null) throw new RequestError('unknown_market');
  const answer = { body: row.body, position: Number(row.position) };
  return row.unresolved === null ? answer : { ...answer, unresolved: JSON.parse(row.unresolved) as Unresolved };
}

const assertion = {
  id: example.digest, proposer: example.alice, proposedOutcome: true, bondAmount: '500000000', assertionTime: example.expiration + 600,
  expirationTime: example.expiration + 7_800, settled: false, settlementResolution: false, disputed: false,
};

export const getResolution = defineEndpoint({
  ...ofMarket,
  id: 'getResolution', path: '/api/v1/resolution/{marketId}', summary: 'The state of a market\'s resolution',
  description: '`assertion` is present while an assertion is open or was upheld; it is absent after it was rejected by the oracle, or abandoned. `settlementResolution` '
    + 'is the oracle\'s value: whether the assertion was upheld. The winner is `winningOutcome`. `bondAmount` is in units of 1e-6 of the stablecoin. '
    + 'Of an expired market that is neither resolved nor has an assertion, the chain tells what can become of it: `proposal` and `halvableFrom`, which are absent '
    + 'while the chain cannot be read.',
  answer: {
    description: 'The resolution.',
    schema: field.answer('Resolution', {
      marketId: field.Bytes32,
      expired: Type.Boolean({ description: 'Whether the market\'s expiration has passed.' }),
      resolved: Type.Boolean({ description: 'Whether the market is resolved.' }),
      winningOutcome: Type.Optional(field.Outcome),
      halved: Type.Optional(Type.Literal(true, { description: 'Only of a resolved market without a winner: each share of either outcome is paid one half.' })),
      assertion: Type.Optional(field.answer('Assertion', {
        id: field.Bytes32, proposer: field.Address, proposedOutcome: Type.Boolean({ description: 'True = YES.' }),
        bondAmount: Type.String({ pattern: '^(0|[1-9][0-9]*)$', description: 'Bond in the stablecoin, 6 decimals.' }),
        assertionTime: field.Seconds, expirationTime: field.integer('End of the dispute window, Unix seconds.'),
        settled: Type.Boolean({ description: 'Whether the oracle has decided.' }),
        settlementResolution: Type.Boolean({ description: 'Whether the oracle upheld the assertion; false until `settled`.' }),
        disputed: Type.Boolean(),
      })),
      proposal: Type.Optional(field.answer('ProposalTerms', {
        bond: Type.String({ pattern: '^(0|[1-9][0-9]*)$', description: 'What a proposal signs as `bond`, and what its permit is of, in units of 1e-6 of the stablecoin: '
          + 'the greater of the market\'s own bond and the oracle\'s minimum. At most 10 seconds old; `/users/{address}/nonces` has the present one.' }),
        refusal: field.orNull(Type.String(), 'Why no proposal is taken at present, whatever it says; null if proposals are taken.'),
      }, { description: 'Only of an expired standard market without an assertion.' })),
      halvableFrom: Type.Optional(field.integer('Only of an expired market that is neither resolved nor has an assertion: when the administrator may pay it half to half, '
        + 'Unix seconds by the chain\'s time. Absent where the chain\'s contracts cannot.')),
    }),
    examples: {
      'proposable': {
        marketId: example.marketId, expired: true, resolved: false, proposal: { bond: '500000000', refusal: null }, halvableFrom: example.expiration + 2_592_000,
      },
      'refused by the oracle': {
        marketId: example.marketId, expired: true, resolved: false, halvableFrom: example.expiration + 2_592_000,
        proposal: { bond: '500000000', refusal: 'the oracle refuses assertions: Unsupported currency' },
      },
      'paid half to half': { marketId: example.marketId, expired: true, resolved: true, halved: true },
      'open': { marketId: example.marketId, expired: false, resolved: false },
      'assertion active': { marketId: example.marketId, expired: true, resolved: false, assertion },
      'resolved': {
        marketId: example.marketId, expired: true, resolved: true, winningOutcome: 0,
        assertion: { ...assertion, settled: true, settlementResolution: true },
      },
    },
  },
}, ({ db, now, resolutionOptions }: Reads & ChainTells) => async ({ marketId }) => {
  const { unresolved, ...recorded } = await resolution(db, { marketId, nowS: Math.floor(now() / 1_000) });
  const found = unresolved === undefined ? undefined : await resolutionOptions(unresolved);
  return found === undefined ? recorded : { ...recorded, body: withOffer(recorded.body, found) };
});

/** The text of an object that has members, with further ones. */
function withOffer(body: string, { proposal, halvableFromS: halvableFrom }: OfferedResolution): string {
  const members = JSON.stringify({
    ...proposal === undefined ? {} : { proposal: { bond: String(proposal.bond), refusal: proposal.refusal ?? null } },
    ...halvableFrom === undefined ? {} : { halvableFrom },
  });
  return members === '{}' ? body : `${body.slice(0, -1)},${members.slice(1)}`;
}
