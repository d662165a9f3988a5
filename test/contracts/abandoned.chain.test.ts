/** No market is locked for ever: bonds that the collateral does not pay out, arbitrations that never come, and an oracle that is gone. */
import { deepEqual, equal } from 'node:assert/strict';
import { ZeroAddress, ZeroHash, type HDNodeWallet } from 'ethers';
import {
  USDC, marketContracts, revertAfterEach, BOND, expiringMarket, type MarketContracts, type Target, type signedResolutions,
} from '../support/market-contracts.js';

const WINDOW_S = 7_200;
const DELAY_S = 7 * 86_400;

describe('a market that would be locked', () => {
  let contracts: MarketContracts;
  let signed: ReturnType<typeof signedResolutions>;
  let proposer: HDNodeWallet, disputer: HDNodeWallet, settler: HDNodeWallet;
  let market: Target;
  let marketId: string;

  before(async () => {
    contracts = await marketContracts();
    ({ signed, proposer, disputer, settler, market, marketId } = await expiringMarket(contracts, { question: 'locked' }));
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  const propose = async (outcome: boolean) => {
    const proposal = await signed.proposal(proposer, market, { outcome, bondPermit: await signed.bondPermit(proposer) });
    const events = await contracts.send(contracts.admin, contracts.oracleResolver, 'proposeWithSig', proposal);
    return String(events.at(-1)!.args['assertionId']);
  };
  const dispute = (assertionId: string, inTheNameOf: string) =>
    contracts.send(disputer, contracts.oracle, 'disputeAssertion', [assertionId, inTheNameOf]);
  const arbitrate = (assertionId: string, truthful: boolean) => contracts.send(contracts.admin, contracts.oracle, 'arbitrate', [assertionId, truthful]);
  const settleOnOracle = (assertionId: string) => contracts.send(settler, contracts.oracle, 'settleAssertion', [assertionId]);
  const settle = async (winningOutcome: number) =>
    contracts.send(contracts.admin, contracts.oracleResolver, 'settleWithSig', await signed.settlement(settler, market, { winningOutcome }));
  const abandon = () => contracts.send(contracts.admin, contracts.oracleResolver, 'abandon', [marketId]);
  const abandonRefused = (from = contracts.admin) => contracts.refusal(from, contracts.oracleResolver, 'abandon', [marketId]);
  const outcomeOf = async () => await contracts.read(market, 'resolved') ? await contracts.read(market, 'winningOutcome') : undefined;
  const afterDelay = async () => contracts.timeIs(await contracts.now() + WINDOW_S + DELAY_S);
  const proposalOf = () => contracts.read(contracts.oracleResolver, 'proposalOf', [marketId]);
  const abandoned = (assertionId: string) => [{ contract: 'OracleResolver', event: 'ResolutionAbandoned', args: { marketId, assertionId } }];

  it('by a lie that is disputed in the name of an account that the collateral refuses is not: its bond is kept', async () => {
    const lie = await propose(true);
    await dispute(lie, contracts.usdc.address);
    await arbitrate(lie, false);
    const kept = 2n * BOND - BOND / 2n;
    deepEqual((await settle(0)).map(({ event, args }) => [event, args['amount']]), [
      ['Transfer', undefined], ['PaymentRefused', kept], ['ResolutionRejected', undefined], ['AssertionSettled', undefined],
    ]);
    equal(await contracts.read(contracts.oracle, 'claimable', [contracts.usdc.address]), kept);
    await propose(false);
    await contracts.timeIs(await contracts.now() + WINDOW_S);
    await settle(1);
    equal(await outcomeOf(), 1n);
  });

  it('by a proposer who is on the block list later is not: the bond can be claimed to another account, once', async () => {
    const assertionId = await propose(true);
    await contracts.send(contracts.admin, contracts.usdc, 'blacklist', [proposer.address]);
    await contracts.timeIs(await contracts.now() + WINDOW_S);
    await settleOnOracle(assertionId);
    equal(await outcomeOf(), 0n);
    const before = await contracts.read(contracts.usdc, 'balanceOf', [settler.address]) as bigint;
    const claimed = await contracts.send(proposer, contracts.oracle, 'claimPayment', [settler.address]);
    deepEqual(claimed.at(-1), { contract: 'OptimisticOracle', event: 'PaymentClaimed', args: { account: proposer.address, to: settler.address, amount: BOND } });
    await contracts.send(proposer, contracts.oracle, 'claimPayment', [settler.address]);
    equal(await contracts.read(contracts.usdc, 'balanceOf', [settler.address]), before + BOND);
  });

  it('as nobody arbitrates can be proposed anew a week after the dispute window; what the oracle says late of the old proposal does not count', async () => {
    const first = await propose(true);
    await dispute(first, disputer.address);
    const until = BigInt(await contracts.read(contracts.oracleResolver, 'proposalOf', [marketId]).then((proposal) => (
      proposal as { expirationTime: bigint }).expirationTime)) + BigInt(DELAY_S);
    await contracts.timeIs(Number(until) - 1);
    deepEqual(await abandonRefused(), { error: 'ProposalMaySettle', args: { assertionId: first, until } });
    await contracts.timeIs(Number(until));
    deepEqual(await abandonRefused(proposer), { error: 'AccessControlUnauthorizedAccount', args: { account: proposer.address, neededRole: ZeroHash } });
    deepEqual(await abandon(), abandoned(first));
    deepEqual(await proposalOf(), { assertionId: ZeroHash, proposer: ZeroAddress, outcome: false, expirationTime: 0n });
    deepEqual(await abandonRefused(), { error: 'NoProposal', args: { marketId } });

    const second = await propose(false);
    for (const truthful of [true, false]) {
      const at = await contracts.chain.rpc('evm_snapshot');
      await arbitrate(first, truthful);
      deepEqual((await settleOnOracle(first)).map(({ event }) => event), ['Transfer', 'Transfer', 'AssertionSettled']);
      equal((await proposalOf() as { assertionId: string }).assertionId, second);
      equal(await outcomeOf(), undefined);
      await contracts.chain.rpc('evm_revert', [at]);
    }
    await contracts.timeIs(await contracts.now() + WINDOW_S);
    await settle(1);
    equal(await outcomeOf(), 1n);
    deepEqual(await abandonRefused(), { error: 'MarketAlreadyResolved', args: { marketId } });
  });

  it('as its oracle is gone can be proposed anew when there is one again', async () => {
    const first = await propose(true);
    const { provider, rpc } = contracts.chain;
    const code = await provider.getCode(contracts.oracle.address);
    await rpc('anvil_setCode', [contracts.oracle.address, '0x5f5ffd']);
    await afterDelay();
    deepEqual(await abandon(), abandoned(first));
    await rpc('anvil_setCode', [contracts.oracle.address, code]);
    await propose(false);
    await settleOnOracle(first);
    equal(await outcomeOf(), undefined);
  });

  it('is not abandoned where the oracle can settle: it is settled', async () => {
    const lie = await propose(true);
    await dispute(lie, disputer.address);
    await arbitrate(lie, false);
    await afterDelay();
    deepEqual((await abandon()).map(({ event }) => event), ['Transfer', 'Transfer', 'ResolutionRejected', 'AssertionSettled']);
    await propose(false);
    await afterDelay();
    deepEqual((await abandon()).map(({ event }) => event), ['Transfer', 'ConditionResolution', 'MarketResolved', 'AssertionSettled']);
    equal(await outcomeOf(), 1n);
    equal(await contracts.read(contracts.usdc, 'balanceOf', [contracts.oracle.address]), 0n);
    equal(await contracts.read(contracts.usdc, 'balanceOf', [contracts.oracleResolver.address]), 0n * USDC);
  });
});
