// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The part of Foundry's cheatcodes that these tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function prank(address sender) external;
    function warp(uint256 time) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function getCode(string calldata artifact) external view returns (bytes memory);
    function envOr(string calldata name, string calldata otherwise) external view returns (string memory);
    function toString(uint256 value) external pure returns (string memory);
    function writeLine(string calldata path, string calldata line) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @notice What forge asks an invariant test for: the functions that it may call.
struct FuzzSelector {
    address addr;
    bytes4[] selectors;
}
