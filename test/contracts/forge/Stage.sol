// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IConditionalTokens} from "../../../contracts-abi/solidity/IConditionalTokens.sol";
import {Factory, Oracle, QuickResolver, Resolver, Roles, Settlement, Usdc, deploy} from "./Contracts.sol";
import {Hook} from "./Hook.sol";
import {vm} from "./Vm.sol";

/// @title What is deployed, who acts, and the markets there are.
abstract contract Stage {
    struct MarketInfo {
        address market;
        bytes32 id;
        bytes32 questionId;
        bool quick;
        uint64 startTime;
        uint64 expiration;
        uint256 yesId;
        uint256 noId;
    }

    uint256 internal constant START = 1_800_000_000;
    uint64 internal constant DISPUTE_WINDOW = 7_200;
    uint256 internal constant TRADERS = 3;
    uint256 internal constant MAX_MARKETS = 5;

    Usdc internal usdc;
    IConditionalTokens internal tokens;
    Settlement internal settlement;
    Factory internal factory;
    Oracle internal oracle;
    Resolver internal resolver;
    QuickResolver internal quickResolver;
    Hook internal hook;

    /// @dev Traders come first. All have keys but the hook, which is a contract.
    address[] internal people;
    mapping(address person => uint256) internal keyOf;
    address internal operator;
    address internal admin;
    /// @dev Owns the oracle and the collateral.
    address internal arbiter;
    address internal stranger;
    /// @dev Has the role to move shares, but nobody's approval.
    address internal rogue;

    /// @dev The first is a condition that the stranger prepared and reports on, with no market.
    MarketInfo[] internal markets;

    uint256 private entropy;

    constructor() {
        vm.warp(START);
        for (uint256 i = 0; i < TRADERS; ++i) _person(string.concat("trader", vm.toString(i)));
        operator = _person("operator");
        admin = _person("admin");
        arbiter = _person("arbiter");
        stranger = _person("stranger");
        rogue = _person("rogue");
        usdc = Usdc(deploy("TestUSDC", ""));
        usdc.transferOwnership(arbiter);
        tokens = IConditionalTokens(deploy("ConditionalTokens", abi.encode(admin, 0)));
        oracle = Oracle(deploy("OptimisticOracle", abi.encode(usdc, DISPUTE_WINDOW, 5e6, arbiter)));
        factory = Factory(deploy("MarketFactory", abi.encode(tokens, usdc, oracle, DISPUTE_WINDOW, admin, 0)));
        settlement = Settlement(deploy("Settlement", abi.encode(tokens, usdc, admin, 0)));
        resolver = Resolver(factory.oracleResolver());
        quickResolver = QuickResolver(factory.quickResolver());
        hook = new Hook(tokens, usdc);
        people.push(address(hook));
        _grant(address(settlement), "OPERATOR_ROLE", operator);
        _grant(address(quickResolver), "OPERATOR_ROLE", operator);
        _grant(address(factory), "CREATOR_ROLE", operator);
        _grant(address(tokens), "SETTLEMENT_ROLE", address(settlement));
        _grant(address(tokens), "SETTLEMENT_ROLE", rogue);
        tokens.prepareCondition(stranger, "foreign", 2);
        _addMarket(address(0), tokens.getConditionId(stranger, "foreign", 2), "foreign", false, 0, 0);
    }

    function _addMarket(address market, bytes32 id, bytes32 questionId, bool quick, uint64 startTime, uint64 expiration)
        internal
    {
        uint256 yesId = tokens.getPositionId(usdc, tokens.getCollectionId(0, id, 1));
        uint256 noId = tokens.getPositionId(usdc, tokens.getCollectionId(0, id, 2));
        markets.push(MarketInfo(market, id, questionId, quick, startTime, expiration, yesId, noId));
    }

    function _person(string memory name) private returns (address person) {
        uint256 key = uint256(keccak256(bytes(name)));
        person = vm.addr(key);
        keyOf[person] = key;
        people.push(person);
    }

    function _grant(address on, string memory role, address account) internal {
        vm.prank(admin);
        Roles(on).grantRole(keccak256(bytes(role)), account);
    }

    /// @dev All choices of an action follow from its seed.
    function _begin(uint256 seed) internal {
        entropy = seed;
    }

    /// @dev A number below `bound`.
    function _pick(uint256 bound) internal returns (uint256) {
        entropy = uint256(keccak256(abi.encode(entropy)));
        return entropy % bound;
    }

    function _oneIn(uint256 count) internal returns (bool) {
        return _pick(count) == 0;
    }

    function _anyone() internal returns (address) {
        return people[_pick(people.length)];
    }

    function _trader() internal returns (address) {
        return people[_pick(TRADERS)];
    }

    /// @dev Somebody who can sign.
    function _signer() internal returns (address) {
        return people[_pick(people.length - 1)];
    }

    function _market() internal returns (MarketInfo memory) {
        return markets[_pick(markets.length)];
    }

    /// @dev A market that is resolved, or that is not, where a few tries find one.
    function _marketThat(bool resolved) internal returns (MarketInfo memory market) {
        for (uint256 i = 0; i < 5; ++i) {
            market = _market();
            if ((tokens.payoutDenominator(market.id) > 0) == resolved) break;
        }
    }

    /// @dev A market that is resolved by proposals.
    function _standardMarket() internal returns (MarketInfo memory market) {
        for (uint256 i = 0; i < 8; ++i) {
            market = _marketThat(false);
            if (market.market != address(0) && !market.quick) break;
        }
    }

    function _amount() internal returns (uint256) {
        return _oneIn(8) ? _pick(10) : _pick(5_000_000_000);
    }

    /// @dev Time never goes back.
    function _warpTo(uint256 time) internal {
        if (time > block.timestamp) vm.warp(time);
    }

    /// @dev A call as `sender`; it may fail.
    function _call(address sender, address target, bytes memory data) internal returns (bool done) {
        vm.prank(sender);
        (done,) = target.call(data);
    }
}
