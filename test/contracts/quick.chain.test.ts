/** QuickResolver on a real chain: the winner by two prices, once, after the end, by the operator. */
import { deepEqual, equal } from 'node:assert/strict';
import { id } from 'ethers';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import { MINIMUM_BOND, marketContracts, revertAfterEach, targetAt, type MarketContracts, type Target } from '../support/market-contracts.js';

const QUESTION_ID = id('BTC quarter');
const MAX_INT64 = 2n ** 63n - 1n;

describe('the quick resolver', () => {
  let contracts: MarketContracts;
  let market: Target;
  let marketId: string;
  let end: number;

  before(async () => {
    contracts = await marketContracts();
    end = await contracts.now() + 900;
    const events = await contracts.send(contracts.admin, contracts.factory, 'createQuickMarket', [QUESTION_ID, 'BTC', end - 900, end]);
    market = targetAt('Market', String(events.at(-2)!.args['market']), marketArtifact);
    marketId = String(events.at(-1)!.args['marketId']);
    await contracts.timeIs(end);
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  const prices = ({ of = market, start = 100n, last = 101n, published = end } = {}) => [of.address, start, last, published];
  const resolve = (changes: Parameters<typeof prices>[0] = {}) => contracts.send(contracts.admin, contracts.quickResolver, 'resolve', prices(changes));
  const refused = (changes: Parameters<typeof prices>[0] = {}, from = contracts.admin) =>
    contracts.refusal(from, contracts.quickResolver, 'resolve', prices(changes));

  for (const [name, start, last, winningOutcome] of [
    ['up', 100n, 101n, 0n], ['down', 100n, 99n, 1n], ['a tie', 100n, 100n, 0n],
    ['from the least to the greatest price', 1n, MAX_INT64, 0n], ['from the greatest to the least price', MAX_INT64, 1n, 1n],
  ] as const) {
    it(`resolves ${name} as ${winningOutcome === 0n ? 'YES' : 'NO'}`, async () => {
      deepEqual(await resolve({ start, last }), [
        {
          contract: 'ConditionalTokens', event: 'ConditionResolution',
          args: {
            conditionId: marketId, oracle: contracts.quickResolver.address, questionId: QUESTION_ID, outcomeSlotCount: 2n,
            payoutNumerators: winningOutcome === 0n ? [1n, 0n] : [0n, 1n],
          },
        },
        {
          contract: 'QuickResolver', event: 'QuickMarketResolved',
          args: { marketId, startPrice: start, endPrice: last, publishTime: BigInt(end), winningOutcome },
        },
      ]);
      deepEqual([await contracts.read(market, 'resolved'), await contracts.read(market, 'winningOutcome')], [true, winningOutcome]);
    });
  }

  it('resolves once', async () => {
    await resolve();
    deepEqual(await refused({ last: 99n }), { error: 'MarketAlreadyResolved', args: { marketId } });
  });

  it('resolves by the operator only', async () => {
    const [trader] = contracts.traders;
    deepEqual(await refused({}, trader), { error: 'AccessControlUnauthorizedAccount', args: { account: trader.address, neededRole: id('OPERATOR_ROLE') } });
  });

  it('resolves from the end on, by a price of the first 15 seconds', async () => {
    const later = end + 900;
    const events = await contracts.send(contracts.admin, contracts.factory, 'createQuickMarket', [id('next'), 'BTC', end, later]);
    const next = targetAt('Market', String(events.at(-2)!.args['market']), marketArtifact);
    await contracts.timeIs(later - 1);
    deepEqual(await refused({ of: next, published: later }), { error: 'MarketNotExpired', args: { expiration: BigInt(later) } });
    await contracts.timeIs(later);
    for (const published of [later - 1, later + 16]) {
      deepEqual(await refused({ of: next, published }), {
        error: 'InvalidPublishTime', args: { publishTime: BigInt(published), expiration: BigInt(later) },
      });
    }
    await resolve({ of: next, published: later + 15 });
  });

  it('takes prices above zero', async () => {
    for (const price of [0n, -1n, -MAX_INT64 - 1n]) {
      deepEqual(await refused({ start: price }), { error: 'InvalidPrice', args: { price } });
      deepEqual(await refused({ last: price }), { error: 'InvalidPrice', args: { price } });
    }
  });

  it('resolves quick markets of its factory', async () => {
    const events = await contracts.send(contracts.admin, contracts.factory, 'createMarket', [QUESTION_ID, 'Standard?', '', 0, end + 1_000, MINIMUM_BOND]);
    const standard = targetAt('Market', String(events.at(-1)!.args['market']), marketArtifact);
    deepEqual(await refused({ of: standard }), {
      error: 'NotResolver', args: { market: standard.address, resolver: contracts.oracleResolver.address },
    });
    deepEqual(await refused({ of: contracts.tokens }), { error: 'UnknownMarket', args: { market: contracts.tokens.address } });
    equal(await contracts.read(standard, 'resolved'), false);
  });
});
