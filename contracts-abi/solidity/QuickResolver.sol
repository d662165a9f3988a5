// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IMarket, MarketFacts} from "./IMarket.sol";
import {IMarketFactory} from "./IMarketFactory.sol";

/// @title Resolves quick markets by two prices: YES when the end is not below the start.
/// @notice Each price is the first one of its boundary, so it was published within 15 seconds of it. A market that has no such prices is
/// paid half to half a day after its end, so that nobody's money is stuck.
contract QuickResolver is AccessControlDefaultAdminRules {
    /// @notice Who may resolve: the operator's price feed.
    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");

    /// @notice How long after its boundary a price may have been published, in seconds.
    uint64 public constant MAX_PUBLISH_DELAY = 15;

    /// @notice How long after the end a market without prices can be resolved half to half, in seconds.
    uint64 public constant PRICELESS_DELAY = 1 days;

    IMarketFactory public immutable factory;
    IConditionalTokens public immutable tokens;

    /// @notice A quick market is resolved; outcome 0 is YES, 1 NO. Publish times are in seconds.
    event QuickMarketResolved(
        bytes32 indexed marketId,
        int64 startPrice,
        uint64 startPublishTime,
        int64 endPrice,
        uint64 endPublishTime,
        uint8 winningOutcome
    );

    /// @notice A quick market whose prices never came is resolved: each share of either outcome is paid one half.
    event QuickMarketHalved(bytes32 indexed marketId);

    error UnknownMarket(address market);
    error NotResolver(address market, address resolver);
    error MarketNotExpired(uint64 expiration);
    error MarketAlreadyResolved(bytes32 marketId);
    error InvalidPrice(int64 price);
    error InvalidPublishTime(uint64 publishTime, uint64 boundary);
    error PricesMayCome(uint64 until);

    constructor(IMarketFactory factory_, IConditionalTokens tokens_, address admin, uint48 adminDelay)
        AccessControlDefaultAdminRules(adminDelay, admin)
    {
        factory = factory_;
        tokens = tokens_;
    }

    /// @notice Resolves a market whose end has come, once. Prices are of one scale and above zero; a tie is YES.
    function resolve(
        address market,
        int64 startPrice,
        uint64 startPublishTime,
        int64 endPrice,
        uint64 endPublishTime
    ) external onlyRole(OPERATOR_ROLE) {
        MarketFacts memory facts = _ended(market);
        if (startPrice <= 0) revert InvalidPrice(startPrice);
        if (endPrice <= 0) revert InvalidPrice(endPrice);
        _requirePublished(startPublishTime, facts.startTime);
        _requirePublished(endPublishTime, facts.expiration);
        uint8 winningOutcome = endPrice >= startPrice ? 0 : 1;
        uint256[] memory payouts = new uint256[](2);
        payouts[winningOutcome] = 1;
        tokens.reportPayouts(facts.questionId, payouts);
        emit QuickMarketResolved(facts.marketId, startPrice, startPublishTime, endPrice, endPublishTime, winningOutcome);
    }

    /// @notice Resolves a market half to half, a day after its end: the way out where no honest prices are to be had.
    function halve(address market) external onlyRole(DEFAULT_ADMIN_ROLE) {
        MarketFacts memory facts = _ended(market);
        if (block.timestamp < facts.expiration + PRICELESS_DELAY) revert PricesMayCome(facts.expiration + PRICELESS_DELAY);
        uint256[] memory payouts = new uint256[](2);
        payouts[0] = 1;
        payouts[1] = 1;
        tokens.reportPayouts(facts.questionId, payouts);
        emit QuickMarketHalved(facts.marketId);
    }

    /// @dev The facts of a market that this contract has to resolve, has not, and may by its time.
    function _ended(address market) private view returns (MarketFacts memory facts) {
        if (factory.marketIdOf(market) == bytes32(0)) revert UnknownMarket(market);
        facts = IMarket(market).facts();
        if (facts.resolver != address(this)) revert NotResolver(market, facts.resolver);
        if (block.timestamp < facts.expiration) revert MarketNotExpired(facts.expiration);
        if (tokens.payoutDenominator(facts.marketId) > 0) revert MarketAlreadyResolved(facts.marketId);
    }

    function _requirePublished(uint64 publishTime, uint64 boundary) private view {
        if (publishTime < boundary || publishTime - boundary > MAX_PUBLISH_DELAY || publishTime > block.timestamp) {
            revert InvalidPublishTime(publishTime, boundary);
        }
    }
}
