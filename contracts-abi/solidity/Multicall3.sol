// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The part of the well-known Multicall3 that is used here, with its signatures; for chains that do not have it.
contract Multicall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    /// @notice The call at `index` failed and was not allowed to.
    error CallFailed(uint256 index);

    /// @notice Calls each target in order. A call that fails is told in its result, or reverts all when it does not allow failure.
    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            returnData[i] = _call(calls[i].target, calls[i].callData);
            if (!returnData[i].success && !calls[i].allowFailure) revert CallFailed(i);
        }
    }

    /// @notice Calls each target in order. Reverts on the first failure when `requireSuccess`.
    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            returnData[i] = _call(calls[i].target, calls[i].callData);
            if (requireSuccess && !returnData[i].success) revert CallFailed(i);
        }
    }

    /// @notice The number of the block that this call runs in.
    function getBlockNumber() external view returns (uint256 blockNumber) {
        blockNumber = block.number;
    }

    /// @notice The time of the block that this call runs in, in seconds.
    function getCurrentBlockTimestamp() external view returns (uint256 timestamp) {
        timestamp = block.timestamp;
    }

    /// @notice The balance of `account` in the chain's own coin.
    function getEthBalance(address account) external view returns (uint256 balance) {
        balance = account.balance;
    }

    function _call(address target, bytes calldata data) private returns (Result memory result) {
        (result.success, result.returnData) = target.call(data);
    }
}
