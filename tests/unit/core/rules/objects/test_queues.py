"""Objects: queues defined, altered, purged, deleted and looked at."""

from typing import Any

import pytest

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.attributes.table import without_dates
from adapter.core.contract import commands as c
from adapter.core.contract.incarnations import AskIncarnations, IncarnationStates
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Descriptions,
    Done,
    QueueStatus,
    Statuses,
)
from tests.support.core import Client, Core, client_on


def status(client: Client, name: str = "Q") -> QueueStatus:
    answer = client.do(c.AskStatus(name))
    assert isinstance(answer, Statuses)
    return answer.queues[0]


def names(client: Client, pattern: str) -> list[str]:
    answer = client.do(c.Inquire(pattern))
    assert isinstance(answer, Descriptions)
    return [queue.name for queue in answer.queues]


def test_a_defined_queue_survives() -> None:
    client = Core().connect()
    client.define("A", max_depth=5, msg_delivery_sequence="FIFO", description="ü")
    client.core.crash()
    attributes = client.core.queue("A").attributes
    now_ms = client.core.now_ms
    assert (attributes.created_ms, attributes.altered_ms) == (now_ms, now_ms)
    expected = QueueAttributes(max_depth=5, msg_delivery_sequence="FIFO", description="ü")
    assert without_dates(attributes) == without_dates(expected)


def test_a_name_is_taken_once() -> None:
    client = client_on(max_depth=5)
    assert client.refused(c.DefineQueue("Q")) is Reason.QUEUE_EXISTS
    client.put("a")
    assert client.do(c.DefineQueue("Q", {"def_priority": 3}, replace=True)) == Done()
    attributes = client.core.queue().attributes
    assert (attributes.max_depth, attributes.def_priority) == (5, 3)
    assert client.get() == ["a"]


@pytest.mark.parametrize("name", ["", "A B", "ä", "A-B", "A\n", "x" * 49])
def test_names_that_no_queue_has(name: str) -> None:
    assert Core().connect().refused(c.DefineQueue(name)) is Reason.NAME_ERROR


@pytest.mark.parametrize("name", ["A", "a.b_c/d%e", "x" * 48, ".", "0"])
def test_names_that_a_queue_may_have(name: str) -> None:
    client = Core().connect()
    assert client.define(name) == Done()
    assert names(client, "*") == [name]


@pytest.mark.parametrize(
    "attributes",
    [
        {"no_such": 1},
        {"max_depth": "5"},
        {"max_depth": True},
        {"max_depth": -1},
        {"inhibit_get": 1},
        {"msg_delivery_sequence": "LIFO"},
        {"description": "x" * 65},
        {"def_priority": 10},
    ],
)
def test_attributes_that_no_queue_takes(attributes: dict[str, Any]) -> None:
    client = client_on()
    assert client.refused(c.DefineQueue("NEW", attributes)) is Reason.ATTRIBUTE_ERROR
    assert client.refused(c.AlterQueue("Q", attributes)) is Reason.ATTRIBUTE_ERROR
    assert client.refused(c.SetAttributes(1, attributes)) is Reason.ATTRIBUTE_ERROR
    assert names(client, "*") == ["Q"]
    assert without_dates(client.core.queue().attributes) == without_dates(QueueAttributes())


def test_one_wrong_attribute_changes_none() -> None:
    client = client_on()
    command = c.AlterQueue("Q", {"max_depth": 5, "def_priority": 10})
    assert client.refused(command) is Reason.ATTRIBUTE_ERROR
    assert without_dates(client.core.queue().attributes) == without_dates(QueueAttributes())


def test_set_changes_what_mqset_may() -> None:
    client = client_on()
    client.do(c.SetAttributes(1, {"inhibit_put": True}))
    assert client.core.replayed().queues["Q"].attributes.inhibit_put
    assert client.refused(c.SetAttributes(1, {"max_depth": 5})) is Reason.ATTRIBUTE_ERROR
    client.open(modes=c.INPUT, handle=2)
    assert client.refused(c.SetAttributes(2, {"inhibit_put": False})) is Reason.NOT_OPEN_FOR_SET
    assert client.refused(c.SetAttributes(9, {})) is Reason.HANDLE_NOT_OPEN


