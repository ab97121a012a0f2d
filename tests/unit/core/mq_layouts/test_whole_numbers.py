"""Numbers that are too long for a field of MQ."""

import pytest

from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.mqmd import FIELDS
from adapter.core.mq_layouts.whole_numbers import expiry_of, in_32_bits


@pytest.mark.parametrize(
    ("number", "held"),
    [(0, 0), (-1, -1), (2**31, 2**31 - 1), (-(2**31) - 1, -(2**31)), (2**64, 2**31 - 1)],
)
def test_the_nearest_number_is_held(number: int, held: int) -> None:
    assert in_32_bits(number) == held


@pytest.mark.parametrize(
    ("life_ms", "tenths"),
    [(-1, -1), (1, 1), (100, 1), (101, 2), (10**11, 999_999_999), (2**63, 999_999_999)],
)
def test_an_expiry_has_nine_digits(life_ms: int, tenths: int) -> None:
    assert expiry_of(life_ms) == tenths
    assert FIELDS["Expiry"](MessageData(expiry_ms=life_ms)) == tenths
