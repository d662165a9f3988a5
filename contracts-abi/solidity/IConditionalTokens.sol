// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

/// @title Outcome tokens of binary conditions: Gnosis' functions and events, their variants by signature, and the settlement's transfer.
/// @dev Index set 1 is YES (outcome 0), index set 2 is NO (outcome 1). Ids are plain hashes: positions do not nest, so `parentCollectionId` is always
/// zero, and Gnosis' elliptic-curve ids would cost 8 to 82 thousand gas each for nothing.
interface IConditionalTokens is IERC1155 {
    event ConditionPreparation(
        bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount
    );
    event ConditionResolution(
        bytes32 indexed conditionId,
        address indexed oracle,
        bytes32 indexed questionId,
        uint256 outcomeSlotCount,
        uint256[] payoutNumerators
    );
    event PositionSplit(
        address indexed stakeholder,
        IERC20 collateralToken,
        bytes32 indexed parentCollectionId,
        bytes32 indexed conditionId,
        uint256[] partition,
        uint256 amount
    );
    event PositionsMerge(
        address indexed stakeholder,
        IERC20 collateralToken,
        bytes32 indexed parentCollectionId,
        bytes32 indexed conditionId,
        uint256[] partition,
        uint256 amount
    );
    event PayoutRedemption(
        address indexed redeemer,
        IERC20 indexed collateralToken,
        bytes32 indexed parentCollectionId,
        bytes32 conditionId,
        uint256[] indexSets,
        uint256 payout
    );

    /// @notice The owner's signatures with this nonce, a key's as `nonces` gives it, count no more.
    event NonceRevoked(address indexed owner, uint256 nonce);

    /// @notice A condition has two outcome slots.
    error InvalidOutcomeSlotCount(uint256 count);
    /// @notice The condition exists already.
    error ConditionAlreadyPrepared(bytes32 conditionId);
    /// @notice No such condition.
    error ConditionNotPrepared(bytes32 conditionId);
    /// @notice The condition has its payouts already.
    error ConditionAlreadyResolved(bytes32 conditionId);
    /// @notice The condition has no payouts yet.
    error ConditionNotResolved(bytes32 conditionId);
    /// @notice Payouts are two numbers of which one at least is not zero.
    error InvalidPayouts();
    /// @notice Positions do not nest: the parent collection is zero.
    error NestedCollection(bytes32 parentCollectionId);
    /// @notice A partition is [1, 2] or [2, 1].
    error InvalidPartition();
    /// @notice Index sets are 1 (YES) and 2 (NO), one or both.
    error InvalidIndexSet(uint256 indexSet);
    /// @notice Nothing to split or merge.
    error ZeroAmount();
    /// @notice The signed deadline has passed.
    error ExpiredSignature(uint256 deadline);
    /// @notice The signature is not the owner's, or its nonce is not the owner's next.
    error InvalidSigner(address signer, address owner);
    /// @notice A batch of tokens has 256 ids at most.
    error TooManyIds(uint256 count);

    /// @notice Prepares the condition that `oracle` will report on. Anybody may.
    /// @param outcomeSlotCount 2
    function prepareCondition(address oracle, bytes32 questionId, uint256 outcomeSlotCount) external;

    /// @notice The caller, as the condition's oracle, reports how collateral is shared: [1, 0] for YES, [0, 1] for NO.
    function reportPayouts(bytes32 questionId, uint256[] calldata payouts) external;

    /// @notice Takes `amount` of collateral from the caller and gives `amount` shares of each outcome.
    function splitPosition(
        IERC20 collateralToken,
        bytes32 parentCollectionId,
        bytes32 conditionId,
        uint256[] calldata partition,
        uint256 amount
    ) external;

    /// @notice Takes `amount` shares of each outcome from the caller and gives `amount` of collateral back.
    function mergePositions(
        IERC20 collateralToken,
        bytes32 parentCollectionId,
        bytes32 conditionId,
        uint256[] calldata partition,
        uint256 amount
    ) external;

    /// @notice Takes all the caller's shares of the given outcomes of a resolved condition and pays for them.
    function redeemPositions(
        IERC20 collateralToken, bytes32 parentCollectionId, bytes32 conditionId, uint256[] calldata indexSets
    ) external;

    /// @notice setApprovalForAll by the owner's signature of SetApprovalForAll, nonce `nonces(owner)`.
    function setApprovalForAllWithSig(
        address owner, address operator, bool approved, uint256 deadline, uint8 v, bytes32 r, bytes32 s
    ) external;

    /// @notice splitPosition of and for `owner` by a signature of SplitPosition, nonce `nonces(owner)`.
    function splitPositionWithSig(
        address owner,
        IERC20 collateralToken,
        bytes32 conditionId,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice mergePositions of and for `owner` by a signature of MergePositions, nonce `nonces(owner)`.
    function mergePositionsWithSig(
        address owner,
        IERC20 collateralToken,
        bytes32 conditionId,
        uint256 amount,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;

    /// @notice redeemPositions of and for `owner` by a signature of RedeemPositions, nonce `nonces(owner, uint192(uint256(conditionId)))`.
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
    ) external;

    /// @notice Takes back what the caller has signed and nobody has sent yet: an approval, a split or a merge.
    function revokeNonce() external;

    /// @notice Takes back the caller's unsent redemption of a condition; `key` is the low 192 bits of the condition's id.
    function revokeKeyedNonce(uint192 key) external;

    /// @notice Moves shares for the settlement contract, which needs its role and the owner's approval.
    /// @dev Unlike ERC-1155 it does not call the receiver, on this path alone: a receiver that reverts would make matched fills fail.
    function settlementTransfer(address from, address to, uint256 id, uint256 amount) external;

    /// @notice keccak256(oracle, questionId, outcomeSlotCount), packed: also the id of the market.
    function getConditionId(address oracle, bytes32 questionId, uint256 outcomeSlotCount) external pure returns (bytes32);

    /// @notice keccak256(conditionId, indexSet), packed.
    function getCollectionId(bytes32 parentCollectionId, bytes32 conditionId, uint256 indexSet) external pure returns (bytes32);

    /// @notice keccak256(collateralToken, collectionId), packed: the id of the ERC-1155 token.
    function getPositionId(IERC20 collateralToken, bytes32 collectionId) external pure returns (uint256);

    /// @notice 2 for a prepared condition, else 0.
    function getOutcomeSlotCount(bytes32 conditionId) external view returns (uint256);

    /// @notice What an outcome's share pays, divided by the denominator.
    function payoutNumerators(bytes32 conditionId, uint256 index) external view returns (uint256);

    /// @notice The sum of both numerators; zero until the condition is resolved.
    function payoutDenominator(bytes32 conditionId) external view returns (uint256);
}
