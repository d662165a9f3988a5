// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IMarket, MarketFacts} from "./IMarket.sol";
import {IMarketFactory} from "./IMarketFactory.sol";

/// @title Resolves quick markets by two prices: YES when the end is not below the start.
contract QuickResolver is AccessControl {
    /// @notice Who may resolve: the operator's price feed.
    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");

    /// @notice How long after the end the price may have been published, in seconds.
    uint64 public constant MAX_PUBLISH_DELAY = 15;

    IMarketFactory public immutable factory;
    IConditionalTokens public immutable tokens;

    /// @notice A quick market is resolved; outcome 0 is YES, 1 NO. `publishTime` is the end price's, in seconds.
    event QuickMarketResolved(
        bytes32 indexed marketId, int64 startPrice, int64 endPrice, uint64 publishTime, uint8 winningOutcome
    );

    error UnknownMarket(address market);
    error NotResolver(address market, address resolver);
    error MarketNotExpired(uint64 expiration);
    error MarketAlreadyResolved(bytes32 marketId);
    error InvalidPrice(int64 price);
    error InvalidPublishTime(uint64 publishTime, uint64 expiration);

    constructor(IMarketFactory factory_, IConditionalTokens tokens_, address admin) {
        factory = factory_;
        tokens = tokens_;
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
    }

    /// @notice Resolves a market whose end has come, once. Prices are of one scale and above zero; a tie is YES.
    function resolve(address market, int64 startPrice, int64 endPrice, uint64 publishTime) external onlyRole(OPERATOR_ROLE) {
        if (factory.marketIdOf(market) == bytes32(0)) revert UnknownMarket(market);
        MarketFacts memory facts = IMarket(market).facts();
        if (facts.resolver != address(this)) revert NotResolver(market, facts.resolver);
        if (block.timestamp < facts.expiration) revert MarketNotExpired(facts.expiration);
        if (tokens.payoutDenominator(facts.marketId) > 0) revert MarketAlreadyResolved(facts.marketId);
        if (startPrice <= 0) revert InvalidPrice(startPrice);
        if (endPrice <= 0) revert InvalidPrice(endPrice);
        if (publishTime < facts.expiration || publishTime - facts.expiration > MAX_PUBLISH_DELAY) {
            revert InvalidPublishTime(publishTime, facts.expiration);
        }
        uint8 winningOutcome = endPrice >= startPrice ? 0 : 1;
        uint256[] memory payouts = new uint256[](2);
        payouts[winningOutcome] = 1;
        tokens.reportPayouts(facts.questionId, payouts);
        emit QuickMarketResolved(facts.marketId, startPrice, endPrice, publishTime, winningOutcome);
    }
}
