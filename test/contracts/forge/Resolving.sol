// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Relaying} from "./Relaying.sol";
import {IOptimisticOracle} from "../../../contracts-abi/solidity/IOptimisticOracle.sol";

/// @title Makes markets, and ends them in every way: proposed, disputed, arbitrated, by prices, half to half.
abstract contract Resolving is Relaying {
    struct Resolution {
        uint256 yes;
        uint256 no;
    }

    bytes32[] private assertionIds;
    /// @dev What a proposer signed; true is YES.
    mapping(bytes32 assertionId => bool) private asserted;
    /// @dev What each condition pays by what its resolver was shown.
    mapping(bytes32 conditionId => Resolution) private resolutions;

    function createMarket(uint256 seed) external step(seed) {
        _createMarket(_oneIn(6) ? _anyone() : operator, _oneIn(3));
    }

    /// @notice A proposal by a new signature, of a market that has expired, or now expires.
    function propose(uint256 seed) external step(seed) {
        MarketInfo memory market = _standardMarket();
        if (block.timestamp < market.expiration && _oneIn(2)) _warpTo(market.expiration);
        if (_request(Kind.Propose, _trader(), market)) _relayNewest();
    }

    /// @notice Settling by a new signature, at times before the window is over.
    function settleMarket(uint256 seed) external step(seed) {
        if (!_request(Kind.Settle, _trader(), _standardMarket())) return;
        if (_oneIn(2)) _warpTo(block.timestamp + DISPUTE_WINDOW);
        _relayNewest();
    }

    /// @notice A dispute in anybody's name, the collateral's own too, which it refuses to pay.
    function dispute(uint256 seed) external step(seed) {
        if (assertionIds.length == 0) return;
        bytes32 id = assertionIds[assertionIds.length - 1 - _pick(_min(assertionIds.length, 3))];
        address sender = _signer();
        address disputer = _oneIn(6) ? address(usdc) : _anyone();
        // A disputer that the collateral refuses later, so that the oracle keeps what it would pay.
        if (_oneIn(4)) _call(arbiter, address(usdc), abi.encodeCall(usdc.blacklist, (disputer)));
        uint256 bond = oracle.getAssertion(id).bond;
        _agreeToPay(sender, bond);
        _call(sender, address(usdc), abi.encodeCall(usdc.approve, (address(oracle), bond)));
        if (_call(sender, address(oracle), abi.encodeCall(oracle.disputeAssertion, (id, disputer)))) _done("dispute");
    }

    function arbitrate(uint256 seed) external step(seed) {
        if (assertionIds.length == 0) return;
        bytes32 id = assertionIds[_pick(assertionIds.length)];
        for (uint256 i = 0; i < 4 && oracle.getAssertion(id).disputer == address(0); ++i) {
            id = assertionIds[_pick(assertionIds.length)];
        }
        if (!_call(arbiter, address(oracle), abi.encodeCall(oracle.arbitrate, (id, _oneIn(2))))) return;
        _done("arbitrate");
        if (_oneIn(2)) _settleAssertion(id);
    }

    /// @notice Settling on the oracle itself, which calls the resolver back.
    function settleAssertion(uint256 seed) external step(seed) {
        if (assertionIds.length == 0) return;
        _settleAssertion(assertionIds[_pick(assertionIds.length)]);
    }

    function _settleAssertion(bytes32 id) private {
        if (!_call(_signer(), address(oracle), abi.encodeCall(oracle.settleAssertion, (id)))) return;
        _done("settleAssertion");
        _noteResolutions();
    }

    /// @notice A stranger's assertion about nothing, with the resolver to be called back.
    function assertSomething(uint256 seed) external step(seed) {
        uint256 bond = oracle.getMinimumBond(address(usdc)) + _pick(1e6);
        _agreeToPay(stranger, bond);
        _call(stranger, address(usdc), abi.encodeCall(usdc.approve, (address(oracle), bond)));
        bytes32 about = _market().id;
        address recipient = _oneIn(2) ? address(resolver) : address(0);
        bytes memory claim = abi.encode(_pick(3));
        bytes memory data = abi.encodeCall(
            oracle.assertTruth, (claim, stranger, recipient, address(0), DISPUTE_WINDOW, usdc, bond, "ASSERT_TRUTH", about)
        );
        if (!_call(stranger, address(oracle), data)) return;
        _done("assertSomething");
        assertionIds.push(
            keccak256(abi.encode(claim, bond, block.timestamp, DISPUTE_WINDOW, usdc, recipient, address(0), bytes32("ASSERT_TRUTH"), stranger))
        );
    }

    function resolveQuick(uint256 seed) external step(seed) {
        MarketInfo memory market = _market();
        if (!market.quick) return;
        if (block.timestamp < market.expiration && _oneIn(2)) _warpTo(market.expiration + 15);
        (int64 startPrice, int64 endPrice) = (int64(uint64(1 + _pick(5))), int64(uint64(_pick(5))));
        uint64 startTime = market.startTime + uint64(_pick(17));
        uint64 endTime = market.expiration + uint64(_pick(17));
        address sender = _oneIn(6) ? _signer() : operator;
        bool allowed = quickResolver.hasRole(keccak256("OPERATOR_ROLE"), sender);
        bytes memory data = abi.encodeCall(quickResolver.resolve, (market.market, startPrice, startTime, endPrice, endTime));
        if (!_call(sender, address(quickResolver), data)) return;
        _done("resolveQuick");
        bool timely = startTime <= market.startTime + 15 && endTime <= market.expiration + 15 && endTime <= block.timestamp;
        _holds(allowed && timely && endPrice > 0, Rule.Authority, "a quick market was resolved by wrong prices");
        _note(market, endPrice >= startPrice ? 1 : 0, endPrice >= startPrice ? 0 : 1);
    }

    /// @notice The ways out, by the administrator or somebody else, at any time.
    function wayOut(uint256 seed) external step(seed) {
        MarketInfo memory market = _oneIn(2) ? _standardMarket() : _marketThat(false);
        if (market.market == address(0)) return;
        address sender = _oneIn(4) ? _signer() : admin;
        if (_oneIn(2)) _warpTo(block.timestamp + 10 days);
        bool abandons = !market.quick && (resolver.proposalOf(market.id).assertionId != 0 || _oneIn(4));
        bytes memory data = abandons
            ? abi.encodeCall(resolver.abandon, (market.id))
            : abi.encodeCall(resolver.halve, (market.market));
        uint64 until = market.expiration + (market.quick ? 1 days : 30 days);
        if (abandons) until = resolver.proposalOf(market.id).expirationTime + 7 days;
        if (!_call(sender, market.quick ? address(quickResolver) : address(resolver), data)) return;
        _done(abandons ? "abandon" : "halve");
        _holds(sender == admin, Rule.Authority, "somebody took a way out without the role");
        _holds(block.timestamp >= until, Rule.Authority, "a way out was taken too early");
        if (abandons) _noteResolutions();
        else _note(market, 1, 1);
    }

    /// @notice The stranger's own condition, with odd payouts.
    function reportForeign(uint256 seed) external step(seed) {
        if (!_oneIn(8)) return;
        uint256[] memory payouts = new uint256[](2);
        (payouts[0], payouts[1]) = (_pick(8), _oneIn(4) ? _pick(1e30) : _pick(8));
        if (!_call(stranger, address(tokens), abi.encodeCall(tokens.reportPayouts, ("foreign", payouts)))) return;
        _done("reportForeign");
        _note(markets[0], payouts[0], payouts[1]);
    }

    /// @notice The oracle's owner changes its fee, or what it takes; the payments that it kept are claimed.
    function setOracle(uint256 seed) external step(seed) {
        uint256 which = _pick(40);
        if (which == 0) _call(arbiter, address(oracle), abi.encodeWithSignature("renounceOwnership()"));
        if (which < 10) _call(arbiter, address(oracle), abi.encodeCall(oracle.setParameters, (_pick(10e6), !_oneIn(4))));
        if (which < 10) return;
        address person = _signer();
        for (uint256 i = 0; i < 8 && oracle.claimable(person) == 0; ++i) person = people[i];
        bool nothing = oracle.claimable(person) == 0;
        bool done = _call(person, address(oracle), abi.encodeCall(oracle.claimPayment, (_anyone())));
        if (done) _done(nothing ? "claim of nothing" : "claimPayment");
    }

    function _createMarket(address sender, bool quick) internal {
        if (markets.length == MAX_MARKETS) return;
        bytes32 questionId = bytes32(markets.length);
        uint64 start = uint64(block.timestamp);
        uint64 expiration = start + (quick ? 15 minutes : uint64(1 hours + _pick(30 days)));
        address reporter = quick ? address(quickResolver) : address(resolver);
        bytes32 id = tokens.getConditionId(reporter, questionId, 2);
        bool allowed = factory.hasRole(keccak256("CREATOR_ROLE"), sender);
        uint256 bond = oracle.getMinimumBond(address(usdc)) + _pick(5e6);
        bytes memory data = quick
            ? abi.encodeCall(factory.createQuickMarket, (questionId, "BTC", start, expiration))
            : abi.encodeCall(factory.createMarket, (questionId, "?", "", 0, expiration, bond));
        if (!_call(sender, address(factory), data)) return;
        _done("createMarket");
        _holds(allowed, Rule.Authority, "somebody made a market without the role");
        _addMarket(factory.marketOf(id), id, questionId, quick, start, expiration);
    }

    function _relayed(Kind kind, MarketInfo memory market, bool approved) internal override {
        if (kind == Kind.Propose) {
            bytes32 id = resolver.proposalOf(market.id).assertionId;
            assertionIds.push(id);
            asserted[id] = approved;
            _holds(block.timestamp >= market.expiration, Rule.Authority, "an open market was proposed");
        }
        if (kind == Kind.Settle) _noteResolutions();
    }

    /// @dev Markets that the oracle has resolved since: only by a proposal that stood, and as it said.
    function _noteResolutions() private {
        for (uint256 i = 1; i < markets.length; ++i) {
            MarketInfo memory market = markets[i];
            if (market.quick || tokens.payoutDenominator(market.id) == 0 || _isNoted(market.id)) continue;
            bytes32 id = resolver.proposalOf(market.id).assertionId;
            IOptimisticOracle.Assertion memory assertion = oracle.getAssertion(id);
            bool stood = assertion.settled && assertion.settlementResolution;
            if (assertion.disputer == address(0)) stood = stood && block.timestamp >= assertion.expirationTime;
            _holds(stood, Rule.Authority, "a market was resolved by a proposal that does not stand");
            _done("resolved by proposal");
            _note(market, asserted[id] ? 1 : 0, asserted[id] ? 0 : 1);
        }
    }

    function _note(MarketInfo memory market, uint256 yes, uint256 no) internal {
        _holds(!_isNoted(market.id), Rule.Once, "a market was resolved twice");
        resolutions[market.id] = Resolution(yes, no);
    }

    function _isNoted(bytes32 id) private view returns (bool) {
        return resolutions[id].yes + resolutions[id].no > 0;
    }

    /// @notice Every condition pays what its resolver was shown, and nothing before.
    function checkResolutions() external view {
        for (uint256 i = 0; i < markets.length; ++i) {
            bytes32 id = markets[i].id;
            Resolution memory noted = resolutions[id];
            require(tokens.payoutDenominator(id) == noted.yes + noted.no, "a market is resolved when its resolver was shown how");
            require(tokens.payoutNumerators(id, 0) == noted.yes, "YES pays what was shown");
            require(tokens.payoutNumerators(id, 1) == noted.no, "NO pays what was shown");
        }
    }

    /// @notice What the oracle must hold, to the unit: bonds of what is not settled, and payments that were refused.
    function bonds() external view returns (uint256 sum) {
        for (uint256 i = 0; i < assertionIds.length; ++i) {
            IOptimisticOracle.Assertion memory assertion = oracle.getAssertion(assertionIds[i]);
            if (!assertion.settled) sum += assertion.disputer == address(0) ? assertion.bond : 2 * assertion.bond;
        }
        for (uint256 i = 0; i < people.length; ++i) sum += oracle.claimable(people[i]);
        sum += oracle.claimable(address(usdc)) + oracle.claimable(address(0));
    }

    function bondsHeld() external view returns (uint256) {
        return usdc.balanceOf(address(oracle));
    }

    /// @notice What lies in contracts that only pass collateral on.
    function left() external view returns (uint256) {
        return usdc.balanceOf(address(resolver)) + usdc.balanceOf(address(settlement)) + usdc.balanceOf(address(factory));
    }

    function _min(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
