/** MarketFactory and Market on a real chain: ids by the conditional tokens' own hashing, facts that nobody can change, and every refusal. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { dataSlice, id, solidityPackedKeccak256, zeroPadValue } from 'ethers';
import { market as marketArtifact, type MarketFacts } from '../../contracts-abi/market.js';
import type { MarketCreatedArgs } from '../../contracts-abi/market-factory.js';
import {
  MINIMUM_BOND, USDC, marketContracts, revertAfterEach, targetAt, type ContractEvent, type MarketContracts, type Target,
} from '../support/market-contracts.js';

const QUESTION_ID = id('a question');
const MAX_EXPIRATION = 253_402_300_799n;

describe('the market factory', () => {
  let contracts: MarketContracts;
  let expiration: bigint;

  before(async () => {
    contracts = await marketContracts();
    expiration = BigInt(await contracts.now() + 1_000);
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  const standard = (changes: Partial<Record<'questionId' | 'question' | 'description' | 'category' | 'expiration' | 'bond', unknown>> = {}) => {
    const fields = { questionId: QUESTION_ID, question: 'Will it?', description: 'Ja, möglich: 🎲', category: 2, expiration, bond: MINIMUM_BOND, ...changes };
    return [fields.questionId, fields.question, fields.description, fields.category, fields.expiration, fields.bond];
  };
  const quick = (changes: Partial<Record<'questionId' | 'asset' | 'startTime' | 'expiration', unknown>> = {}) => {
    const fields = { questionId: QUESTION_ID, asset: 'BTC', startTime: expiration - 900n, expiration, ...changes };
    return [fields.questionId, fields.asset, fields.startTime, fields.expiration];
  };
  const create = (...args: Parameters<typeof standard>) => contracts.send(contracts.admin, contracts.factory, 'createMarket', standard(...args));
  const createQuick = (...args: Parameters<typeof quick>) => contracts.send(contracts.admin, contracts.factory, 'createQuickMarket', quick(...args));
  const refused = (args: unknown[], method = 'createMarket') => contracts.refusal(contracts.admin, contracts.factory, method, args);

  it('creates a market whose id and token ids are the conditional tokens\' own', async () => {
    const ids = idsOf(contracts, contracts.oracleResolver);
    const events = await create();
    const address = await contracts.read(contracts.factory, 'marketOf', [ids.marketId]);
    deepEqual(events, [
      {
        contract: 'ConditionalTokens', event: 'ConditionPreparation',
        args: { conditionId: ids.marketId, oracle: contracts.oracleResolver.address, questionId: QUESTION_ID, outcomeSlotCount: 2n },
      },
      {
        contract: 'MarketFactory', event: 'MarketCreated',
        args: {
          marketId: ids.marketId, market: address, maker: contracts.admin.address, expiration, kind: 0n, category: 2n,
          yesId: ids.yesId, noId: ids.noId, bond: MINIMUM_BOND, question: 'Will it?', description: 'Ja, möglich: 🎲',
        },
      },
    ]);
    equal(await contracts.read(contracts.factory, 'marketIdOf', [address]), ids.marketId);
    equal(await contracts.read(contracts.tokens, 'getConditionId', [contracts.oracleResolver.address, QUESTION_ID, 2]), ids.marketId);
    for (const [indexSet, tokenId] of [[1, ids.yesId], [2, ids.noId]] as const) {
      const collection = await contracts.read(contracts.tokens, 'getCollectionId', [zeroPadValue('0x', 32), ids.marketId, indexSet]);
      equal(await contracts.read(contracts.tokens, 'getPositionId', [contracts.usdc.address, collection]), tokenId);
    }
  });

  it('gives a market the facts that it was created with, one by one and at once', async () => {
    const ids = idsOf(contracts, contracts.oracleResolver);
    const market = created(await create());
    const facts: MarketFacts = {
      marketId: ids.marketId, questionId: QUESTION_ID, maker: contracts.admin.address, resolver: contracts.oracleResolver.address,
      kind: 0n, category: 2n, startTime: 0n, expiration, bond: MINIMUM_BOND, yesId: ids.yesId, noId: ids.noId, asset: '', question: 'Will it?', description: 'Ja, möglich: 🎲',
    };
    deepEqual(await contracts.read(market, 'facts'), facts);
    const views = {
      ...facts, factory: contracts.factory.address, tokens: contracts.tokens.address, collateral: contracts.usdc.address, resolved: false,
    };
    for (const [view, value] of Object.entries(views)) equal(await contracts.read(market, view), value, view);
    deepEqual(await contracts.refusal(contracts.admin, market, 'winningOutcome'), { error: 'NotResolved', args: { marketId: ids.marketId } });
  });

  it('clones one implementation, with the facts in the code: there is nothing to initialise, by anybody, ever', async () => {
    const market = created(await create());
    const other = created(await create({ questionId: id('another') }));
    const implementation = String(await contracts.read(contracts.factory, 'implementation'));
    const proxy = `0x363d3d373d3d3d363d73${implementation.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`;
    for (const { address } of [market, other]) equal(dataSlice(await contracts.chain.provider.getCode(address), 0, 45), proxy);
    deepEqual(marketArtifact.abi.filter((entry) => entry.type === 'function' && entry.stateMutability !== 'view'), []);
    // The implementation is not a market: it has no data of one.
    deepEqual(await contracts.refusal(contracts.admin, targetAt('Market', implementation, marketArtifact), 'facts'), { error: '', args: {} });
    equal(await contracts.read(contracts.factory, 'marketIdOf', [implementation]), zeroPadValue('0x', 32));
  });

  it('backs a market\'s tokens with collateral', async () => {
    const { yesId, noId, marketId } = idsOf(contracts, contracts.oracleResolver);
    await create();
    const [trader] = contracts.traders;
    await contracts.send(trader, contracts.usdc, 'approve', [contracts.tokens.address, 5n * USDC]);
    await contracts.send(trader, contracts.tokens, 'splitPosition', [contracts.usdc.address, zeroPadValue('0x', 32), marketId, [1, 2], 5n * USDC]);
    deepEqual(await contracts.read(contracts.tokens, 'balanceOfBatch', [[trader.address, trader.address], [yesId, noId]]), [5n * USDC, 5n * USDC]);
  });

  it('creates a quick market with its interval', async () => {
    const ids = idsOf(contracts, contracts.quickResolver);
    const events = await createQuick();
    const market = created(events);
    const question = `BTC up or down, ${expiration - 900n} to ${expiration}?`;
    const description = 'YES wins when the price at the end is not below the price at the start. Times are Unix seconds.';
    deepEqual(events.slice(1), [
      {
        contract: 'MarketFactory', event: 'MarketCreated',
        args: {
          marketId: ids.marketId, market: market.address, maker: contracts.admin.address, expiration, kind: 1n, category: 3n,
          yesId: ids.yesId, noId: ids.noId, bond: 0n, question, description,
        },
      },
      { contract: 'MarketFactory', event: 'QuickMarketCreated', args: { marketId: ids.marketId, asset: 'BTC', startTime: expiration - 900n, endTime: expiration } },
    ]);
    deepEqual(await contracts.read(market, 'facts'), {
      marketId: ids.marketId, questionId: QUESTION_ID, maker: contracts.admin.address, resolver: contracts.quickResolver.address,
      kind: 1n, category: 3n, startTime: expiration - 900n, expiration, bond: 0n, yesId: ids.yesId, noId: ids.noId, asset: 'BTC', question, description,
    } satisfies MarketFacts);
  });

  it('makes a market of a condition that a stranger has prepared already', async () => {
    await contracts.send(contracts.traders[0], contracts.tokens, 'prepareCondition', [contracts.oracleResolver.address, QUESTION_ID, 2]);
    deepEqual((await create()).map(({ event }) => event), ['MarketCreated']);
  });

  it('makes one market of a question and resolver', async () => {
    await create();
    const { marketId } = idsOf(contracts, contracts.oracleResolver);
    deepEqual(await refused(standard({ question: 'Another text?' })), { error: 'MarketAlreadyExists', args: { marketId } });
    await createQuick();
    deepEqual(await refused(quick({ asset: 'ETH' }), 'createQuickMarket'), {
      error: 'MarketAlreadyExists', args: { marketId: idsOf(contracts, contracts.quickResolver).marketId },
    });
  });

  it('lets creators only create', async () => {
    const neededRole = id('CREATOR_ROLE');
    const [trader] = contracts.traders;
    const refusal = { error: 'AccessControlUnauthorizedAccount', args: { account: trader.address, neededRole } };
    deepEqual(await contracts.refusal(trader, contracts.factory, 'createMarket', standard()), refusal);
    deepEqual(await contracts.refusal(trader, contracts.factory, 'createQuickMarket', quick()), refusal);
  });

  it('takes texts up to their limits in bytes and not beyond', async () => {
    const [question, description, asset] = [1_000, 10_000, 32].map((length) => 'é'.repeat(length / 2)) as [string, string, string];
    const longest = created(await create({ question, description }));
    deepEqual([await contracts.read(longest, 'question'), await contracts.read(longest, 'description')], [question, description]);
    equal(await contracts.read(created(await createQuick({ asset })), 'asset'), asset);
    await create({ questionId: id('shortest'), question: '?', description: '' });

    const lengthOf = (length: number, maximum: number) => ({ length: BigInt(length), maximum: BigInt(maximum) });
    deepEqual(await refused(standard({ question: '' })), { error: 'QuestionLength', args: lengthOf(0, 1_000) });
    deepEqual(await refused(standard({ question: `${question}.` })), { error: 'QuestionLength', args: lengthOf(1_001, 1_000) });
    deepEqual(await refused(standard({ description: `${description}.` })), { error: 'DescriptionLength', args: lengthOf(10_001, 10_000) });
    deepEqual(await refused(quick({ asset: '' }), 'createQuickMarket'), { error: 'AssetLength', args: lengthOf(0, 32) });
    deepEqual(await refused(quick({ asset: `${asset}.` }), 'createQuickMarket'), { error: 'AssetLength', args: lengthOf(33, 32) });
  });

  it('takes the four categories and bonds that the oracle takes', async () => {
    for (const category of [0, 3]) equal(created(await create({ category, questionId: id(`${category}`) })).name, 'Market');
    deepEqual(await refused(standard({ category: 4 })), { error: 'UnknownCategory', args: { category: 4n } });
    deepEqual(await refused(standard({ bond: MINIMUM_BOND - 1n })), { error: 'BondTooLow', args: { bond: MINIMUM_BOND - 1n, minimumBond: MINIMUM_BOND } });
  });

  it('takes no bond that nobody could post, unless the oracle asks for it', async () => {
    const most = 100_000n * USDC;
    const tooHigh = (bond: bigint, maximumBond: bigint) => ({ error: 'BondTooHigh', args: { bond, maximumBond } });
    deepEqual(await refused(standard({ bond: most + 1n })), tooHigh(most + 1n, most));
    deepEqual(await refused(standard({ bond: 2n ** 256n - 1n })), tooHigh(2n ** 256n - 1n, most));
    equal(await contracts.read(created(await create({ bond: most })), 'bond'), most);
    await contracts.send(contracts.admin, contracts.oracle, 'setParameters', [most, true]);
    deepEqual(await refused(standard({ questionId: id('dear'), bond: 2n * most + 1n })), tooHigh(2n * most + 1n, 2n * most));
    equal(await contracts.read(created(await create({ questionId: id('dear'), bond: 2n * most })), 'bond'), 2n * most);
  });

  it('takes an expiration of the future, in seconds, and an interval that has a length', async () => {
    const now = BigInt(await contracts.now());
    await contracts.nextBlockAt(Number(now) + 10);
    await create({ expiration: now + 11n });
    deepEqual(await refused(standard({ questionId: id('late'), expiration: now + 10n })), { error: 'InvalidExpiration', args: { expiration: now + 10n } });
    deepEqual(await refused(quick({ startTime: now - 10n, expiration: now + 10n }), 'createQuickMarket'), { error: 'InvalidExpiration', args: { expiration: now + 10n } });
    await create({ questionId: id('far'), expiration: MAX_EXPIRATION });
    deepEqual(await refused(standard({ expiration: MAX_EXPIRATION + 1n })), { error: 'InvalidExpiration', args: { expiration: MAX_EXPIRATION + 1n } });
    deepEqual(await refused(quick({ startTime: expiration }), 'createQuickMarket'), { error: 'InvalidStartTime', args: { startTime: expiration, expiration } });
    const late = expiration - 86_401n;
    deepEqual(await refused(quick({ startTime: late }), 'createQuickMarket'), { error: 'InvalidStartTime', args: { startTime: late, expiration } });
    ok(created(await createQuick({ startTime: expiration - 1n })).address);
    ok(created(await createQuick({ questionId: id('a day'), startTime: expiration - 86_400n })).address);
  });

  it('knows the resolvers that it deployed, and they know it', async () => {
    for (const resolver of [contracts.oracleResolver, contracts.quickResolver]) {
      equal(await contracts.read(resolver, 'factory'), contracts.factory.address);
      equal(await contracts.read(resolver, 'tokens'), contracts.tokens.address);
    }
    equal(await contracts.read(contracts.oracleResolver, 'oracle'), await contracts.read(contracts.factory, 'oracle'));
    equal(await contracts.read(contracts.oracleResolver, 'collateral'), await contracts.read(contracts.factory, 'collateral'));
  });
});

/** Gnosis' formulas with plain hashes, worked out here. */
function idsOf({ usdc }: MarketContracts, resolver: Target) {
  const marketId = solidityPackedKeccak256(['address', 'bytes32', 'uint256'], [resolver.address, QUESTION_ID, 2]);
  const tokenId = (indexSet: number) =>
    BigInt(solidityPackedKeccak256(['address', 'bytes32'], [usdc.address, solidityPackedKeccak256(['bytes32', 'uint256'], [marketId, indexSet])]));
  return { marketId, yesId: tokenId(1), noId: tokenId(2) };
}

function created(events: readonly ContractEvent[]): Target {
  const { args } = events.find(({ event }) => event === 'MarketCreated')!;
  return targetAt('Market', (args as unknown as MarketCreatedArgs).market, marketArtifact);
}
