// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IMarket, MarketFacts} from "./IMarket.sol";

/// @title A market's address: what it is about, and whether it is resolved.
/// @notice Each market is an EIP-1167 clone of one implementation, which the factory makes. Its facts are appended to the clone's code
/// (OpenZeppelin's immutable arguments), so there is no initialiser to call and nothing that could change; it holds no funds either.
contract Market is IMarket {
    /// @notice The factory that made this market.
    address public immutable factory;
    /// @notice The conditional tokens whose condition this market is.
    IConditionalTokens public immutable tokens;
    /// @notice What the market's tokens are backed by and redeemed for.
    IERC20 public immutable collateral;

    error NoWinner(bytes32 marketId);
    error NotResolved(bytes32 marketId);

    constructor(IConditionalTokens tokens_, IERC20 collateral_) {
        factory = msg.sender;
        tokens = tokens_;
        collateral = collateral_;
    }

    /// @inheritdoc IMarket
    function facts() public view returns (MarketFacts memory) {
        return abi.decode(Clones.fetchCloneArgs(address(this)), (MarketFacts));
    }

    /// @notice The market's id, which is its condition's id.
    function marketId() external view returns (bytes32) {
        return facts().marketId;
    }

    /// @notice What the factory's caller named the question by; the condition is made of it and of the resolver.
    function questionId() external view returns (bytes32) {
        return facts().questionId;
    }

    /// @notice What is asked.
    function question() external view returns (string memory) {
        return facts().question;
    }

    /// @notice How the question is to be read.
    function description() external view returns (string memory) {
        return facts().description;
    }

    /// @notice 0 defi, 1 protocol, 2 stablecoin, 3 general.
    function category() external view returns (uint8) {
        return facts().category;
    }

    /// @notice Who made the market.
    function maker() external view returns (address) {
        return facts().maker;
    }

    /// @notice When trading ends and resolution may begin, in seconds.
    function expiration() external view returns (uint64) {
        return facts().expiration;
    }

    /// @notice 0 standard, 1 quick.
    function kind() external view returns (uint8) {
        return facts().kind;
    }

    /// @notice The least bond of a proposed resolution, in the collateral's base units; 0 for a quick market. The oracle may ask for more: the
    /// resolver's `bondOf` tells what a proposal posts.
    function bond() external view returns (uint256) {
        return facts().bond;
    }

    /// @notice The contract that resolves this market: the condition's oracle.
    function resolver() external view returns (address) {
        return facts().resolver;
    }

    /// @notice The ERC-1155 id of YES tokens.
    function yesId() external view returns (uint256) {
        return facts().yesId;
    }

    /// @notice The ERC-1155 id of NO tokens.
    function noId() external view returns (uint256) {
        return facts().noId;
    }

    /// @notice A quick market's asset; empty for a standard one.
    function asset() external view returns (string memory) {
        return facts().asset;
    }

    /// @notice When a quick market's interval begins, in seconds; 0 for a standard one.
    function startTime() external view returns (uint64) {
        return facts().startTime;
    }

    /// @inheritdoc IMarket
    function resolved() external view returns (bool) {
        return tokens.payoutDenominator(facts().marketId) > 0;
    }

    /// @notice 0 when YES won, 1 when NO won; reverts before the resolution, and when both outcomes are paid.
    function winningOutcome() external view returns (uint8) {
        bytes32 id = facts().marketId;
        if (tokens.payoutDenominator(id) == 0) revert NotResolved(id);
        bool yes = tokens.payoutNumerators(id, 0) > 0;
        if (yes && tokens.payoutNumerators(id, 1) > 0) revert NoWinner(id);
        return yes ? 0 : 1;
    }
}