def test_the_number_of_queues_is_bounded() -> None:
    client = client_on("A", "B", limits=Limits(queues=2))
    assert client.refused(c.DefineQueue("C")) is Reason.LIMIT_REACHED


def test_a_purge_discards_what_no_unit_holds() -> None:
    client = client_on()
    for body in ("held", "a", "b"):
        client.put(body)
    client.put("soft", persistence=0)
    unit = client.begin()
    client.get(unit)
    client.put("uncommitted", unit=unit)
    assert client.do(c.PurgeQueue("Q")) == Done(3)
    assert client.do(c.PurgeQueue("Q")) == Done(0)
    client.do(c.Backout(unit))
    assert client.get() == ["held"]
    assert client.get() == []


def test_a_purge_is_durable_and_done_once() -> None:
    client = client_on()
    client.put("a")
    first = client.do(c.PurgeQueue("Q"), number=3)
    client.put("b")
    assert client.do(c.PurgeQueue("Q"), number=3) == first == Done(1)
    assert client.core.replayed().queues["Q"].depth == 1


def test_a_queue_in_use_is_not_deleted() -> None:
    client = client_on()
    unit = client.begin()
    client.put("a", unit=unit)
    assert client.refused(c.DeleteQueue("Q")) is Reason.QUEUE_IN_USE
    client.do(c.Close(1))
    assert client.refused(c.DeleteQueue("Q", purge=True)) is Reason.QUEUE_IN_USE
    client.do(c.Commit(unit))
    client.open()
    got = client.begin()
    client.get(got)
    client.do(c.Close(1))
    assert client.refused(c.DeleteQueue("Q")) is Reason.QUEUE_IN_USE
    client.do(c.Backout(got))
    assert client.refused(c.DeleteQueue("Q")) is Reason.QUEUE_NOT_EMPTY
    assert client.do(c.DeleteQueue("Q", purge=True)) == Done(1)
    assert client.core.replayed().queues == {}


def test_a_queue_of_the_same_name_is_another_queue() -> None:
    client = client_on()
    client.put("old", expiry_ms=1000)
    client.do(c.Close(1))
    client.do(c.DeleteQueue("Q", purge=True))
    client.define()
    client.open()
    assert client.core.queue().incarnation == 1
    assert client.core.replayed().queues["Q"].incarnation == 1
    client.put("new")
    client.core.advance(2.0)
    assert client.get() == ["new"]
    assert client.get() == []


@pytest.mark.parametrize(
    "command",
    [c.AlterQueue("NONE", {}), c.DeleteQueue("NONE"), c.PurgeQueue("NONE")],
)
def test_a_queue_that_is_not_there(command: c.Command) -> None:
    assert client_on().refused(command) is Reason.QUEUE_NOT_FOUND


def test_patterns_choose_queues() -> None:
    client = client_on("A.1", "A.2", "B.1")
    assert names(client, "*") == ["A.1", "A.2", "B.1"]
    assert names(client, "A.*") == ["A.1", "A.2"]
    assert names(client, "?.1") == ["A.1", "B.1"]
    assert names(client, "A.1") == ["A.1"]
    assert names(client, "NONE") == []


def test_inquire_tells_every_attribute() -> None:
    client = client_on(max_depth=5)
    answer = client.do(c.Inquire("Q"))
    assert isinstance(answer, Descriptions)
    expected = without_dates(QueueAttributes(max_depth=5))
    assert answer.queues[0].attributes == expected


def test_status_counts() -> None:
    client = client_on()
    client.put("a", priority=3)
    client.core.advance(2.5)
    client.put("b", priority=9)
    client.put("c", priority=3)
    unit = client.begin()
    client.get(unit)
    client.put("d", unit=unit, priority=0)
    other = client.core.connect()
    other.open(modes=c.INPUT)
    other.send(c.Get(1, wait_ms=-1, correlation_id=b"c" * 24))
    by_priority = [1, 0, 0, 2, 0, 0, 0, 0, 0, 0]
    expected = QueueStatus("Q", 3, 2, 1, 2, 1, 1, 1, 2.5, by_priority, 3)
    expected.last_put_ms, expected.high_depth = client.core.now_ms, 3
    expected.put_since_reset = 3
    assert status(client) == expected
    client.do(c.Backout(unit))
    assert status(client).current_depth == 3
    assert status(client).uncommitted == 0
    assert status(client).returned_total == 1


