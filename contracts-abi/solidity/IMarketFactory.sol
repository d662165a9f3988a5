// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title What the resolvers ask the factory: which markets are its own.
interface IMarketFactory {
    /// @notice The market contract of an id; zero when this factory has not made it.
    function marketOf(bytes32 marketId) external view returns (address);

    /// @notice The id of a market contract; zero when this factory has not made it.
    function marketIdOf(address market) external view returns (bytes32);
}
