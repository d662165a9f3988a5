// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title A stablecoin for development chains: 6 decimals, ERC-2612 permits, and anybody may mint.
contract TestUSDC is ERC20, ERC20Permit {
    constructor() ERC20("USD Coin (test)", "USDC") ERC20Permit("USD Coin (test)") {}

    /// @notice Creates `amount` units of 1e-6 for `to`.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @notice 6, as USDC has.
    function decimals() public pure override returns (uint8) {
        return 6;
    }
}
