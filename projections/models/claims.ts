/**
 * The `claims` projection: every request to the relayer with its end, and the redemptions that users claim with them.
 */
import type { RelayEnded, RelayRequested, RelaySubmitted } from '../../engine/records/events.js';
import type { Claim } from '../../engine/records/fields.js';
import { byteaArray, int2Array, int8Array, numericArray, textArray } from '../columns.js';
import {
  foldEvents, handledBy, InconsistentOutcomes, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * Requests to the relayer: the latest one per id. `status`: 0 requested, 1 submitted, 2 succeeded, 3 failed. `position`
 * is the log position of the RequestRelay. `tx_hash` is the transaction that was submitted last; once the request has
 * ended, it is the one that ended it. `results` is RelayEnded's, as JSON text: text, because jsonb refuses U+0000.
 *
 * Claims: the redemptions that a request is to make, by their place in the request. A claim succeeds when its request
 * has, or when the chain has paid its user in its market, whichever comes first. `at_ms` is when it was requested.
 */
const TABLES = [`
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

/** The values of the columns `status`. */
const REQUESTED = 0;
const SUBMITTED = 1;
const SUCCEEDED = 2;
const FAILED = 3;

/**
 * The named requests, and the requests with an open claim of one of these users in one of these markets; each with its
 * claims.
 */
const LOAD_RELAYS = {
  name: 'load_relays',
  text: `
    select '0x' || encode(relays.request_id, 'hex'), relays.position, relays.chain_id, relays.action, '0x' || encode(relays.owner, 'hex'),
      relays.status, '0x' || encode(relays.tx_hash, 'hex'), relays.requested_at_ms, relays.ended_at_ms, relays.results,
      '0x' || encode(claims.market_id, 'hex'), claims.payout, claims.winning_outcome, claims.status, '0x' || encode(claims.tx_hash, 'hex'),
      claims.ended_at_ms, claims.ended_position, claims.reason
    from relays left join claims on claims.position = relays.position
    where relays.request_id = any($1::bytea[]) or relays.position in (
      select claims.position from claims join unnest($2::bytea[], $3::bytea[]) as redeemed (owner, market)
        on user_address = redeemed.owner and market_id = redeemed.market and status < ${SUCCEEDED})
    order by relays.position, claims.index`,
};

const WRITE_RELAYS = {
  name: 'write_relays',
  text: `
    insert into relays (request_id, position, chain_id, action, owner, status, tx_hash, requested_at_ms, ended_at_ms, results)
    select * from unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::smallint[], $7::bytea[], $8::bigint[],
      $9::bigint[], $10::text[])
    on conflict (request_id) do update set position = excluded.position, chain_id = excluded.chain_id, action = excluded.action,
      owner = excluded.owner, status = excluded.status, tx_hash = excluded.tx_hash, requested_at_ms = excluded.requested_at_ms,
      ended_at_ms = excluded.ended_at_ms, results = excluded.results`,
};

const WRITE_CLAIMS = {
  name: 'write_claims',
  text: `
    insert into claims (position, index, request_id, market_id, user_address, payout, winning_outcome, status, tx_hash, at_ms, ended_at_ms,
      ended_position, reason)
    select * from unnest($1::bigint[], $2::smallint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::numeric[], $7::smallint[], $8::smallint[],
      $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
    on conflict (position, index) do update set status = excluded.status, tx_hash = excluded.tx_hash, ended_at_ms = excluded.ended_at_ms,
      ended_position = excluded.ended_position, reason = excluded.reason`,
};

interface ClaimState extends Claim {
  status: number;
  txHash: string | null;
  endedAt: number | null;
  endedPosition: number | null;
  reason: string | null;
}

/** A request, from its RelayRequested on; an id that is used again makes another request. */
interface Relay {
  readonly requestId: string;
  /** The log position of the RequestRelay. */
  readonly position: number;
  readonly chainId: number;
  readonly action: string;
  readonly owner: string;
  readonly requestedAt: number;
  status: number;
  txHash: string | null;
  endedAt: number | null;
  /** JSON text of RelayEnded's results. */
  results: string | null;
  readonly claims: ClaimState[];
}

type RelayEvent = RelayRequested | RelaySubmitted | RelayEnded;
type Step = ({ readonly event: RelayEvent } | { readonly redeemed: {
  readonly user: string;
  readonly marketId: string;
}; }) & {
  readonly position: number; readonly at: number;
};

/** A redemption of nothing pays no claim: somebody redeemed shares of the outcome that lost. */
const EVENTS: Handlers<Step[]> = {
  RelayRequested: take, RelaySubmitted: take, RelayEnded: take,
  PositionRedeemed: (steps, { user, marketId, payout }, { position, at }) => {
    if (payout !== '0') steps.push({ redeemed: { user, marketId }, position, at });
  },
};

export const claims: Projection = {
  name: 'claims', version: 1, tables: TABLES, handles: handledBy(EVENTS), start: () => fold,
};

function take(steps: Step[], event: RelayEvent, { position, at }: FoldedOutcome): void {
  steps.push({ event, position, at });
}

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const steps = foldEvents(EVENTS, batch, []);
  if (steps.length === 0) return;
  const relays = createRelays(await load(steps, query));
  for (const step of steps) {
    if ('redeemed' in step) relays.redeem(step.redeemed, step);
    else relays.take(step.event, step);
  }
  await write(relays.all, query);
}

interface Moment {
  readonly position: number;
  readonly at: number;
}

/** The requests of a batch. Requests that the batch makes come after the loaded ones. */
function createRelays(loaded: readonly Relay[]) {
  const all: Relay[] = [];
  const byId = new Map<string, Relay>();
  const byHolding = new Map<string, ClaimState[]>();
  const add = (relay: Relay): void => {
    all.push(relay);
    byId.set(relay.requestId, relay);
    for (const claim of relay.claims) {
      const key = relay.owner + claim.marketId;
      byHolding.set(key, [...byHolding.get(key) ?? [], claim]);
    }
  };
  loaded.forEach(add);
  const openRelay = (requestId: string): Relay => {
    const relay = byId.get(requestId);
    if (relay === undefined || relay.status >= SUCCEEDED) throw new InconsistentOutcomes(`request ${requestId} to the relayer goes on, but is not open`);
    return relay;
  };
  return {
    all,
    take(event: RelayEvent, moment: Moment): void {
      switch (event.type) {
        case 'RelayRequested': add(requested(event, moment)); return;
        case 'RelaySubmitted': submit(openRelay(event.requestId), event.txHash); return;
        case 'RelayEnded': end(openRelay(event.requestId), event, moment);
      }
    },
    /**
     * The chain has paid the user: every open claim of the user in the market is paid, whoever brought the transaction.
     */
    redeem({ user, marketId }: { user: string; marketId: string }, moment: Moment): void {
      for (const claim of byHolding.get(user + marketId) ?? []) endClaim(claim, SUCCEEDED, null, moment);
    },
  };
}

function requested(
  { requestId, chainId, action, owner, claims: asked }: RelayRequested, { position, at }: Moment,
): Relay {
  return {
    requestId, position, chainId, action, owner, requestedAt: at, status: REQUESTED, txHash: null, endedAt: null,
    results: null,
    claims: asked.map((claim) => ({
      ...claim, status: REQUESTED, txHash: null, endedAt: null, endedPosition: null, reason: null,
    })),
  };
}

function submit(relay: Relay, txHash: string): void {
  relay.status = SUBMITTED;
  relay.txHash = txHash;
  for (const claim of relay.claims) if (claim.status < SUCCEEDED) Object.assign(claim, { status: SUBMITTED, txHash });
}

/** The last result also holds for the claims after it. A claim that the chain has paid stays paid. */
function end(relay: Relay, { txHash, results }: RelayEnded, moment: Moment): void {
  relay.txHash = txHash ?? relay.txHash;
  relay.status = results.every(({ succeeded }) => succeeded) ? SUCCEEDED : FAILED;
  relay.endedAt = moment.at;
  relay.results = JSON.stringify(results);
  for (const [i, claim] of relay.claims.entries()) {
    const result = results[Math.min(i, results.length - 1)];
    if (claim.status < SUCCEEDED) claim.txHash = relay.txHash;
    endClaim(claim, result?.succeeded === true ? SUCCEEDED : FAILED, result?.reason ?? null, moment);
  }
}

function endClaim(claim: ClaimState, status: number, reason: string | null, { position, at }: Moment): void {
  if (claim.status >= SUCCEEDED) return;
  Object.assign(claim, { status, reason, endedAt: at, endedPosition: position });
}

type RelayRow = [
  string, string, string, string, string, number, string | null, string, string | null, string | null,
  string | null, string, number, number, string | null, string | null, string | null, string | null,
];

/** The requests that the steps are about, each with its claims in order. */
async function load(steps: readonly Step[], query: Query): Promise<Relay[]> {
  const events = steps.flatMap((step) => 'event' in step ? [step.event] : []);
  const redeemed = steps.flatMap((step) => 'redeemed' in step ? [step.redeemed] : []);
  const rows = await query<RelayRow>(LOAD_RELAYS, [
    byteaArray([...new Set(events.map(({ requestId }) => requestId))]),
    byteaArray(redeemed.map(({ user }) => user)), byteaArray(redeemed.map(({ marketId }) => marketId)),
  ]);
  const relays = new Map<string, Relay>();
  for (const [
    requestId, position, chainId, action, owner, status, txHash, requestedAt, endedAt, results, marketId, ...rest
  ] of rows) {
    let relay = relays.get(requestId);
    if (relay === undefined) {
      relays.set(requestId, relay = {
        requestId, position: Number(position), chainId: Number(chainId), action, owner, status, txHash,
        requestedAt: Number(requestedAt),
        endedAt: numberOrNull(endedAt), results, claims: [],
      });
    }
    if (marketId === null) continue;
    const [payout, winningOutcome, claimStatus, claimHash, claimEndedAt, endedPosition, reason] = rest;
    relay.claims.push({
      marketId, payout, winningOutcome: winningOutcome === 0 ? 0 : 1, status: claimStatus, txHash: claimHash,
      endedAt: numberOrNull(claimEndedAt),
      endedPosition: numberOrNull(endedPosition), reason,
    });
  }
  return [...relays.values()];
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text);
}

async function write(all: readonly Relay[], query: Query): Promise<void> {
  const relays = [...new Map(all.map((relay) => [relay.requestId, relay])).values()];
  if (relays.length === 0) return;
  const rows = all.flatMap((relay) => relay.claims.map((claim, index) => ({ relay, claim, index })));
  await Promise.all([
    query(WRITE_RELAYS, [
      byteaArray(relays.map(({ requestId }) => requestId)),
      int8Array(relays.map(({ position }) => position)),
      int8Array(relays.map(({ chainId }) => chainId)),
      textArray(relays.map(({ action }) => action)),
      byteaArray(relays.map(({ owner }) => owner)),
      int2Array(relays.map(({ status }) => status)),
      byteaArray(relays.map(({ txHash }) => txHash)),
      int8Array(relays.map(({ requestedAt }) => requestedAt)),
      int8Array(relays.map(({ endedAt }) => endedAt)),
      textArray(relays.map(({ results }) => results)),
    ]),
    rows.length === 0
      ? undefined
      : query(WRITE_CLAIMS, [
          int8Array(rows.map(({ relay }) => relay.position)),
          int2Array(rows.map(({ index }) => index)),
          byteaArray(rows.map(({ relay }) => relay.requestId)),
          byteaArray(rows.map(({ claim }) => claim.marketId)),
          byteaArray(rows.map(({ relay }) => relay.owner)),
          numericArray(rows.map(({ claim }) => claim.payout)),
          int2Array(rows.map(({ claim }) => claim.winningOutcome)),
          int2Array(rows.map(({ claim }) => claim.status)),
          byteaArray(rows.map(({ claim }) => claim.txHash)),
          int8Array(rows.map(({ relay }) => relay.requestedAt)),
          int8Array(rows.map(({ claim }) => claim.endedAt)),
          int8Array(rows.map(({ claim }) => claim.endedPosition)),
          textArray(rows.map(({ claim }) => claim.reason)),
        ]),
  ]);
}
