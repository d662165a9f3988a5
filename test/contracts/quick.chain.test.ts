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

  const prices = ({ of = market, start = 100n, startedAt = end - 900, last = 101n, published = end } = {}) =>
    [of.address, start, startedAt, last, published];
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
          args: {
            marketId, startPrice: start, startPublishTime: BigInt(end - 900), endPrice: last, endPublishTime: BigInt(end), winningOutcome,
          },
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

  it('resolves from the end on, by prices of the first 15 seconds of its boundaries', async () => {
    const later = end + 900;
    const events = await contracts.send(contracts.admin, contracts.factory, 'createQuickMarket', [id('next'), 'BTC', end, later]);
    const next = targetAt('Market', String(events.at(-2)!.args['market']), marketArtifact);
    await contracts.timeIs(later - 1);
    deepEqual(await refused({ of: next, startedAt: end, published: later }), { error: 'MarketNotExpired', args: { expiration: BigInt(later) } });
    await contracts.timeIs(later + 20);
    const invalid = (publishTime: number, boundary: number) => ({
      error: 'InvalidPublishTime', args: { publishTime: BigInt(publishTime), boundary: BigInt(boundary) },
    });
    for (const published of [later - 1, later + 16]) deepEqual(await refused({ of: next, startedAt: end, published }), invalid(published, later));
    for (const startedAt of [end - 1, end + 16]) deepEqual(await refused({ of: next, startedAt, published: later }), invalid(startedAt, end));
    await resolve({ of: next, startedAt: end + 15, published: later + 15 });
  });

  it('takes no price of the future', async () => {
    deepEqual(await refused({ published: end + 1 }), { error: 'InvalidPublishTime', args: { publishTime: BigInt(end + 1), boundary: BigInt(end) } });
    await contracts.nextBlockAt(end + 1);
    await resolve({ published: end + 1 });
  });

  it('is paid half to half by the administrator when no prices have come for a day', async () => {
    const halve = (from = contracts.admin, of = market) => contracts.refusal(from, contracts.quickResolver, 'halve', [of.address]);
    deepEqual(await halve(), { error: 'PricesMayCome', args: { until: BigInt(end + 86_400) } });
    await contracts.timeIs(end + 86_400 - 1);
    deepEqual(await halve(), { error: 'PricesMayCome', args: { until: BigInt(end + 86_400) } });
    await contracts.timeIs(end + 86_400);
    const [trader] = contracts.traders;
    deepEqual(await halve(trader), { error: 'AccessControlUnauthorizedAccount', args: { account: trader.address, neededRole: `0x${'00'.repeat(32)}` } });
    const events = await contracts.send(contracts.admin, contracts.quickResolver, 'halve', [market.address]);
    deepEqual(events.map(({ event, args }) => [event, args['payoutNumerators'] ?? args['marketId']]), [
      ['ConditionResolution', [1n, 1n]], ['QuickMarketHalved', marketId],
    ]);
    equal(await contracts.read(market, 'resolved'), true);
    deepEqual(await contracts.refusal(trader, market, 'winningOutcome'), { error: 'NoWinner', args: { marketId } });
    deepEqual(await halve(), { error: 'MarketAlreadyResolved', args: { marketId } });
    deepEqual(await refused(), { error: 'MarketAlreadyResolved', args: { marketId } });
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
    deepEqual(await contracts.refusal(contracts.admin, contracts.quickResolver, 'halve', [standard.address]), {
      error: 'NotResolver', args: { market: standard.address, resolver: contracts.oracleResolver.address },
    });
    deepEqual(await refused({ of: contracts.tokens }), { error: 'UnknownMarket', args: { market: contracts.tokens.address } });
    equal(await contracts.read(standard, 'resolved'), false);
  });
});
