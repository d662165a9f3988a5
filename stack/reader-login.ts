/** A user of the embedded Postgres for reads: it may read what the role `query_reader` may, and nothing else. */
import { createHmac } from 'node:crypto';
import pg from 'pg';

const READER = 'query_reader';
const LOGIN = 'query_login';
/** Any number, the same in every process: processes that start at the same time take turns. */
const LOCK = 7_203_914_460_222;

/** Makes the user if it is missing, and gives its URL. Its password follows from that of `url`: it is the same in every process and at each start. */
export async function readerUrlOf(url: string): Promise<string> {
  const target = new URL(url);
  const password = createHmac('sha256', target.password).update(LOGIN).digest('hex');
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`begin; select pg_advisory_xact_lock(${LOCK}); ${made(READER, 'nologin')} ${made(LOGIN, `login connection limit 100 password '${password}'`)}
      grant ${READER} to ${LOGIN}; commit`);
  } finally {
    await client.end();
  }
  target.username = LOGIN;
  target.password = password;
  return target.href;
}

function made(role: string, attributes: string): string {
  return `do $$ begin if not exists (select from pg_roles where rolname = '${role}') then create role ${role} ${attributes}; end if; end $$;`;
}
