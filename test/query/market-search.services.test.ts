/** `GET /markets` with words, category, state and sorting: what each selects, and pages that stay as they are while markets are added. */
import assert from 'node:assert/strict';
import { searchMarkets, type MarketSearch } from '../../query/market-search.js';
import { markets } from '../../query/markets.js';
import { bytes32, readModels, type ReadModels } from '../support/read-models.js';

interface Found { markets: { id: string; state: string; totalVolume: number; bestAskPrice: number }[]; count: number; nextCursor?: string }

describe('query: market search', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets',
      { number: 1, question: 'Will it rain in Oslo?', category: 'defi', expiration: 500 },
      { number: 2, question: 'Will ETH\'s price pass 9,000?', closed: true, expiration: 100, chain_id: 137 },
      { number: 3, question: 'Räkna med regn i Åre?', proposal: 1, closed: true, expiration: 300 },
      { number: 4, question: 'Rainfall record', proposal: 2, closed: true, category: 'defi', expiration: 300 },
      { number: 5, question: 'rain', resolved: true, winning_outcome: 0, expiration: 50 },
      { number: 6, question: 'rain', kind: 'quick', expiration: 1 });
    await models.insert('market_volumes', { market_id: bytes32(3), volume: 7, trades: 1 }, { market_id: bytes32(1), volume: 7, trades: 1 },
      { market_id: bytes32(5), volume: '36893488147419103230', trades: 2 });
  });
  after(() => models.close());

  const find = async (search: MarketSearch) => JSON.parse((await searchMarkets(models.db, search)).body) as Found;
  const numbersOf = ({ markets: found }: Found) => found.map(({ id }) => Number(`0x${id.slice(-2)}`) & 0xf);
  const finds = async (search: MarketSearch) => numbersOf(await find(search));

  it('has each market as the list has it, with its state and volume', async () => {
    await models.insert('levels', { side: 1, price: 650_000 });
    await models.advance(7);
    const { body, position } = await searchMarkets(models.db, {});
    const listed = JSON.parse((await markets(models.db, {})).body) as Found;
    const more = [['disputed', 0], ['proposed', 7], ['expired', 0], ['open', 7]] as const;
    const shown = listed.markets.map((each, i) => ({ ...each, state: more[i]![0], totalVolume: more[i]![1] }));
    assert.deepEqual(JSON.parse(body), { markets: shown, count: 4 });
    assert.equal(listed.markets[3]!.bestAskPrice, 650_000);
    assert.equal(position, 6);
  });

  const cases: readonly [string, MarketSearch, readonly number[]][] = [
    ['unresolved ones without a state', {}, [4, 3, 2, 1]], ['all states', { state: 'all' }, [5, 4, 3, 2, 1]],
    ['open', { state: 'open' }, [1]], ['expired', { state: 'expired' }, [2]], ['proposed', { state: 'proposed' }, [3]],
    ['disputed', { state: 'disputed' }, [4]], ['resolved', { state: 'resolved' }, [5]],
    ['a category', { category: 'defi' }, [4, 1]], ['a category and a state', { category: 'defi', state: 'open' }, [1]], ['a chain', { chainId: 137 }, [2]],
    ['a word', { query: 'will' }, [2, 1]], ['the beginning of a word, in any case', { query: 'RAIN', state: 'all' }, [5, 4, 1]],
    ['several words in any order', { query: 'oslo, rain' }, [1]], ['letters beyond ASCII', { query: 'åre' }, [3]], ['a number', { query: '9' }, [2]],
    ['what looks like operators', { query: '!rain | (oslo)' }, [1]], ['a quote', { query: 'ETH\'' }, [2]], ['no such word', { query: 'snow' }, []],
    ['the next to expire', { sort: 'expiration', state: 'all' }, [5, 2, 3, 4, 1]], ['the most traded', { sort: 'volume', state: 'all' }, [5, 3, 1, 4, 2]],
  ];
  for (const [name, search, expected] of cases) it(`finds ${name}`, async () => { assert.deepEqual(await finds(search), expected); });

  for (const sort of ['newest', 'expiration', 'volume'] as const) {
    it(`pages by ${sort}, whatever is added meanwhile`, async () => {
      const all = await finds({ sort, state: 'all' });
      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const found = await find({ sort, state: 'all', limit: 2, cursor });
        seen.push(...numbersOf(found));
        if (cursor === undefined) await models.insert('markets', { number: 7, expiration: 1 });
        cursor = found.nextCursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen.filter((each) => each !== 7), all);
    });
  }

  it('refuses words without a letter or digit, and a cursor of another sorting', async () => {
    assert.throws(() => searchMarkets(models.db, { query: '?!' }), { code: 'invalid_request' });
    const { nextCursor } = await find({ limit: 1 });
    assert.throws(() => searchMarkets(models.db, { sort: 'volume', cursor: nextCursor }), { code: 'invalid_request' });
  });
});
