/** Standard markets from expiration to payout on a real chain: whole lives by proposal, dispute, arbitration and settlement. */
import { deepEqual, equal } from 'node:assert/strict';
import { ZeroAddress, ZeroHash, hexlify, id, toUtf8Bytes, type HDNodeWallet } from 'ethers';
import { TEST_CHAIN_ID } from '../support/chain.js';
import {
  USDC, marketContracts, revertAfterEach, BOND, TYPES, expiringMarket, type ContractEvent, type MarketContracts, type Target, type signedResolutions,
} from '../support/market-contracts.js';

const QUESTION_ID = id('resolution');
const LIVENESS = 7_200;

describe('the resolution of a market', () => {
  let contracts: MarketContracts;
  let signed: ReturnType<typeof signedResolutions>;
  let proposer: HDNodeWallet, disputer: HDNodeWallet, settler: HDNodeWallet;
  let market: Target;
  let marketId: string;
  let expiration: number;

  before(async () => {
    contracts = await marketContracts();
    ({ signed, proposer, disputer, settler, market, marketId, expiration } = await expiringMarket(contracts, { question: 'resolution', allowance: BOND }));
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  const relayed = (method: string, args: readonly unknown[]) => contracts.send(contracts.admin, contracts.oracleResolver, method, args);
  const propose = async (outcome = true) => {
    const events = await relayed('proposeWithSig', await signed.proposal(proposer, market, { outcome, bondPermit: await signed.bondPermit(proposer) }));
    return String(events.find(({ event }) => event === 'ResolutionProposed')!.args['assertionId']);
  };
  const settle = async (winningOutcome = 0) => relayed('settleWithSig', await signed.settlement(settler, market, { winningOutcome }));
  const onOracle = (from: HDNodeWallet, method: string, ...args: unknown[]) => contracts.send(from, contracts.oracle, method, args);
  const balanceOf = async ({ address }: { address: string }) => await contracts.read(contracts.usdc, 'balanceOf', [address]) as bigint;
  const transfer = (from: string, to: string, value: bigint) => usdc('Transfer', { from, to, value });
  const usdc = (event: string, args: Record<string, unknown>) => ({ contract: 'TestUSDC', event, args });
  const resolver = (event: string, args: Record<string, unknown>) => ({ contract: 'OracleResolver', event, args });
  const conditionResolution = (payoutNumerators: bigint[]) => ({
    contract: 'ConditionalTokens', event: 'ConditionResolution',
    args: { conditionId: marketId, oracle: contracts.oracleResolver.address, questionId: QUESTION_ID, outcomeSlotCount: 2n, payoutNumerators },
  });
  const settled = (args: Record<string, unknown>) => ({ contract: 'OptimisticOracle', event: 'AssertionSettled', args });
  const outcomeOf = async () => await contracts.read(market, 'resolved') ? await contracts.read(market, 'winningOutcome') : undefined;

  it('has a domain and types that wallets can read', async () => {
    deepEqual(await contracts.read(contracts.oracleResolver, 'eip712Domain'), {
      fields: '0x0f', name: 'OracleResolver', version: '1', chainId: BigInt(TEST_CHAIN_ID), verifyingContract: contracts.oracleResolver.address, salt: ZeroHash,
      extensions: [],
    });
    equal(await contracts.read(contracts.oracleResolver, 'PROPOSE_TYPEHASH'), id(TYPES.propose));
    equal(await contracts.read(contracts.oracleResolver, 'SETTLE_TYPEHASH'), id(TYPES.settle));
    equal(await contracts.read(contracts.oracleResolver, 'nonceKey', [marketId]), BigInt(marketId) & (2n ** 192n - 1n));
  });

  it('goes undisputed: a proposal under its bond, two hours, a settlement, payouts', async () => {
    const time = expiration + 50;
    const [resolverAt, oracleAt] = [contracts.oracleResolver.address, contracts.oracle.address];
    const proposal = await signed.proposal(proposer, market, { bondPermit: await signed.bondPermit(proposer) });
    await contracts.nextBlockAt(time);
    const proposed = await relayed('proposeWithSig', proposal);
    const assertionId = String(proposed.at(-1)!.args['assertionId']);
    const claim = hexlify(toUtf8Bytes(
      `The outcome is YES for market ${marketId} on chain ${TEST_CHAIN_ID}.\nQuestion: Will it rain?\nDescription: In Bergen.`,
    ));
    const identifier = await contracts.read(contracts.oracle, 'defaultIdentifier');
    const expirationTime = BigInt(time + LIVENESS);
    deepEqual(proposed, [
      usdc('Approval', { owner: proposer.address, spender: resolverAt, value: BOND }),
      transfer(proposer.address, resolverAt, BOND),
      usdc('Approval', { owner: resolverAt, spender: oracleAt, value: BOND }),
      transfer(resolverAt, oracleAt, BOND),
      {
        contract: 'OptimisticOracle', event: 'AssertionMade',
        args: {
          assertionId, domainId: marketId, claim, asserter: proposer.address, callbackRecipient: resolverAt, escalationManager: ZeroAddress,
          caller: resolverAt, expirationTime, currency: contracts.usdc.address, bond: BOND, identifier,
        },
      },
      resolver('ResolutionProposed', {
        marketId, assertionId, proposer: proposer.address, outcome: true, bond: BOND, assertionTime: BigInt(time), expirationTime,
      }),
    ] satisfies ContractEvent[]);
    deepEqual(await contracts.read(contracts.oracleResolver, 'proposalOf', [marketId]), {
      assertionId, proposer: proposer.address, outcome: true, expirationTime,
    });
    equal(await outcomeOf(), undefined);

    await contracts.nextBlockAt(time + LIVENESS);
    deepEqual(await settle(), [
      transfer(oracleAt, proposer.address, BOND),
      conditionResolution([1n, 0n]),
      resolver('MarketResolved', { marketId, assertionId, winningOutcome: 0n }),
      settled({ assertionId, bondRecipient: proposer.address, disputed: false, settlementResolution: true, settleCaller: resolverAt }),
    ]);
    equal(await outcomeOf(), 0n);
    const firstNonce = await contracts.read(contracts.oracleResolver, 'nonceKey', [marketId]) as bigint << 64n;
    deepEqual([await signed.nonceOf(proposer.address, market), await signed.nonceOf(settler.address, market)], [firstNonce + 1n, firstNonce + 1n]);
    equal(await balanceOf(proposer), 1_000n * USDC);
    equal(await balanceOf(contracts.oracleResolver), 0n);
  });

  it('pays the winners and nobody else', async () => {
    await contracts.send(settler, contracts.usdc, 'approve', [contracts.tokens.address, 9n * USDC]);
    await contracts.send(settler, contracts.tokens, 'splitPosition', [contracts.usdc.address, ZeroHash, marketId, [1, 2], 9n * USDC]);
    await contracts.send(settler, contracts.tokens, 'safeTransferFrom', [settler.address, disputer.address, await contracts.read(market, 'noId'), 4n * USDC, '0x']);
    await propose(false);
    await contracts.timeIs(expiration + 2 * LIVENESS);
    await settle(1);
    for (const [holder, balance] of [[disputer, 1_004n], [settler, 996n]] as const) {
      await contracts.send(holder, contracts.tokens, 'redeemPositions', [contracts.usdc.address, ZeroHash, marketId, [1, 2]]);
      equal(await balanceOf(holder), balance * USDC);
    }
    equal(await balanceOf(contracts.tokens), 0n);
  });

  it('resolves when a disputed proposal is arbitrated as truthful, whoever settles it on the oracle', async () => {
    const assertionId = await propose(false);
    deepEqual((await onOracle(disputer, 'disputeAssertion', assertionId, disputer.address))[1],
      resolver('ResolutionDisputed', { marketId, assertionId, disputer: disputer.address }));
    await onOracle(contracts.admin, 'arbitrate', assertionId, true);
    deepEqual(await onOracle(settler, 'settleAssertion', assertionId), [
      transfer(contracts.oracle.address, contracts.admin.address, BOND / 2n),
      transfer(contracts.oracle.address, proposer.address, 2n * BOND - BOND / 2n),
      conditionResolution([0n, 1n]),
      resolver('MarketResolved', { marketId, assertionId, winningOutcome: 1n }),
      settled({ assertionId, bondRecipient: proposer.address, disputed: true, settlementResolution: true, settleCaller: settler.address }),
    ]);
    equal(await outcomeOf(), 1n);
  });

  it('resolves by signature when a disputed proposal is arbitrated as truthful, also before the two hours are over', async () => {
    const assertionId = await propose();
    await onOracle(disputer, 'disputeAssertion', assertionId, disputer.address);
    deepEqual(await contracts.refusal(contracts.admin, contracts.oracleResolver, 'settleWithSig', await signed.settlement(settler, market)), {
      error: 'AssertionNotArbitrated', args: { assertionId },
    });
    await onOracle(contracts.admin, 'arbitrate', assertionId, true);
    deepEqual((await settle()).filter(({ contract }) => contract === 'OracleResolver'), [
      resolver('MarketResolved', { marketId, assertionId, winningOutcome: 0n }),
    ]);
    equal(await outcomeOf(), 0n);
  });

  it('makes room for another proposal when one is arbitrated as untruthful', async () => {
    const first = await propose(true);
    await onOracle(disputer, 'disputeAssertion', first, disputer.address);
    await onOracle(contracts.admin, 'arbitrate', first, false);
    const rejected = (settleCaller: string) => [
      transfer(contracts.oracle.address, contracts.admin.address, BOND / 2n),
      transfer(contracts.oracle.address, disputer.address, 2n * BOND - BOND / 2n),
      resolver('ResolutionRejected', { marketId, assertionId: first }),
      settled({ assertionId: first, bondRecipient: disputer.address, disputed: true, settlementResolution: false, settleCaller }),
    ];
    const before = await contracts.chain.rpc('evm_snapshot');
    deepEqual(await settle(), rejected(contracts.oracleResolver.address), 'by signature');
    await contracts.chain.rpc('evm_revert', [before]);
    deepEqual(await onOracle(settler, 'settleAssertion', first), rejected(settler.address), 'on the oracle itself');
    equal(await outcomeOf(), undefined);
    deepEqual(await contracts.read(contracts.oracleResolver, 'proposalOf', [marketId]), {
      assertionId: ZeroHash, proposer: ZeroAddress, outcome: false, expirationTime: 0n,
    });
    deepEqual(await contracts.refusal(contracts.admin, contracts.oracleResolver, 'settleWithSig', await signed.settlement(settler, market)), {
      error: 'NoProposal', args: { marketId },
    });

    const second = await propose(false);
    await contracts.timeIs(expiration + 2 * LIVENESS);
    deepEqual((await settle(1)).filter(({ contract }) => contract === 'OracleResolver'), [
      resolver('MarketResolved', { marketId, assertionId: second, winningOutcome: 1n }),
    ]);
    equal(await outcomeOf(), 1n);
  });

  it('resolves when somebody settles the undisputed assertion on the oracle itself; a signed settlement then has nothing to do', async () => {
    const assertionId = await propose();
    const settlement = await signed.settlement(settler, market);
    await contracts.timeIs(expiration + 2 * LIVENESS);
    const events = await onOracle(disputer, 'settleAssertion', assertionId);
    deepEqual(events.slice(1, 3), [conditionResolution([1n, 0n]), resolver('MarketResolved', { marketId, assertionId, winningOutcome: 0n })]);
    deepEqual(await contracts.refusal(contracts.admin, contracts.oracleResolver, 'settleWithSig', settlement), {
      error: 'MarketAlreadyResolved', args: { marketId },
    });
  });

  it('does not hold up the oracle when the tokens refuse the payouts: the signed settlement reports them later', async () => {
    const assertionId = await propose();
    await contracts.timeIs(expiration + 2 * LIVENESS);
    const { provider, rpc } = contracts.chain;
    const code = await provider.getCode(contracts.tokens.address);
    await rpc('anvil_setCode', [contracts.tokens.address, '0x5f5ffd']);
    deepEqual((await onOracle(disputer, 'settleAssertion', assertionId)).map(({ event }) => event), ['Transfer', 'AssertionSettled']);
    await rpc('anvil_setCode', [contracts.tokens.address, code]);
    equal(await outcomeOf(), undefined);
    deepEqual(await contracts.refusal(contracts.admin, contracts.oracleResolver, 'proposeWithSig', await signed.proposal(proposer, market)), {
      error: 'ProposalPending', args: { assertionId },
    });
    deepEqual(await settle(), [conditionResolution([1n, 0n]), resolver('MarketResolved', { marketId, assertionId, winningOutcome: 0n })]);
    equal(await outcomeOf(), 0n);
  });

  it('passes over an assertion that somebody else made with the resolver as its recipient', async () => {
    await contracts.send(disputer, contracts.usdc, 'approve', [contracts.oracle.address, 3n * BOND]);
    for (const truthful of [true, false]) {
      const made = await onOracle(disputer, 'assertTruth', hexlify(toUtf8Bytes(`stray, ${truthful}`)), disputer.address, contracts.oracleResolver.address, ZeroAddress,
        LIVENESS, contracts.usdc.address, BOND / 2n, await contracts.read(contracts.oracle, 'defaultIdentifier'), marketId);
      const assertionId = made.at(-1)!.args['assertionId'];
      const disputed = await onOracle(disputer, 'disputeAssertion', assertionId, disputer.address);
      await onOracle(contracts.admin, 'arbitrate', assertionId, truthful);
      const events = await onOracle(settler, 'settleAssertion', assertionId);
      deepEqual([...disputed, ...events].map(({ event }) => event), ['Transfer', 'AssertionDisputed', 'Transfer', 'Transfer', 'AssertionSettled']);
    }
    equal(await outcomeOf(), undefined);
  });
});
