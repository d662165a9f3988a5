/** What OracleResolver refuses on a real chain: signatures, deadlines, nonces, bonds, markets, proposers and callers that are not in order. */
import { deepEqual, equal } from 'node:assert/strict';
import { ZeroAddress, ZeroHash, id, toBeHex, type HDNodeWallet } from 'ethers';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import {
  USDC, marketContracts, revertAfterEach, targetAt, BOND, FAR, NO_PERMIT, signedResolutions, type Arguments, type MarketContracts, type Target,
} from '../support/market-contracts.js';

const LIVENESS = 7_200;
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe('the oracle resolver', () => {
  let contracts: MarketContracts;
  let signed: ReturnType<typeof signedResolutions>;
  let proposer: HDNodeWallet;
  let disputer: HDNodeWallet;
  let settler: HDNodeWallet;
  let market: Target;
  let other: Target;
  let expiration: number;

  before(async () => {
    contracts = await marketContracts();
    signed = signedResolutions(contracts);
    [proposer, disputer, settler] = contracts.traders;
    expiration = await contracts.now() + 1_000;
    market = await createMarket({ question: 'one' });
    other = await createMarket({ question: 'other' });
    await contracts.send(disputer, contracts.usdc, 'approve', [contracts.oracle.address, 5n * BOND]);
    await contracts.send(proposer, contracts.usdc, 'approve', [contracts.oracleResolver.address, 2n * BOND]);
    await contracts.timeIs(expiration);
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  const createMarket = async ({ question, at = expiration, factory = contracts.factory }: { question: string; at?: number; factory?: Target }) => {
    const events = await contracts.send(contracts.admin, factory, 'createMarket', [id(question), question, '', 3, at, BOND]);
    return targetAt('Market', String(events.find(({ event }) => event === 'MarketCreated')!.args['market']), marketArtifact);
  };
  const relayed = (method: string, args: Arguments) => contracts.send(contracts.admin, contracts.oracleResolver, method, args);
  const refused = (method: string, args: Arguments) => contracts.refusal(contracts.admin, contracts.oracleResolver, method, args);
  const propose = async (args?: Arguments) => {
    const events = await relayed('proposeWithSig', args ?? await signed.proposal(proposer, market));
    return String(events.find(({ event }) => event === 'ResolutionProposed')!.args['assertionId']);
  };
  const replaced = (args: Arguments, index: number, value: unknown) => args.map((old, at) => at === index ? value : old);
  /** The same signature with the other s: ecrecover takes both. */
  const malleable = (args: Arguments) => args.map((value, at) =>
    at === 4 ? 55 - (value as number) : at === 6 ? toBeHex(CURVE_ORDER - BigInt(value as string), 32) : value);

  it('takes a proposal from the expiration on', async () => {
    const at = expiration + 5_000;
    const later = await createMarket({ question: 'later', at });
    const proposal = await signed.proposal(proposer, later);
    await contracts.timeIs(at - 1);
    deepEqual(await refused('proposeWithSig', proposal), { error: 'MarketNotExpired', args: { expiration: BigInt(at) } });
    await contracts.nextBlockAt(at);
    await propose(proposal);
  });

  it('takes one proposal at a time, and none of a resolved market', async () => {
    const assertionId = await propose();
    const again = await signed.proposal(disputer, market, { outcome: false });
    deepEqual(await refused('proposeWithSig', again), { error: 'ProposalPending', args: { assertionId } });
    await contracts.send(disputer, contracts.oracle, 'disputeAssertion', [assertionId, disputer.address]);
    deepEqual(await refused('proposeWithSig', again), { error: 'ProposalPending', args: { assertionId } });
    await contracts.send(contracts.admin, contracts.oracle, 'arbitrate', [assertionId, true]);
    await contracts.send(settler, contracts.oracle, 'settleAssertion', [assertionId]);
    const marketId = await contracts.read(market, 'marketId');
    deepEqual(await refused('proposeWithSig', again), { error: 'MarketAlreadyResolved', args: { marketId } });
    deepEqual(await refused('settleWithSig', await signed.settlement(settler, market)), { error: 'MarketAlreadyResolved', args: { marketId } });
    // The other market is as free as before.
    await propose(await signed.proposal(proposer, other));
  });

  it('settles for the proposed outcome only, and when the dispute window has passed', async () => {
    deepEqual(await refused('settleWithSig', await signed.settlement(settler, market)), {
      error: 'NoProposal', args: { marketId: await contracts.read(market, 'marketId') },
    });
    await propose();
    const expirationTime = await contracts.now() + LIVENESS;
    await contracts.timeIs(expirationTime - 1);
    deepEqual(await refused('settleWithSig', await signed.settlement(settler, market)), {
      error: 'DisputeWindowOpen', args: { expirationTime: BigInt(expirationTime) },
    });
    await contracts.timeIs(expirationTime);
    for (const winningOutcome of [1, 2, 255]) {
      deepEqual(await refused('settleWithSig', await signed.settlement(settler, market, { winningOutcome })), {
        error: 'WrongOutcome', args: { proposed: 0n, given: BigInt(winningOutcome) },
      });
    }
    await relayed('settleWithSig', await signed.settlement(settler, market));
  });

  it('takes markets of its own factory that it has to resolve', async () => {
    const foreign = await contracts.deploy('AnotherFactory', marketFactory, [
      contracts.tokens.address, contracts.usdc.address, contracts.oracle.address, LIVENESS, contracts.admin.address, 0,
    ]);
    await contracts.send(contracts.admin, foreign, 'grantRole', [id('CREATOR_ROLE'), contracts.admin.address]);
    const at = expiration + 5_000;
    const another = await createMarket({ question: 'foreign', at, factory: foreign });
    const events = await contracts.send(contracts.admin, contracts.factory, 'createQuickMarket', [id('quick'), 'BTC', at - 900, at]);
    const quick = targetAt('Market', String(events.at(-2)!.args['market']), marketArtifact);
    const nobody = replaced(await signed.proposal(proposer, market), 0, proposer.address);
    for (const [method, args] of [
      ['proposeWithSig', await signed.proposal(proposer, another)], ['settleWithSig', await signed.settlement(settler, another)],
    ] as const) {
      deepEqual(await refused(method, args), { error: 'UnknownMarket', args: { market: another.address } });
      deepEqual(await refused(method, replaced(args, 0, quick.address)), {
        error: 'NotResolver', args: { market: quick.address, resolver: contracts.quickResolver.address },
      });
    }
    deepEqual(await refused('proposeWithSig', nobody), { error: 'UnknownMarket', args: { market: proposer.address } });
  });

  it('refuses a proposal of which any field is not what was signed', async () => {
    const nonce = await signed.nonceOf(proposer.address, market);
    const message = { market: market.address, proposer: proposer.address, outcome: true, bond: BOND, nonce, deadline: FAR };
    for (const change of [
      { market: other.address }, { proposer: settler.address }, { outcome: false }, { bond: BOND - 1n }, { nonce: nonce + 1n },
      { deadline: FAR + 1n },
    ]) {
      const args = await signed.proposal(proposer, market, { signed: change });
      deepEqual(await refused('proposeWithSig', args), {
        error: 'InvalidSigner', args: { signer: signed.proposerOf(message, args), expected: proposer.address },
      });
    }
  });

  it('refuses a settlement of which any field is not what was signed', async () => {
    await propose();
    await contracts.timeIs(await contracts.now() + LIVENESS);
    const nonce = await signed.nonceOf(settler.address, market);
    const message = { market: market.address, settler: settler.address, winningOutcome: 0, nonce, deadline: FAR };
    for (const change of [
      { market: other.address }, { settler: proposer.address }, { winningOutcome: 1 }, { nonce: nonce + 1n }, { deadline: FAR + 1n },
    ]) {
      const args = await signed.settlement(settler, market, { signed: change });
      deepEqual(await refused('settleWithSig', args), {
        error: 'InvalidSigner', args: { signer: signed.settlerOf(message, args), expected: settler.address },
      });
    }
  });

  it('refuses signatures that are none, also for the zero address', async () => {
    const proposal = await signed.proposal(proposer, market);
    const settlement = await signed.settlement(settler, market);
    const invalid = (signer: string, expected: string) => ({ error: 'InvalidSigner', args: { signer, expected } });
    deepEqual(await refused('proposeWithSig', malleable(proposal)), invalid(ZeroAddress, proposer.address));
    deepEqual(await refused('proposeWithSig', replaced(proposal, 4, 26)), invalid(ZeroAddress, proposer.address));
    deepEqual(await refused('proposeWithSig', replaced(replaced(proposal, 4, 0), 1, ZeroAddress)), invalid(ZeroAddress, ZeroAddress));
    await propose(proposal);
    await contracts.timeIs(await contracts.now() + LIVENESS);
    deepEqual(await refused('settleWithSig', malleable(settlement)), invalid(ZeroAddress, settler.address));
    deepEqual(await refused('settleWithSig', replaced(replaced(settlement, 4, 0), 1, ZeroAddress)), invalid(ZeroAddress, ZeroAddress));
  });

  it('takes signatures up to their deadline', async () => {
    const deadline = await contracts.now() + 100;
    const proposal = await signed.proposal(proposer, market, { deadline: BigInt(deadline) });
    const late = { error: 'ExpiredSignature', args: { deadline: BigInt(deadline) } };
    const before = await contracts.chain.rpc('evm_snapshot');
    await contracts.timeIs(deadline + 1);
    deepEqual(await refused('proposeWithSig', proposal), late);
    await contracts.chain.rpc('evm_revert', [before]);
    await contracts.nextBlockAt(deadline);
    await propose(proposal);

    const closing = deadline + LIVENESS;
    const settlement = await signed.settlement(settler, market, { deadline: BigInt(closing) });
    const open = await contracts.chain.rpc('evm_snapshot');
    await contracts.timeIs(closing + 1);
    deepEqual(await refused('settleWithSig', settlement), { error: 'ExpiredSignature', args: { deadline: BigInt(closing) } });
    await contracts.chain.rpc('evm_revert', [open]);
    await contracts.nextBlockAt(closing);
    await relayed('settleWithSig', settlement);
  });

  it('takes a signature once, and counts each market for itself', async () => {
    const key = BigInt(String(await contracts.read(market, 'marketId'))) % 2n ** 192n;
    equal(await signed.nonceOf(proposer.address, market), key << 64n);
    const proposal = await signed.proposal(proposer, market);
    const elsewhere = await signed.proposal(proposer, other);
    const first = await propose(proposal);
    await propose(elsewhere);
    equal(await signed.nonceOf(proposer.address, market), (key << 64n) + 1n);
    await contracts.send(disputer, contracts.oracle, 'disputeAssertion', [first, disputer.address]);
    await contracts.send(contracts.admin, contracts.oracle, 'arbitrate', [first, false]);
    await contracts.send(settler, contracts.oracle, 'settleAssertion', [first]);
    const message = { market: market.address, proposer: proposer.address, outcome: true, bond: BOND, nonce: (key << 64n) + 1n, deadline: FAR };
    deepEqual(await refused('proposeWithSig', proposal), {
      error: 'InvalidSigner', args: { signer: signed.proposerOf(message, proposal), expected: proposer.address },
    });
  });

  it('lets a signer take back what nobody has sent yet, for one market', async () => {
    const [proposal, elsewhere] = [await signed.proposal(proposer, market), await signed.proposal(proposer, other)];
    const key = await contracts.read(contracts.oracleResolver, 'nonceKey', [await contracts.read(market, 'marketId')]) as bigint;
    deepEqual(await contracts.send(proposer, contracts.oracleResolver, 'revokeKeyedNonce', [key]), [
      { contract: 'OracleResolver', event: 'NonceRevoked', args: { owner: proposer.address, nonce: key << 64n } },
    ]);
    equal((await refused('proposeWithSig', proposal)).error, 'InvalidSigner');
    await propose(elsewhere);
    await propose();
  });

  it('pulls the market\'s bond by the allowance or by the permit that comes along', async () => {
    const unpaid = { error: 'ERC20InsufficientAllowance', args: { spender: contracts.oracleResolver.address, allowance: 0n, needed: BOND } };
    deepEqual(await refused('proposeWithSig', await signed.proposal(settler, market)), unpaid);
    // A permit of another value is another message: it does not count.
    const less = await signed.bondPermit(settler, { value: BOND - 1n });
    deepEqual(await refused('proposeWithSig', await signed.proposal(settler, market, { bondPermit: less })), unpaid);
    const late = await signed.bondPermit(settler, { deadline: BigInt(expiration) - 1n });
    deepEqual(await refused('proposeWithSig', await signed.proposal(settler, market, { bondPermit: late })), unpaid);
    await contracts.send(settler, contracts.usdc, 'transfer', [disputer.address, 1_000n * USDC]);
    const good = await signed.proposal(settler, market, { bondPermit: await signed.bondPermit(settler) });
    deepEqual(await refused('proposeWithSig', good), {
      error: 'ERC20InsufficientBalance', args: { sender: settler.address, balance: 0n, needed: BOND },
    });
    await contracts.send(disputer, contracts.usdc, 'transfer', [settler.address, BOND]);
    await propose(good);
    equal(await contracts.read(contracts.usdc, 'balanceOf', [settler.address]), 0n);
  });

  it('does not mind a permit that somebody brought first, or a bad one where the allowance is there', async () => {
    const permit = await signed.bondPermit(settler);
    const proposal = await signed.proposal(settler, market, { bondPermit: permit });
    const { v, r, s } = permit;
    await contracts.send(disputer, contracts.usdc, 'permit', [settler.address, contracts.oracleResolver.address, BOND, permit.deadline, v, r, s]);
    await propose(proposal);
    await propose(await signed.proposal(proposer, other, { bondPermit: { ...NO_PERMIT, deadline: FAR } }));
  });

  it('can be limited to named proposers, and opened again', async () => {
    const role = id('PROPOSER_ROLE');
    const proposal = await signed.proposal(proposer, market);
    deepEqual(await contracts.send(contracts.admin, contracts.oracleResolver, 'revokeRole', [role, ZeroAddress]), [
      { contract: 'OracleResolver', event: 'RoleRevoked', args: { role, account: ZeroAddress, sender: contracts.admin.address } },
    ]);
    deepEqual(await refused('proposeWithSig', proposal), { error: 'ProposerNotAllowed', args: { proposer: proposer.address } });
    const limited = await contracts.chain.rpc('evm_snapshot');
    await relayed('grantRole', [role, proposer.address]);
    await propose(proposal);
    await contracts.chain.rpc('evm_revert', [limited]);
    await relayed('grantRole', [role, ZeroAddress]);
    await propose(proposal);
    deepEqual(await contracts.refusal(proposer, contracts.oracleResolver, 'grantRole', [role, proposer.address]), {
      error: 'AccessControlUnauthorizedAccount', args: { account: proposer.address, neededRole: ZeroHash },
    });
  });

  it('hears its oracle only', async () => {
    const assertionId = await propose();
    const notOracle = { error: 'NotOracle', args: { caller: contracts.admin.address } };
    deepEqual(await refused('assertionResolvedCallback', [assertionId, true]), notOracle);
    deepEqual(await refused('assertionDisputedCallback', [assertionId]), notOracle);
    equal(await contracts.read(contracts.oracleResolver, 'marketOfAssertion', [assertionId]), market.address);
    equal(await contracts.read(contracts.oracleResolver, 'marketOfAssertion', [ZeroHash]), ZeroAddress);
  });
});
