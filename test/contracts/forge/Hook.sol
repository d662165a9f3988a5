// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IConditionalTokens} from "../../../contracts-abi/solidity/IConditionalTokens.sol";
import {Usdc} from "./Contracts.sol";

/// @title A holder that is a contract: whenever it receives shares, it calls what it was told to, from within the transfer.
contract Hook {
    address private target;
    bytes private data;
    bool private refuses;

    /// @notice How often it has called from within a transfer.
    uint256 public calls;

    constructor(IConditionalTokens tokens, Usdc usdc) {
        usdc.approve(address(tokens), type(uint256).max);
    }

    /// @notice What to call at the next receipt, or that it is to be refused.
    function plan(address target_, bytes calldata data_, bool refuses_) external {
        (target, data, refuses) = (target_, data_, refuses_);
    }

    /// @notice A call of its own.
    function act(address to, bytes calldata call_) external returns (bool done) {
        (done,) = to.call(call_);
    }

    function onERC1155Received(address, address, uint256, uint256, bytes calldata) external returns (bytes4) {
        _receive();
        return this.onERC1155Received.selector;
    }

    function onERC1155BatchReceived(address, address, uint256[] calldata, uint256[] calldata, bytes calldata)
        external
        returns (bytes4)
    {
        _receive();
        return this.onERC1155BatchReceived.selector;
    }

    function supportsInterface(bytes4) external pure returns (bool) {
        return true;
    }

    function _receive() private {
        require(!refuses, "refused");
        address to = target;
        target = address(0);
        if (to == address(0)) return;
        ++calls;
        (bool done,) = to.call(data);
        done;
    }
}
