/** How fast the log appends and reads, against bare SQL of the same rows over the same connection in the same run. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { openLog } from '../../engine/log/open-log.js';
import { encodeData, encodeIds } from '../../engine/log/postgres/records.js';
import { MAX_APPEND_RECORDS, type Log, type NewRecord } from '../../engine/log/log.js';
import type { BenchLine } from './line.js';
import { perSecond, readingRate, takingTurns } from './rates.js';

const RECORD_BYTES = 600;
const READ_RECORDS = 100_000;

/** Appends at 1, 10 and 100 a batch, and reading; `url` names a database of its own, with fsync on for honest figures. */
export async function logBench(url: string): Promise<BenchLine[]> {
  const log = await openLog(url);
  const bare = new pg.Client({ connectionString: url });
  await bare.connect();
  try {
    await bare.query('create table bare_records (like log.records including all)');
    const lines: BenchLine[] = [];
    for (const batch of [1, 10, 100]) lines.push(await appends(log, bare, batch));
    lines.push(await reads(log, bare));
    return lines;
  } finally {
    await bare.end();
    await log.close();
  }
}

async function appends(log: Log, bare: pg.Client, batch: number): Promise<BenchLine> {
  const data = Buffer.alloc(RECORD_BYTES, '{"kind":"PlaceOrder","v":1}');
  const records = (): NewRecord[] => Array.from({ length: batch }, () => ({ id: randomUUID(), data }));
  let position = Number((await bare.query<{ next: string }>('select coalesce(max(position) + 1, 0) as next from bare_records')).rows[0]!.next);
  const insert = async (rows: readonly NewRecord[]): Promise<void> => {
    const values = [position, encodeIds(rows), encodeData(rows)];
    await bare.query({ name: 'bare', text: `
      insert into bare_records select 0, $1::bigint + u.nth, u.id, u.data
      from unnest($2::uuid[], $3::bytea[]) with ordinality as u (id, data, nth)`, values });
    position += rows.length;
  };
  const { ours, peer } = await takingTurns({
    ours: async () => await perSecond(() => log.append('commands', records())) * batch,
    peer: async () => await perSecond(() => insert(records())) * batch,
  });
  return {
    name: `log, append ${batch} at a time`, figure: ours, unit: 'records/s',
    peer: { name: 'one bare INSERT of the same rows', figure: peer }, target: { ratioAtLeast: batch < 100 ? 0.5 : 0.68 },
  };
}

async function reads(log: Log, bare: pg.Client): Promise<BenchLine> {
  const data = Buffer.alloc(RECORD_BYTES, '{"kind":"PlaceOrder","v":1}');
  while (await log.length('outcomes') < READ_RECORDS) {
    await log.append('outcomes', Array.from({ length: MAX_APPEND_RECORDS }, () => ({ id: randomUUID(), data })));
  }
  const { ours, peer } = await takingTurns({
    ours: () => readingRate(async (from) => (await log.read('outcomes', from, 5_000)).length),
    peer: () => readingRate(async (from) => (await bare.query({
      name: 'bare_read', text: 'select position, id, data from log.records where stream = 1 and position >= $1 order by position limit 5000',
      values: [from],
    })).rows.length),
  });
  return {
    name: 'log, read in pages of 5,000', figure: ours, unit: 'records/s',
    peer: { name: 'SELECT of the same rows by node-postgres', figure: peer }, target: { ratioAtLeast: 4 },
  };
}
