// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {KeyedNonces, Settlement, deploy} from "../Contracts.sol";
import {vm} from "../Vm.sol";

/// @title What a fill costs: proven by Halmos of the deployed byte code, for all arguments at once.
contract CostProof {
    uint256 private constant UNIT = 1e6;

    Settlement private settlement;

    function setUp() external {
        settlement = Settlement(deploy("Settlement", abi.encode(address(3), address(2), address(1), 0)));
    }

    /// @notice A cost is the exact value rounded up: never below it, and less than one unit above.
    function check_costIsTheExactValueRoundedUp(uint64 size, uint64 price) external view {
        uint256 cost = settlement.fillsCost(size, price);
        // Numbers below 2^64 and their product times a million are far below a word.
        unchecked {
            uint256 exact = uint256(price) * size;
            assert(cost * UNIT >= exact);
            assert(cost * UNIT < exact + UNIT);
        }
    }

    /// @notice Only nothing, or a price of nothing, is free.
    function check_costIsZeroForNothingOnly(uint64 size, uint64 price) external view {
        assert((settlement.fillsCost(size, price) == 0) == (size == 0 || price == 0));
    }

    /// @notice A share never costs more than the 1.00 that it can pay, and exactly that at the price of 1.00.
    function check_costIsAtMostWhatTheSharesCanPay(uint64 size, uint64 price) external view {
        if (price <= UNIT) assert(settlement.fillsCost(size, price) <= size);
        assert(settlement.fillsCost(size, uint64(UNIT)) == size);
    }

    /// @notice More shares never cost less.
    function check_costGrowsWithSize(uint64 less, uint64 more, uint64 price) external view {
        if (less <= more) assert(settlement.fillsCost(less, price) <= settlement.fillsCost(more, price));
    }

    /// @notice A higher price never costs less.
    function check_costGrowsWithPrice(uint64 size, uint64 lower, uint64 higher) external view {
        if (lower <= higher) assert(settlement.fillsCost(size, lower) <= settlement.fillsCost(size, higher));
    }

    /// @notice Two parts cost what the whole costs, or one unit more: here of any two exact values, since the first check says that a cost is
    /// the exact value rounded up, and the exact values of the parts add up.
    function check_partsCostTheWholeOrOneUnitMore(uint128 first, uint128 second) external pure {
        unchecked {
            uint256 parts = _roundedUp(first) + _roundedUp(second);
            uint256 whole = _roundedUp(uint256(first) + second);
            assert(parts >= whole);
            assert(parts <= whole + 1);
        }
    }

    function _roundedUp(uint256 exact) private pure returns (uint256) {
        unchecked {
            return (exact + UNIT - 1) / UNIT;
        }
    }
}

/// @title The nonces of keys, of which signed requests have one each.
contract NonceProof {
    KeyedNonces private tokens;

    function setUp() external {
        tokens = KeyedNonces(deploy("ConditionalTokens", abi.encode(address(1), 0)));
    }

    /// @notice Each key of an owner counts by itself, and its nonce has the key above 64 bits of count.
    function check_noncesOfKeysAreIndependent(address owner, uint192 key, uint192 other) external {
        if (key == other) return;
        uint256 before = tokens.nonces(owner, other);
        assert(tokens.nonces(owner, key) == uint256(key) << 64);
        vm.prank(owner);
        tokens.revokeKeyedNonce(key);
        assert(tokens.nonces(owner, key) == (uint256(key) << 64) + 1);
        assert(tokens.nonces(owner, other) == before);
    }

    /// @notice Nobody's call uses up another one's nonce.
    function check_noncesOfOwnersAreIndependent(address owner, address other, uint192 key, uint192 ofOther) external {
        if (owner == other) return;
        vm.prank(owner);
        tokens.revokeKeyedNonce(key);
        assert(tokens.nonces(other, ofOther) == uint256(ofOther) << 64);
    }
}
