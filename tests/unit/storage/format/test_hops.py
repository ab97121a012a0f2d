"""Hops of records: counted by exports, read by feeds, whatever others write in the headers."""

from typing import Any

import pytest

from adapter.core.attributes.export import ExportAttributes
from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import NOT_A_MESSAGE, TOO_MANY_HOPS
from adapter.core.contract.message import MessageData, Property
from adapter.storage.format import hops
from adapter.storage.format.exports import record_of
from adapter.storage.format.feeds import TopicRecord, message_of
from adapter.storage.format.record_headers import Headers

MARK: tuple[str, bytes | None] = ("mqk-export", b"QM1 E 1")


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ([], 0),
        ([("x", b"1")], 0),
        ([MARK], 1),
        ([MARK, ("mqk-hops", b"2")], 2),
        ([("mqk-hops", b"2"), MARK], 2),
        ([("mqk-hops", b"007")], 7),
        ([("mqk-hops", b"3"), ("mqk-hops", b"2")], 3),
        ([("mqk-hops", None)], 1),
        ([("mqk-hops", b"")], 1),
        ([("mqk-hops", b"-5")], 1),
        ([("mqk-hops", b"0")], 1),
        ([("mqk-hops", b"1.5")], 1),
        ([("mqk-hops", "\u0663".encode())], 1),
        ([("mqk-hops", b"9" * 9)], 999_999_999),
        ([("mqk-hops", b"9" * 5000)], 1),
    ],
)
def test_hops_of_headers(headers: Headers, wanted: int) -> None:
    assert hops.hops_of(headers) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, []),
        (0, []),
        (-1, []),
        (True, []),
        ("1", []),
        (1, [("mqk-hops", b"2")]),
        (999_999_998, [("mqk-hops", b"999999999")]),
        (999_999_999, []),
        (2**80, []),
    ],
)
def test_the_header_of_the_next_record(value: Property, wanted: Headers) -> None:
    assert hops.header_of(value) == wanted


def go_round(headers: Headers, **attributes: Any) -> tuple[MessageData, int, Headers]:
    """Read a record, and return its message, its code, and the headers of the next record."""
    feed = FeedAttributes(topic="T", queue="Q", headers="NONE", **attributes)
    fed = message_of(TopicRecord(0, 0, None, b"", headers), feed)
    assert fed is not None
    return fed.message, fed.code, record_of(fed.message, ExportAttributes()).headers


def test_a_record_that_goes_round_is_counted_and_ends() -> None:
    headers: Headers = []
    for passed in range(4):
        message, code, counted = go_round(headers, hops=3)
        assert (message.properties or {}).get("KafkaHops", 0) == passed
        assert code == 0
        headers = [*counted, MARK]  # as the export writes it
    assert headers == [("mqk-hops", b"4"), MARK]
    assert go_round(headers, hops=3)[1] == TOO_MANY_HOPS == 282
    assert go_round(headers, hops=4)[1] == 0
    assert go_round(headers)[1] == 0, "without a bound all are put"


def test_a_record_that_is_no_message_is_one_for_its_hops_first() -> None:
    feed = FeedAttributes(topic="T", queue="Q", hops=1, tombstones="DEADLETTER")
    for mark, code in ((MARK, NOT_A_MESSAGE), (("mqk-hops", b"2"), TOO_MANY_HOPS)):
        fed = message_of(TopicRecord(0, 0, None, None, [mark]), feed)
        assert fed is not None
        assert fed.code == code
