"""Amounts as callers write them, and as the exchange counts them: integers of 1e-6, never floats."""

from __future__ import annotations

import re
from decimal import Decimal

from .errors import BadArgument

#: A decimal text or Decimal is in whole units ("0.62", Decimal("10")); an int is in base units of 1e-6 already.
Amount = str | Decimal | int

DECIMALS = 6
UINT64_MAX = 2**64 - 1
UINT256_MAX = 2**256 - 1

_DECIMAL_TEXT = re.compile(r"[0-9]{1,72}(\.[0-9]{1,72})?", re.ASCII)


def base_units(amount: Amount, name: str, *, least: int = 0, most: int = UINT256_MAX) -> int:
    """
    The amount in units of 1e-6. Raises BadArgument for a float, for more than six decimals, and outside the bounds.
    """
    units = _units(amount, name)
    if not least <= units <= most:
        raise BadArgument(
            f"{name} is {amount!r}, {units} base units: it has to be {least} to {most} base units of 1e-6"
        )
    return units


def whole(units: int) -> Decimal:
    """Base units as an exact decimal number of whole units: 620000 is Decimal("0.620000")."""
    return Decimal(units).scaleb(-DECIMALS)


def _units(amount: object, name: str) -> int:
    if isinstance(amount, bool):
        raise BadArgument(f"{name} is {amount!r}, which is no amount")
    if isinstance(amount, int):
        return amount
    if isinstance(amount, float):
        raise BadArgument(
            f"{name} is the float {amount!r}, and floats cannot hold decimal amounts exactly: "
            f'give a decimal text ("0.62"), a Decimal, or an int of base units (620000)'
        )
    if isinstance(amount, str):
        if not _DECIMAL_TEXT.fullmatch(amount):
            raise BadArgument(f'{name} is {amount!r}: a decimal text is digits with an optional fraction, as "0.62"')
        return _scaled(Decimal(amount), amount, name)
    if isinstance(amount, Decimal):
        return _scaled(amount, amount, name)
    raise BadArgument(f"{name} is a {type(amount).__name__}: give a decimal text, a Decimal, or an int of base units")


def _scaled(value: Decimal, given: object, name: str) -> int:
    """By integers: a decimal context would round, and a large exponent would take all memory."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise BadArgument(f"{name} is {given!r}, which is no number")
    if sign and any(digits):
        raise BadArgument(f"{name} is {given!r}, and amounts are not negative")
    if not any(digits):
        return 0
    shift = exponent + DECIMALS
    if shift > 78:
        raise BadArgument(f"{name} is {given!r}, which is more than any amount")
    mantissa = int("".join(map(str, digits)))
    if shift >= 0:
        return int(mantissa * 10**shift)
    units, lost = divmod(mantissa, 10**-shift) if -shift <= len(digits) else (0, mantissa)
    if lost:
        raise BadArgument(f"{name} is {given!r}: amounts have at most {DECIMALS} decimals, and nothing is rounded")
    return units
