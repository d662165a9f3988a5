/**
 * What queries name of the projections: all of them once, and for a shared answer each one that its statement reads: it is
 * kept until one of those has gone on.
 */
import assert from 'node:assert/strict';
import { projections } from '../../projections/catalogue.js';
import { readEndpoints } from '../../query/endpoints.js';
import type { Share } from '../../query/shared.js';
import { PROJECTIONS, type RowSource } from '../../query/statement.js';
import type { Served } from '../../service/api/endpoint.js';

/** Says of each shared read, by its id, which projections it names and which its statements read, once somebody has asked for it. */
function scene() {
  const named = new Map<string, readonly string[]>();
  const read = new Map<string, ReadonlySet<string>>();
  let reading = new Set<string>();
  const db: RowSource = {
    rows: <Row>({ text }: { readonly text: string }) => {
      for (const [, names = ''] of text.matchAll(/from projection where name in \(([^)]*)\)/g)) {
        for (const [, name = ''] of names.matchAll(/'(\w+)'/g)) reading.add(name);
      }
      return Promise.resolve([{ body: '{}', position: '0', last: null }] as Row[]);
    },
  };
  const share: Share = (id, projections, work) => {
    named.set(id, projections);
    return async (params) => {
      reading = new Set();
      const answer = await work(params);
      read.set(id, reading);
      return answer;
    };
  };
  return { named, read, ports: { db, share, now: () => 0, assets: ['BTC'], sourceUrls: {}, history: {}, streams: {} } };
}

/** The parameters of a request: those that must be there, or all that choose entries, as in the examples. */
function paramsOf({ parameters }: Served<never>, all: boolean): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parameters).map(([key, { name, required, example, parse }]) => (
    [key, parse(required || (all && !['cursor', 'after', 'at'].includes(name)) ? String(example) : undefined)])));
}

describe('query: the names of projections', () => {
  it('are those of all projections', () => {
    assert.deepEqual([...PROJECTIONS].sort(), projections.map(({ name }) => name).sort());
  });
});

describe('query: shared answers and projections', () => {
  it('name what they read', async () => {
    const { named, read, ports } = scene();
    for (const endpoint of readEndpoints as readonly unknown[] as readonly Served<never>[]) {
      const before = named.size;
      const handle = endpoint.serve(ports as never);
      if (named.size === before) continue;
      for (const all of [false, true]) await handle(paramsOf(endpoint, all) as never, {} as never);
    }
    assert.ok(named.size > 10, 'no answer is shared');
    assert.deepEqual(sorted(read), sorted(named));
  });
});

function sorted(projections: ReadonlyMap<string, Iterable<string>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries([...projections].map(([id, names]) => [id, [...names].sort()]));
}
