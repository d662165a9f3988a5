/** Conditional tokens on the chain: split, merge, redeem and approve, each also by signature; and who is allowed to. */
import assert from 'node:assert/strict';
import { AbiCoder, ZeroAddress, ZeroHash, id, keccak256, recoverAddress, solidityPackedKeccak256 } from 'ethers';
import { MAX_UINT256, USDC, onSettlementContracts, walletOf, type SettlementContracts } from '../support/settlement-contracts.js';

const owner = walletOf('owner');
const relayer = walletOf('relayer');
const BOTH = [1n, 2n];
const FAR = 4_000_000_000n;
const SPLIT = 'address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline';
const REDEEM = 'address owner,address collateralToken,bytes32 parentCollectionId,bytes32 conditionId,uint256[] indexSets,uint256 nonce,uint256 deadline';
const APPROVE = 'address owner,address operator,bool approved,uint256 nonce,uint256 deadline';
const conditionKey = (conditionId: string) => BigInt(conditionId) & (2n ** 192n - 1n);

describe('contracts: conditional tokens', function () {
  this.timeout(60_000);
  let contracts: SettlementContracts;
  let collateral: string;
  let marketId: string;
  let yes: bigint;
  let no: bigint;
  onSettlementContracts(async (begun) => {
    contracts = begun;
    ({ marketId } = contracts);
    collateral = contracts.deployed.collateral;
    yes = await contracts.positionId(marketId, 0);
    no = await contracts.positionId(marketId, 1);
    await contracts.send(owner.address, contracts.usdc, 'mint', [owner.address, 100n * USDC]);
    await contracts.send(owner.address, contracts.usdc, 'approve', [contracts.tokens.address, MAX_UINT256]);
  });

  const tokensSend = (from: string, method: string, args: readonly unknown[]) => contracts.send(from, contracts.tokens, method, args);
  const refusal = (method: string, args: readonly unknown[], from = owner.address) => contracts.refusal(from, contracts.tokens, method, args);
  const split = (amount: bigint) => tokensSend(owner.address, 'splitPosition', [collateral, ZeroHash, marketId, BOTH, amount]);
  const balances = () => contracts.balances(owner.address, marketId);

  it('are called by plain hashes', async () => {
    const { read, tokens, oracle, questionId } = contracts;
    assert.equal(marketId, solidityPackedKeccak256(['address', 'bytes32', 'uint256'], [oracle, questionId, 2n]));
    for (const [outcome, position] of [yes, no].entries()) {
      const collectionId = solidityPackedKeccak256(['bytes32', 'uint256'], [marketId, outcome + 1]);
      assert.equal(await read(tokens, 'getCollectionId', [ZeroHash, marketId, outcome + 1]), collectionId);
      assert.equal(position, BigInt(solidityPackedKeccak256(['address', 'bytes32'], [collateral, collectionId])));
    }
    assert.equal(await refusal('getCollectionId', [id('parent'), marketId, 1n]), `NestedCollection(${id('parent')})`);
    assert.deepEqual(await Promise.all(['0xd9b67a26', '0x01ffc9a7', '0xffffffff'].map((id4) => read(tokens, 'supportsInterface', [id4]))), [true, true, false]);
  });

  it('are conditions of two outcomes, prepared once, reported once by their oracle', async () => {
    const { read, tokens, oracle } = contracts;
    const question = id('another');
    const conditionId = solidityPackedKeccak256(['address', 'bytes32', 'uint256'], [oracle, question, 2n]);
    assert.equal(await read(tokens, 'getOutcomeSlotCount', [conditionId]), 0n);
    assert.equal(await refusal('prepareCondition', [oracle, question, 3n]), 'InvalidOutcomeSlotCount(3)');
    assert.equal(await refusal('reportPayouts', [question, [1n, 0n]], oracle), `ConditionNotPrepared(${conditionId})`);
    assert.deepEqual((await tokensSend(relayer.address, 'prepareCondition', [oracle, question, 2n])).events, [
      { event: 'ConditionPreparation', args: { conditionId, oracle, questionId: question, outcomeSlotCount: 2n } },
    ]);
    assert.equal(await read(tokens, 'getOutcomeSlotCount', [conditionId]), 2n);
    assert.equal(await refusal('prepareCondition', [oracle, question, 2n]), `ConditionAlreadyPrepared(${conditionId})`);
    for (const payouts of [[0n, 0n], [1n], [1n, 0n, 0n], []]) assert.equal(await refusal('reportPayouts', [question, payouts], oracle), 'InvalidPayouts()');
    assert.match(await refusal('reportPayouts', [question, [1n, 0n]], relayer.address), /^ConditionNotPrepared/);
    assert.deepEqual((await tokensSend(oracle, 'reportPayouts', [question, [0n, 1n]])).events, [
      { event: 'ConditionResolution', args: { conditionId, oracle, questionId: question, outcomeSlotCount: 2n, payoutNumerators: [0n, 1n] } },
    ]);
    assert.deepEqual(await Promise.all([0n, 1n].map((index) => read(tokens, 'payoutNumerators', [conditionId, index]))), [0n, 1n]);
    assert.equal(await read(tokens, 'payoutDenominator', [conditionId]), 1n);
    assert.equal(await refusal('reportPayouts', [question, [1n, 0n]], oracle), `ConditionAlreadyResolved(${conditionId})`);
  });

  it('split and merge complete sets', async () => {
    const { tokens } = contracts;
    const ids = [yes, no];
    const moved = { parentCollectionId: ZeroHash, conditionId: marketId, stakeholder: owner.address, collateralToken: collateral };
    assert.deepEqual((await split(7n)).events, [
      { event: 'Transfer', args: { from: owner.address, to: tokens.address, value: 7n } },
      { event: 'TransferBatch', args: { operator: owner.address, from: ZeroAddress, to: owner.address, ids, values: [7n, 7n] } },
      { event: 'PositionSplit', args: { ...moved, partition: BOTH, amount: 7n } },
    ]);
    assert.deepEqual(await balances(), { usdc: 100n * USDC - 7n, yes: 7n, no: 7n });
    const merged = await tokensSend(owner.address, 'mergePositions', [collateral, ZeroHash, marketId, [2n, 1n], 3n]);
    assert.deepEqual(merged.events, [
      { event: 'TransferBatch', args: { operator: owner.address, from: owner.address, to: ZeroAddress, ids: [no, yes], values: [3n, 3n] } },
      { event: 'Transfer', args: { from: tokens.address, to: owner.address, value: 3n } },
      { event: 'PositionsMerge', args: { ...moved, partition: [2n, 1n], amount: 3n } },
    ]);
    assert.deepEqual(await balances(), { usdc: 100n * USDC - 4n, yes: 4n, no: 4n });
    assert.match(await refusal('mergePositions', [collateral, ZeroHash, marketId, BOTH, 5n]), /^ERC1155InsufficientBalance/);
    assert.match(await refusal('splitPosition', [collateral, ZeroHash, marketId, BOTH, 101n * USDC]), /^ERC20InsufficientBalance/);
  });

  it('refuse partitions, parents, amounts and conditions that are none', async () => {
    for (const method of ['splitPosition', 'mergePositions']) {
      const refused = (parent: string, condition: string, partition: readonly bigint[], amount: bigint) =>
        refusal(method, [collateral, parent, condition, partition, amount]);
      for (const partition of [[], [1n], [1n, 1n], [2n, 2n], [3n], [1n, 2n, 3n], [0n, 3n], [MAX_UINT256, 4n]]) {
        assert.equal(await refused(ZeroHash, marketId, partition, 1n), 'InvalidPartition()');
      }
      assert.equal(await refused(id('parent'), marketId, BOTH, 1n), `NestedCollection(${id('parent')})`);
      assert.equal(await refused(ZeroHash, marketId, BOTH, 0n), 'ZeroAmount()');
      assert.equal(await refused(ZeroHash, id('none'), BOTH, 1n), `ConditionNotPrepared(${id('none')})`);
    }
  });

  it('redeem what the outcome pays, once it is known', async () => {
    const { tokens, resolve, send } = contracts;
    await split(10n);
    await send(owner.address, tokens, 'safeTransferFrom', [owner.address, relayer.address, yes, 4n, '0x']);
    const redeem = (sets: readonly bigint[], parent = ZeroHash) => [collateral, parent, marketId, sets];
    assert.equal(await refusal('redeemPositions', redeem(BOTH)), `ConditionNotResolved(${marketId})`);
    await resolve(0);
    assert.equal(await refusal('redeemPositions', redeem([])), 'InvalidPartition()');
    assert.equal(await refusal('redeemPositions', redeem([1n, 2n, 1n])), 'InvalidPartition()');
    assert.equal(await refusal('redeemPositions', redeem([3n])), 'InvalidIndexSet(3)');
    assert.equal(await refusal('redeemPositions', redeem([1n], id('parent'))), `NestedCollection(${id('parent')})`);
    const event = (redeemer: string, indexSets: readonly bigint[], payout: bigint) => (
      { event: 'PayoutRedemption', args: { redeemer, collateralToken: collateral, parentCollectionId: ZeroHash, conditionId: marketId, indexSets, payout } });
    const burn = (from: string, position: bigint, value: bigint) => (
      { event: 'TransferSingle', args: { operator: from, from, to: ZeroAddress, id: position, value } });
    assert.deepEqual((await tokensSend(owner.address, 'redeemPositions', redeem([1n, 2n]))).events, [
      burn(owner.address, yes, 6n), burn(owner.address, no, 10n),
      { event: 'Transfer', args: { from: tokens.address, to: owner.address, value: 6n } }, event(owner.address, [1n, 2n], 6n),
    ]);
    assert.deepEqual((await tokensSend(owner.address, 'redeemPositions', redeem([2n, 1n]))).events, [event(owner.address, [2n, 1n], 0n)]);
    assert.deepEqual((await tokensSend(relayer.address, 'redeemPositions', redeem([1n, 1n]))).events, [
      burn(relayer.address, yes, 4n), { event: 'Transfer', args: { from: tokens.address, to: relayer.address, value: 4n } },
      event(relayer.address, [1n, 1n], 4n),
    ]);
  });

  it('pay shares of a mixed outcome rounded down, never more than there is', async () => {
    const { send, tokens, questionId, oracle, usdc, read } = contracts;
    await split(10n);
    await send(oracle, tokens, 'reportPayouts', [questionId, [1n, 2n]]);
    await tokensSend(owner.address, 'redeemPositions', [collateral, ZeroHash, marketId, BOTH]);
    assert.deepEqual(await balances(), { usdc: 100n * USDC - 1n, yes: 0n, no: 0n });
    assert.equal(await read(usdc, 'balanceOf', [tokens.address]), 1n);
  });

  describe('by signature', () => {
    const splitArgs = async (type: 'SplitPosition' | 'MergePositions', amount: bigint, { nonce = 0n, deadline = FAR, signer = owner } = {}) => {
      const message = { owner: owner.address, collateralToken: collateral, conditionId: marketId, amount, nonce, deadline };
      return [owner.address, collateral, marketId, amount, deadline, ...await contracts.tokensSignature(signer, type, SPLIT, message)];
    };
    const redeemArgs = async (condition: string, { nonce = conditionKey(condition) << 64n, deadline = FAR, sets = BOTH } = {}) => {
      const message = {
        owner: owner.address, collateralToken: collateral, parentCollectionId: ZeroHash, conditionId: condition, indexSets: sets, nonce, deadline,
      };
      return [owner.address, collateral, ZeroHash, condition, sets, deadline, ...await contracts.tokensSignature(owner, 'RedeemPositions', REDEEM, message)];
    };
    const approveArgs = async (approved: boolean, nonce: bigint, deadline = FAR) => {
      const message = { owner: owner.address, operator: relayer.address, approved, nonce, deadline };
      return [owner.address, relayer.address, approved, deadline, ...await contracts.tokensSignature(owner, 'SetApprovalForAll', APPROVE, message)];
    };
    const nonces = () => contracts.chain.provider.call({
      to: contracts.tokens.address, data: `0x7ecebe00${AbiCoder.defaultAbiCoder().encode(['address'], [owner.address]).slice(2)}`,
    }).then(BigInt);

    it('anybody brings a split, a merge and an approval, each once, in the order of their nonces', async () => {
      const { read, tokens } = contracts;
      const sent = await tokensSend(relayer.address, 'splitPositionWithSig', await splitArgs('SplitPosition', 9n));
      assert.deepEqual(sent.events.map(({ event }) => event), ['Transfer', 'TransferBatch', 'PositionSplit']);
      assert.equal(sent.events[2]!.args.stakeholder, owner.address);
      assert.match(await refusal('splitPositionWithSig', await splitArgs('SplitPosition', 9n), relayer.address), new RegExp(`^InvalidSigner\\(0x.*,${owner.address}\\)$`));
      assert.match(await refusal('mergePositionsWithSig', await splitArgs('MergePositions', 4n, { nonce: 2n })), /^InvalidSigner/);
      await tokensSend(relayer.address, 'mergePositionsWithSig', await splitArgs('MergePositions', 4n, { nonce: 1n }));
      assert.deepEqual(await balances(), { usdc: 100n * USDC - 5n, yes: 5n, no: 5n });
      const approved = async () => await read(tokens, 'isApprovedForAll', [owner.address, relayer.address]);
      assert.deepEqual((await tokensSend(relayer.address, 'setApprovalForAllWithSig', await approveArgs(true, 2n))).events, [
        { event: 'ApprovalForAll', args: { account: owner.address, operator: relayer.address, approved: true } },
      ]);
      assert.equal(await approved(), true);
      await tokensSend(relayer.address, 'setApprovalForAllWithSig', await approveArgs(false, 3n));
      assert.match(await refusal('setApprovalForAllWithSig', await approveArgs(true, 2n)), /^InvalidSigner/);
      assert.equal(await approved(), false);
      assert.equal(await nonces(), 4n);
    });

    it('an owner takes back what nobody has sent yet, the plain nonce\'s and a condition\'s', async () => {
      const [approval, redemption] = [await approveArgs(true, 0n), await redeemArgs(marketId)];
      await split(5n);
      await contracts.resolve(0);
      assert.deepEqual((await tokensSend(owner.address, 'revokeNonce', [])).events, [{ event: 'NonceRevoked', args: { owner: owner.address, nonce: 0n } }]);
      assert.match(await refusal('setApprovalForAllWithSig', approval, relayer.address), /^InvalidSigner/);
      const key = conditionKey(marketId);
      assert.deepEqual((await tokensSend(owner.address, 'revokeKeyedNonce', [key])).events, [
        { event: 'NonceRevoked', args: { owner: owner.address, nonce: key << 64n } },
      ]);
      assert.match(await refusal('redeemPositionsWithSig', redemption, relayer.address), /^InvalidSigner/);
      await tokensSend(relayer.address, 'redeemPositionsWithSig', await redeemArgs(marketId, { nonce: (key << 64n) + 1n }));
      assert.equal(await nonces(), 1n);
    });

    it('conditions redeem independently of one another, each signature once', async () => {
      const { resolve, prepare, send, tokens, chain } = contracts;
      const other = await prepare(id('another'));
      await split(5n);
      await send(owner.address, tokens, 'splitPosition', [collateral, ZeroHash, other, BOTH, 5n]);
      await resolve(0);
      await resolve(1, id('another'));
      const [first, second] = [await redeemArgs(marketId), await redeemArgs(other)];
      assert.equal((await tokensSend(relayer.address, 'redeemPositionsWithSig', second)).events.at(-1)!.args.payout, 5n);
      assert.equal((await tokensSend(relayer.address, 'redeemPositionsWithSig', first)).events.at(-1)!.args.redeemer, owner.address);
      assert.match(await refusal('redeemPositionsWithSig', first), /^InvalidSigner/);
      assert.match(await refusal('redeemPositionsWithSig', await redeemArgs(marketId, { nonce: 1n })), /^InvalidSigner/);
      const next = (conditionKey(marketId) << 64n) + 1n;
      const nonce = tokens.abi.encodeFunctionData('nonces(address,uint192)', [owner.address, conditionKey(marketId)]);
      assert.equal(BigInt(await chain.provider.call({ to: tokens.address, data: nonce })), next);
      const again = await redeemArgs(marketId, { nonce: next, sets: [1n] });
      assert.equal((await tokensSend(relayer.address, 'redeemPositionsWithSig', again)).events.at(-1)!.args.payout, 0n);
      assert.equal(await nonces(), 0n);
    });

    it('until the deadline\'s second, and not after', async () => {
      const { now, nextBlockAt, timeIs } = contracts;
      const deadline = BigInt(await now() + 100);
      const args = await splitArgs('SplitPosition', 1n, { deadline });
      await nextBlockAt(Number(deadline));
      assert.equal((await tokensSend(relayer.address, 'splitPositionWithSig', args)).ok, true);
      await timeIs(Number(deadline) + 1);
      await split(1n);
      const late = `ExpiredSignature(${deadline})`;
      assert.equal(await refusal('splitPositionWithSig', await splitArgs('SplitPosition', 1n, { deadline, nonce: 1n })), late);
      assert.equal(await refusal('mergePositionsWithSig', await splitArgs('MergePositions', 1n, { deadline, nonce: 1n })), late);
      assert.equal(await refusal('setApprovalForAllWithSig', await approveArgs(true, 1n, deadline)), late);
      assert.equal(await refusal('redeemPositionsWithSig', await redeemArgs(marketId, { deadline })), late);
    });

    it('of the owner only, for exactly what was signed', async () => {
      const good = await splitArgs('SplitPosition', 5n);
      const stranger = await splitArgs('SplitPosition', 5n, { signer: relayer });
      assert.equal(await refusal('splitPositionWithSig', stranger), `InvalidSigner(${relayer.address},${owner.address})`);
      assert.match(await refusal('mergePositionsWithSig', good), /^InvalidSigner/);
      for (const [index, value] of [[0, relayer.address], [1, relayer.address], [2, id('other')], [3, 6n], [4, FAR + 1n], [5, 29], [6, ZeroHash], [7, `0x${'ff'.repeat(32)}`]] as const) {
        assert.match(await refusal('splitPositionWithSig', good.map((each, at): unknown => at === index ? value : each)), /^InvalidSigner/, String(index));
      }
      const nobody = [ZeroAddress, relayer.address, true, FAR, 29, ZeroHash, ZeroHash];
      assert.equal(await refusal('setApprovalForAllWithSig', nobody), `InvalidSigner(${ZeroAddress},${ZeroAddress})`);
      assert.equal(await nonces(), 0n);
    });

    it('types hash as wallets hash them', async () => {
      // Recomputed by hand from the types' texts: the contract's constants and ethers' encoder must both agree with it.
      const [v, r, s] = await contracts.tokensSignature(owner, 'SplitPosition', SPLIT, {
        owner: owner.address, collateralToken: collateral, conditionId: marketId, amount: 1n, nonce: 0n, deadline: FAR,
      });
      const fields = keccak256(AbiCoder.defaultAbiCoder().encode(['bytes32', 'address', 'address', 'bytes32', 'uint256', 'uint256', 'uint256'], [
        id(`SplitPosition(${SPLIT})`), owner.address, collateral, marketId, 1n, 0n, FAR,
      ]));
      const domain = await contracts.read(contracts.tokens, 'eip712Domain') as unknown[];
      assert.deepEqual(domain.slice(1, 5), ['ConditionalTokens', '1', 31_337n, contracts.tokens.address]);
      const separator = keccak256(AbiCoder.defaultAbiCoder().encode(['bytes32', 'bytes32', 'bytes32', 'uint256', 'address'], [
        id('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'), id('ConditionalTokens'), id('1'), 31_337n,
        contracts.tokens.address,
      ]));
      const digest = keccak256(`0x1901${separator.slice(2)}${fields.slice(2)}`);
      assert.equal(recoverAddress(digest, { v, r, s }), owner.address);
    });
  });

  it('move by the settlement role with the owner\'s approval, and call no receiver', async () => {
    const { send, tokens, operator, chain } = contracts;
    await split(5n);
    const move = [owner.address, relayer.address, yes, 2n];
    const role = id('SETTLEMENT_ROLE');
    assert.equal(await refusal('settlementTransfer', move, relayer.address), `AccessControlUnauthorizedAccount(${relayer.address},${role})`);
    await send(operator, tokens, 'grantRole', [role, relayer.address]);
    assert.equal(await refusal('settlementTransfer', move, relayer.address), `ERC1155MissingApprovalForAll(${relayer.address},${owner.address})`);
    await send(owner.address, tokens, 'setApprovalForAll', [relayer.address, true]);
    assert.match(await refusal('settlementTransfer', [owner.address, ZeroAddress, yes, 1n], relayer.address), /^ERC1155InvalidReceiver/);
    assert.match(await refusal('settlementTransfer', [owner.address, relayer.address, yes, 6n], relayer.address), /^ERC1155InsufficientBalance/);
    await chain.rpc('anvil_setCode', [relayer.address, '0x5f5ffd']);
    assert.match(await refusal('safeTransferFrom', [owner.address, relayer.address, yes, 2n, '0x']), /^ERC1155InvalidReceiver/);
    assert.deepEqual((await tokensSend(relayer.address, 'settlementTransfer', move)).events, [
      { event: 'TransferSingle', args: { operator: relayer.address, from: owner.address, to: relayer.address, id: yes, value: 2n } },
    ]);
  });

  it('move in batches of 256 at most', async () => {
    const batch = (count: number) => [owner.address, relayer.address, Array<bigint>(count).fill(yes), Array<bigint>(count).fill(0n), '0x'];
    assert.equal(await refusal('safeBatchTransferFrom', batch(257)), 'TooManyIds(257)');
    assert.equal((await tokensSend(owner.address, 'safeBatchTransferFrom', batch(256))).ok, true);
  });
});
