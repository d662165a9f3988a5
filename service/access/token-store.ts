/**
 * Bearer tokens in Postgres, schema `access`. Of a token only its hash is stored, so nobody can read a token out of the
 * database.
 */
import pg from 'pg';
import { canPass } from '../../engine/log/postgres/connection.js';
import type { BearerToken } from '../api/scopes.js';

/** By the database's clock, which is the same for all processes. */
export type TokenState = 'live' | 'expired' | 'revoked';

export interface StoredToken extends BearerToken {
  readonly state: TokenState;
  readonly createdAt: Date;
  /** Null: it does not expire. */
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** To the minute; null before the first use. */
  readonly lastUsedAt: Date | null;
}

export interface FoundToken extends StoredToken {
  readonly sha256: Buffer;
  /** Milliseconds until it expires, or since then as a negative number; null: it does not expire. */
  readonly remainingMs: number | null;
}

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly sha256: Buffer;
  /** Seconds until it expires; absent: it does not. */
  readonly expiresInS?: number | undefined;
}

/** The statements. They throw TokensUnavailable, and pg.DatabaseError for faults that do not pass. */
export interface Tokens {
  /** The token with this hash. */
  find(sha256: Buffer): Promise<FoundToken | undefined>;
  /** The same, and notes that it was used, if it is live. */
  use(sha256: Buffer): Promise<FoundToken | undefined>;
  /** All tokens, by id. */
  list(): Promise<readonly StoredToken[]>;
  add(token: NewToken): Promise<StoredToken>;
  /** Revokes the token with this id, or all with this name, and returns those that were not revoked before. */
  revoke(idOrName: string): Promise<readonly StoredToken[]>;
}

export interface TokenStore extends Tokens {
  /** Does the work in one transaction, while no other process is in this method. */
  alone<T>(work: (tokens: Tokens) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Postgres cannot be reached, or cannot answer at the moment. */
export class TokensUnavailable extends Error {
  constructor(cause: unknown) {
    const [first] = cause instanceof AggregateError ? cause.errors as unknown[] : [cause];
    super(`the database of the bearer tokens cannot be reached: ${first instanceof Error ? first.message : String(first)}`, { cause });
    this.name = 'TokensUnavailable';
  }
}

/** One at a time, since `if not exists` alone fails when two processes start together. */
const CREATE_SCHEMA = `
begin;
select pg_advisory_xact_lock(hashtextextended('access:schema', 0));
create schema if not exists access;
create table if not exists access.tokens (
  id integer primary key generated always as identity,
  name text not null,
  sha256 bytea not null unique check (octet_length(sha256) = 32),
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
commit;`;

const COLUMNS = `id, name, scopes, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt",
  case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'live' end as state`;

const FIND = `
  select ${COLUMNS}, sha256, (extract(epoch from expires_at - now()) * 1000)::float8 as "remainingMs" from access.tokens where sha256 = $1`;

const SQL = {
  hasTable: `select to_regclass('access.tokens') is not null as there`,
  alone: `select pg_advisory_xact_lock(hashtextextended('access:tokens', 0))`,
  find: FIND,
  use: `
with found as (${FIND}
), used as (
  update access.tokens t set last_used_at = now() from found
  where t.id = found.id and found.state = 'live' and coalesce(t.last_used_at < now() - interval '1 minute', true)
)
select * from found`,
  list: `select ${COLUMNS} from access.tokens order by id`,
  add: `
insert into access.tokens (name, sha256, scopes, expires_at) values ($1, $2, $3, now() + make_interval(secs => $4::float8)) returning ${COLUMNS}`,
  revoke: `update access.tokens set revoked_at = now() where revoked_at is null and (id::text = $1 or name = $1) returning ${COLUMNS}`,
} as const;

const TIMEOUT_MS = 5_000;

export interface TokenStoreOptions {
  /** A Postgres connection URL. */
  readonly url: string;
  readonly connections?: number;
}

/** Connects at the first call, which creates the schema when it is missing. */
export function openTokenStore({ url, connections = 2 }: TokenStoreOptions): TokenStore {
  const pool = new pg.Pool({
    connectionString: url, max: connections, application_name: 'bearer tokens', connectionTimeoutMillis: TIMEOUT_MS, statement_timeout: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS, keepAlive: true,
  });
  // When a connection is lost while idle, the pool forgets it.
  pool.on('error', () => undefined);
  const query = guarded(pool);
  let prepared: Promise<unknown> | undefined;
  const ready = (): Promise<unknown> => prepared ??= prepare(query).catch((error: unknown) => {
    prepared = undefined;
    throw error;
  });
  const tokens = tokensOf(async (text, values) => {
    await ready();
    return query(text, values);
  });
  return {
    ...tokens,
    async alone(work) {
      await ready();
      return transaction(pool, work);
    },
    close: () => pool.end(),
  };
}

type Query = <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

async function prepare(query: Query): Promise<void> {
  const [table] = await query<{ there: boolean }>(SQL.hasTable);
  if (table?.there !== true) await query(CREATE_SCHEMA);
}

function tokensOf(query: Query): Tokens {
  return {
    find: async (sha256) => (await query<FoundToken>(SQL.find, [sha256]))[0],
    use: async (sha256) => (await query<FoundToken>(SQL.use, [sha256]))[0],
    list: () => query<StoredToken>(SQL.list),
    async add({ name, scopes, sha256, expiresInS }) {
      const [added] = await query<StoredToken>(SQL.add, [name, sha256, scopes, expiresInS ?? null]);
      if (added === undefined) throw new TypeError('an insert returned no row');
      return added;
    },
    revoke: (idOrName) => query<StoredToken>(SQL.revoke, [idOrName]),
  };
}

async function transaction<T>(pool: pg.Pool, work: (tokens: Tokens) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => { throw unavailable(error); });
  const query = guarded(client);
  try {
    await query('begin');
    await query(SQL.alone);
    const result = await work(tokensOf(query));
    await query('commit');
    client.release();
    return result;
  } catch (error) {
    // A closed connection rolls back, whatever state it is in.
    client.release(true);
    throw error;
  }
}

function guarded(target: pg.Pool | pg.PoolClient): Query {
  return async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    try {
      // Without values, a text may have several statements.
      const { rows } = await (values.length === 0 ? target.query<Row>(text) : target.query<Row>(text, [...values]));
      return rows;
    } catch (error) {
      throw unavailable(error);
    }
  };
}

function unavailable(error: unknown): unknown {
  return canPass(error) ? new TokensUnavailable(error) : error;
}
