"""A value is another type's only without a loss; what else is asked for is refused."""

import itertools
import math
from typing import Any

import pytest

from adapter import mq_constants as mq
from adapter.mqi.property_values import NUMBERS, WHOLE, check_value, convert, cut, size_of, type_of
from adapter.mqi.reasons import MqiFailure
from tests.support.each import each

REFUSED = (mq.MQRC_PROP_CONV_NOT_SUPPORTED, mq.MQRC_PROP_NUMBER_FORMAT_ERROR)
KINDS = (*NUMBERS, mq.MQTYPE_BOOLEAN, mq.MQTYPE_STRING, mq.MQTYPE_BYTE_STRING)
EDGES = [0, 2**63 - 1, -(2**63)]
EDGES += [sign * 2**bits + beside for bits in (7, 15, 31) for sign in (1, -1) for beside in (-1, 0)]
REALS = [0.0, -0.5, 1.75, 2.0, 0.1, 1e300, -1e39, 5e-324, 2.0**63, math.inf, -math.inf, math.nan]
OTHERS = [True, False, None, b"", b"\xff\x00", 5, 1]
SAYING = ["TRUE", "false", "1", "0", " 7", "-3", "+3", "1.5", "1e3", "inf", "-1e39", "1e400", "300"]
NOT_SAYING = [
    "",
    "x",
    "1_000",
    "\u0663",
    "7 ",
    "0x10",
    "yes",
    "1e",
    "\u221e",
    "9" * 5_000,
    "1\n",
    "--1",
]
VALUES: list[Any] = [*EDGES, *REALS, *OTHERS, *SAYING, *NOT_SAYING]


def outcome(value: Any, kind: int) -> Any:
    """The value as another type, or the reason code, in a tuple."""
    try:
        return convert(value, kind)
    except MqiFailure as failure:
        return (failure.reason,) if failure.reason in REFUSED else failure


def is_same(one: Any, other: Any) -> bool:
    both_none = one != one and other != other
    return bool(both_none or one == other)


@each(itertools.product(VALUES, KINDS), repr)
def test_a_conversion_loses_nothing(value: Any, kind: int) -> None:
    found = outcome(value, kind)
    if type(found) is tuple:
        return
    in_text = {mq.MQTYPE_STRING: str, mq.MQTYPE_BOOLEAN: bool}
    wanted: type = in_text.get(kind, int if kind in WHOLE else float)
    assert type(found) is wanted
    if kind in NUMBERS:
        assert is_same(check_value(kind, found), found), "it has room"
    if isinstance(value, (bool, int, float)) and kind != mq.MQTYPE_STRING:
        assert is_same(found, value)
    elif isinstance(value, (bool, int, float)):
        assert is_same(convert(str(found), type_of(value)), value), "it can be read again"


@each(itertools.product(NOT_SAYING, (*NUMBERS, mq.MQTYPE_BOOLEAN)), repr)
def test_a_text_that_says_no_number_is_refused(text: str, kind: int) -> None:
    assert outcome(text, kind) == (mq.MQRC_PROP_NUMBER_FORMAT_ERROR,)


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (12, mq.MQTYPE_STRING, "12"),
        (True, mq.MQTYPE_STRING, "TRUE"),
        (b"\x0a\xff", mq.MQTYPE_STRING, "0AFF"),
        (None, mq.MQTYPE_STRING, ""),
        ("12", mq.MQTYPE_INT32, 12),
        ("0.5", mq.MQTYPE_FLOAT64, 0.5),
        ("TRUE", mq.MQTYPE_BOOLEAN, True),
        (1, mq.MQTYPE_BOOLEAN, True),
        (True, mq.MQTYPE_INT8, 1),
        (2.0, mq.MQTYPE_INT8, 2),
        (7, mq.MQTYPE_FLOAT32, 7.0),
    ],
)
def test_values_as_another_type(value: Any, kind: int, found: Any) -> None:
    assert convert(value, kind) == found


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("x", mq.MQTYPE_BYTE_STRING),
        (300, mq.MQTYPE_INT8),
        ("-300", mq.MQTYPE_INT8),
        (1.75, mq.MQTYPE_INT32),
        (1e300, mq.MQTYPE_FLOAT32),
        ("1e300", mq.MQTYPE_FLOAT32),
        (2**53 + 1, mq.MQTYPE_FLOAT64),
        (math.nan, mq.MQTYPE_INT64),
        (math.inf, mq.MQTYPE_INT64),
        (True, mq.MQTYPE_FLOAT64),
        (5, mq.MQTYPE_BOOLEAN),
        (None, mq.MQTYPE_INT32),
        (b"1", mq.MQTYPE_INT32),
    ],
)
def test_what_would_lose_something_is_refused(value: Any, kind: int) -> None:
    assert outcome(value, kind) == (mq.MQRC_PROP_CONV_NOT_SUPPORTED,)


def test_another_type_is_none() -> None:
    for call, given in ((convert, (1, 77)), (check_value, (77, 1))):
        with pytest.raises(MqiFailure) as failure:
            call(*given)
        assert failure.value.reason == mq.MQRC_PROPERTY_TYPE_ERROR


@each([(mq.MQTYPE_FLOAT32, 1e300), (mq.MQTYPE_INT8, 128), (mq.MQTYPE_INT64, 2**63)], repr)
def test_a_value_beyond_its_type_is_not_set(kind: int, value: Any) -> None:
    with pytest.raises(MqiFailure) as failure:
        check_value(kind, value)
    assert failure.value.reason == mq.MQRC_PROP_NUMBER_FORMAT_ERROR


@each([5, 10**12, "text", [1, 2], None], repr)
def test_bytes_are_bytes(value: Any) -> None:
    with pytest.raises(TypeError):
        check_value(mq.MQTYPE_BYTE_STRING, value)


def test_a_length_counts_bytes() -> None:
    assert [cut("\u00e9\u00e9", length) for length in range(5)] == [
        "",
        "",
        "\u00e9",
        "\u00e9",
        "\u00e9\u00e9",
    ]
    assert cut(b"abc", 2) == b"ab"
    assert size_of(mq.MQTYPE_STRING, "\u00e9") == 2
