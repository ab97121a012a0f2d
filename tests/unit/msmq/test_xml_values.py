"""Texts of simple types: what XML Schema allows, in the ranges of .NET."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msmq.xml_values import TYPES, decimal_text, read_simple

WHOLE = {
    "byte": (-128, 127), "unsignedByte": (0, 255), "short": (-(2**15), 2**15 - 1),
    "unsignedShort": (0, 2**16 - 1), "int": (-(2**31), 2**31 - 1), "unsignedInt": (0, 2**32 - 1),
    "long": (-(2**63), 2**63 - 1), "unsignedLong": (0, 2**64 - 1),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_have_the_range_of_their_type(name: str) -> None:
    least, most = WHOLE[name]
    for number in (least, 0, 1, most):
        assert read_simple(name, f" \n{number}\t") == number
    for number in (least - 1, most + 1):
        with pytest.raises(ValueError, match="no value of type"):
            read_simple(name, str(number))


@given(
    name=st.sampled_from(sorted(TYPES)), text=st.text("0123456789+-.eE_ \t\u0661INFnaTtruefls:Z")
)
def test_a_text_is_read_as_its_grammar_has_it(name: str, text: str) -> None:
    try:
        value = read_simple(name, text)
    except ValueError:
        return
    plain = text.strip(" \t\r\n")
    if name in WHOLE or name == "integer":
        assert re.fullmatch("[+-]?[0-9]+", plain)
        assert value == int(plain)
    if name in ("decimal", "float", "double"):
        assert plain.isascii()
        assert not set(plain) & {"_", " "}
        assert name != "decimal" or not set(plain.lower()) & {"e", "n"}
    if name == "boolean":
        assert (plain, value) in {("true", True), ("1", True), ("false", False), ("0", False)}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("string", " a\n", " a\n"),
        ("char", "97", "a"),
        ("double", "-INF", float("-inf")),
        ("double", "1e3", 1000.0),
        ("decimal", "-.50", Decimal("-0.50")),
        ("dateTime", "2024-01-01T00:00:00.1234567Z", datetime(2024, 1, 1, 0, 0, 0, 123456, UTC)),
        ("guid", "{00000000-0000-0000-0000-000000000001}", UUID(int=1)),
        ("base64Binary", " AA\r\nEC ", b"\0\1\2"),
        ("base64Binary", "", b""),
    ],
)
def test_values(name: str, text: str, value: Any) -> None:
    assert read_simple(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("char", "65536"), ("char", "55296"), ("char", "-1"), ("boolean", "TRUE"), ("int", "1.0"),
        ("int", "0" * 5_000), ("double", "infinity"), ("double", "nan"), ("decimal", "NaN"),
        ("dateTime", "20240101T000000"), ("dateTime", "2024-01-01"),
        ("dateTime", "2024-13-01T00:00:00"),
        ("guid", "0" * 32), ("base64Binary", "A"), ("base64Binary", "AA$=="),
    ],
)  # fmt: skip
def test_what_is_no_value(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_simple(name, text)


@given(number=st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_has_a_text_that_is_short(number: Decimal) -> None:
    try:
        text = decimal_text(number)
    except ValueError:
        assert (
            number.adjusted() > 28
            or not isinstance(exponent(number), int)
            or (len(number.as_tuple().digits) + abs(exponent(number)) > 28)
        )
        return
    assert len(text) <= 31
    assert Decimal(text) == number


def exponent(number: Decimal) -> int:
    found = number.as_tuple().exponent
    assert isinstance(found, int)
    return found
