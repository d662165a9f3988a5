// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice All that a market is made with, for good. Kind 0 is standard, 1 quick; category 0 defi, 1 protocol, 2 stablecoin, 3 general.
/// `asset` and `startTime` are a quick market's; times are in seconds; the bond is in the collateral's base units.
struct MarketFacts {
    bytes32 marketId;
    bytes32 questionId;
    address maker;
    address resolver;
    uint8 kind;
    uint8 category;
    uint64 startTime;
    uint64 expiration;
    uint256 bond;
    uint256 yesId;
    uint256 noId;
    string asset;
    string question;
    string description;
}

uint8 constant KIND_STANDARD = 0;
uint8 constant KIND_QUICK = 1;

/// @title What the resolvers read of a market.
interface IMarket {
    /// @notice All facts in one call.
    function facts() external view returns (MarketFacts memory);

    /// @notice Whether its condition's payouts have been reported.
    function resolved() external view returns (bool);
}
