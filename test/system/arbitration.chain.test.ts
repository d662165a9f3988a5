/** A market's whole life at the exchange on a chain: undisputed, disputed and true, disputed and untrue, abandoned; and claims paid by strangers. */
import assert from 'node:assert/strict';
import { Signature, ZeroHash, id, type HDNodeWallet } from 'ethers';
import type { Command } from '../../engine/records/commands.js';
import { TEST_CHAIN_ID } from '../support/chain.js';
import { newCommand } from '../support/commands.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { ONE, caughtUp, eventsOf, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack, type Fields } from '../harness/exchange.js';
import { resolutionActs } from '../support/resolution-acts.js';
import { BOND } from '../support/market-contracts.js';

const WINDOW_S = 7_200;
const ABANDON_S = 7 * 86_400;
const REDEEM = ['address owner', 'address collateralToken', 'bytes32 parentCollectionId', 'bytes32 conditionId', 'uint256[] indexSets', 'uint256 nonce',
  'uint256 deadline'].map((field) => ({ type: field.split(' ')[0]!, name: field.split(' ')[1]! }));

describe('a market\'s life at the exchange on a chain', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let acts: ReturnType<typeof resolutionActs>;
  let user: HDNodeWallet;
  let last = 0;

  before(async () => {
    node = await tradedChain();
    acts = resolutionActs(node);
    user = node.accounts[4]!;
    await node.createMarket({ question: 'Will it rain?' });
    exchange = await exchangeStack({}, [node.configured()]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const resolutionOf = async ({ marketId }: DeployedMarket) => {
    last = await caughtUp(exchange, node);
    const { marketId: answered, ...shape } = await exchange.get(`/api/v1/resolution/${marketId}`, last) as Fields & { assertion?: { id: string } };
    assert.equal(answered, marketId);
    return shape;
  };

  /** A market that has expired on the chain. */
  async function expired(question: string): Promise<DeployedMarket> {
    const market = await acts.expired(question);
    assert.deepEqual(await resolutionOf(market), { expired: false, resolved: false });
    return market;
  }

  /** Proposes, and resolves with the assertion as the exchange then shows it. */
  async function propose(market: DeployedMarket, outcome: boolean) {
    const assertionId = await acts.propose(market, outcome);
    const { assertion } = await resolutionOf(market);
    assert.deepEqual(assertion, {
      id: assertionId, proposer: acts.proposer.address.toLowerCase(), proposedOutcome: outcome, bondAmount: String(BOND),
      assertionTime: await node.now(), expirationTime: await node.now() + WINDOW_S, settled: false, settlementResolution: false, disputed: false,
    });
    return assertion as { id: string; disputed: boolean };
  }
  const upheld = (assertion: object, disputed: boolean) => ({ ...assertion, disputed, settled: true, settlementResolution: true });

  it('ends undisputed, settled by a stranger at the oracle', async () => {
    const market = await expired('Undisputed?');
    const assertion = await propose(market, false);
    assert.deepEqual(await resolutionOf(market), { expired: false, resolved: false, assertion }, 'not by the chain\'s time');
    await acts.passes(WINDOW_S);
    await acts.settleOnOracle(assertion.id);
    assert.deepEqual(await resolutionOf(market), { expired: true, resolved: true, winningOutcome: 1, assertion: upheld(assertion, false) });
  });

  it('ends disputed and true: the assertion stays, and the proposed outcome wins', async () => {
    const market = await expired('Disputed, and true?');
    const assertion = await propose(market, true);
    await acts.dispute(assertion.id);
    assert.deepEqual(await resolutionOf(market), { expired: false, resolved: false, assertion: { ...assertion, disputed: true } });
    await acts.arbitrate(assertion.id, true);
    await acts.settleOnOracle(assertion.id);
    assert.deepEqual(await resolutionOf(market), { expired: true, resolved: true, winningOutcome: 0, assertion: upheld(assertion, true) });
  });

  it('goes on after an untrue assertion, which disappears; the next one resolves the market', async () => {
    const market = await expired('Disputed, and untrue?');
    const lie = await propose(market, true);
    await acts.dispute(lie.id);
    await acts.arbitrate(lie.id, false);
    await acts.settleOnOracle(lie.id);
    assert.deepEqual(await resolutionOf(market), { expired: false, resolved: false });
    const truth = await propose(market, false);
    await acts.passes(WINDOW_S);
    await acts.settleOnOracle(truth.id);
    assert.deepEqual(await resolutionOf(market), { expired: true, resolved: true, winningOutcome: 1, assertion: upheld(truth, false) });
  });

  it('goes on after an abandoned assertion, which disappears; what the oracle says of it later changes nothing', async () => {
    const markets: DeployedMarket[] = [];
    const abandoned: string[] = [];
    for (const question of ['Abandoned, and then found untrue?', 'Abandoned, and then found true?']) {
      const market = await expired(question);
      const assertion = await propose(market, true);
      await acts.dispute(assertion.id);
      markets.push(market);
      abandoned.push(assertion.id);
    }
    await acts.passes(WINDOW_S + ABANDON_S);
    for (const { marketId } of markets) await acts.transact(node.operator, acts.at('oracleResolver'), 'abandon', [marketId]);
    for (const market of markets) assert.deepEqual(await resolutionOf(market), { expired: false, resolved: false });

    for (const [i, market] of markets.entries()) {
      const next = await propose(market, false);
      await acts.arbitrate(abandoned[i]!, i === 1);
      await acts.settleOnOracle(abandoned[i]!);
      assert.deepEqual(await resolutionOf(market), { expired: false, resolved: false, assertion: next });
      await acts.passes(WINDOW_S);
      await acts.settleOnOracle(next.id);
      assert.deepEqual(await resolutionOf(market), { expired: true, resolved: true, winningOutcome: 1, assertion: upheld(next, false) });
    }
    const rejections = await eventsOf(exchange, 'ResolutionRejected', last);
    assert.deepEqual(rejections.slice(-2).map(({ assertionId }) => assertionId), abandoned);
  });

  it('has no winner when a quick market is paid half to half: what it pays is told, and the indexer goes on', async () => {
    const start = await node.now();
    const factory = acts.at('marketFactory');
    const { logs } = await acts.transact(node.operator, factory, 'createQuickMarket', [id('halved'), 'BTC', start, start + 900]);
    const created = logs.map(({ topics, data }) => factory.abi.parseLog({ topics: [...topics], data })).find((event) => event?.name === 'MarketCreated')!;
    const { marketId, market } = created.args.toObject() as { marketId: string; market: string };
    await node.mint(user, BigInt(4 * ONE));
    await node.split(user, { marketId }, BigInt(4 * ONE));
    await acts.passes(900 + 86_400);
    await acts.transact(node.operator, acts.at('quickResolver'), 'halve', [market]);
    const redeem = (indexSet: bigint) => node.send(
      user, 'conditionalTokens', 'redeemPositions', [node.chain.contracts.collateral, ZeroHash, marketId, [indexSet]]);
    await redeem(1n);
    assert.deepEqual(await resolutionOf({ marketId } as DeployedMarket), { expired: true, resolved: true, halved: true });
    assert.deepEqual((await eventsOf(exchange, 'MarketHalved', last)).map((event) => event.marketId), [marketId]);
    const { settlements } = await exchange.get(`/api/v1/users/${user.address}/activity?chain_id=${TEST_CHAIN_ID}`, last) as { settlements: Fields[] };
    assert.deepEqual(settlements.map(({ marketId: of, payout, winningOutcome }) => ({ of, payout, winningOutcome })), [
      { of: marketId, payout: 2 * ONE, winningOutcome: null },
    ]);
  });

  describe('redeemed', () => {
    const markets: DeployedMarket[] = [];
    const requestId = id('a request');
    const claimOf = ({ marketId, address }: DeployedMarket) => ({
      txHash: '', userAddress: user.address.toLowerCase(), marketAddress: address, marketId, payout: 3 * ONE, winningOutcome: 0, chainId: TEST_CHAIN_ID,
    });
    const listed = async (list: 'pending' | 'failed') => {
      type Listed = Fields & { submittedAt: number; failedAt?: number };
      const { [`${list}Claims`]: claims, count } = await exchange.get(`/api/v1/${list}-claims`, last) as Record<string, Listed[] | number>;
      assert.ok(Array.isArray(claims) && claims.length === count);
      return claims.map(({ submittedAt, failedAt, ...claim }) => {
        assert.ok(Math.abs(Date.now() / 1_000 - submittedAt) < 600 && (failedAt ?? submittedAt) >= submittedAt);
        return claim;
      });
    };
    const relayed = async (...commands: Command[]) => { last = Math.max(last, await exchange.record(...commands)); };
    const named = () => ({ at: Date.now(), requestId, chainId: TEST_CHAIN_ID });

    it('is asked of the relayer: the claims are pending, in the latest transaction', async () => {
      await node.mint(user, BigInt(9 * ONE));
      for (const question of ['Redeemed by a stranger?', 'Redeemed by its user?', 'Not redeemed?']) {
        const market = await expired(question);
        await node.split(user, market, BigInt(3 * ONE));
        const { id: assertionId } = await propose(market, true);
        await acts.passes(WINDOW_S);
        await acts.settleOnOracle(assertionId);
        markets.push(market);
      }
      last = await caughtUp(exchange, node);
      const claims = markets.map(({ marketId }) => ({ marketId, payout: String(3 * ONE), winningOutcome: 0 as const }));
      await relayed(newCommand('RequestRelay', { ...named(), action: 'batch-ctf-redemption', owner: user.address.toLowerCase(), claims }));
      assert.deepEqual(await listed('pending'), markets.map(claimOf));
      await relayed(newCommand('SubmitRelay', { ...named(), txHash: id('stuck') }));
      assert.deepEqual(await listed('pending'), markets.map((market) => ({ ...claimOf(market), txHash: id('stuck') })));
    });

    it('is brought by a stranger, with the user\'s signature, and by the user: neither claim is pending any longer, both are settled', async () => {
      const [byStranger, byUser] = markets as [DeployedMarket, DeployedMarket];
      const { conditionalTokens, collateral } = node.chain.contracts;
      const domain = { name: 'ConditionalTokens', version: '1', chainId: TEST_CHAIN_ID, verifyingContract: conditionalTokens };
      const message = {
        owner: user.address, collateralToken: collateral, parentCollectionId: ZeroHash, conditionId: byStranger.marketId, indexSets: [1n, 2n],
        nonce: (BigInt(byStranger.marketId) & (2n ** 192n - 1n)) << 64n, deadline: 2n ** 64n,
      };
      const { v, r, s } = Signature.from(await user.signTypedData(domain, { RedeemPositions: REDEEM }, message));
      const first = await node.send(acts.stranger, 'conditionalTokens', 'redeemPositionsWithSig',
        [user.address, collateral, ZeroHash, byStranger.marketId, [1n, 2n], message.deadline, v, r, s]);
      const second = await node.send(user, 'conditionalTokens', 'redeemPositions', [collateral, ZeroHash, byUser.marketId, [1n, 2n]]);
      last = await caughtUp(exchange, node);
      assert.deepEqual(await listed('pending'), [{ ...claimOf(markets[2]!), txHash: id('stuck') }]);
      const { settlements } = await exchange.get(`/api/v1/users/${user.address}/activity?chain_id=${TEST_CHAIN_ID}`, last) as {
        settlements: (Fields & { timestamp: number })[];
      };
      assert.deepEqual(settlements.slice(0, 2).map((settlement) => ({ ...settlement, timestamp: 0 })), [
        { marketId: byUser.marketId, marketQuestion: 'Redeemed by its user?', payout: 3 * ONE, winningOutcome: 0, timestamp: 0, txHash: second.transactionHash },
        { marketId: byStranger.marketId, marketQuestion: 'Redeemed by a stranger?', payout: 3 * ONE, winningOutcome: 0, timestamp: 0, txHash: first.transactionHash },
      ], 'newest first');
    });

    it('fails on the chain only where it is not paid: the others are not failed claims', async () => {
      const results = markets.map(() => ({ succeeded: false, reason: 'the transaction reverted' }));
      await relayed(newCommand('EndRelay', { ...named(), txHash: id('stuck'), results }));
      assert.deepEqual(await listed('pending'), []);
      assert.deepEqual(await listed('failed'), [{ ...claimOf(markets[2]!), txHash: id('stuck'), reason: 'the transaction reverted' }]);
    });
  });
});
