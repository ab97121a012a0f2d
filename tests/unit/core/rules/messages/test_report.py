"""Reports: what they say, whose unit they are in, and what becomes of those that nobody takes."""

from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.answers import (
    DISCARD,
    PASS_CORRELATION_ID,
    PASS_DISCARD_AND_EXPIRY,
    PASS_MESSAGE_ID,
)
from adapter.core.contract.details import SEGMENTATION_ALLOWED, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised
from adapter.core.model.report import (
    CONFIRM_ON_ARRIVAL,
    CONFIRM_ON_DELIVERY,
    EXPIRATION,
    NEGATIVE_ACTION,
    POSITIVE_ACTION,
)
from adapter.core.mq_layouts import dead_letter
from adapter.storage.format import entries
from tests.support.core import Client, client_on

COA, COD = CONFIRM_ON_ARRIVAL, CONFIRM_ON_DELIVERY
R = 2
"""The handle of the queue that is replied to."""


@pytest.fixture
def client() -> Client:
    return client_on("Q", "R")


def put(client: Client, report: int, body: str = "a", **fields: Any) -> bytes:
    fields.setdefault("reply_to", "R")
    return client.put(body, report=report, **fields)[0]


def reports(client: Client) -> list[MessageData]:
    found = []
    while taken := client.take(handle=R):
        found.append(taken[0].message)
    return found


def events(client: Client) -> list[str]:
    found = [one for payload in client.core.entries for one in entries.decode(payload)]
    return [one.kind for one in found if isinstance(one, EventRaised)]


def test_what_a_report_says(client: Client) -> None:
    ident = put(client, COA, priority=7, correlation_id=b"c" * 24, user="me", format="MQSTR")
    (report,) = reports(client)
    assert (report.message_type, report.feedback, report.body) == (4, 259, b"")
    assert (report.priority, report.persistence, report.user) == (7, 1, "me")
    assert (report.correlation_id, report.format) == (ident, "")
    assert report.message_id != ident
    assert report.details is not None
    assert report.details.original_length == 1
    assert report.report == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [(0, (False, False)), (PASS_MESSAGE_ID, (True, False)), (PASS_CORRELATION_ID, (False, True))],
)
def test_ids_are_passed(client: Client, options: int, expected: tuple[bool, bool]) -> None:
    ident = put(client, COA | options, correlation_id=b"c" * 24)
    (report,) = reports(client)
    assert (report.message_id == ident, report.correlation_id == b"c" * 24) == expected


@pytest.mark.parametrize(("bits", "length"), [(1, 0), (3, 100), (7, 250)])
@pytest.mark.parametrize("kind", [COA, COD, EXPIRATION])
def test_data(client: Client, kind: int, bits: int, length: int) -> None:
    put(client, kind * bits, "x" * 250, expiry_ms=1000, format="MQSTR")
    if kind == COD:
        client.get()
    client.core.advance(2)
    (report,) = reports(client)
    assert len(report.body) == length
    assert report.format == ("MQSTR" if length else "")


def test_arrival_is_in_the_putters_unit(client: Client) -> None:
    unit = client.begin()
    put(client, COA, unit=unit)
    assert reports(client) == []
    client.do(c.Commit(unit))
    assert [one.feedback for one in reports(client)] == [259]
    unit = client.begin()
    put(client, COA, unit=unit)
    client.do(c.Backout(unit))
    assert reports(client) == []
    assert client.core.queue("R").depth == 0


def test_delivery_is_in_the_getters_unit(client: Client) -> None:
    for _ in range(3):
        put(client, COD)
    client.browse()
    unit = client.begin()
    client.get(unit, limit=2)
    assert reports(client) == []
    client.do(c.Backout(unit))
    assert reports(client) == []
    unit = client.begin()
    client.get(unit, limit=2)
    client.do(c.Commit(unit))
    client.get()
    assert [one.feedback for one in reports(client)] == [260] * 3
    assert client.core.replayed().queues["R"].depth == 0


def test_with_the_put_or_get_in_one_record(client: Client) -> None:
    before = len(client.core.entries)
    put(client, COA | COD)
    client.get()
    assert len(client.core.entries) == before + 2
    assert [one.feedback for one in reports(client)] == [259, 260]


def test_an_expiry_is_reported_once_wherever_it_is_met(client: Client) -> None:
    put(client, EXPIRATION, "got", expiry_ms=1000, priority=9)
    client.core.now_ms += 2000
    assert client.get() == []
    put(client, EXPIRATION, "ticked", expiry_ms=1000)
    client.core.advance(2)
    client.core.advance(2)
    assert [one.feedback for one in reports(client)] == [258, 258]


