/** Answers that clients share: read once per log position, however many ask, and never older than what a client may know of. */
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import type { Context, Reply } from '../../service/api/endpoint.js';
import type { Database } from '../../query/database.js';
import { listFailedClaims } from '../../query/claims.js';
import { getMarketStats, getPlatformStats } from '../../query/markets.js';
import { listQuickMarkets } from '../../query/quick-markets.js';
import { listFailedTrades } from '../../query/settlements.js';
import { createShare } from '../../query/shared.js';
import type { Answer, RowSource, Statement } from '../../query/statement.js';

interface Ask { readonly of: string }

/** A database at a position that the test sets, with reads that end when the test says so. */
function scene(mostBytes?: number) {
  const state = { position: 3, positions: 0, begun: [] as string[], ends: [] as (() => void)[], held: false };
  const db: RowSource = {
    rows: <Row>() => {
      state.positions += 1;
      return Promise.resolve([{ position: String(state.position) }] as Row[]);
    },
  };
  const share = createShare(db, mostBytes === undefined ? {} : { mostBytes });
  const read = share('list', ['trades'], async ({ of }: Ask): Promise<Answer> => {
    state.begun.push(of);
    const { position } = state;
    if (of === 'spoilt') throw new Error('no such list');
    if (state.held) await new Promise<void>((resolve) => { state.ends.push(resolve); });
    return { body: JSON.stringify({ of, position, text: 'x'.repeat(2_000) }), position };
  });
  return { state, read };
}

const PAGE = { limit: undefined, cursor: undefined };
const context: Context = { ip: '', signal: new AbortController().signal };

const turns = async () => { for (let n = 0; n < 20; n++) await Promise.resolve(); };

describe('query: shared answers', () => {
  it('is read once per log position, whoever asks, and has the same tag while it is the same', async () => {
    const { state, read } = scene();
    const first = await read({ of: 'a' });
    assert.equal(first.position, 3);
    assert.match(first.etag!, /^W\/"[\w-]{43}"$/);
    assert.equal(await read({ of: 'a' }), first);
    assert.notEqual((await read({ of: 'b' })).etag, first.etag);
    state.position = 4;
    const second = await read({ of: 'a' });
    assert.deepEqual([second.position, JSON.parse(second.body)], [4, { ...JSON.parse(first.body) as object, position: 4 }]);
    assert.deepEqual(state.begun, ['a', 'b', 'a']);
  });

  it('joins those who ask while it is read, for the answer and for the position', async () => {
    const { state, read } = scene();
    state.held = true;
    const asked = Array.from({ length: 100 }, () => read({ of: 'a' }));
    await turns();
    assert.deepEqual([state.begun, state.positions], [['a'], 1]);
    state.ends.shift()!();
    const [first, ...others] = await Promise.all(asked);
    for (const each of others) assert.equal(each, first);
  });

  it('gives nobody an answer that began before what was there when the client asked; all who wait get the next one', async () => {
    const { state, read } = scene();
    state.held = true;
    const old = read({ of: 'a' });
    await turns();
    state.position = 5;
    const later = [read({ of: 'a' }), read({ of: 'a' }), read({ of: 'a' })];
    await turns();
    state.ends.shift()!();
    assert.equal((await old).position, 3);
    await turns();
    assert.deepEqual(state.begun, ['a', 'a']);
    state.ends.shift()!();
    assert.deepEqual((await Promise.all(later)).map(({ position }) => position), [5, 5, 5]);
  });

  it('keeps no error', async () => {
    const { state, read } = scene();
    for (let n = 0; n < 2; n++) await assert.rejects(read({ of: 'spoilt' }), /no such list/);
    assert.deepEqual(state.begun, ['spoilt', 'spoilt']);
  });

  it('forgets the answers that were not asked for longest, and keeps none that is larger than all room', async () => {
    const { state, read } = scene(6_000);
    for (const of of ['a', 'b', 'a', 'c', 'a', 'b']) await read({ of });
    assert.deepEqual(state.begun, ['a', 'b', 'c', 'b']);
    const small = scene(100);
    for (const of of ['a', 'a']) await small.read({ of });
    assert.deepEqual(small.state.begun, ['a', 'a']);
  });

  it('is compressed once', async () => {
    const { read } = scene();
    const reply = await read({ of: 'a' });
    const [first, second] = [await reply.gzipped!(), await reply.gzipped!()];
    assert.equal(first, second);
    assert.equal(gunzipSync(first).toString(), reply.body);
  });

  describe('of what depends on the time', () => {
    const marketId = `0x${'01'.repeat(32)}`;
    let [nowMs, read] = [0, 0];
    const db: RowSource = {
      rows: <Row>({ text }: Statement) => {
        read += Number(text.includes('as body'));
        return Promise.resolve([{ body: '{}', last: null, position: '3' }] as Row[]);
      },
    };
    const ports = () => ({ db: db as Database, share: createShare(db), now: () => nowMs, assets: ['BTC'] });
    const endpoints: Readonly<Record<string, () => () => Reply | Promise<Reply>>> = {
      'statistics of a market': () => { const handle = getMarketStats.serve(ports()); return () => handle({ marketId }, context); },
      'totals of the platform': () => { const handle = getPlatformStats.serve(ports()); return () => handle({ chainId: undefined }, context); },
      'failed trades': () => { const handle = listFailedTrades.serve(ports()); return () => handle({ ...PAGE, next: undefined }, context); },
      'failed claims': () => { const handle = listFailedClaims.serve(ports()); return () => handle({ ...PAGE, next: undefined }, context); },
      'quick markets': () => { const handle = listQuickMarkets.serve(ports()); return () => handle({ asset: 'BTC', chainId: undefined, ...PAGE }, context); },
    };
    for (const [name, open] of Object.entries(endpoints)) {
      it(`${name}: one answer for all who ask in a second`, async () => {
        const ask = open();
        [nowMs, read] = [1_760_000_000_000, 0];
        const first = await ask();
        assert.match(first.etag ?? '', /^W\/"/);
        nowMs += 999;
        assert.equal(await ask(), first);
        assert.equal(read, 1);
        nowMs += 1;
        await ask();
        assert.equal(read, name === 'totals of the platform' ? 1 : 2);
      });
    }
  });
});
