// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title The interface of UMA's Optimistic Oracle V3: functions, structs and events as deployed, for whoever asserts, disputes or settles.
interface IOptimisticOracle {
    /// @notice How an assertion is escalated. On a dev chain only `assertingCaller` is ever set.
    struct EscalationManagerSettings {
        bool arbitrateViaEscalationManager;
        bool discardOracle;
        bool validateDisputers;
        address assertingCaller;
        address escalationManager;
    }

    /// @notice An assertion and its life; it can be disputed while `expirationTime` has not come.
    struct Assertion {
        EscalationManagerSettings escalationManagerSettings;
        address asserter;
        uint64 assertionTime;
        bool settled;
        IERC20 currency;
        uint64 expirationTime;
        bool settlementResolution;
        bytes32 domainId;
        bytes32 identifier;
        uint256 bond;
        address callbackRecipient;
        address disputer;
    }

    /// @notice A claim has been asserted under a bond.
    event AssertionMade(
        bytes32 indexed assertionId,
        bytes32 domainId,
        bytes claim,
        address indexed asserter,
        address callbackRecipient,
        address escalationManager,
        address caller,
        uint64 expirationTime,
        IERC20 currency,
        uint256 bond,
        bytes32 indexed identifier
    );

    /// @notice An assertion has been disputed under a bond of the same size.
    event AssertionDisputed(bytes32 indexed assertionId, address indexed caller, address indexed disputer);

    /// @notice An assertion has been settled: true when undisputed, else as arbitrated.
    event AssertionSettled(
        bytes32 indexed assertionId,
        address indexed bondRecipient,
        bool disputed,
        bool settlementResolution,
        address settleCaller
    );

    /// @notice Asserts `claim`; pulls `bond` from the caller, which must have approved it. Returns the assertion's id.
    function assertTruth(
        bytes calldata claim,
        address asserter,
        address callbackRecipient,
        address escalationManager,
        uint64 liveness,
        IERC20 currency,
        uint256 bond,
        bytes32 identifier,
        bytes32 domainId
    ) external returns (bytes32);

    /// @notice Asserts with the default currency, liveness and identifier, the least bond and no callbacks.
    function assertTruthWithDefaults(bytes calldata claim, address asserter) external returns (bytes32);

    /// @notice Disputes an assertion whose time has not come; pulls its bond from the caller for `disputer`.
    function disputeAssertion(bytes32 assertionId, address disputer) external;

    /// @notice Settles an assertion: undisputed after its expiration, disputed once arbitrated.
    function settleAssertion(bytes32 assertionId) external;

    /// @notice Settles the assertion if that is still to do, and returns its resolution.
    function settleAndGetAssertionResult(bytes32 assertionId) external returns (bool);

    /// @notice The resolution of a settled assertion.
    function getAssertionResult(bytes32 assertionId) external view returns (bool);

    /// @notice The assertion; all zero when there is none.
    function getAssertion(bytes32 assertionId) external view returns (Assertion memory);

    /// @notice The least bond of an assertion in `currency`, in its base units.
    function getMinimumBond(address currency) external view returns (uint256);

    /// @notice The identifier for assertions of truth, "ASSERT_TRUTH".
    function defaultIdentifier() external view returns (bytes32);
}

/// @title Who made an assertion with itself as `callbackRecipient` hears of its dispute and of its settlement.
interface IOptimisticOracleCallbackRecipient {
    /// @notice The assertion has been settled. A revert would block the settlement.
    function assertionResolvedCallback(bytes32 assertionId, bool assertedTruthfully) external;

    /// @notice The assertion has been disputed. A revert would block the dispute.
    function assertionDisputedCallback(bytes32 assertionId) external;
}
