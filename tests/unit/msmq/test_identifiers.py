"""Ids as MSMQ programs see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msmq.identifiers import as_message_id, lookup_id, shown


@given(st.binary(min_size=24, max_size=24).filter(any))
def test_ids_come_back(identifier: bytes) -> None:
    assert as_message_id("id", shown(identifier)) == identifier
    assert as_message_id("id", shown(identifier).upper()) == identifier


def test_no_id() -> None:
    assert shown(b"") == shown(bytes(24)) == ""
    assert as_message_id("id", "") == as_message_id("id", None) == b""


@pytest.mark.parametrize(
    "value", ["x", "00112233-4455-6677-8899-aabbccddeeff", f"{'0' * 36}\\1", f"{'0' * 8}\\1"]
)
def test_what_is_no_id(value: str) -> None:
    with pytest.raises(ValueError, match="GUID and a number"):
        as_message_id("id", value)


def test_a_number_too_large() -> None:
    with pytest.raises(ValueError, match="GUID and a number"):
        as_message_id("id", f"00112233-4455-6677-8899-aabbccddeeff\\{2**64}")


def test_lookup_ids_sort_as_the_queue_delivers() -> None:
    assert lookup_id(7, 2) < lookup_id(7, 3) < lookup_id(3, 1) < lookup_id(0, 1)
