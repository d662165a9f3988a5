// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {folder} from "./Contracts.sol";
import {Handler} from "./Handler.sol";
import {Ledger} from "./Ledger.sol";
import {FuzzSelector} from "./Vm.sol";

/// @title What is true after every action of every history, whoever acts.
contract ExchangeTest {
    Handler private handler;

    function setUp() external {
        handler = new Handler();
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(handler), _actions());
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @notice Collateral equals claims; filled is at most the size; a fill settles once; no balance falls without a call or a signature of
    /// its owner; and what Ledger's rules say.
    function invariant_theExchangeIsSound() external view {
        _requireUnbroken();
        require(handler.held() == handler.owed(), "collateral equals claims");
        require(handler.bondsHeld() == handler.bonds(), "the oracle holds its bonds");
        require(handler.left() == 0, "no collateral is left in between");
        handler.checkFilled();
        handler.checkResolutions();
    }

    /// @notice After every history: each market ends, each share is paid, and nothing is left but dust and gifts.
    function afterInvariant() external {
        handler.checkAllFilled();
        handler.tell(string.concat(folder(), "/counts"));
        handler.end();
        _requireUnbroken();
        require(handler.held() == handler.owed(), "collateral equals claims after the end");
    }

    function _requireUnbroken() private view {
        for (uint256 i = 0; i <= uint256(type(Ledger.Rule).max); ++i) {
            string memory how = handler.broken(Ledger.Rule(i));
            require(bytes(how).length == 0, how);
        }
    }

    /// @dev What stands there twice is done twice as often.
    function _actions() private view returns (bytes4[] memory actions) {
        bytes4[32] memory all = [
            handler.trade.selector, handler.trade.selector, handler.trade.selector, handler.trade.selector,
            handler.settle.selector, handler.settle.selector, handler.settle.selector,
            handler.signOrder.selector, handler.signPair.selector, handler.cancel.selector, handler.cancelAll.selector,
            handler.split.selector, handler.merge.selector, handler.redeem.selector, handler.giveShares.selector,
            handler.giveManyShares.selector, handler.giveMoney.selector, handler.approve.selector, handler.mint.selector,
            handler.signRequest.selector, handler.relay.selector, handler.relayAltered.selector,
            handler.createMarket.selector, handler.propose.selector, handler.dispute.selector, handler.settleAssertion.selector,
            handler.assertSomething.selector, handler.wayOut.selector, handler.pass.selector, handler.blockSomebody.selector,
            handler.intrude.selector, handler.revoke.selector
        ];
        bytes4[12] memory more = [
            handler.arbitrate.selector, handler.settleMarket.selector, handler.resolveQuick.selector, handler.reportForeign.selector,
            handler.setOracle.selector, handler.pause.selector, handler.changeRoles.selector,
            handler.pass.selector, handler.propose.selector, handler.approve.selector, handler.signRequest.selector,
            handler.relay.selector
        ];
        actions = new bytes4[](all.length + more.length);
        for (uint256 i = 0; i < all.length; ++i) actions[i] = all[i];
        for (uint256 i = 0; i < more.length; ++i) actions[all.length + i] = more[i];
    }
}
