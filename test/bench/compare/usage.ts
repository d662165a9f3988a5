/**
 * What a service has used so far: processor time by thread and in Postgres, time that these waited for a core, read and write calls,
 * statements, rows and bytes of WAL. Linux only.
 */
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

/** Numbers that only grow, by name; of threads, the main one is `main`, and the others have their numbers. */
export interface Usage {
  /** Processor time in ns. */
  readonly threads: Readonly<Record<string, number>>;
  readonly postgresNs: number;
  /** For how long the main thread, and Postgres' processes together, were ready to run and waited for a core, in ns. */
  readonly waits: { readonly main: number; readonly postgres: number };
  /** System calls of the service's process that read, and that write. */
  readonly reads: number;
  readonly writes: number;
  readonly statements: number;
  /** Inserted, updated and deleted rows: exact when Postgres has been idle for 11 s. */
  readonly rows: number;
  readonly walBytes: number;
}

export interface Meter {
  read(): Promise<Usage>;
  close(): Promise<void>;
}

/** Of a statement of the meter itself, which does not count. */
const OWN = '/* meter */';

const COUNTERS = `${OWN} select
  (select coalesce(sum(calls), 0) from pg_stat_statements where query not like '${OWN.replace('*/', '%')}') as statements,
  (select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables) as rows,
  pg_current_wal_insert_lsn() - '0/0' as wal`;

/** `url` is the superuser's, of a Postgres that has loaded pg_stat_statements; `postmaster` and `service` are process ids. */
export async function openMeter({ url, postmaster, service }: { url: string; postmaster: number; service: number }): Promise<Meter> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`${OWN} create extension if not exists pg_stat_statements`);
  return {
    async read() {
      const [threads, main, postgres, calls, { rows: [row] }] = await Promise.all([
        threadTimes(service), scheduled(`/proc/${service}`), postgresTime(postmaster), callsOf(service),
        client.query<Record<'statements' | 'rows' | 'wal', string>>(COUNTERS),
      ]);
      const waits = { main: main?.waitedNs ?? 0, postgres: postgres.waitedNs };
      const counters = { statements: Number(row!.statements), rows: Number(row!.rows), walBytes: Number(row!.wal) };
      return { threads, postgresNs: postgres.ranNs, waits, ...calls, ...counters };
    },
    close: () => client.end(),
  };
}

async function threadTimes(pid: number): Promise<Record<string, number>> {
  const times: Record<string, number> = {};
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const found = await scheduled(`/proc/${pid}/task/${thread}`);
    if (found !== undefined) times[Number(thread) === pid ? 'main' : thread] = found.ranNs;
  }
  return times;
}

/** Of the postmaster and its children; of those that have ended, only the processor time is known. */
async function postgresTime(postmaster: number): Promise<Scheduled> {
  const NS_PER_TICK = 1e7;
  const { childrenTicks } = statOf(await readFile(`/proc/${postmaster}/stat`, 'utf8'));
  const running = await Promise.all([postmaster, ...await childrenOf(postmaster)].map((pid) => scheduled(`/proc/${pid}`)));
  const sum = (of: keyof Scheduled) => running.reduce((total, each) => total + (each?.[of] ?? 0), 0);
  return { ranNs: childrenTicks * NS_PER_TICK + sum('ranNs'), waitedNs: sum('waitedNs') };
}

/** The processes that a process has started and that run. */
export async function childrenOf(parent: number): Promise<readonly number[]> {
  const children: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    if (stat !== undefined && statOf(stat).parent === parent) children.push(Number(pid));
  }
  return children;
}

/** Of the fields that follow the program's name, which may have blanks and brackets itself. */
function statOf(stat: string): { readonly parent: number; readonly childrenTicks: number } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ').map(Number);
  return { parent: fields[1]!, childrenTicks: fields[13]! + fields[14]! };
}

export interface Scheduled {
  readonly ranNs: number;
  readonly waitedNs: number;
}

/** Of a thread by its folder in /proc, of a process its main thread; undefined when it has ended. */
export async function scheduled(place: string): Promise<Scheduled | undefined> {
  const text = await readFile(`${place}/schedstat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const [ranNs, waitedNs] = text.split(' ').map(Number) as [number, number];
  return { ranNs, waitedNs };
}

async function callsOf(pid: number): Promise<{ readonly reads: number; readonly writes: number }> {
  const text = await readFile(`/proc/${pid}/io`, 'utf8');
  const count = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1]);
  return { reads: count('syscr'), writes: count('syscw') };
}
