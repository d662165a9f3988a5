/** Every standard market can end: the bond follows the oracle's minimum, and what nobody can propose is paid half to half a month later. */
import { deepEqual, equal } from 'node:assert/strict';
import { ZeroAddress, ZeroHash, id, type HDNodeWallet } from 'ethers';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import {
  MINIMUM_BOND, USDC, marketContracts, revertAfterEach, targetAt, BOND, FAR, expiringMarket, type MarketContracts, type Target,
  type signedResolutions,
} from '../support/market-contracts.js';

const WINDOW_S = 7_200;
const ABANDON_S = 7 * 86_400;
const HALVE_S = 30 * 86_400;
const RISEN = 3n * BOND;

describe('a standard market', () => {
  let contracts: MarketContracts;
  let signed: ReturnType<typeof signedResolutions>;
  let proposer: HDNodeWallet, disputer: HDNodeWallet, settler: HDNodeWallet;
  let market: Target;
  let marketId: string;
  let expiration: number;

  before(async () => {
    contracts = await marketContracts();
    ({ signed, proposer, disputer, settler, market, marketId, expiration } = await expiringMarket(contracts, { question: 'ends' }));
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  const oracleTakes = (minimumBond: bigint, { whitelisted = true } = {}) =>
    contracts.send(contracts.admin, contracts.oracle, 'setParameters', [minimumBond / 2n, whitelisted]);
  const bondOf = (of = market) => contracts.read(contracts.oracleResolver, 'bondOf', [of.address]);
  /** A proposal that is signed for this bond, with a permit of it. */
  const proposal = async (bond: bigint, outcome = true) =>
    signed.proposal(proposer, market, { outcome, signed: { bond }, bondPermit: await signed.bondPermit(proposer, { value: bond }) });
  const propose = async (bond = BOND, outcome = true) => {
    const events = await contracts.send(contracts.admin, contracts.oracleResolver, 'proposeWithSig', await proposal(bond, outcome));
    const { args } = events.find(({ event }) => event === 'ResolutionProposed')!;
    equal(args['bond'], bond);
    return String(args['assertionId']);
  };
  const refusedProposal = async (bond = BOND) => contracts.refusal(contracts.admin, contracts.oracleResolver, 'proposeWithSig', await proposal(bond));
  const dispute = (assertionId: string) => contracts.send(disputer, contracts.oracle, 'disputeAssertion', [assertionId, disputer.address]);
  const arbitrate = (assertionId: string, truthful: boolean) => contracts.send(contracts.admin, contracts.oracle, 'arbitrate', [assertionId, truthful]);
  const settleOnOracle = (assertionId: string) => contracts.send(settler, contracts.oracle, 'settleAssertion', [assertionId]);
  const isUntrue = async (assertionId: string) => {
    await dispute(assertionId);
    await arbitrate(assertionId, false);
    await settleOnOracle(assertionId);
  };
  const balanceOf = async (account: { readonly address: string }) => await contracts.read(contracts.usdc, 'balanceOf', [account.address]) as bigint;
  const halve = () => contracts.send(contracts.admin, contracts.oracleResolver, 'halve', [market.address]);
  const halveRefused = (from = contracts.admin, of = market) => contracts.refusal(from, contracts.oracleResolver, 'halve', [of.address]);
  const passes = async (seconds: number) => contracts.timeIs(await contracts.now() + seconds);

  /** Halves the market, and finds that each share pays one half, and that nothing can come after it. */
  const isHalved = async () => {
    await contracts.send(settler, contracts.usdc, 'approve', [contracts.tokens.address, 4n * USDC]);
    await contracts.send(settler, contracts.tokens, 'splitPosition', [contracts.usdc.address, ZeroHash, marketId, [1, 2], 4n * USDC]);
    deepEqual((await halve()).map(({ contract, event, args }) => [contract, event, args['payoutNumerators'] ?? args]), [
      ['ConditionalTokens', 'ConditionResolution', [1n, 1n]], ['OracleResolver', 'MarketHalved', { marketId }],
    ]);
    equal(await contracts.read(market, 'resolved'), true);
    deepEqual(await contracts.refusal(settler, market, 'winningOutcome'), { error: 'NoWinner', args: { marketId } });
    const had = await balanceOf(settler);
    await contracts.send(settler, contracts.tokens, 'redeemPositions', [contracts.usdc.address, ZeroHash, marketId, [2]]);
    equal(await balanceOf(settler) - had, 2n * USDC);
    deepEqual(await halveRefused(), { error: 'MarketAlreadyResolved', args: { marketId } });
    deepEqual(await refusedProposal(), { error: 'MarketAlreadyResolved', args: { marketId } });
  };

  describe('is proposed under the greater of its own bond and the oracle\'s minimum', () => {
    it('which its proposer signs, posts and gets back', async () => {
      equal(await bondOf(), BOND);
      await oracleTakes(RISEN);
      equal(await bondOf(), RISEN);
      const had = await balanceOf(proposer);
      const assertionId = await propose(RISEN);
      equal(await balanceOf(proposer), had - RISEN);
      equal((await contracts.read(contracts.oracle, 'getAssertion', [assertionId]) as { bond: bigint }).bond, RISEN);
      await passes(WINDOW_S);
      await settleOnOracle(assertionId);
      deepEqual([await balanceOf(proposer), await contracts.read(market, 'winningOutcome')], [had, 0n]);
      equal(await contracts.read(contracts.usdc, 'allowance', [contracts.oracleResolver.address, contracts.oracle.address]), 0n);
    });

    it('and nobody posts another bond than the signed one, however it changes on the way', async () => {
      const key = await signed.nonceOf(proposer.address, market);
      for (const [minimum, asked, other] of [[RISEN, RISEN, BOND], [MINIMUM_BOND, BOND, RISEN], [MINIMUM_BOND, BOND, MINIMUM_BOND]] as const) {
        await oracleTakes(minimum);
        const sent = await proposal(other);
        const message = { market: market.address, proposer: proposer.address, outcome: true, bond: asked, nonce: key, deadline: FAR };
        deepEqual(await contracts.refusal(contracts.admin, contracts.oracleResolver, 'proposeWithSig', sent), {
          error: 'InvalidSigner', args: { signer: signed.proposerOf(message, sent), expected: proposer.address },
        });
      }
    });

    it('and keeps that bond while it is pending and when it has resolved the market, but not when it is rejected', async () => {
      const lie = await propose(BOND);
      await oracleTakes(RISEN);
      equal(await bondOf(), BOND);
      await isUntrue(lie);
      equal(await bondOf(), RISEN);
      const truth = await propose(RISEN, false);
      await oracleTakes(MINIMUM_BOND);
      await passes(WINDOW_S);
      await settleOnOracle(truth);
      equal(await bondOf(), RISEN);
    });

    it('and no bond is told of a market of another resolver or factory', async () => {
      const later = await contracts.now() + 1_000;
      const events = await contracts.send(contracts.admin, contracts.factory, 'createQuickMarket', [id('quick'), 'BTC', later - 900, later]);
      const quick = targetAt('Market', String(events.at(-2)!.args['market']), marketArtifact);
      const notResolver = { error: 'NotResolver', args: { market: quick.address, resolver: contracts.quickResolver.address } };
      const unknown = { error: 'UnknownMarket', args: { market: contracts.tokens.address } };
      deepEqual(await contracts.refusal(settler, contracts.oracleResolver, 'bondOf', [quick.address]), notResolver);
      deepEqual(await contracts.refusal(settler, contracts.oracleResolver, 'bondOf', [contracts.tokens.address]), unknown);
      await contracts.timeIs(later + HALVE_S);
      deepEqual(await halveRefused(contracts.admin, quick), notResolver);
      deepEqual(await halveRefused(contracts.admin, contracts.tokens), unknown);
    });
  });

  describe('is paid half to half, by the administrator, a month after its expiration', () => {
    it('where the oracle takes the collateral no more', async () => {
      await oracleTakes(MINIMUM_BOND, { whitelisted: false });
      deepEqual(await refusedProposal(), { error: 'UnsupportedCurrency', args: { currency: contracts.usdc.address } });
      const early = { error: 'ProposalsMayCome', args: { until: BigInt(expiration + HALVE_S) } };
      deepEqual(await halveRefused(), early);
      await contracts.timeIs(expiration + HALVE_S - 1);
      deepEqual(await halveRefused(), early);
      await contracts.timeIs(expiration + HALVE_S);
      deepEqual(await halveRefused(proposer), { error: 'AccessControlUnauthorizedAccount', args: { account: proposer.address, neededRole: ZeroHash } });
      await isHalved();
    });

    it('where the collateral takes the oracle for blocked', async () => {
      await contracts.send(contracts.admin, contracts.usdc, 'blacklist', [contracts.oracle.address]);
      deepEqual(await refusedProposal(), { error: 'AccountIsBlacklisted', args: { account: contracts.oracle.address } });
      await contracts.timeIs(expiration + HALVE_S);
      await isHalved();
    });

    it('where its oracle is gone', async () => {
      await contracts.chain.rpc('anvil_setCode', [contracts.oracle.address, '0x5f5ffd']);
      await contracts.timeIs(expiration + HALVE_S);
      deepEqual((await halve()).map(({ event }) => event), ['ConditionResolution', 'MarketHalved']);
    });

    it('where neither YES nor NO is true and no proposal is pending; what the oracle says late of an abandoned one changes nothing', async () => {
      await isUntrue(await propose(BOND, true));
      const stuck = await propose(BOND, false);
      await dispute(stuck);
      await contracts.timeIs(expiration + HALVE_S);
      deepEqual(await halveRefused(), { error: 'ProposalPending', args: { assertionId: stuck } });
      await passes(WINDOW_S + ABANDON_S);
      await contracts.send(contracts.admin, contracts.oracleResolver, 'abandon', [marketId]);
      await isHalved();
      await arbitrate(stuck, true);
      deepEqual((await settleOnOracle(stuck)).map(({ event }) => event), ['Transfer', 'Transfer', 'AssertionSettled']);
      deepEqual(await contracts.read(contracts.oracleResolver, 'proposalOf', [marketId]), {
        assertionId: ZeroHash, proposer: ZeroAddress, outcome: false, expirationTime: 0n,
      });
      equal(await contracts.read(contracts.tokens, 'payoutDenominator', [marketId]), 2n);
    });
  });
});