def test_an_expiry_of_what_is_not_in_memory() -> None:
    client = client_on("Q", "R", limits=Limits(window_messages=16, window_total=320))
    for _ in range(60):
        put(client, EXPIRATION, expiry_ms=60_000)
    assert client.core.evicted
    client.core.advance(3600)
    for _ in range(8):
        client.core.advance(2)
    assert client.core.queue().depth == 0
    assert len(reports(client)) == 60


def test_a_report_lives_as_long_as_its_message_had_left(client: Client) -> None:
    put(client, COD | PASS_DISCARD_AND_EXPIRY | DISCARD, expiry_ms=10_000)
    client.core.advance(4)
    client.get()
    (report,) = reports(client)
    assert (report.expiry_ms, report.report) == (6_000, DISCARD)
    put(client, COA, expiry_ms=10_000)
    assert reports(client)[0].expiry_ms == -1


@pytest.mark.parametrize("report", [COA, COD, EXPIRATION, POSITIVE_ACTION, NEGATIVE_ACTION])
def test_there_must_be_a_queue_to_reply_to(client: Client, report: int) -> None:
    command = c.Put(1, [MessageData(report=report)])
    assert client.refused(command) is Reason.MISSING_REPLY_TO
    assert client.refused(c.Put(1, [MessageData(message_type=1)])) is Reason.MISSING_REPLY_TO
    client.put("a", report=PASS_MESSAGE_ID)


def test_what_nobody_takes_is_lost_and_said(client: Client) -> None:
    put(client, COA, reply_to="NOWHERE")
    put(client, COA, reply_to_queue_manager="ELSEWHERE")
    unit = client.begin()
    put(client, COA, reply_to="NOWHERE", unit=unit)
    client.do(c.Commit(unit))
    assert events(client) == ["report_lost"] * 3
    assert client.core.queue().depth == 3


@pytest.mark.parametrize("format_", ["MQDEAD", "MQDEAD  "])
def test_a_dead_letter_is_not_confirmed(client: Client, format_: str) -> None:
    put(client, COA | COD, format=format_)
    assert client.take()
    assert reports(client) == []


def test_what_its_queue_does_not_take_is_a_dead_letter(client: Client) -> None:
    client.define("DEAD")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    client.do(c.AlterQueue("R", {"max_depth": 0}))
    put(client, COA * 3, "abc", format="MQSTR")
    put(client, COA | DISCARD)
    client.open("DEAD", handle=3)
    ((dead,),) = [client.take(handle=3)]
    header = dead_letter.from_dlh(dead.message.body)
    assert (header.reason, header.destination, header.format) == (2053, "R", "MQSTR")
    assert dead.message.body.endswith(b"abc")
    assert client.take(handle=3) == []
    assert events(client)[-1] == "report_lost"


def test_an_alias_to_reply_to(client: Client) -> None:
    client.do(c.DefineObject("alias", "A", {"target": "R"}))
    put(client, COA, reply_to="A")
    assert len(reports(client)) == 1


def test_a_message_that_is_cut_is_confirmed_once() -> None:
    client = client_on("Q", "R", max_message_length=16)
    details = Details(flags=SEGMENTATION_ALLOWED)
    client.put("x" * 40, report=COA | COD, reply_to="R", details=details)
    assert client.core.queue().depth == 3
    unit = client.begin()
    assert client.get(unit, options=c.COMPLETE) == ["x" * 40]
    client.do(c.Commit(unit))
    assert [one.feedback for one in reports(client)] == [259, 260]


FULL = 7
"""The bits of a kind that ask for the report, with all data."""


def test_a_report_on_arrival_counts_in_what_a_unit_may_put() -> None:
    client = client_on("Q", "R", limits=Limits(unit_bytes=10_000))
    message = MessageData(body=bytes(6_000), report=COA * FULL, reply_to="R")
    assert client.refused(c.Put(1, [message])) is Reason.MESSAGE_TOO_LONG
    assert client.refused(c.Put(1, [message], client.begin())) is Reason.UNIT_TOO_LARGE
    put(client, COA, "x" * 6_000)
    assert [len(one.body) for one in reports(client)] == [0]


def test_reports_on_delivery_count_in_what_a_unit_may_put() -> None:
    client = client_on("Q", "R", limits=Limits(unit_bytes=10_000))
    for _ in range(2):
        put(client, COD * FULL, "x" * 6_000)
    unit = client.begin()
    assert len(client.take(unit)) == 1
    assert client.refused(c.Get(1, unit)) is Reason.UNIT_TOO_LARGE
    client.do(c.Commit(unit))
    assert len(client.take()) == 1, "and in another unit"
    assert [len(one.body) for one in reports(client)] == [6_000, 6_000]
