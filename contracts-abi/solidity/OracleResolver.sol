// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControlDefaultAdminRules} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {NoncesKeyed} from "@openzeppelin/contracts/utils/NoncesKeyed.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IConditionalTokens} from "./IConditionalTokens.sol";
import {IMarket, MarketFacts} from "./IMarket.sol";
import {IMarketFactory} from "./IMarketFactory.sol";
import {IOptimisticOracle, IOptimisticOracleCallbackRecipient} from "./IOptimisticOracle.sol";

/// @title Resolves standard markets through the optimistic oracle, on signed wishes that anybody may bring.
/// @notice A proposal is an assertion under `bondOf` the market with the proposer as asserter. Undisputed for the liveness, or arbitrated as
/// truthful, it resolves the market as soon as somebody settles it, here or on the oracle itself; arbitrated as untruthful, it makes room
/// for another proposal. No market is locked for ever: a proposal that the oracle cannot settle, because a bond's transfer is refused or nobody
/// arbitrates, can be abandoned days later, and a market that nobody can propose, or that is neither YES nor NO, can be paid half to half.
contract OracleResolver is
    AccessControlDefaultAdminRules,
    EIP712,
    NoncesKeyed,
    ReentrancyGuardTransient,
    IOptimisticOracleCallbackRecipient
{
    using SafeERC20 for IERC20;

    /// @notice A proposed resolution of a market; `assertionId` is zero when there is none.
    struct Proposal {
        bytes32 assertionId;
        address proposer;
        bool outcome;
        uint64 expirationTime;
    }

    /// @notice An ERC-2612 permit of the proposal's bond for this contract; none when `deadline` is 0.
    struct BondPermit {
        uint256 deadline;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice Who may propose; granted to the zero address it means everybody, as it does from the start.
    bytes32 public constant PROPOSER_ROLE = keccak256("PROPOSER_ROLE");

    bytes32 public constant PROPOSE_TYPEHASH = keccak256(
        "ProposeResolution(address market,address proposer,bool outcome,uint256 bond,uint256 nonce,uint256 deadline)"
    );
    bytes32 public constant SETTLE_TYPEHASH =
        keccak256("SettleMarket(address market,address settler,uint8 winningOutcome,uint256 nonce,uint256 deadline)");

    /// @notice How long after its dispute window a proposal that the oracle does not settle can be abandoned, in seconds.
    uint64 public constant ABANDON_DELAY = 7 days;

    /// @notice How long after its expiration a market without a proposal can be resolved half to half, in seconds.
    uint64 public constant HALVE_DELAY = 30 days;

    /// @notice How long a proposal can be disputed, in seconds.
    uint64 public immutable disputeWindow;

    IMarketFactory public immutable factory;
    IConditionalTokens public immutable tokens;
    IERC20 public immutable collateral;
    IOptimisticOracle public immutable oracle;

    mapping(bytes32 marketId => Proposal) private proposals;
    /// @notice The market that an assertion is about; zero when this contract has not made it.
    mapping(bytes32 assertionId => address) public marketOfAssertion;

    /// @notice A resolution is proposed and can be disputed before `expirationTime`; outcome true is YES.
    event ResolutionProposed(
        bytes32 indexed marketId,
        bytes32 indexed assertionId,
        address indexed proposer,
        bool outcome,
        uint256 bond,
        uint64 assertionTime,
        uint64 expirationTime
    );

    /// @notice The market's proposal is disputed: the oracle arbitrates.
    event ResolutionDisputed(bytes32 indexed marketId, bytes32 indexed assertionId, address disputer);

    /// @notice The market's proposal was untruthful: another one may come.
    event ResolutionRejected(bytes32 indexed marketId, bytes32 indexed assertionId);

    /// @notice The oracle cannot settle the market's proposal: another one may come, and what the oracle says of this one counts no more.
    event ResolutionAbandoned(bytes32 indexed marketId, bytes32 indexed assertionId);

    /// @notice The owner's signatures with this nonce, a key's as `nonces` gives it, count no more.
    event NonceRevoked(address indexed owner, uint256 nonce);

    /// @notice A market that nobody has proposed an outcome of is resolved: each share of either outcome is paid one half.
    event MarketHalved(bytes32 indexed marketId);

    /// @notice The market is resolved; outcome 0 is YES, 1 NO.
    event MarketResolved(bytes32 indexed marketId, bytes32 indexed assertionId, uint8 winningOutcome);

    error ExpiredSignature(uint256 deadline);
    error InvalidSigner(address signer, address expected);
    error UnknownMarket(address market);
    error NotResolver(address market, address resolver);
    error MarketNotExpired(uint64 expiration);
    error MarketAlreadyResolved(bytes32 marketId);
    error ProposalPending(bytes32 assertionId);
    error ProposerNotAllowed(address proposer);
    error NoProposal(bytes32 marketId);
    error WrongOutcome(uint8 proposed, uint8 given);
    error DisputeWindowOpen(uint64 expirationTime);
    error ProposalMaySettle(bytes32 assertionId, uint64 until);
    error ProposalsMayCome(uint64 until);
    error NotOracle(address caller);

    constructor(
        IMarketFactory factory_,
        IConditionalTokens tokens_,
        IERC20 collateral_,
        IOptimisticOracle oracle_,
        uint64 disputeWindow_,
        address admin,
        uint48 adminDelay
    ) EIP712("OracleResolver", "1") AccessControlDefaultAdminRules(adminDelay, admin) {
        factory = factory_;
        tokens = tokens_;
        collateral = collateral_;
        oracle = oracle_;
        disputeWindow = disputeWindow_;
        _grantRole(PROPOSER_ROLE, address(0));
    }

    /// @notice Proposes an outcome (true is YES) of an expired market for its signer, who posts `bondOf` the market, by an allowance or by
    /// `bondPermit`. A permit that somebody else has brought first is no error, since its allowance is there. The signer has signed the bond: when
    /// it has changed meanwhile, the signature counts no more, so nobody posts another bond than the signed one.
    function proposeWithSig(
        address market,
        address proposer,
        bool outcome,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s,
        BondPermit calldata bondPermit
    ) external nonReentrant returns (bytes32 assertionId) {
        MarketFacts memory facts = _unresolved(market);
        if (block.timestamp < facts.expiration) revert MarketNotExpired(facts.expiration);
        Proposal storage proposal = proposals[facts.marketId];
        if (proposal.assertionId != bytes32(0)) revert ProposalPending(proposal.assertionId);
        if (!hasRole(PROPOSER_ROLE, address(0)) && !hasRole(PROPOSER_ROLE, proposer)) revert ProposerNotAllowed(proposer);
        uint256 bond = _nextBond(facts);
        uint256 nonce = _useNonce(proposer, nonceKey(facts.marketId));
        bytes32 message = keccak256(abi.encode(PROPOSE_TYPEHASH, market, proposer, outcome, bond, nonce, deadline));
        _requireSigned(proposer, message, deadline, v, r, s);
        _pullBond(proposer, bond, bondPermit);
        assertionId = oracle.assertTruth(
            _claim(facts, outcome), proposer, address(this), address(0), disputeWindow, collateral, bond,
            oracle.defaultIdentifier(), facts.marketId
        );
        uint64 time = uint64(block.timestamp);
        proposals[facts.marketId] = Proposal(assertionId, proposer, outcome, time + disputeWindow);
        marketOfAssertion[assertionId] = market;
        emit ResolutionProposed(facts.marketId, assertionId, proposer, outcome, bond, time, time + disputeWindow);
    }

    /// @notice Resolves a market by its proposal, which must name `winningOutcome` (0 YES, 1 NO) and be undisputed for the dispute window, or
    /// arbitrated. The assertion is settled too, if nobody has done so: as truthful it resolves the market, as untruthful it makes room for
    /// another proposal.
    function settleWithSig(
        address market,
        address settler,
        uint8 winningOutcome,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant {
        MarketFacts memory facts = _unresolved(market);
        Proposal memory proposal = proposals[facts.marketId];
        bytes32 assertionId = proposal.assertionId;
        if (assertionId == bytes32(0)) revert NoProposal(facts.marketId);
        if (winningOutcome != _outcomeIndex(proposal.outcome)) {
            revert WrongOutcome(_outcomeIndex(proposal.outcome), winningOutcome);
        }
        uint256 nonce = _useNonce(settler, nonceKey(facts.marketId));
        bytes32 message = keccak256(abi.encode(SETTLE_TYPEHASH, market, settler, winningOutcome, nonce, deadline));
        _requireSigned(settler, message, deadline, v, r, s);
        IOptimisticOracle.Assertion memory assertion = oracle.getAssertion(assertionId);
        if (assertion.disputer == address(0) && block.timestamp < assertion.expirationTime) {
            revert DisputeWindowOpen(assertion.expirationTime);
        }
        if (!oracle.settleAndGetAssertionResult(assertionId)) return;
        // The callback has resolved the market, unless the tokens refused it then.
        if (tokens.payoutDenominator(facts.marketId) == 0) {
            tokens.reportPayouts(facts.questionId, _payouts(proposal.outcome));
            emit MarketResolved(facts.marketId, assertionId, winningOutcome);
        }
    }

    /// @notice Makes room for another proposal where the oracle cannot settle the present one, a week after its dispute window: when a bond
    /// cannot be paid back, or nobody arbitrates. One that can be settled is settled instead.
    function abandon(bytes32 marketId) external onlyRole(DEFAULT_ADMIN_ROLE) {
        Proposal memory proposal = proposals[marketId];
        bytes32 assertionId = proposal.assertionId;
        if (assertionId == bytes32(0)) revert NoProposal(marketId);
        if (tokens.payoutDenominator(marketId) > 0) revert MarketAlreadyResolved(marketId);
        uint64 until = proposal.expirationTime + ABANDON_DELAY;
        if (block.timestamp < until) revert ProposalMaySettle(assertionId, until);
        try oracle.settleAssertion(assertionId) {
            if (proposals[marketId].assertionId != assertionId || tokens.payoutDenominator(marketId) > 0) return;
        } catch {}
        delete proposals[marketId];
        emit ResolutionAbandoned(marketId, assertionId);
    }

    /// @notice Resolves a market half to half, 30 days after its expiration and while nothing is proposed: the way out where the oracle takes no
    /// proposal, because of its currency, its bond or a refused transfer, and where neither YES nor NO is true. A proposal that is pending is
    /// settled, rejected or abandoned first.
    function halve(address market) external onlyRole(DEFAULT_ADMIN_ROLE) nonReentrant {
        MarketFacts memory facts = _unresolved(market);
        bytes32 assertionId = proposals[facts.marketId].assertionId;
        if (assertionId != bytes32(0)) revert ProposalPending(assertionId);
        uint64 until = facts.expiration + HALVE_DELAY;
        if (block.timestamp < until) revert ProposalsMayCome(until);
        uint256[] memory payouts = new uint256[](2);
        payouts[0] = 1;
        payouts[1] = 1;
        tokens.reportPayouts(facts.questionId, payouts);
        emit MarketHalved(facts.marketId);
    }

    /// @notice Takes back what the caller has signed for a market and nobody has sent yet; `key` is `nonceKey` of the market.
    function revokeKeyedNonce(uint192 key) external {
        emit NonceRevoked(msg.sender, _useNonce(msg.sender, key));
    }

    /// @inheritdoc IOptimisticOracleCallbackRecipient
    /// @dev Never reverts for the oracle, which would block the bonds: an assertion that somebody else made with this contract as recipient is
    /// passed over, and so is one that was abandoned; a resolution that the tokens refuse is left to `settleWithSig`.
    function assertionResolvedCallback(bytes32 assertionId, bool assertedTruthfully) external onlyOracle {
        address market = marketOfAssertion[assertionId];
        if (market == address(0)) return;
        MarketFacts memory facts = IMarket(market).facts();
        if (proposals[facts.marketId].assertionId != assertionId) return;
        if (!assertedTruthfully) {
            delete proposals[facts.marketId];
            emit ResolutionRejected(facts.marketId, assertionId);
            return;
        }
        bool outcome = proposals[facts.marketId].outcome;
        try tokens.reportPayouts(facts.questionId, _payouts(outcome)) {
            emit MarketResolved(facts.marketId, assertionId, _outcomeIndex(outcome));
        } catch {}
    }

    /// @inheritdoc IOptimisticOracleCallbackRecipient
    function assertionDisputedCallback(bytes32 assertionId) external onlyOracle {
        address market = marketOfAssertion[assertionId];
        if (market == address(0)) return;
        emit ResolutionDisputed(factory.marketIdOf(market), assertionId, oracle.getAssertion(assertionId).disputer);
    }

    /// @notice The market's proposal that is pending or has resolved it; all zero when there is none.
    function proposalOf(bytes32 marketId) external view returns (Proposal memory) {
        return proposals[marketId];
    }

    /// @notice The bond that a proposal for the market signs and posts, in the collateral's base units: that of the proposal which is pending or has
    /// resolved the market, else the greater of the market's own bond and the oracle's present minimum. Reverts for a market of another resolver.
    function bondOf(address market) external view returns (uint256) {
        MarketFacts memory facts = _own(market);
        bytes32 assertionId = proposals[facts.marketId].assertionId;
        return assertionId == bytes32(0) ? _nextBond(facts) : oracle.getAssertion(assertionId).bond;
    }

    /// @notice The key of `nonces(owner, key)` for a market: the low 192 bits of its id.
    function nonceKey(bytes32 marketId) public pure returns (uint192) {
        return uint192(uint256(marketId));
    }

    modifier onlyOracle() {
        if (msg.sender != address(oracle)) revert NotOracle(msg.sender);
        _;
    }

    /// @dev The facts of a market that this contract has to resolve.
    function _own(address market) private view returns (MarketFacts memory facts) {
        if (factory.marketIdOf(market) == bytes32(0)) revert UnknownMarket(market);
        facts = IMarket(market).facts();
        if (facts.resolver != address(this)) revert NotResolver(market, facts.resolver);
    }

    /// @dev UMA's minimum rises with its final fee; the market's own bond is fixed, so alone it might never be taken again.
    function _nextBond(MarketFacts memory facts) private view returns (uint256) {
        return Math.max(facts.bond, oracle.getMinimumBond(address(collateral)));
    }

    /// @dev The facts of a market that this contract has to resolve and has not.
    function _unresolved(address market) private view returns (MarketFacts memory facts) {
        facts = _own(market);
        if (tokens.payoutDenominator(facts.marketId) > 0) revert MarketAlreadyResolved(facts.marketId);
    }

    /// @dev The nonce is used up beforehand; a revert gives it back.
    function _requireSigned(address expected, bytes32 message, uint256 deadline, uint8 v, bytes32 r, bytes32 s) private view {
        if (block.timestamp > deadline) revert ExpiredSignature(deadline);
        (address signer,,) = ECDSA.tryRecover(_hashTypedDataV4(message), v, r, s);
        if (signer == address(0) || signer != expected) revert InvalidSigner(signer, expected);
    }

    function _pullBond(address proposer, uint256 bond, BondPermit calldata permit) private {
        if (permit.deadline != 0) {
            try IERC20Permit(address(collateral)).permit(
                proposer, address(this), bond, permit.deadline, permit.v, permit.r, permit.s
            ) {} catch {}
        }
        collateral.safeTransferFrom(proposer, address(this), bond);
        collateral.forceApprove(address(oracle), bond);
    }

    /// @dev What the oracle's voters read. The outcome and the id come first, so that no market's text can stand in for them.
    function _claim(MarketFacts memory facts, bool outcome) private view returns (bytes memory) {
        return bytes.concat(
            "The outcome is ", outcome ? bytes("YES") : bytes("NO"), " for market ", bytes(Strings.toHexString(uint256(facts.marketId), 32)),
            " on chain ", bytes(Strings.toString(block.chainid)), ".\nQuestion: ", bytes(facts.question),
            "\nDescription: ", bytes(facts.description)
        );
    }

    function _outcomeIndex(bool outcome) private pure returns (uint8) {
        return outcome ? 0 : 1;
    }

    function _payouts(bool outcome) private pure returns (uint256[] memory numerators) {
        numerators = new uint256[](2);
        numerators[_outcomeIndex(outcome)] = 1;
    }
}
