// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

/// @title A stablecoin for development chains with the rules of USDC (Circle's FiatToken v2): 6 decimals, ERC-2612 permits of version "2", a
/// block list that has the token itself on it, and a pause. Unlike there, anybody may mint.
contract TestUSDC is ERC20, EIP712, Nonces, IERC20Permit, Ownable, Pausable {
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    /// @notice Who may neither send, receive, approve nor spend.
    mapping(address account => bool) public isBlacklisted;

    event Blacklisted(address indexed account);
    event UnBlacklisted(address indexed account);

    error AccountIsBlacklisted(address account);
    error ERC2612ExpiredSignature(uint256 deadline);
    error ERC2612InvalidSigner(address signer, address owner);

    /// @notice The deployer keeps the block list and may pause.
    constructor() ERC20("USD Coin (test)", "USDC") EIP712("USD Coin (test)", "2") Ownable(msg.sender) {
        isBlacklisted[address(this)] = true;
    }

    modifier notBlacklisted(address account) {
        if (isBlacklisted[account]) revert AccountIsBlacklisted(account);
        _;
    }

    /// @notice Creates `amount` units of 1e-6 for `to`.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function blacklist(address account) external onlyOwner {
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external onlyOwner {
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    function pause() external onlyOwner {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }

    /// @inheritdoc IERC20Permit
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        whenNotPaused
        notBlacklisted(owner)
        notBlacklisted(spender)
    {
        if (block.timestamp > deadline) revert ERC2612ExpiredSignature(deadline);
        bytes32 fields = keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline));
        address signer = ECDSA.recover(_hashTypedDataV4(fields), v, r, s);
        if (signer != owner) revert ERC2612InvalidSigner(signer, owner);
        _approve(owner, spender, value);
    }

    /// @inheritdoc ERC20
    function approve(address spender, uint256 value)
        public
        override
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(spender)
        returns (bool)
    {
        return super.approve(spender, value);
    }

    /// @inheritdoc ERC20
    function transferFrom(address from, address to, uint256 value) public override notBlacklisted(msg.sender) returns (bool) {
        return super.transferFrom(from, to, value);
    }

    /// @inheritdoc IERC20Permit
    function nonces(address owner) public view override(IERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }

    /// @inheritdoc IERC20Permit
    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @notice The permits' domain version, as FiatToken tells it.
    function version() external pure returns (string memory) {
        return "2";
    }

    /// @notice 6, as USDC has.
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @dev Every transfer, mint and burn.
    function _update(address from, address to, uint256 value)
        internal
        override
        whenNotPaused
        notBlacklisted(from)
        notBlacklisted(to)
    {
        super._update(from, to, value);
    }
}
