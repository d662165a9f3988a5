/** Compares the rows of the read models with those of a rebuild, table by table, in the order of their keys and in bounded memory. */
import { soleRow } from '../../../engine/log/postgres/connection.js';
import { tableNames } from '../../../projections/projection.js';
import type { Session } from '../../../projections/database.js';
import { stays } from '../../../projections/history/sweeps.js';
import { READ_MODELS } from '../../../projections/schema.js';
import type { Difference } from '../difference.js';
import type { PinnedProjection } from './live-read-models.js';

interface Row {
  readonly key: string;
  /** The whole row as JSON. */
  readonly row: string;
}

const PAGE = 1_000;

/** How many rows agree, and the first that does not. `goOn` is asked now and then, and throws when nobody wants to know any more. */
export async function compareTables(live: Session, rebuilt: Session, { projections, goOn }: {
  readonly projections: readonly PinnedProjection[]; readonly goOn: () => void;
}): Promise<{ readonly rows: number; readonly difference: Difference | undefined }> {
  await rebuilt.run('begin');
  let rows = 0;
  for (const { projection, position } of projections) {
    for (const table of tableNames(projection)) {
      const key = await keyOf(rebuilt, table);
      const [theirs, ours] = [rowsOf(live, table, key), rowsOf(rebuilt, table, key)];
      let [found, expected] = [await theirs.next(), await ours.next()];
      while (!(found.done === true && expected.done === true)) {
        const order = found.done === true ? 1 : expected.done === true ? -1 : compareKeys(found.value.key, expected.value.key);
        if (order !== 0 || found.value?.row !== expected.value?.row) {
          const [added, missing] = [order <= 0 ? found.value : undefined, order >= 0 ? expected.value : undefined];
          return { rows, difference: differenceOf({ table, position, found: added, expected: missing }) };
        }
        rows++;
        if (rows % PAGE === 0) goOn();
        [found, expected] = [await theirs.next(), await ours.next()];
      }
    }
  }
  return { rows, difference: undefined };
}

/** In the order of the keys' bytes, as Postgres' collation "C" has it. */
function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** An SQL expression of the row's primary key as text; of the whole row in a table without one. */
async function keyOf({ query }: Session, table: string): Promise<string> {
  const [columns] = soleRow(await query<[string | null]>({
    name: 'audit_key',
    text: `
      select string_agg('t.' || quote_ident(attname), ', ' order by array_position(indkey::int2[], attnum))
      from pg_index join pg_attribute on attrelid = indrelid and attnum = any (indkey)
      where indrelid = ($1::text)::regclass and indisprimary`,
  }, [`${READ_MODELS}.${table}`]));
  return columns === null ? 'row_to_json(t)::text' : `(row(${columns}))::text`;
}

async function* rowsOf({ query, run }: Session, table: string, key: string): AsyncGenerator<Row, undefined, undefined> {
  await run(`declare audit_${table} no scroll cursor for
    select ${key} collate "C" as key, row_to_json(t)::text as row from ${READ_MODELS}.${table} t where ${stays(table)} order by 1`);
  for (;;) {
    const page = await query<[string, string]>({ name: `audit_fetch_${table}`, text: `fetch ${PAGE} from audit_${table}` }, []);
    for (const [text, row] of page) yield { key: text, row };
    if (page.length < PAGE) break;
  }
  await run(`close audit_${table}`);
  return undefined;
}

function differenceOf({ table, position, found, expected }: {
  readonly table: string; readonly position: number; readonly found: Row | undefined; readonly expected: Row | undefined;
}): Difference {
  const key = (found ?? expected)?.key ?? '';
  const how = expected === undefined
    ? 'is in the read models and not in a rebuild'
    : found === undefined ? 'is in a rebuild and not in the read models' : 'is not what a rebuild gives';
  return {
    check: 'readModels', place: { table }, what: `table ${table}: the row with key ${key} ${how} (up to position ${position - 1})`,
    means: 'The row was changed by hand, or the projections have a defect. The history is not affected: npm run tool -- rebuild makes the table anew.',
    expected: valueOf(expected), found: valueOf(found),
  };
}

function valueOf(row: Row | undefined): unknown {
  return row === undefined ? null : JSON.parse(row.row);
}
