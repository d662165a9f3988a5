// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IOptimisticOracle, IOptimisticOracleCallbackRecipient} from "./IOptimisticOracle.sol";

/// @title UMA's Optimistic Oracle V3 for a dev chain: its interface and its rules, with the owner in the place of UMA's voters.
/// @notice One currency, one identifier, no escalation managers; a payment that the currency refuses is kept to be claimed. As in the original, an assertion's id does not tell its asserter, a
/// dispute needs a bond of the same size, half of the loser's bond is the oracle's fee (here the owner's), and callbacks are plain calls.
contract OptimisticOracle is IOptimisticOracle, Ownable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    enum Arbitration { None, Untruthful, Truthful }

    bytes32 public constant defaultIdentifier = "ASSERT_TRUTH";
    /// @notice The part of the loser's bond that is the oracle's fee, out of 1e18.
    uint256 public constant burnedBondPercentage = 0.5e18;

    IERC20 public immutable defaultCurrency;
    uint64 public immutable defaultLiveness;
    /// @notice The least fee of an arbitration, in the currency's base units; it gives the least bond.
    uint256 public finalFee;
    /// @notice Whether assertions are taken in the currency. As in the original, those that are there already go on without it.
    bool public isCurrencyWhitelisted = true;

    mapping(bytes32 assertionId => Assertion) private assertions;
    /// @notice What the owner has decided about a disputed assertion.
    mapping(bytes32 assertionId => Arbitration) public arbitrations;

    /// @notice What the currency refused to transfer to an account: bonds and fees, kept for the account to claim.
    mapping(address account => uint256) public claimable;

    /// @notice The currency refused the transfer; the account may claim it.
    event PaymentRefused(bytes32 indexed assertionId, address indexed account, uint256 amount);

    /// @notice The account has claimed what was kept for it.
    event PaymentClaimed(address indexed account, address indexed to, uint256 amount);

    /// @notice The owner has set what UMA's `syncUmaParams` copies from UMA's store and whitelist.
    event ParametersSet(uint256 finalFee, bool isCurrencyWhitelisted);

    /// @notice The owner has decided a dispute; whoever calls `settleAssertion` next applies it.
    event AssertionArbitrated(bytes32 indexed assertionId, bool truthful);

    error AsserterIsZero();
    error DisputerIsZero();
    error AssertionAlreadyExists(bytes32 assertionId);
    error AssertionDoesNotExist(bytes32 assertionId);
    error AssertionAlreadyDisputed(bytes32 assertionId);
    error AssertionAlreadySettled(bytes32 assertionId);
    error AssertionAlreadyArbitrated(bytes32 assertionId);
    error AssertionIsExpired(uint64 expirationTime);
    error AssertionNotExpired(uint64 expirationTime);
    error AssertionNotDisputed(bytes32 assertionId);
    error AssertionNotArbitrated(bytes32 assertionId);
    error AssertionNotSettled(bytes32 assertionId);
    error BondTooLow(uint256 bond, uint256 minimumBond);
    error UnsupportedCurrency(address currency);
    error UnsupportedIdentifier(bytes32 identifier);
    error EscalationManagerUnsupported(address escalationManager);

    constructor(IERC20 currency, uint64 liveness, uint256 fee, address owner) Ownable(owner) {
        defaultCurrency = currency;
        defaultLiveness = liveness;
        finalFee = fee;
    }

    /// @inheritdoc IOptimisticOracle
    function assertTruthWithDefaults(bytes calldata claim, address asserter) external returns (bytes32) {
        return assertTruth(
            claim, asserter, address(0), address(0), defaultLiveness, defaultCurrency, getMinimumBond(address(defaultCurrency)),
            defaultIdentifier, bytes32(0)
        );
    }

    /// @inheritdoc IOptimisticOracle
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
    ) public nonReentrant returns (bytes32 assertionId) {
        if (asserter == address(0)) revert AsserterIsZero();
        if (escalationManager != address(0)) revert EscalationManagerUnsupported(escalationManager);
        if (identifier != defaultIdentifier) revert UnsupportedIdentifier(identifier);
        if (address(currency) != address(defaultCurrency) || !isCurrencyWhitelisted) revert UnsupportedCurrency(address(currency));
        if (bond < getMinimumBond(address(currency))) revert BondTooLow(bond, getMinimumBond(address(currency)));
        uint64 time = uint64(block.timestamp);
        assertionId = keccak256(
            abi.encode(
                claim, bond, uint256(time), liveness, currency, callbackRecipient, escalationManager, identifier, msg.sender
            )
        );
        Assertion storage assertion = assertions[assertionId];
        if (assertion.asserter != address(0)) revert AssertionAlreadyExists(assertionId);
        assertion.escalationManagerSettings.assertingCaller = msg.sender;
        assertion.asserter = asserter;
        assertion.assertionTime = time;
        assertion.currency = currency;
        assertion.expirationTime = time + liveness;
        assertion.domainId = domainId;
        assertion.identifier = identifier;
        assertion.bond = bond;
        assertion.callbackRecipient = callbackRecipient;
        currency.safeTransferFrom(msg.sender, address(this), bond);
        emit AssertionMade(
            assertionId, domainId, claim, asserter, callbackRecipient, escalationManager, msg.sender, time + liveness, currency,
            bond, identifier
        );
    }

    /// @inheritdoc IOptimisticOracle
    function disputeAssertion(bytes32 assertionId, address disputer) external nonReentrant {
        if (disputer == address(0)) revert DisputerIsZero();
        Assertion storage assertion = _existing(assertionId);
        if (assertion.disputer != address(0)) revert AssertionAlreadyDisputed(assertionId);
        if (block.timestamp >= assertion.expirationTime) revert AssertionIsExpired(assertion.expirationTime);
        assertion.disputer = disputer;
        assertion.currency.safeTransferFrom(msg.sender, address(this), assertion.bond);
        address recipient = assertion.callbackRecipient;
        if (recipient != address(0)) IOptimisticOracleCallbackRecipient(recipient).assertionDisputedCallback(assertionId);
        emit AssertionDisputed(assertionId, msg.sender, disputer);
    }

    /// @notice Decides a dispute, in the place of UMA's voters; once.
    function arbitrate(bytes32 assertionId, bool truthful) external onlyOwner {
        if (_existing(assertionId).disputer == address(0)) revert AssertionNotDisputed(assertionId);
        if (arbitrations[assertionId] != Arbitration.None) revert AssertionAlreadyArbitrated(assertionId);
        arbitrations[assertionId] = truthful ? Arbitration.Truthful : Arbitration.Untruthful;
        emit AssertionArbitrated(assertionId, truthful);
    }

    /// @notice Sets the final fee, and whether the currency is taken: what UMA's voters decide and anybody brings here by `syncUmaParams`.
    function setParameters(uint256 fee, bool whitelisted) external onlyOwner {
        finalFee = fee;
        isCurrencyWhitelisted = whitelisted;
        emit ParametersSet(fee, whitelisted);
    }

    /// @inheritdoc IOptimisticOracle
    function settleAssertion(bytes32 assertionId) public nonReentrant {
        Assertion storage assertion = _existing(assertionId);
        if (assertion.settled) revert AssertionAlreadySettled(assertionId);
        assertion.settled = true;
        bool disputed = assertion.disputer != address(0);
        bool truthful = disputed ? _arbitrated(assertionId) : _expired(assertion);
        address bondRecipient = truthful ? assertion.asserter : assertion.disputer;
        assertion.settlementResolution = truthful;
        if (disputed) {
            uint256 fee = (burnedBondPercentage * assertion.bond) / 1e18;
            _pay(assertionId, owner(), fee);
            _pay(assertionId, bondRecipient, assertion.bond * 2 - fee);
        } else {
            _pay(assertionId, bondRecipient, assertion.bond);
        }
        address recipient = assertion.callbackRecipient;
        if (recipient != address(0)) {
            IOptimisticOracleCallbackRecipient(recipient).assertionResolvedCallback(assertionId, truthful);
        }
        emit AssertionSettled(assertionId, bondRecipient, disputed, truthful, msg.sender);
    }

    /// @inheritdoc IOptimisticOracle
    function settleAndGetAssertionResult(bytes32 assertionId) external returns (bool) {
        if (!assertions[assertionId].settled) settleAssertion(assertionId);
        return getAssertionResult(assertionId);
    }

    /// @inheritdoc IOptimisticOracle
    function getAssertionResult(bytes32 assertionId) public view returns (bool) {
        if (!assertions[assertionId].settled) revert AssertionNotSettled(assertionId);
        return assertions[assertionId].settlementResolution;
    }

    /// @inheritdoc IOptimisticOracle
    function getAssertion(bytes32 assertionId) external view returns (Assertion memory) {
        return assertions[assertionId];
    }

    /// @inheritdoc IOptimisticOracle
    function getMinimumBond(address currency) public view returns (uint256) {
        return currency == address(defaultCurrency) ? (finalFee * 1e18) / burnedBondPercentage : 0;
    }

    /// @notice Pays to `to` what the currency refused to transfer to the caller before.
    function claimPayment(address to) external nonReentrant {
        uint256 amount = claimable[msg.sender];
        claimable[msg.sender] = 0;
        defaultCurrency.safeTransfer(to, amount);
        emit PaymentClaimed(msg.sender, to, amount);
    }

    /// @dev A payment that the currency refuses is kept: nobody holds up a settlement by an account that cannot be paid. Unlike the original.
    function _pay(bytes32 assertionId, address to, uint256 amount) private {
        if (defaultCurrency.trySafeTransfer(to, amount)) return;
        claimable[to] += amount;
        emit PaymentRefused(assertionId, to, amount);
    }

    function _existing(bytes32 assertionId) private view returns (Assertion storage assertion) {
        assertion = assertions[assertionId];
        if (assertion.asserter == address(0)) revert AssertionDoesNotExist(assertionId);
    }

    /// @dev What the owner has decided; reverts before.
    function _arbitrated(bytes32 assertionId) private view returns (bool) {
        Arbitration decision = arbitrations[assertionId];
        if (decision == Arbitration.None) revert AssertionNotArbitrated(assertionId);
        return decision == Arbitration.Truthful;
    }

    /// @dev True; reverts while a dispute may still come.
    function _expired(Assertion storage assertion) private view returns (bool) {
        if (block.timestamp < assertion.expirationTime) revert AssertionNotExpired(assertion.expirationTime);
        return true;
    }
}
