// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {IConditionalTokens} from "../../../contracts-abi/solidity/IConditionalTokens.sol";
import {IMarketFactory} from "../../../contracts-abi/solidity/IMarketFactory.sol";
import {IOptimisticOracle} from "../../../contracts-abi/solidity/IOptimisticOracle.sol";
import {ISettlement} from "../../../contracts-abi/solidity/ISettlement.sol";
import {vm} from "./Vm.sol";

// The calls that the tests make and that contracts-abi/solidity has no interface for. The contracts themselves are not imported: they would
// be compiled again, with other settings.

interface Roles {
    function grantRole(bytes32 role, address account) external;
    function revokeRole(bytes32 role, address account) external;
    function hasRole(bytes32 role, address account) external view returns (bool);
}

interface KeyedNonces {
    function nonces(address owner) external view returns (uint256);
    function nonces(address owner, uint192 key) external view returns (uint256);
    function revokeKeyedNonce(uint192 key) external;
}

interface Usdc is IERC20, IERC20Permit {
    function mint(address to, uint256 amount) external;
    function blacklist(address account) external;
    function unBlacklist(address account) external;
    function isBlacklisted(address account) external view returns (bool);
    function transferOwnership(address owner) external;
    function pause() external;
    function unpause() external;
    function paused() external view returns (bool);
}

interface Settlement is ISettlement, Roles {
    function executeFill(
        bytes32 buyHash, bytes32 sellHash, address buyer, address seller, uint256 positionId, uint256 size, uint256 cost
    ) external;
}

interface Factory is IMarketFactory, Roles {
    function createMarket(
        bytes32 questionId, string calldata question, string calldata description, uint8 category, uint64 expiration, uint256 bond
    ) external returns (bytes32 marketId, address market);
    function createQuickMarket(bytes32 questionId, string calldata asset, uint64 startTime, uint64 expiration)
        external
        returns (bytes32 marketId, address market);
    function oracleResolver() external view returns (address);
    function quickResolver() external view returns (address);
}

interface Oracle is IOptimisticOracle {
    function arbitrate(bytes32 assertionId, bool truthful) external;
    function setParameters(uint256 fee, bool whitelisted) external;
    function claimPayment(address to) external;
    function claimable(address account) external view returns (uint256);
    function renounceOwnership() external;
    function owner() external view returns (address);
}

struct BondPermit {
    uint256 deadline;
    uint8 v;
    bytes32 r;
    bytes32 s;
}

struct Proposal {
    bytes32 assertionId;
    address proposer;
    bool outcome;
    uint64 expirationTime;
}

interface Resolver is Roles, KeyedNonces {
    function proposeWithSig(
        address market, address proposer, bool outcome, uint256 deadline, uint8 v, bytes32 r, bytes32 s, BondPermit calldata bondPermit
    ) external returns (bytes32 assertionId);
    function settleWithSig(
        address market, address settler, uint8 winningOutcome, uint256 deadline, uint8 v, bytes32 r, bytes32 s
    ) external;
    function abandon(bytes32 marketId) external;
    function halve(address market) external;
    function assertionResolvedCallback(bytes32 assertionId, bool assertedTruthfully) external;
    function assertionDisputedCallback(bytes32 assertionId) external;
    function proposalOf(bytes32 marketId) external view returns (Proposal memory);
    function bondOf(address market) external view returns (uint256);
}

interface QuickResolver is Roles {
    function resolve(address market, int64 startPrice, uint64 startPublishTime, int64 endPrice, uint64 endPublishTime) external;
    function halve(address market) external;
}

/// @notice What is read and written at a run: the contracts' byte code, which test/support/forge.ts lays there, and counts.
function folder() view returns (string memory) {
    return vm.envOr("FORGE_FOLDER", string(".build/forge/committed"));
}

/// @notice Deploys a contract's byte code.
function deploy(string memory name, bytes memory arguments) returns (address deployed) {
    bytes memory code = bytes.concat(vm.getCode(string.concat(folder(), "/code/", name, ".json")), arguments);
    assembly ("memory-safe") {
        deployed := create(0, add(code, 0x20), mload(code))
    }
    require(deployed != address(0), string.concat(name, " was not deployed"));
}
