// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IMarketFactory} from "./IMarketFactory.sol";
import {IOptimisticOracle} from "./IOptimisticOracle.sol";
import {KIND_QUICK, KIND_STANDARD, MarketFacts} from "./IMarket.sol";
import {Market} from "./Market.sol";
import {OracleResolver} from "./OracleResolver.sol";
import {QuickResolver} from "./QuickResolver.sol";

/// @title Makes markets: prepares a market's condition and gives it an address.
/// @notice The factory deploys its two resolvers itself, so that the three know each other from the first block and for good.
contract MarketFactory is IMarketFactory, AccessControlDefaultAdminRules {
    /// @notice Who may create markets.
    bytes32 public constant CREATOR_ROLE = keccak256("CREATOR_ROLE");

    /// @notice Limits of texts in bytes.
    uint256 public constant MAX_QUESTION_BYTES = 1_000;
    uint256 public constant MAX_DESCRIPTION_BYTES = 10_000;
    uint256 public constant MAX_ASSET_BYTES = 32;
    /// @notice The last category, general.
    uint8 public constant MAX_CATEGORY = 3;
    /// @notice The last second of the year 9999: a later expiration is a mistake, such as milliseconds.
    uint64 public constant MAX_EXPIRATION = 253_402_300_799;
    /// @notice The largest bond of a proposed resolution, in the collateral's base units, unless the oracle asks for more: 100,000 of a stablecoin
    /// with 6 decimals. Nobody could post a bond that is a mistake.
    uint256 public constant MAX_BOND = 100_000e6;
    /// @notice The longest quick market in seconds. As its end lies ahead, its start lies at most this far back.
    uint64 public constant MAX_QUICK_INTERVAL = 1 days;

    IConditionalTokens public immutable tokens;
    IERC20 public immutable collateral;
    IOptimisticOracle public immutable oracle;
    /// @notice Resolves standard markets.
    OracleResolver public immutable oracleResolver;
    /// @notice Resolves quick markets.
    QuickResolver public immutable quickResolver;
    /// @notice The code that every market is a clone of.
    address public immutable implementation;

    /// @inheritdoc IMarketFactory
    mapping(bytes32 marketId => address) public marketOf;
    /// @inheritdoc IMarketFactory
    mapping(address market => bytes32) public marketIdOf;

    /// @notice A market exists. Kind 0 standard, 1 quick; category 0 defi, 1 protocol, 2 stablecoin, 3 general.
    event MarketCreated(
        bytes32 indexed marketId,
        address indexed market,
        address indexed maker,
        uint64 expiration,
        uint8 kind,
        uint8 category,
        uint256 yesId,
        uint256 noId,
        uint256 bond,
        string question,
        string description
    );

    /// @notice The market of the same transaction is a quick one: YES wins when the price at `endTime` is not below that at `startTime`.
    event QuickMarketCreated(bytes32 indexed marketId, string asset, uint64 startTime, uint64 endTime);

    error MarketAlreadyExists(bytes32 marketId);
    error QuestionLength(uint256 length, uint256 maximum);
    error DescriptionLength(uint256 length, uint256 maximum);
    error AssetLength(uint256 length, uint256 maximum);
    error UnknownCategory(uint8 category);
    error InvalidExpiration(uint64 expiration);
    error InvalidStartTime(uint64 startTime, uint64 expiration);
    error BondTooLow(uint256 bond, uint256 minimumBond);
    error BondTooHigh(uint256 bond, uint256 maximumBond);

    /// @param disputeWindow how long a proposed resolution can be disputed, in seconds: 7,200, but on development chains
    /// @param admin administers the roles here and on the resolvers; hands each over in two steps, `adminDelay` seconds apart
    constructor(
        IConditionalTokens tokens_,
        IERC20 collateral_,
        IOptimisticOracle oracle_,
        uint64 disputeWindow,
        address admin,
        uint48 adminDelay
    ) AccessControlDefaultAdminRules(adminDelay, admin) {
        tokens = tokens_;
        collateral = collateral_;
        oracle = oracle_;
        implementation = address(new Market(tokens_, collateral_));
        oracleResolver = new OracleResolver(this, tokens_, collateral_, oracle_, disputeWindow, admin, adminDelay);
        quickResolver = new QuickResolver(this, tokens_, admin, adminDelay);
    }

    /// @notice Creates a market that is resolved by a proposal after `expiration`, under `bond`, in the collateral's base units, or under the oracle's
    /// minimum when that is more by then.
    function createMarket(
        bytes32 questionId,
        string calldata question,
        string calldata description,
        uint8 category,
        uint64 expiration,
        uint256 bond
    ) external onlyRole(CREATOR_ROLE) returns (bytes32 marketId, address market) {
        if (bytes(question).length == 0 || bytes(question).length > MAX_QUESTION_BYTES) {
            revert QuestionLength(bytes(question).length, MAX_QUESTION_BYTES);
        }
        if (bytes(description).length > MAX_DESCRIPTION_BYTES) {
            revert DescriptionLength(bytes(description).length, MAX_DESCRIPTION_BYTES);
        }
        if (category > MAX_CATEGORY) revert UnknownCategory(category);
        uint256 minimumBond = oracle.getMinimumBond(address(collateral));
        if (bond < minimumBond) revert BondTooLow(bond, minimumBond);
        uint256 maximumBond = Math.max(MAX_BOND, minimumBond);
        if (bond > maximumBond) revert BondTooHigh(bond, maximumBond);
        MarketFacts memory facts;
        facts.questionId = questionId;
        facts.resolver = address(oracleResolver);
        facts.kind = KIND_STANDARD;
        facts.category = category;
        facts.expiration = expiration;
        facts.bond = bond;
        facts.question = question;
        facts.description = description;
        return _create(facts);
    }

    /// @notice Creates a market on whether the asset's price at `expiration` is not below that at `startTime`.
    function createQuickMarket(bytes32 questionId, string calldata asset, uint64 startTime, uint64 expiration)
        external
        onlyRole(CREATOR_ROLE)
        returns (bytes32 marketId, address market)
    {
        if (bytes(asset).length == 0 || bytes(asset).length > MAX_ASSET_BYTES) {
            revert AssetLength(bytes(asset).length, MAX_ASSET_BYTES);
        }
        if (startTime >= expiration || expiration - startTime > MAX_QUICK_INTERVAL) {
            revert InvalidStartTime(startTime, expiration);
        }
        MarketFacts memory facts;
        facts.questionId = questionId;
        facts.resolver = address(quickResolver);
        facts.kind = KIND_QUICK;
        facts.category = MAX_CATEGORY;
        facts.startTime = startTime;
        facts.expiration = expiration;
        facts.asset = asset;
        facts.question = string.concat(
            asset, " up or down, ", Strings.toString(startTime), " to ", Strings.toString(expiration), "?"
        );
        facts.description = "YES wins when the price at the end is not below the price at the start. Times are Unix seconds.";
        (marketId, market) = _create(facts);
        emit QuickMarketCreated(marketId, asset, startTime, expiration);
    }

    /// @dev Anybody may have prepared the condition before; that changes nothing about it, so it is no obstacle.
    function _create(MarketFacts memory facts) private returns (bytes32 marketId, address market) {
        if (facts.expiration <= block.timestamp || facts.expiration > MAX_EXPIRATION) {
            revert InvalidExpiration(facts.expiration);
        }
        marketId = tokens.getConditionId(facts.resolver, facts.questionId, 2);
        if (marketOf[marketId] != address(0)) revert MarketAlreadyExists(marketId);
        if (tokens.getOutcomeSlotCount(marketId) == 0) tokens.prepareCondition(facts.resolver, facts.questionId, 2);
        facts.marketId = marketId;
        facts.maker = msg.sender;
        facts.yesId = tokens.getPositionId(collateral, tokens.getCollectionId(bytes32(0), marketId, 1));
        facts.noId = tokens.getPositionId(collateral, tokens.getCollectionId(bytes32(0), marketId, 2));
        market = Clones.cloneDeterministicWithImmutableArgs(implementation, abi.encode(facts), marketId);
        marketOf[marketId] = market;
        marketIdOf[market] = marketId;
        emit MarketCreated(
            marketId, market, facts.maker, facts.expiration, facts.kind, facts.category, facts.yesId, facts.noId, facts.bond,
            facts.question, facts.description
        );
    }
}
