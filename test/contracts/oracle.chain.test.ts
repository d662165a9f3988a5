/** OptimisticOracle on a real chain: the interface of UMA's Optimistic Oracle V3, its rules of time and bonds, and every refusal. */
import { deepEqual, equal } from 'node:assert/strict';
import { AbiCoder, ZeroAddress, ZeroHash, encodeBytes32String, hexlify, id, keccak256, toUtf8Bytes, type HDNodeWallet } from 'ethers';
import { MINIMUM_BOND, USDC, marketContracts, revertAfterEach, type ContractEvent, type MarketContracts } from '../support/market-contracts.js';

const CLAIM = hexlify(toUtf8Bytes('Water is wet.'));
const IDENTIFIER = encodeBytes32String('ASSERT_TRUTH');
const DOMAIN = id('a domain');
const LIVENESS = 3_600n;
const BOND = 7n * USDC;

describe('the optimistic oracle', () => {
  let contracts: MarketContracts;
  let asserter: HDNodeWallet;
  let disputer: HDNodeWallet;
  let caller: HDNodeWallet;

  before(async () => {
    contracts = await marketContracts();
    [asserter, disputer, caller] = contracts.traders;
    for (const trader of contracts.traders) await contracts.send(trader, contracts.usdc, 'approve', [contracts.oracle.address, 100n * USDC]);
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  type Field = 'claim' | 'asserter' | 'recipient' | 'manager' | 'liveness' | 'currency' | 'bond' | 'identifier' | 'domain';
  const assertion = (changes: Partial<Record<Field, unknown>> = {}) => Object.values({
    claim: CLAIM, asserter: asserter.address, recipient: ZeroAddress, manager: ZeroAddress, liveness: LIVENESS, currency: contracts.usdc.address,
    bond: BOND, identifier: IDENTIFIER, domain: DOMAIN, ...changes,
  });
  const sent = (from: HDNodeWallet, method: string, ...args: unknown[]) => contracts.send(from, contracts.oracle, method, args);
  const refused = (from: HDNodeWallet, method: string, ...args: unknown[]) => contracts.refusal(from, contracts.oracle, method, args);
  const assertTruth = async () => assertionIdOf(await sent(caller, 'assertTruth', ...assertion()));
  const balances = async () => Promise.all([asserter, disputer, caller, contracts.admin, contracts.oracle].map(
    async ({ address }) => await contracts.read(contracts.usdc, 'balanceOf', [address]) as bigint,
  ));
  /** What changed for the asserter, the disputer, the caller, the owner and the oracle. */
  const changed = async (act: () => Promise<unknown>) => {
    const before = await balances();
    await act();
    return (await balances()).map((balance, index) => balance - before[index]!);
  };
  const transfer = (from: string, to: string, value: bigint) => ({ contract: 'TestUSDC', event: 'Transfer', args: { from, to, value } });
  const past = async (seconds: bigint) => contracts.timeIs(await contracts.now() + Number(seconds));

  it('has the functions and events of UMA\'s, name for name and type for type', () => {
    const { abi } = contracts.oracle;
    deepEqual([
      'assertTruth', 'assertTruthWithDefaults', 'disputeAssertion', 'settleAssertion', 'settleAndGetAssertionResult', 'getAssertionResult', 'getAssertion',
      'getMinimumBond', 'defaultIdentifier',
    ].map((name) => abi.getFunction(name)!.format('sighash')), [
      'assertTruth(bytes,address,address,address,uint64,address,uint256,bytes32,bytes32)', 'assertTruthWithDefaults(bytes,address)',
      'disputeAssertion(bytes32,address)', 'settleAssertion(bytes32)', 'settleAndGetAssertionResult(bytes32)', 'getAssertionResult(bytes32)',
      'getAssertion(bytes32)', 'getMinimumBond(address)', 'defaultIdentifier()',
    ]);
    equal(abi.getFunction('getAssertion')!.outputs[0]!.format('sighash'),
      '((bool,bool,bool,address,address),address,uint64,bool,address,uint64,bool,bytes32,bytes32,uint256,address,address)');
    // As the deployed oracles of UMA emit them.
    deepEqual(['AssertionMade', 'AssertionDisputed', 'AssertionSettled'].map((name) => abi.getEvent(name)!.topicHash), [
      '0xdb1513f0abeb57a364db56aa3eb52015cca5268f00fd67bc73aaf22bccab02b7', '0x60133788b013c89f2a3756dbc47e3484997b87bd7e0af98a7d70232032c1ce2b',
      '0xf4fa324b13daeb4e1aae736c2553632ae0fb16fb31f2d4da8ac99fd056313a13',
    ]);
    deepEqual(['AssertionMade', 'AssertionDisputed', 'AssertionSettled'].map((name) => abi.getEvent(name)!.inputs.map(({ indexed }) => Number(indexed))), [
      [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1], [1, 1, 0, 0, 0],
    ]);
  });

  it('takes an assertion with the caller\'s bond', async () => {
    const time = BigInt(await contracts.now() + 100);
    await contracts.nextBlockAt(Number(time));
    const events = await sent(caller, 'assertTruth', ...assertion());
    const assertionId = keccak256(AbiCoder.defaultAbiCoder().encode(
      ['bytes', 'uint256', 'uint256', 'uint64', 'address', 'address', 'address', 'bytes32', 'address'],
      [CLAIM, BOND, time, LIVENESS, contracts.usdc.address, ZeroAddress, ZeroAddress, IDENTIFIER, caller.address],
    ));
    deepEqual(events, [
      transfer(caller.address, contracts.oracle.address, BOND),
      {
        contract: 'OptimisticOracle', event: 'AssertionMade',
        args: {
          assertionId, domainId: DOMAIN, claim: CLAIM, asserter: asserter.address, callbackRecipient: ZeroAddress, escalationManager: ZeroAddress,
          caller: caller.address, expirationTime: time + LIVENESS, currency: contracts.usdc.address, bond: BOND, identifier: IDENTIFIER,
        },
      },
    ]);
    deepEqual(await contracts.read(contracts.oracle, 'getAssertion', [assertionId]), {
      escalationManagerSettings: {
        arbitrateViaEscalationManager: false, discardOracle: false, validateDisputers: false,
        assertingCaller: caller.address, escalationManager: ZeroAddress,
      },
      asserter: asserter.address, assertionTime: time, settled: false, currency: contracts.usdc.address, expirationTime: time + LIVENESS,
      settlementResolution: false, domainId: DOMAIN, identifier: IDENTIFIER, bond: BOND, callbackRecipient: ZeroAddress, disputer: ZeroAddress,
    });
    // eth_call sees the same second, so the same claim would get the same id.
    deepEqual(await refused(caller, 'assertTruth', ...assertion()), { error: 'AssertionAlreadyExists', args: { assertionId } });
  });

  it('takes an assertion with the defaults', async () => {
    const [, made] = await sent(caller, 'assertTruthWithDefaults', CLAIM, asserter.address);
    const { assertionId, ...args } = made!.args;
    deepEqual(args, {
      domainId: ZeroHash, claim: CLAIM, asserter: asserter.address, callbackRecipient: ZeroAddress, escalationManager: ZeroAddress,
      caller: caller.address, expirationTime: BigInt(await contracts.now()) + 7_200n, currency: contracts.usdc.address, bond: MINIMUM_BOND,
      identifier: IDENTIFIER,
    });
    equal((await contracts.read(contracts.oracle, 'getAssertion', [assertionId]) as { bond: bigint }).bond, MINIMUM_BOND);
    equal(await contracts.read(contracts.oracle, 'defaultIdentifier'), IDENTIFIER);
    equal(await contracts.read(contracts.oracle, 'getMinimumBond', [contracts.usdc.address]), MINIMUM_BOND);
    equal(await contracts.read(contracts.oracle, 'getMinimumBond', [contracts.tokens.address]), 0n);
  });

  it('refuses an assertion that it could not handle', async () => {
    const cases: [Partial<Record<Field, unknown>>, string, Record<string, unknown>][] = [
      [{ asserter: ZeroAddress }, 'AsserterIsZero', {}],
      [{ manager: asserter.address }, 'EscalationManagerUnsupported', { escalationManager: asserter.address }],
      [{ identifier: ZeroHash }, 'UnsupportedIdentifier', { identifier: ZeroHash }],
      [{ currency: contracts.tokens.address }, 'UnsupportedCurrency', { currency: contracts.tokens.address }],
      [{ bond: MINIMUM_BOND - 1n }, 'BondTooLow', { bond: MINIMUM_BOND - 1n, minimumBond: MINIMUM_BOND }],
      [{ bond: 101n * USDC }, 'ERC20InsufficientAllowance', { spender: contracts.oracle.address, allowance: 100n * USDC, needed: 101n * USDC }],
    ];
    for (const [changes, error, args] of cases) deepEqual(await refused(caller, 'assertTruth', ...assertion(changes)), { error, args });
  });

  it('gives an undisputed asserter the bond back, from the expiration on', async () => {
    const assertionId = await assertTruth();
    const expirationTime = BigInt(await contracts.now()) + LIVENESS;
    await contracts.timeIs(Number(expirationTime) - 1);
    deepEqual(await refused(caller, 'settleAssertion', assertionId), { error: 'AssertionNotExpired', args: { expirationTime } });
    deepEqual(await refused(caller, 'getAssertionResult', assertionId), { error: 'AssertionNotSettled', args: { assertionId } });
    await contracts.nextBlockAt(Number(expirationTime));
    let events: ContractEvent[] = [];
    deepEqual(await changed(async () => { events = await sent(disputer, 'settleAssertion', assertionId); }), [BOND, 0n, 0n, 0n, -BOND]);
    deepEqual(events, [
      transfer(contracts.oracle.address, asserter.address, BOND),
      {
        contract: 'OptimisticOracle', event: 'AssertionSettled',
        args: { assertionId, bondRecipient: asserter.address, disputed: false, settlementResolution: true, settleCaller: disputer.address },
      },
    ]);
    equal(await contracts.read(contracts.oracle, 'getAssertionResult', [assertionId]), true);
    deepEqual(await refused(caller, 'settleAssertion', assertionId), { error: 'AssertionAlreadySettled', args: { assertionId } });
    equal(await contracts.read(contracts.oracle, 'settleAndGetAssertionResult', [assertionId]), true);
  });

  for (const truthful of [true, false]) {
    it(`gives the winner of a dispute both bonds without the fee: ${truthful ? 'the asserter' : 'the disputer'}`, async () => {
      const assertionId = await assertTruth();
      await contracts.nextBlockAt(await contracts.now() + Number(LIVENESS) - 1);
      deepEqual(await sent(caller, 'disputeAssertion', assertionId, disputer.address), [
        transfer(caller.address, contracts.oracle.address, BOND),
        { contract: 'OptimisticOracle', event: 'AssertionDisputed', args: { assertionId, caller: caller.address, disputer: disputer.address } },
      ]);
      await past(LIVENESS);
      deepEqual(await refused(caller, 'settleAssertion', assertionId), { error: 'AssertionNotArbitrated', args: { assertionId } });
      deepEqual(await sent(contracts.admin, 'arbitrate', assertionId, truthful), [
        { contract: 'OptimisticOracle', event: 'AssertionArbitrated', args: { assertionId, truthful } },
      ]);
      equal(await contracts.read(contracts.oracle, 'arbitrations', [assertionId]), truthful ? 2n : 1n);
      const fee = BOND / 2n;
      const [won, lost] = truthful ? [2n * BOND - fee, 0n] : [0n, 2n * BOND - fee];
      let events: ContractEvent[] = [];
      deepEqual(await changed(async () => { events = await sent(caller, 'settleAndGetAssertionResult', assertionId); }), [won, lost, 0n, fee, -2n * BOND]);
      const bondRecipient = (truthful ? asserter : disputer).address;
      deepEqual(events, [
        transfer(contracts.oracle.address, contracts.admin.address, fee),
        transfer(contracts.oracle.address, bondRecipient, 2n * BOND - fee),
        {
          contract: 'OptimisticOracle', event: 'AssertionSettled',
          args: { assertionId, bondRecipient, disputed: true, settlementResolution: truthful, settleCaller: caller.address },
        },
      ]);
      equal(await contracts.read(contracts.oracle, 'getAssertionResult', [assertionId]), truthful);
    });
  }

  it('settles a dispute as soon as it is arbitrated', async () => {
    const assertionId = await assertTruth();
    await sent(caller, 'disputeAssertion', assertionId, disputer.address);
    await sent(contracts.admin, 'arbitrate', assertionId, false);
    await sent(caller, 'settleAssertion', assertionId);
    equal(await contracts.read(contracts.oracle, 'getAssertionResult', [assertionId]), false);
  });

  it('refuses a dispute that is late, for the zero address, without a bond, or of an unknown assertion', async () => {
    const assertionId = await assertTruth();
    const expirationTime = BigInt(await contracts.now()) + LIVENESS;
    deepEqual(await refused(caller, 'disputeAssertion', assertionId, ZeroAddress), { error: 'DisputerIsZero', args: {} });
    deepEqual(await refused(caller, 'disputeAssertion', ZeroHash, disputer.address), { error: 'AssertionDoesNotExist', args: { assertionId: ZeroHash } });
    deepEqual(await refused(contracts.admin, 'disputeAssertion', assertionId, disputer.address), {
      error: 'ERC20InsufficientAllowance', args: { spender: contracts.oracle.address, allowance: 0n, needed: BOND },
    });
    await contracts.timeIs(Number(expirationTime));
    deepEqual(await refused(caller, 'disputeAssertion', assertionId, disputer.address), { error: 'AssertionIsExpired', args: { expirationTime } });
  });

  it('refuses what does not follow from a dispute', async () => {
    const assertionId = await assertTruth();
    deepEqual(await refused(contracts.admin, 'arbitrate', assertionId, true), { error: 'AssertionNotDisputed', args: { assertionId } });
    deepEqual(await refused(contracts.admin, 'arbitrate', ZeroHash, true), { error: 'AssertionDoesNotExist', args: { assertionId: ZeroHash } });
    deepEqual(await refused(caller, 'settleAssertion', ZeroHash), { error: 'AssertionDoesNotExist', args: { assertionId: ZeroHash } });
    await sent(caller, 'disputeAssertion', assertionId, disputer.address);
    deepEqual(await refused(caller, 'disputeAssertion', assertionId, caller.address), { error: 'AssertionAlreadyDisputed', args: { assertionId } });
    deepEqual(await refused(disputer, 'arbitrate', assertionId, false), { error: 'OwnableUnauthorizedAccount', args: { account: disputer.address } });
    await sent(contracts.admin, 'arbitrate', assertionId, true);
    deepEqual(await refused(contracts.admin, 'arbitrate', assertionId, false), { error: 'AssertionAlreadyArbitrated', args: { assertionId } });
  });

  it('asks for another bond, or takes the currency no more, when its owner says so; what is asserted goes on', async () => {
    const assertionId = await assertTruth();
    deepEqual(await sent(contracts.admin, 'setParameters', BOND, false), [
      { contract: 'OptimisticOracle', event: 'ParametersSet', args: { finalFee: BOND, isCurrencyWhitelisted: false } },
    ]);
    const unsupported = { error: 'UnsupportedCurrency', args: { currency: contracts.usdc.address } };
    deepEqual(await refused(caller, 'assertTruth', ...assertion({ claim: '0x01', bond: 2n * BOND })), unsupported);
    equal(await contracts.read(contracts.oracle, 'getMinimumBond', [contracts.usdc.address]), 2n * BOND);
    await past(LIVENESS);
    await sent(caller, 'settleAssertion', assertionId);
    await sent(contracts.admin, 'setParameters', BOND, true);
    deepEqual(await refused(caller, 'assertTruth', ...assertion()), { error: 'BondTooLow', args: { bond: BOND, minimumBond: 2n * BOND } });
    await sent(caller, 'assertTruth', ...assertion({ bond: 2n * BOND }));
    deepEqual(await refused(disputer, 'setParameters', 0n, true), { error: 'OwnableUnauthorizedAccount', args: { account: disputer.address } });
  });
});

function assertionIdOf(events: readonly ContractEvent[]): unknown {
  return events.find(({ event }) => event === 'AssertionMade')!.args['assertionId'];
}
