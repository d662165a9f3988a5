/** What a page reads: the plan of every list's statement finds its rows by an index, and the rows that it reads are bounded by the page. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { openReadModels, type Database } from '../../query/database.js';
import { generateReadModels, type Size } from '../support/generated-read-models.js';
import { LIMIT, listPages } from '../support/list-pages.js';
import { testDatabase } from '../support/postgres.js';

const SIZE: Size = { markets: 3_000, trades: 60_000, holders: 2_500, openOrders: 1_500 };

/** Rows that a page of LIMIT may read: markets of a sort that most others do not meet, a day of minutes, and what an entry looks up. */
const MOST_ROWS = 30 * LIMIT;

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Plans'?: readonly Node[];
}

describe('query: what a page costs', function () {
  this.timeout(120_000);
  let db: Database;
  let client: pg.Client;
  before(async () => {
    const { url } = await testDatabase();
    await generateReadModels(url, SIZE);
    db = await openReadModels({ url });
    // Tables of this size fit into a page or two; the plans are to be those of large ones.
    client = new pg.Client({ connectionString: url, options: '-c search_path=read_models -c enable_seqscan=off' });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await db.close();
  });

  const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

  for (const [name, read] of listPages(SIZE)) {
    it(`${name}: no table is read from end to end, and not many rows`, async () => {
      const plans: Node[] = [];
      await read({
        ...db,
        rows: async (statement, values) => {
          const { rows: [row] } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(`explain (analyze, format json) ${statement.text}`, [...values]);
          plans.push(row!['QUERY PLAN'][0].Plan);
          return db.rows(statement, values);
        },
      });
      assert.equal(plans.length, 1);
      const scans = nodesOf(plans[0]!).filter((node) => node['Relation Name'] !== undefined);
      const whole = scans.filter((node) => node['Node Type'] === 'Seq Scan' && !SMALL.has(node['Relation Name']!));
      assert.deepEqual(whole.map((node) => node['Relation Name']), []);
      const rows = scans.reduce((sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'], 0);
      assert.ok(rows <= MOST_ROWS, `${rows} rows are read`);
      assert.ok(rows > 0, 'nothing is read: the page is not one of these read models');
    });
  }
});

/** A row per projection, and one per chain. */
const SMALL = new Set(['projection', 'checkpoint', 'chain_volumes']);
