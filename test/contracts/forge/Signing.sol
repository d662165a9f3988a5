// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Order, Permit} from "../../../contracts-abi/solidity/ISettlement.sol";
import {BondPermit, KeyedNonces} from "./Contracts.sol";
import {Ledger} from "./Ledger.sol";
import {vm} from "./Vm.sol";

struct Signed {
    uint8 v;
    bytes32 r;
    bytes32 s;
}

/// @title Signs as wallets do: every type of EIP-712, written down here once more.
abstract contract Signing is Ledger {
    bytes32 private constant ORDER = keccak256(
        "Order(bytes32 marketId,address trader,uint8 side,uint8 outcome,uint64 price,uint64 size,uint64 nonce,uint64 expiration,address makerFeeRecipient)"
    );
    bytes32 private constant PERMIT =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant APPROVAL =
        keccak256("SetApprovalForAll(address owner,address operator,bool approved,uint256 nonce,uint256 deadline)");
    bytes32 private constant REDEEM = keccak256(
        "RedeemPositions(address owner,address collateralToken,bytes32 parentCollectionId,bytes32 conditionId,uint256[] indexSets,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant SPLIT = keccak256(
        "SplitPosition(address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant MERGE = keccak256(
        "MergePositions(address owner,address collateralToken,bytes32 conditionId,uint256 amount,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant PROPOSE = keccak256(
        "ProposeResolution(address market,address proposer,bool outcome,uint256 bond,uint256 nonce,uint256 deadline)"
    );
    bytes32 private constant SETTLE =
        keccak256("SettleMarket(address market,address settler,uint8 winningOutcome,uint256 nonce,uint256 deadline)");

    bytes32 private immutable settlementDomain;
    bytes32 private immutable tokensDomain;
    bytes32 private immutable resolverDomain;
    bytes32 private immutable usdcDomain;

    constructor() {
        settlementDomain = _domain("Prediction Exchange Settlement", "1", address(settlement));
        tokensDomain = _domain("ConditionalTokens", "1", address(tokens));
        resolverDomain = _domain("OracleResolver", "1", address(resolver));
        usdcDomain = _domain("USD Coin (test)", "2", address(usdc));
    }

    function _domain(string memory name, string memory version, address verifier) private view returns (bytes32) {
        bytes32 typeHash =
            keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        return keccak256(abi.encode(typeHash, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, verifier));
    }

    function _orderHash(Order memory order) internal view returns (bytes32) {
        return _digest(settlementDomain, keccak256(abi.encode(ORDER, order)));
    }

    function _signPermit(address owner, address spender, uint256 value, uint256 deadline)
        internal
        view
        returns (Signed memory)
    {
        bytes32 fields = keccak256(abi.encode(PERMIT, owner, spender, value, usdc.nonces(owner), deadline));
        return _sign(owner, _digest(usdcDomain, fields));
    }

    function _signApproval(address owner, address delegate, bool approved, uint256 deadline)
        internal
        view
        returns (Signed memory)
    {
        bytes32 fields = keccak256(abi.encode(APPROVAL, owner, delegate, approved, _nonce(owner), deadline));
        return _sign(owner, _digest(tokensDomain, fields));
    }

    function _signSplit(address owner, bytes32 id, uint256 amount, uint256 deadline) internal view returns (Signed memory) {
        return _sign(
            owner, _digest(tokensDomain, keccak256(abi.encode(SPLIT, owner, usdc, id, amount, _nonce(owner), deadline)))
        );
    }

    function _signMerge(address owner, bytes32 id, uint256 amount, uint256 deadline) internal view returns (Signed memory) {
        return _sign(
            owner, _digest(tokensDomain, keccak256(abi.encode(MERGE, owner, usdc, id, amount, _nonce(owner), deadline)))
        );
    }

    function _signRedeem(address owner, bytes32 id, uint256[] memory sets, uint256 deadline)
        internal
        view
        returns (Signed memory)
    {
        uint256 nonce = KeyedNonces(address(tokens)).nonces(owner, uint192(uint256(id)));
        bytes32 setsHash = keccak256(abi.encodePacked(sets));
        bytes32 fields = keccak256(abi.encode(REDEEM, owner, usdc, bytes32(0), id, setsHash, nonce, deadline));
        return _sign(owner, _digest(tokensDomain, fields));
    }

    function _signProposal(MarketInfo memory market, address proposer, bool outcome, uint256 bond, uint256 deadline)
        internal
        view
        returns (Signed memory)
    {
        uint256 nonce = resolver.nonces(proposer, uint192(uint256(market.id)));
        bytes32 fields = keccak256(abi.encode(PROPOSE, market.market, proposer, outcome, bond, nonce, deadline));
        return _sign(proposer, _digest(resolverDomain, fields));
    }

    function _signSettling(MarketInfo memory market, address settler, uint8 outcome, uint256 deadline)
        internal
        view
        returns (Signed memory)
    {
        uint256 nonce = resolver.nonces(settler, uint192(uint256(market.id)));
        bytes32 fields = keccak256(abi.encode(SETTLE, market.market, settler, outcome, nonce, deadline));
        return _sign(settler, _digest(resolverDomain, fields));
    }

    function _bondPermit(address proposer, uint256 bond, uint256 deadline) internal view returns (BondPermit memory) {
        Signed memory signed = _signPermit(proposer, address(resolver), bond, deadline);
        return BondPermit(deadline, signed.v, signed.r, signed.s);
    }

    function _sign(address person, bytes32 digest) internal view returns (Signed memory signed) {
        (signed.v, signed.r, signed.s) = vm.sign(keyOf[person], digest);
    }

    function _nonce(address owner) private view returns (uint256) {
        return KeyedNonces(address(tokens)).nonces(owner);
    }

    function _digest(bytes32 domain, bytes32 fields) private pure returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", domain, fields));
    }
}