def test_when_a_queue_was_defined_and_altered_survives() -> None:
    client = client_on()
    created_ms = client.core.now_ms
    client.core.advance(5)
    client.do(c.AlterQueue("Q", {"max_depth": 7}))
    found = client.do(c.Inquire("Q"))
    assert isinstance(found, Descriptions)
    (queue,) = found.queues
    assert (queue.created_ms, queue.altered_ms) == (created_ms, created_ms + 5_000)
    replayed = client.core.replayed().queues["Q"].attributes
    assert (replayed.created_ms, replayed.altered_ms) == (created_ms, created_ms + 5_000)


def test_figures_are_reset_for_everybody() -> None:
    client = client_on()
    for _ in range(3):
        client.put("a")
    client.get()
    at_ms = client.core.now_ms
    client.core.advance(5)
    found = client.do(c.AskStatus("Q", reset=True))
    assert isinstance(found, Statuses)
    (asked,) = found.queues
    assert (asked.high_depth, asked.put_since_reset, asked.got_since_reset) == (3, 3, 1)
    assert (asked.last_put_ms, asked.last_got_ms) == (at_ms, at_ms)
    client.core.advance(2)
    again = status(client)
    assert (again.high_depth, again.put_since_reset, again.got_since_reset) == (2, 0, 0)
    assert (again.put_total, again.got_total, again.reset_s_ago) == (3, 1, 2.0)


def test_the_highest_depth_counts_puts_that_are_not_committed() -> None:
    client = client_on()
    unit = client.begin()
    client.put("a", unit=unit)
    client.put("b", unit=unit)
    client.do(c.Backout(unit))
    assert status(client).high_depth == 2
    assert status(client).current_depth == 0


def test_an_empty_queue_has_no_oldest_message() -> None:
    assert status(client_on()).oldest_message_age_s == 0.0


def test_what_is_set_on_a_temporary_queue_is_not_in_the_ledger() -> None:
    """The ledger knows nothing of the queue, and could not be replayed."""
    client = Core().connect()
    client.do(c.DefineObject("model", "MODEL", {}))
    client.do(c.Open(1, "MODEL", c.INPUT | c.SET, "TEMP"))
    client.do(c.SetAttributes(1, {"inhibit_put": True}))
    assert client.core.queue("TEMP").attributes.inhibit_put
    assert "TEMP" not in client.core.replayed().queues


def test_transmission_queues_are_known_by_name() -> None:
    core = client_on("Q").core
    client = core.connect()
    client.define("X", usage="XMITQ")
    client.define("Y")
    client.define("Z", usage="XMITQ")
    client.do(c.AlterQueue("Y", {"usage": "XMITQ"}))
    client.do(c.AlterQueue("X", {"usage": "NORMAL"}))
    client.do(c.DeleteQueue("Z"))
    assert core.qm.transmission_queues == {"Y": core.queue("Y")}
    assert set(core.replayed().transmission_queues) == {"Y"}
    core.crash_with_snapshot()
    assert core.qm.transmission_queues == {"Y": core.queue("Y")}


def test_what_is_known_of_incarnations_outlives_a_crash() -> None:
    client = Core().connect()
    for name in ("B", "Q"):
        client.define(name)
        client.do(c.DeleteQueue(name))
    client.define("B")
    client.core.crash()
    asked = [("B", 0), ("B", 1), ("B", 2), ("Q", 0), ("Q", 1), ("NEVER", 0)]
    answer = client.core.connect().do(AskIncarnations(asked))
    assert isinstance(answer, IncarnationStates)
    assert answer.states == ["deleted", "there", "unknown", "deleted", "unknown", "unknown"]
