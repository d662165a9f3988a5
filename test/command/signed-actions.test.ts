/** The table of signed actions, against ethers' own encoder: types, domains, digests and packed nonces. */
import assert from 'node:assert/strict';
import { TypedDataEncoder, hexlify, id } from 'ethers';
import { prepareAction, type ActionMessage } from '../../command/signing/action-digest.js';
import { createKeccak256, type Keccak256 } from '../../command/signing/typed-data.js';
import {
  counterOf, nonceKey, nonceMeanings, signedActions, signingDomains, type MemberType, type SignedActionName,
} from '../../command/signing/signed-actions.js';

const contracts = {
  settlement: `0x${'51'.repeat(20)}`, conditionalTokens: `0x${'c7'.repeat(20)}`, collateral: `0x${'dc'.repeat(20)}`, oracleResolver: `0x${'0a'.repeat(20)}`,
};
const domains = signingDomains({ chainId: 137, contracts, settlementName: 'Exchange', token: { name: 'USD Coin', version: '2' } });
const NAMES = Object.keys(signedActions) as SignedActionName[];
const MAX = 2n ** 256n - 1n;

/** Type strings as the contracts hash them. */
const TYPES: Readonly<Record<SignedActionName, string>> = {
  'order': 'Order(bytes32 marketId,address trader,uint8 side,uint8 outcome,uint64 price,uint64 size,uint64 nonce,uint64 expiration,address makerFeeRecipient)',
  'cancel': 'CancelOrder(bytes32 orderHash,address trader,uint64 deadline)',
  'cancel-orders': 'CancelOrders(bytes32[] orderHashes,address trader,uint64 deadline)',
  'cancel-all': 'CancelAll(address trader,bytes32 marketId,uint64 deadline)',
  'cancel-after': 'CancelAfter(address trader,uint32 seconds,uint64 deadline)',
  'reduce': 'ReduceOrder(bytes32 orderHash,address trader,uint64 size,uint64 deadline)',
  'ctf-approval': 'SetApprovalForAll(address owner,address operator,bool approved,uint256 nonce,uint256 deadline)',
  'usdc-permit': 'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)',
  'ctf-redemption': 'RedeemPositions(address owner,address collateralToken,bytes32 parentCollectionId,bytes32 conditionId,uint256[] indexSets,'
    + 'uint256 nonce,uint256 deadline)',
  'ctf-split': 'SplitPosition(address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline)',
  'ctf-merge': 'MergePositions(address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline)',
  'propose-resolution': 'ProposeResolution(address market,address proposer,bool outcome,uint256 bond,uint256 nonce,uint256 deadline)',
  'bond-permit': 'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)',
  'settle-market': 'SettleMarket(address market,address settler,uint8 winningOutcome,uint256 nonce,uint256 deadline)',
};

const LOW: Readonly<Record<MemberType, ActionMessage[string]>> = {
  'address': `0x${'00'.repeat(20)}`, 'bytes32': `0x${'00'.repeat(32)}`, 'bool': false, 'uint8': 0n, 'uint32': 0n, 'uint64': 0n, 'uint256': 0n, 'uint256[]': [],
  'bytes32[]': [],
};
const HIGH: Readonly<Record<MemberType, ActionMessage[string]>> = {
  'address': `0x${'ff'.repeat(20)}`, 'bytes32': `0x${'ff'.repeat(32)}`, 'bool': true, 'uint8': 255n, 'uint32': 2n ** 32n - 1n, 'uint64': 2n ** 64n - 1n,
  'uint256': MAX, 'bytes32[]': [`0x${'ff'.repeat(32)}`, `0x${'01'.repeat(32)}`],
  'uint256[]': [1n, 2n, MAX],
};

describe('signing: the table of signed actions', () => {
  let keccak256: Keccak256;

  before(async () => { keccak256 = await createKeccak256(); });

  for (const name of NAMES) {
    const { primaryType, members, contract, nonce } = signedActions[name];

    it(`${name} has the type that the contract hashes`, () => {
      assert.equal(TypedDataEncoder.from({ [primaryType]: [...members] }).encodeType(primaryType), TYPES[name]);
      assert.equal(members.some((member) => member.name === 'nonce'), nonce !== 'none');
    });

    it(`${name} has ethers' digest in its contract's domain, and another one in each other's`, () => {
      const digest = prepareAction(keccak256, signedActions[name], domains[contract]!);
      const messages: ActionMessage[] = [LOW, HIGH].map((values) => Object.fromEntries(members.map((member) => [member.name, values[member.type]])));
      for (const message of messages) {
        const expected = TypedDataEncoder.hash(domains[contract]!, { [primaryType]: [...members] }, message);
        assert.equal(hexlify(digest(message)), expected);
        for (const other of Object.values(domains).filter((domain) => domain !== domains[contract])) {
          assert.notEqual(hexlify(prepareAction(keccak256, signedActions[name], other!)(message)), expected);
        }
      }
    });
  }

  it('refuses a message without one of its members', () => {
    const digest = prepareAction(keccak256, signedActions['cancel'], domains.settlement);
    assert.throws(() => digest({ trader: LOW.address, deadline: 1n }), /has no orderHash/);
  });

  it('names the domains that the contracts have; the stablecoin\'s once it is read', () => {
    assert.deepEqual(domains.conditionalTokens, { name: 'ConditionalTokens', version: '1', chainId: 137, verifyingContract: contracts.conditionalTokens });
    assert.deepEqual(domains.oracleResolver, { name: 'OracleResolver', version: '1', chainId: 137, verifyingContract: contracts.oracleResolver });
    assert.deepEqual(domains.settlement, { name: 'Exchange', version: '1', chainId: 137, verifyingContract: contracts.settlement });
    assert.deepEqual(domains.collateral, { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: contracts.collateral });
    assert.equal(signingDomains({ chainId: 1, contracts, settlementName: 'Exchange', token: undefined }).collateral, undefined);
  });

  it('packs keyed nonces as the contracts do', () => {
    const key = nonceKey(id('a market'));
    assert.equal(key, BigInt(id('a market')) % 2n ** 192n);
    assert.equal(counterOf(key * 2n ** 64n + 7n, true), 7n);
    assert.equal(counterOf(7n, false), 7n);
    assert.deepEqual(NAMES.filter((name) => nonceMeanings[signedActions[name].nonce].call?.includes('key')), [
      'ctf-redemption', 'propose-resolution', 'settle-market',
    ]);
  });
});
