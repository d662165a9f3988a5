/**
 * The `resolutions` projection: every assertion of a market's outcome, and whether the assertion is disputed or
 * rejected.
 */
import type { ResolutionDisputed, ResolutionProposed, ResolutionRejected } from '../../engine/records/events.js';
import { booleanArray, byteaArray, int2Array, int4Array, int8Array, numericArray } from '../columns.js';
import {
  foldEvents, handledBy, placedAt, type FoldedOutcome, type Handlers, type Projection, type Query,
} from '../projection.js';

/**
 * Every assertion of a market's outcome. `position` is the log position of its proposal; `disputer` is null until
 * somebody disputes it.
 */
const TABLES = [`
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

const LOAD_ASSERTIONS = {
  name: 'load_assertions',
  text: `
    select place, position, '0x' || encode(proposer, 'hex'), outcome, bond, assertion_time, expiration_time, '0x' || encode(disputer, 'hex'), rejected
    from unnest($1::integer[], $2::bytea[], $3::bytea[]) as touched (place, market, assertion)
      join assertions on market_id = market and assertion_id = assertion`,
};

const WRITE_ASSERTIONS = {
  name: 'write_assertions',
  text: `
    insert into assertions (market_id, assertion_id, position, proposer, outcome, bond, assertion_time, expiration_time, disputer, rejected)
    select * from unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[], $5::smallint[], $6::numeric[], $7::bigint[], $8::bigint[],
      $9::bytea[], $10::boolean[])
    on conflict (market_id, assertion_id) do update set position = excluded.position, proposer = excluded.proposer,
      outcome = excluded.outcome, bond = excluded.bond, assertion_time = excluded.assertion_time,
      expiration_time = excluded.expiration_time, disputer = excluded.disputer, rejected = excluded.rejected`,
};

type Step = ResolutionProposed | ResolutionDisputed | ResolutionRejected;

interface Assertion {
  readonly position: number;
  readonly proposer: string;
  readonly outcome: number;
  readonly bond: string;
  readonly assertionTime: number;
  readonly expirationTime: number;
  disputer: string | null;
  rejected: boolean;
}

interface Touched {
  readonly marketId: string;
  readonly assertionId: string;
  /**
   * Undefined for an assertion without a recorded proposal: the proposal may be older than the exchange's first
   * recorded block.
   */
  assertion: Assertion | undefined;
}

/** A batch's changes: the assertions that it touches, and the steps in order. */
interface Changes {
  readonly touched: Map<string, Touched>;
  readonly steps: { readonly event: Step; readonly position: number; readonly of: Touched }[];
}

const EVENTS: Handlers<Changes> = {
  ResolutionProposed: take, ResolutionDisputed: take, ResolutionRejected: take,
};

export const resolutions: Projection = {
  name: 'resolutions', version: 1, tables: TABLES, handles: handledBy(EVENTS), start: () => fold,
};

function take({ touched, steps }: Changes, event: Step, { position }: FoldedOutcome): void {
  const { marketId, assertionId } = event;
  const key = marketId + assertionId;
  let of = touched.get(key);
  if (of === undefined) touched.set(key, of = { marketId, assertionId, assertion: undefined });
  steps.push({ event, position, of });
}

async function fold(batch: readonly FoldedOutcome[], query: Query): Promise<void> {
  const { touched, steps } = foldEvents(EVENTS, batch, { touched: new Map(), steps: [] });
  if (steps.length === 0) return;
  await load([...touched.values()], query);
  for (const { event, position, of } of steps) apply(of, event, position);
  const rows = [...touched.values()]
    .flatMap(({ assertion, ...ids }) => assertion === undefined ? [] : [{ ...ids, ...assertion }]);
  if (rows.length === 0) return;
  await query(WRITE_ASSERTIONS, [
    byteaArray(rows.map(({ marketId }) => marketId)),
    byteaArray(rows.map(({ assertionId }) => assertionId)),
    int8Array(rows.map(({ position }) => position)),
    byteaArray(rows.map(({ proposer }) => proposer)),
    int2Array(rows.map(({ outcome }) => outcome)),
    numericArray(rows.map(({ bond }) => bond)),
    int8Array(rows.map(({ assertionTime }) => assertionTime)),
    int8Array(rows.map(({ expirationTime }) => expirationTime)),
    byteaArray(rows.map(({ disputer }) => disputer)),
    booleanArray(rows.map(({ rejected }) => rejected)),
  ]);
}

type AssertionRow = [number, string, string, number, string, string, string, string | null, boolean];

async function load(touched: readonly Touched[], query: Query): Promise<void> {
  const rows = await query<AssertionRow>(LOAD_ASSERTIONS, [
    int4Array(touched.map((_, place) => place)),
    byteaArray(touched.map(({ marketId }) => marketId)),
    byteaArray(touched.map(({ assertionId }) => assertionId)),
  ]);
  for (const [place, position, proposer, outcome, bond, assertionTime, expirationTime, disputer, rejected] of rows) {
    placedAt(touched, place).assertion = {
      position: Number(position), proposer, outcome, bond, assertionTime: Number(assertionTime),
      expirationTime: Number(expirationTime),
      disputer, rejected,
    };
  }
}

function apply(touched: Touched, event: Step, position: number): void {
  if (event.type === 'ResolutionProposed') {
    const { proposer, outcome, bond, assertionTime, expirationTime } = event;
    touched.assertion = {
      position, proposer, outcome, bond, assertionTime, expirationTime, disputer: null, rejected: false,
    };
  } else if (touched.assertion !== undefined) {
    if (event.type === 'ResolutionDisputed') touched.assertion.disputer = event.disputer;
    else touched.assertion.rejected = true;
  }
}
