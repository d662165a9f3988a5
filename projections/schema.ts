/**
 * The schema of the read models: created at start, also when several processes start at once, and readable by one role.
 */
import { sqlState, type Session } from './database.js';
import type { Projection } from './projection.js';
import { checkpointTables, readCheckpoint, readVersions } from './checkpoint.js';
import { historyTables } from './history/horizon.js';

/** The schema of the live tables. */
export const READ_MODELS = 'read_models';

/** The role of the query API's sessions: it may only read the read models. */
export const READER = 'query_reader';

/** The key of the advisory lock that makes starting processes take turns: any number, the same in every process. */
export const START_LOCK = 7_203_914_460_221;

/**
 * Creates the schema, the tables of the checkpoint and of the horizon and, before the first outcome is folded, those of the projections. A projection
 * that comes later is built by a rebuild, up to the checkpoint. The session's search path must be `schema`.
 */
export async function createReadModels({ session, schema, projections }: {
  session: Session; schema: string; projections: readonly Projection[];
}): Promise<void> {
  await session.run('begin');
  await session.run(`select pg_advisory_xact_lock(${START_LOCK})`);
  await session.run(`create schema if not exists ${schema}; ${checkpointTables}; ${historyTables}`);
  const [{ position }, known] = await Promise.all([readCheckpoint(session.query), readVersions(session.query)]);
  for (const { name, version, tables } of position > 0 ? [] : projections) {
    if (known.has(name)) continue;
    for (const table of tables) await session.run(table);
    await session.run(`insert into projection values ('${name}', ${version})`);
  }
  await session.run('commit');
}

/**
 * Lets `query_reader` read the schema's present and future tables, and this user take that role; creates the role if
 * the cluster does not have it. Returns a sentence for each part that Postgres denies. A query API whose user may not
 * take the role reads with the user's own rights, in read-only transactions.
 */
export async function grantReader(session: Session, schema: string): Promise<readonly string[]> {
  const denials = [
    await denial(session, MAKE_READER, `this user may not take the role ${READER}, so its reads have all of its rights`),
    await denial(session, `begin; select pg_advisory_xact_lock(${START_LOCK}); ${grants(schema)}; commit`, `${READER} may not read ${schema}`),
  ];
  return denials.filter((text) => text !== undefined);
}

/** What it means, and why, when Postgres denies the statements. */
async function denial(session: Session, sql: string, meaning: string): Promise<string | undefined> {
  try {
    await session.run(sql);
    return undefined;
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    await session.run('rollback');
    return `${meaning}: ${(error as Error).message}`;
  }
}

/**
 * SQL that lets the reader role, if it exists, read all tables of a schema, including those that a rebuild swaps in.
 */
export function grants(schema: string): string {
  return `
do $$ begin
  if exists (select from pg_roles where rolname = '${READER}') then
    grant usage on schema ${schema} to ${READER};
    grant select on all tables in schema ${schema} to ${READER};
    alter default privileges in schema ${schema} grant select on tables to ${READER};
  end if;
end $$`;
}

/**
 * Roles belong to the whole cluster, so the service of another database may create the role at the same time. Since
 * Postgres 16 a user who has created a role, and is no superuser, may grant it and not take it: it grants that to
 * itself.
 */
const MAKE_READER = `
do $$ begin
  if not exists (select from pg_roles where rolname = '${READER}') then
    begin
      create role ${READER} nologin;
    exception when duplicate_object or unique_violation or internal_error then null;
    end;
  end if;
  if not pg_has_role(current_user, '${READER}', 'set') then
    execute format('grant ${READER} to %I with set true', current_user);
  end if;
end $$`;

const INSUFFICIENT_PRIVILEGE = '42501';
