// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {NoncesKeyed} from "@openzeppelin/contracts/utils/NoncesKeyed.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";

/// @title Outcome tokens of binary conditions, after Gnosis' ConditionalTokens.
/// @dev Shares are minted by split only and burnt by merge and redeem only, so each collateral's balance here is the number of complete sets
/// outstanding of its conditions that are unresolved, and covers the payouts of those that are resolved. That holds for a collateral that moves
/// what it is told to move; one that does not can harm only positions in itself.
contract ConditionalTokens is ERC1155, EIP712, NoncesKeyed, AccessControlDefaultAdminRules, IConditionalTokens {
    using SafeERC20 for IERC20;

    /// @notice Who may use settlementTransfer.
    bytes32 public constant SETTLEMENT_ROLE = keccak256("SETTLEMENT_ROLE");

    bytes32 private constant SET_APPROVAL_FOR_ALL_TYPEHASH =
        keccak256("SetApprovalForAll(address owner,address operator,bool approved,uint256 nonce,uint256 deadline)");
    bytes32 private constant REDEEM_POSITIONS_TYPEHASH = keccak256(
        "RedeemPositions(address owner,address collateralToken,bytes32 parentCollectionId,bytes32 conditionId,uint256[] indexSets,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant SPLIT_POSITION_TYPEHASH = keccak256(
        "SplitPosition(address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant MERGE_POSITIONS_TYPEHASH = keccak256(
        "MergePositions(address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline)"
    );

    uint256 private constant OUTCOMES = 2;
    uint256 private constant YES_SET = 1;
    uint256 private constant NO_SET = 2;
    uint256 private constant MAX_IDS = 256;

    /// @inheritdoc IConditionalTokens
    mapping(bytes32 conditionId => uint256[] numerators) public payoutNumerators;

    /// @inheritdoc IConditionalTokens
    mapping(bytes32 conditionId => uint256 denominator) public payoutDenominator;

    struct Signature {
        uint256 deadline;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice `admin` administers the settlement role; hands that over in two steps, `adminDelay` seconds apart.
    constructor(address admin, uint48 adminDelay)
        ERC1155("")
        EIP712("ConditionalTokens", "1")
        AccessControlDefaultAdminRules(adminDelay, admin)
    {}

    /// @inheritdoc IConditionalTokens
    function prepareCondition(address oracle, bytes32 questionId, uint256 outcomeSlotCount) external {
        if (outcomeSlotCount != OUTCOMES) revert InvalidOutcomeSlotCount(outcomeSlotCount);
        bytes32 conditionId = getConditionId(oracle, questionId, OUTCOMES);
        if (payoutNumerators[conditionId].length != 0) revert ConditionAlreadyPrepared(conditionId);
        payoutNumerators[conditionId] = new uint256[](OUTCOMES);
        emit ConditionPreparation(conditionId, oracle, questionId, OUTCOMES);
    }

    /// @inheritdoc IConditionalTokens
    function reportPayouts(bytes32 questionId, uint256[] calldata payouts) external {
        bytes32 conditionId = getConditionId(msg.sender, questionId, OUTCOMES);
        _requirePrepared(conditionId);
        if (payoutDenominator[conditionId] != 0) revert ConditionAlreadyResolved(conditionId);
        if (payouts.length != OUTCOMES) revert InvalidPayouts();
        uint256 denominator = payouts[0] + payouts[1];
        if (denominator == 0) revert InvalidPayouts();
        payoutNumerators[conditionId] = payouts;
        payoutDenominator[conditionId] = denominator;
        emit ConditionResolution(conditionId, msg.sender, questionId, OUTCOMES, payouts);
    }

    /// @inheritdoc IConditionalTokens
    function splitPosition(
        IERC20 collateralToken,
        bytes32 parentCollectionId,
        bytes32 conditionId,
        uint256[] calldata partition,
        uint256 amount
    ) external {
        _requireWhole(parentCollectionId, partition);
        _split(msg.sender, collateralToken, conditionId, partition, amount);
    }

    /// @inheritdoc IConditionalTokens
    function mergePositions(
        IERC20 collateralToken,
        bytes32 parentCollectionId,
        bytes32 conditionId,
        uint256[] calldata partition,
        uint256 amount
    ) external {
        _requireWhole(parentCollectionId, partition);
        _merge(msg.sender, collateralToken, conditionId, partition, amount);
    }

    /// @inheritdoc IConditionalTokens
    function redeemPositions(
        IERC20 collateralToken, bytes32 parentCollectionId, bytes32 conditionId, uint256[] calldata indexSets
    ) external {
        _redeem(msg.sender, collateralToken, parentCollectionId, conditionId, indexSets);
    }

    /// @inheritdoc IConditionalTokens
    function setApprovalForAllWithSig(
        address owner, address operator, bool approved, uint256 deadline, uint8 v, bytes32 r, bytes32 s
    ) external {
        bytes32 fields =
            keccak256(abi.encode(SET_APPROVAL_FOR_ALL_TYPEHASH, owner, operator, approved, _useNonce(owner), deadline));
        _requireSigned(owner, fields, Signature(deadline, v, r, s));
        _setApprovalForAll(owner, operator, approved);
    }

    /// @inheritdoc IConditionalTokens
    function splitPositionWithSig(
        address owner,
        IERC20 collateralToken,
        bytes32 conditionId,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 fields = keccak256(
            abi.encode(SPLIT_POSITION_TYPEHASH, owner, collateralToken, conditionId, amount, _useNonce(owner), deadline)
        );
        _requireSigned(owner, fields, Signature(deadline, v, r, s));
        _split(owner, collateralToken, conditionId, _whole(), amount);
    }

    /// @inheritdoc IConditionalTokens
    function mergePositionsWithSig(
        address owner,
        IERC20 collateralToken,
        bytes32 conditionId,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 fields = keccak256(
            abi.encode(MERGE_POSITIONS_TYPEHASH, owner, collateralToken, conditionId, amount, _useNonce(owner), deadline)
        );
        _requireSigned(owner, fields, Signature(deadline, v, r, s));
        _merge(owner, collateralToken, conditionId, _whole(), amount);
    }

    /// @inheritdoc IConditionalTokens
    function redeemPositionsWithSig(
        address owner,
        IERC20 collateralToken,
        bytes32 parentCollectionId,
        bytes32 conditionId,
        uint256[] calldata indexSets,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        bytes32 fields = keccak256(
            abi.encode(
                REDEEM_POSITIONS_TYPEHASH,
                owner,
                collateralToken,
                parentCollectionId,
                conditionId,
                keccak256(abi.encodePacked(indexSets)),
                _useNonce(owner, uint192(uint256(conditionId))),
                deadline
            )
        );
        _requireSigned(owner, fields, Signature(deadline, v, r, s));
        _redeem(owner, collateralToken, parentCollectionId, conditionId, indexSets);
    }

    /// @inheritdoc IConditionalTokens
    function revokeNonce() external {
        emit NonceRevoked(msg.sender, _useNonce(msg.sender));
    }

    /// @inheritdoc IConditionalTokens
    function revokeKeyedNonce(uint192 key) external {
        emit NonceRevoked(msg.sender, _useNonce(msg.sender, key));
    }

    /// @inheritdoc IConditionalTokens
    function settlementTransfer(address from, address to, uint256 id, uint256 amount) external onlyRole(SETTLEMENT_ROLE) {
        _checkAuthorized(msg.sender, from);
        if (from == address(0)) revert ERC1155InvalidSender(from);
        if (to == address(0)) revert ERC1155InvalidReceiver(to);
        uint256[] memory ids = new uint256[](1);
        uint256[] memory amounts = new uint256[](1);
        ids[0] = id;
        amounts[0] = amount;
        _update(from, to, ids, amounts);
    }

    /// @inheritdoc IConditionalTokens
    function getOutcomeSlotCount(bytes32 conditionId) external view returns (uint256) {
        return payoutNumerators[conditionId].length;
    }

    /// @inheritdoc IConditionalTokens
    function getConditionId(address oracle, bytes32 questionId, uint256 outcomeSlotCount) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(oracle, questionId, outcomeSlotCount));
    }

    /// @inheritdoc IConditionalTokens
    function getCollectionId(bytes32 parentCollectionId, bytes32 conditionId, uint256 indexSet) public pure returns (bytes32) {
        if (parentCollectionId != 0) revert NestedCollection(parentCollectionId);
        return keccak256(abi.encodePacked(conditionId, indexSet));
    }

    /// @inheritdoc IConditionalTokens
    function getPositionId(IERC20 collateralToken, bytes32 collectionId) public pure returns (uint256) {
        return uint256(keccak256(abi.encodePacked(collateralToken, collectionId)));
    }

    /// @inheritdoc ERC1155
    function supportsInterface(bytes4 interfaceId) public view override(ERC1155, AccessControlDefaultAdminRules, IERC165) returns (bool) {
        return interfaceId == type(IConditionalTokens).interfaceId || super.supportsInterface(interfaceId);
    }

    /// @dev A batch is limited, so that whoever follows the chain can hold any one event.
    function _update(address from, address to, uint256[] memory ids, uint256[] memory values) internal override {
        if (ids.length > MAX_IDS) revert TooManyIds(ids.length);
        super._update(from, to, ids, values);
    }

    /// @dev Collateral comes before shares: a receiver that is called back finds the set paid for.
    function _split(address owner, IERC20 collateralToken, bytes32 conditionId, uint256[] memory partition, uint256 amount) private {
        if (amount == 0) revert ZeroAmount();
        _requirePrepared(conditionId);
        collateralToken.safeTransferFrom(owner, address(this), amount);
        _mintBatch(owner, _positionIds(collateralToken, conditionId, partition), _both(amount), "");
        emit PositionSplit(owner, collateralToken, 0, conditionId, partition, amount);
    }

    function _merge(address owner, IERC20 collateralToken, bytes32 conditionId, uint256[] memory partition, uint256 amount) private {
        if (amount == 0) revert ZeroAmount();
        _requirePrepared(conditionId);
        _burnBatch(owner, _positionIds(collateralToken, conditionId, partition), _both(amount));
        collateralToken.safeTransfer(owner, amount);
        emit PositionsMerge(owner, collateralToken, 0, conditionId, partition, amount);
    }

    function _redeem(
        address owner, IERC20 collateralToken, bytes32 parentCollectionId, bytes32 conditionId, uint256[] calldata indexSets
    ) private {
        uint256 denominator = payoutDenominator[conditionId];
        if (denominator == 0) revert ConditionNotResolved(conditionId);
        if (indexSets.length == 0 || indexSets.length > OUTCOMES) revert InvalidPartition();
        uint256 payout = 0;
        for (uint256 i = 0; i < indexSets.length; ++i) {
            uint256 indexSet = indexSets[i];
            if (indexSet != YES_SET && indexSet != NO_SET) revert InvalidIndexSet(indexSet);
            uint256 id = getPositionId(collateralToken, getCollectionId(parentCollectionId, conditionId, indexSet));
            uint256 balance = balanceOf(owner, id);
            if (balance == 0) continue;
            payout += Math.mulDiv(balance, payoutNumerators[conditionId][indexSet - 1], denominator);
            _burn(owner, id, balance);
        }
        if (payout > 0) collateralToken.safeTransfer(owner, payout);
        emit PayoutRedemption(owner, collateralToken, 0, conditionId, indexSets, payout);
    }

    function _requirePrepared(bytes32 conditionId) private view {
        if (payoutNumerators[conditionId].length == 0) revert ConditionNotPrepared(conditionId);
    }

    function _requireWhole(bytes32 parentCollectionId, uint256[] calldata partition) private pure {
        if (parentCollectionId != 0) revert NestedCollection(parentCollectionId);
        if (partition.length != OUTCOMES) revert InvalidPartition();
        (uint256 first, uint256 second) = (partition[0], partition[1]);
        if (!(first == YES_SET && second == NO_SET) && !(first == NO_SET && second == YES_SET)) revert InvalidPartition();
    }

    /// @dev The nonce is used up beforehand; a revert gives it back.
    function _requireSigned(address owner, bytes32 fields, Signature memory signature) private view {
        if (block.timestamp > signature.deadline) revert ExpiredSignature(signature.deadline);
        (address signer,,) = ECDSA.tryRecover(_hashTypedDataV4(fields), signature.v, signature.r, signature.s);
        if (signer == address(0) || signer != owner) revert InvalidSigner(signer, owner);
    }

    function _positionIds(IERC20 collateralToken, bytes32 conditionId, uint256[] memory partition)
        private
        pure
        returns (uint256[] memory ids)
    {
        ids = new uint256[](OUTCOMES);
        ids[0] = getPositionId(collateralToken, getCollectionId(0, conditionId, partition[0]));
        ids[1] = getPositionId(collateralToken, getCollectionId(0, conditionId, partition[1]));
    }

    function _whole() private pure returns (uint256[] memory partition) {
        partition = new uint256[](OUTCOMES);
        partition[0] = YES_SET;
        partition[1] = NO_SET;
    }

    function _both(uint256 amount) private pure returns (uint256[] memory amounts) {
        amounts = new uint256[](OUTCOMES);
        amounts[0] = amount;
        amounts[1] = amount;
    }
}
