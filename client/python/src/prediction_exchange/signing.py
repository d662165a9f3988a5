"""EIP-712 signatures, by eth-account or by anything that signs typed data: a hardware wallet, a remote signer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from eth_account import Account
from eth_account.messages import SignableMessage, encode_typed_data
from eth_utils.crypto import keccak

from .errors import BadArgument

#: The members of each type, as `/api/v1/config` has them.
Types = Mapping[str, Sequence[Mapping[str, str]]]


class Signer(Protocol):
    """Whoever signs: an address, and EIP-712 signatures. eth-account's LocalAccount is one."""

    @property
    def address(self) -> Any:
        """0x and 40 hex digits."""
        ...

    def sign_typed_data(
        self, domain_data: dict[str, Any], message_types: dict[str, Any], message_data: dict[str, Any]
    ) -> Any:
        """The signature: 65 bytes, their hex text, or an object that has them as `signature`."""
        ...


@dataclass(frozen=True)
class Signed:
    """A signed message: its digest, by which the exchange names orders, and its signature of 65 bytes."""

    digest: str
    signature: bytes

    @property
    def text(self) -> str:
        """The signature as hex."""
        return "0x" + self.signature.hex()

    @property
    def vrs(self) -> dict[str, Any]:
        """The three parts, as the relayer and permits take them."""
        r, s, v = self.signature[:32], self.signature[32:64], self.signature[64]
        return {"v": v, "r": "0x" + r.hex(), "s": "0x" + s.hex()}


def signer_of(given: str | Signer) -> Signer:
    """A private key as a signer; any other signer as it is."""
    if not isinstance(given, str):
        return given
    try:
        return cast(Signer, Account.from_key(given))
    except Exception:
        # Without the cause: its text may have the key.
        raise BadArgument("the private key is not 0x and 64 hex digits") from None


def sign(signer: Signer, domain: Mapping[str, Any], types: Types, message: Mapping[str, Any]) -> Signed:
    """Signs a message of the one type in `types`. Raises BadArgument for a field that its type does not hold."""
    members = {name: [dict(member) for member in each] for name, each in types.items()}
    try:
        encoded = encode_typed_data(domain_data=dict(domain), message_types=members, message_data=dict(message))
    except Exception as error:
        raise BadArgument(f"{', '.join(members)} cannot be signed: {error}") from error
    digest = digest_of(encoded)
    signature = _bytes_of(signer.sign_typed_data(dict(domain), members, dict(message)))
    return Signed(digest, signature)


def digest_of(message: SignableMessage) -> str:
    """The EIP-712 digest as hex."""
    return "0x" + keccak(b"\x19" + message.version + message.header + message.body).hex()


def _bytes_of(signed: object) -> bytes:
    """65 bytes with a recovery id of 27 or 28."""
    value = getattr(signed, "signature", signed)
    if isinstance(value, str):
        try:
            value = bytes.fromhex(value[2:] if value.startswith("0x") else value)
        except ValueError:
            value = None
    if not isinstance(value, (bytes, bytearray)) or len(value) != 65:
        raise BadArgument("the signer gave no signature of 65 bytes")
    recovery = value[64] + 27 if value[64] < 2 else value[64]
    return bytes(value[:64]) + bytes([recovery])
