// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {BondPermit} from "./Contracts.sol";
import {Holding} from "./Holding.sol";
import {Signed} from "./Signing.sol";

/// @title Requests that people sign and anybody brings: once, late, again, or altered.
abstract contract Relaying is Holding {
    enum Kind {
        Approval,
        Split,
        Merge,
        Redeem,
        Permit,
        Propose,
        Settle
    }

    struct Request {
        Kind kind;
        address owner;
        address target;
        bytes data;
        MarketInfo market;
        /// @dev Of collateral or of shares.
        uint256 amount;
        address delegate;
        bool approved;
        uint256[] sets;
        uint256 deadline;
        bool spent;
    }

    /// @dev The words of the call that the signature covers, it included: changing any of them makes it void.
    uint256 private constant COVERED_WORDS = 7;

    Request[] private requests;

    /// @notice Somebody signs a request, which is sent now or later.
    function signRequest(uint256 seed) external step(seed) {
        address owner = _oneIn(8) ? _signer() : _trader();
        Kind kind = Kind(_pick(7));
        bool made = _request(kind, owner, kind == Kind.Redeem ? _marketThat(true) : kind > Kind.Permit ? _standardMarket() : _market());
        if (made && _oneIn(2)) _relay(requests.length - 1);
    }

    /// @notice A request that was signed before, at times for the second time.
    function relay(uint256 seed) external step(seed) {
        if (requests.length == 0) return;
        // Mostly one of the newest, whose nonce may be the next one still.
        _relay(_oneIn(3) || requests.length < 3 ? _pick(requests.length) : requests.length - 1 - _pick(3));
    }

    /// @notice The same with one word changed: it must do nothing.
    function relayAltered(uint256 seed) external step(seed) {
        if (requests.length == 0) return;
        Request storage request = requests[_pick(requests.length)];
        bytes memory data = request.data;
        uint256 position = 4 + 32 * _pick(COVERED_WORDS) + 31 - _pick(20);
        data[position] = bytes1(uint8(data[position]) ^ uint8(1 + _pick(255)));
        bool done = _call(_signer(), request.target, data);
        _holds(!done, Rule.Signature, "a request that was altered was taken");
    }

    /// @notice The owner takes back what is not sent yet.
    function revoke(uint256 seed) external step(seed) {
        if (!_oneIn(3)) return;
        address owner = _trader();
        MarketInfo memory market = _market();
        uint256 which = _pick(3);
        bytes memory data = which == 0
            ? abi.encodeCall(tokens.revokeNonce, ())
            : abi.encodeCall(tokens.revokeKeyedNonce, (uint192(uint256(market.id))));
        bool done = _call(owner, which < 2 ? address(tokens) : address(resolver), data);
        _holds(done, Rule.Authority, "an owner could not revoke a nonce");
        for (uint256 i = 0; i < requests.length; ++i) {
            Request storage request = requests[i];
            if (request.owner != owner) continue;
            if (which == 0 && request.kind < Kind.Redeem) request.spent = true;
            if (which == 1 && request.kind == Kind.Redeem && request.market.id == market.id) request.spent = true;
            if (which == 2 && request.kind > Kind.Permit && request.market.id == market.id) request.spent = true;
        }
        _done("revoke");
    }

    /// @dev False where there is nothing to sign: a proposal or settling of a market that has no proposals.
    function _request(Kind kind, address owner, MarketInfo memory market) internal returns (bool) {
        if (kind > Kind.Permit && (market.market == address(0) || market.quick)) return false;
        Request storage request = requests.push();
        (request.kind, request.owner, request.market) = (kind, owner, market);
        request.deadline = block.timestamp + (_oneIn(4) ? _pick(60) : 1 + _pick(20 days));
        request.target = kind == Kind.Permit ? address(usdc) : kind > Kind.Permit ? address(resolver) : address(tokens);
        if (kind == Kind.Approval) _signApprovalRequest(request);
        else if (kind == Kind.Split) _signSplitRequest(request);
        else if (kind == Kind.Merge) _signMergeRequest(request);
        else if (kind == Kind.Redeem) _signRedeemRequest(request);
        else if (kind == Kind.Permit) _signPermitRequest(request);
        else if (kind == Kind.Propose) _signProposeRequest(request);
        else _signSettleRequest(request);
        return true;
    }

    function _relayNewest() internal {
        _relay(requests.length - 1);
    }

    function _relay(uint256 index) private {
        Request storage request = requests[index];
        if (!request.spent && block.timestamp <= request.deadline) _agree(request);
        bool done = _call(_signer(), request.target, request.data);
        if (!done) return;
        _holds(!request.spent, Rule.Signature, "a request was taken twice, or after it was revoked");
        _holds(block.timestamp <= request.deadline, Rule.Signature, "a request was taken after its deadline");
        request.spent = true;
        if (request.kind == Kind.Approval) delegates[request.owner][request.delegate] = request.approved;
        if (request.kind == Kind.Redeem) _redeemed(request.market, request.owner, request.sets);
        _relayed(request.kind, request.market, request.approved);
        string[7] memory names = ["approval", "split", "merge", "redeem", "permit", "propose", "settle"];
        _done(string.concat("signed ", names[uint256(request.kind)]));
    }

    /// @dev What its owner has agreed to lose by signing it.
    function _agree(Request storage request) private {
        address owner = request.owner;
        MarketInfo memory market = request.market;
        if (request.kind == Kind.Split || request.kind == Kind.Propose) _agreeToPay(owner, request.amount);
        if (request.kind == Kind.Redeem) _agreeToGiveAll(owner, market);
        if (request.kind != Kind.Merge) return;
        _agreeToGive(owner, market.yesId, request.amount);
        _agreeToGive(owner, market.noId, request.amount);
    }

    /// @dev A request was taken; `approved` is a proposal's outcome.
    function _relayed(Kind kind, MarketInfo memory market, bool approved) internal virtual;

    function _signApprovalRequest(Request storage request) private {
        request.delegate = _oneIn(2) ? address(settlement) : _anyone();
        request.approved = !_oneIn(4);
        Signed memory signed = _signApproval(request.owner, request.delegate, request.approved, request.deadline);
        request.data = abi.encodeCall(
            tokens.setApprovalForAllWithSig,
            (request.owner, request.delegate, request.approved, request.deadline, signed.v, signed.r, signed.s)
        );
    }

    function _signSplitRequest(Request storage request) private {
        request.amount = _amount();
        bytes32 id = request.market.id;
        Signed memory signed = _signSplit(request.owner, id, request.amount, request.deadline);
        request.data = abi.encodeCall(
            tokens.splitPositionWithSig,
            (request.owner, usdc, id, request.amount, request.deadline, signed.v, signed.r, signed.s)
        );
    }

    function _signMergeRequest(Request storage request) private {
        // So little that there is enough for it twice.
        request.amount = 1 + _pick(lastShares[request.owner][request.market.noId] / 3 + 1);
        bytes32 id = request.market.id;
        Signed memory signed = _signMerge(request.owner, id, request.amount, request.deadline);
        request.data = abi.encodeCall(
            tokens.mergePositionsWithSig,
            (request.owner, usdc, id, request.amount, request.deadline, signed.v, signed.r, signed.s)
        );
    }

    function _signRedeemRequest(Request storage request) private {
        request.sets = _oneIn(2) ? _sets() : _one(1 + _pick(2));
        bytes32 id = request.market.id;
        Signed memory signed = _signRedeem(request.owner, id, request.sets, request.deadline);
        request.data = abi.encodeCall(
            tokens.redeemPositionsWithSig,
            (request.owner, usdc, 0, id, request.sets, request.deadline, signed.v, signed.r, signed.s)
        );
    }

    function _signPermitRequest(Request storage request) private {
        address[3] memory spenders = [address(tokens), address(settlement), address(resolver)];
        request.delegate = spenders[_pick(3)];
        request.amount = _oneIn(2) ? _amount() : type(uint256).max;
        Signed memory signed = _signPermit(request.owner, request.delegate, request.amount, request.deadline);
        request.data = abi.encodeCall(
            usdc.permit,
            (request.owner, request.delegate, request.amount, request.deadline, signed.v, signed.r, signed.s)
        );
    }

    function _signProposeRequest(Request storage request) private {
        MarketInfo memory market = request.market;
        request.approved = _oneIn(2);
        request.amount = resolver.bondOf(market.market);
        address owner = request.owner;
        Signed memory signed = _signProposal(market, owner, request.approved, request.amount, request.deadline);
        BondPermit memory permit;
        if (_oneIn(2)) permit = _bondPermit(owner, request.amount, block.timestamp + 1 days);
        request.data = abi.encodeCall(
            resolver.proposeWithSig,
            (market.market, owner, request.approved, request.deadline, signed.v, signed.r, signed.s, permit)
        );
    }

    function _signSettleRequest(Request storage request) private {
        MarketInfo memory market = request.market;
        uint8 outcome = resolver.proposalOf(market.id).outcome == _oneIn(12) ? 1 : 0;
        Signed memory signed = _signSettling(market, request.owner, outcome, request.deadline);
        request.data = abi.encodeCall(
            resolver.settleWithSig,
            (market.market, request.owner, outcome, request.deadline, signed.v, signed.r, signed.s)
        );
    }
}
