// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Tells whether a token charges on transfer. It is never deployed: a simulated call puts this code in a holder's place.
contract TransferProbe {
    using SafeERC20 for IERC20;

    /// @notice Sends up to `most` of what this address holds to `to`. Returns what was sent, and what arrived.
    function probe(IERC20 token, address to, uint256 most) external returns (uint256 sent, uint256 arrived) {
        sent = token.balanceOf(address(this));
        if (sent > most) sent = most;
        uint256 before = token.balanceOf(to);
        token.safeTransfer(to, sent);
        arrived = token.balanceOf(to) - before;
    }
}
