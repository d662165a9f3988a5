"""Amounts: what they come to, and what is refused."""

from decimal import Decimal

import pytest

from prediction_exchange import BadArgument, base_units, whole


@pytest.mark.parametrize(
    ("given", "units"),
    [
        ("0.62", 620_000),
        ("10", 10_000_000),
        ("0.000001", 1),
        ("007.50", 7_500_000),
        ("0.6200000", 620_000),
        ("0", 0),
        (Decimal("0.62"), 620_000),
        (Decimal("1E+3"), 1_000_000_000),
        (Decimal("0E-99999"), 0),
        (Decimal("0.10000000000"), 100_000),
        (620_000, 620_000),
        (2**64, 2**64),
        ("123456789012345678901234567890.123456", 123456789012345678901234567890123456),
    ],
)
def test_amounts_are_exact(given: str | Decimal | int, units: int) -> None:
    assert base_units(given, "size") == units


@pytest.mark.parametrize(
    "given",
    [
        0.62,
        1.0,
        float("nan"),
        True,
        None,
        "0.0000001",
        "1e3",
        "-1",
        "+1",
        "",
        ".5",
        "5.",
        "1_000",
        "0x10",
        "١",
        " 1",
        Decimal("0.0000001"),
        Decimal("-0.5"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("1E+99999999"),
        Decimal("1E-99999999"),
        -1,
        2**256,
    ],
)
def test_what_is_no_amount_is_refused(given: object) -> None:
    with pytest.raises(BadArgument, match=r"^size is "):
        base_units(given, "size")  # type: ignore[arg-type]


def test_a_float_is_told_what_to_write_instead() -> None:
    with pytest.raises(
        BadArgument,
        match=r'the float 0\.62, .*exactly: give a decimal text \("0\.62"\), a Decimal, or an int of base units',
    ):
        base_units(0.62, "price")  # type: ignore[arg-type]


def test_bounds_are_held() -> None:
    assert base_units("0.999999", "price", least=1, most=999_999) == 999_999
    with pytest.raises(BadArgument, match="1000000 base units: it has to be 1 to 999999"):
        base_units("1", "price", least=1, most=999_999)


def test_base_units_as_whole_units() -> None:
    assert whole(620_000) == Decimal("0.62")
    assert base_units(whole(123_456_789_012_345_678_901), "size") == 123_456_789_012_345_678_901
