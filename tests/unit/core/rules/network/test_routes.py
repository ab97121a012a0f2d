"""Queues of other queue managers: which transmission queue leads there, and what is put on it."""

from typing import Any

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Opened
from adapter.core.contract.transmission import Transmission
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, CONFIRM_ON_DELIVERY
from adapter.core.mq_layouts import dead_letter
from tests.support.core import Client, client_on


def knowing(*names: str) -> Client:
    client = client_on("Q")
    client.core.give(inputs.QueueManagersKnown(frozenset(names)))
    return client


def elsewhere(queue: str, queue_manager: str, handle: int = 5) -> c.Open:
    return c.Open(handle, queue, c.OUTPUT, queue_manager=queue_manager)


def on(client: Client, queue: str) -> list[tuple[str, Transmission | None]]:
    """What is on a queue: bodies, and where they go."""
    return [
        (one.message.body.decode(), one.message.transmission)
        for one in client.core.queue(queue).in_memory()
    ]


def test_a_transmission_queue_is_made_when_it_is_needed() -> None:
    client = knowing("QM2")
    assert "QM2" not in client.core.qm.queues
    assert client.do(elsewhere("FAR", "QM2")) == Opened("FAR", queue_manager="QM2")
    client.put("a", handle=5)
    assert on(client, "QM2") == [("a", Transmission("FAR", "QM2"))]
    attributes = client.core.queue("QM2").attributes
    assert (attributes.usage, attributes.msg_delivery_sequence) == ("XMITQ", "FIFO")
    client.do(elsewhere("OTHER", "QM2", 6))
    client.core.crash()
    assert on(client, "QM2") == [("a", Transmission("FAR", "QM2"))]


def test_its_own_name_and_none_are_this_queue_manager() -> None:
    client = knowing("QM1", "QM2")
    for handle, name in ((5, ""), (6, "QM1")):
        client.do(elsewhere("Q", name, handle))
        client.put("here", handle=handle)
        assert client.get() == ["here"]


def test_a_local_queue_of_the_same_name_is_not_meant() -> None:
    client = knowing("QM2")
    client.do(elsewhere("Q", "QM2"))
    client.put("there", handle=5)
    assert client.get() == []
    assert on(client, "QM2") == [("there", Transmission("Q", "QM2"))]


def test_an_alias_of_a_queue_manager() -> None:
    client = knowing("QM2")
    client.define("X", usage="XMITQ")
    for name, attributes in (
        ("PAYROLL", {"remote_queue_manager": "QM2"}),
        ("SLOW", {"remote_queue_manager": "QM2", "transmission_queue": "X"}),
        ("ME", {"remote_queue_manager": "QM1"}),
        ("NOT.ALIAS", {"remote_queue_manager": "QM2", "remote_name": "A"}),
        ("NOWHERE", {}),
    ):
        client.do(c.DefineObject("remote", name, attributes))
    for handle, name in ((5, "PAYROLL"), (6, "SLOW"), (7, "ME")):
        client.do(elsewhere("Q", name, handle))
        client.put(name, handle=handle)
    assert on(client, "QM2") == [("PAYROLL", Transmission("Q", "QM2"))]
    assert on(client, "X") == [("SLOW", Transmission("Q", "QM2"))]
    assert client.get() == ["ME"]
    for name in ("NOT.ALIAS", "NOWHERE"):
        assert client.refused(elsewhere("Q", name, 9)) is Reason.UNKNOWN_REMOTE_QUEUE_MANAGER


def test_names_at_their_edges() -> None:
    client = knowing("QM2", "no name")
    assert client.refused(elsewhere("", "QM2")) is Reason.REMOTE_QUEUE_NAME_ERROR
    assert client.refused(elsewhere("Q" * 49, "QM2")) is Reason.REMOTE_QUEUE_NAME_ERROR
    assert client.refused(elsewhere("Q", "no name")) is Reason.UNKNOWN_REMOTE_QUEUE_MANAGER
    assert client.refused(elsewhere("Q", "x" * 999)) is Reason.UNKNOWN_REMOTE_QUEUE_MANAGER
    reading = c.Open(5, "Q", c.OUTPUT | c.INPUT, queue_manager="QM2")
    assert client.refused(reading) is Reason.OPTION_NOT_VALID_FOR_TYPE
    assert "QM2" not in client.core.qm.queues


def test_a_transmission_is_only_kept_on_transmission_queues() -> None:
    client = knowing()
    client.define("X", usage="XMITQ")
    client.open("X", handle=2)
    to = Transmission("A", "B")
    client.put("forged", transmission=to)
    client.put("by a program", handle=2, transmission=to)
    assert on(client, "Q") == [("forged", None)]
    assert on(client, "X") == [("by a program", to)]


def test_a_unit_reaches_a_transmission_queue_whole() -> None:
    client = knowing("QM2")
    client.do(elsewhere("FAR", "QM2"))
    unit = client.begin()
    client.put("a", "b", unit=unit, handle=5)
    client.put("here", unit=unit)
    assert on(client, "QM2") == []
    client.do(c.Commit(unit))
    assert [body for body, _ in on(client, "QM2")] == ["a", "b"]
    (first, second) = client.core.queue("QM2").in_memory()
    assert (first.queue_unit_size, second.queue_unit_index) == (2, 1)


def test_reports_go_to_the_queue_manager_of_the_reply_queue() -> None:
    client = knowing("QM2")
    asks: dict[str, Any] = {"reply_to": "R", "reply_to_queue_manager": "QM2"}
    client.put("a", report=CONFIRM_ON_ARRIVAL, **asks)
    unit = client.begin()
    client.put("b", report=CONFIRM_ON_ARRIVAL, unit=unit, **asks)
    client.do(c.Commit(unit))
    assert on(client, "QM2") == [("", Transmission("R", "QM2"))] * 2


def test_nothing_is_confirmed_on_a_transmission_queue() -> None:
    client = knowing("QM2")
    client.do(elsewhere("FAR", "QM2"))
    asks = CONFIRM_ON_ARRIVAL | CONFIRM_ON_DELIVERY
    client.put("a", handle=5, report=asks, reply_to="Q")
    client.open("QM2", c.INPUT, 6)
    assert client.get(handle=6) == ["a"]
    assert client.get() == []


def test_a_report_without_a_transmission_queue_is_a_dead_letter() -> None:
    client = client_on("Q", "DLQ")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DLQ"}))
    client.put("a", report=CONFIRM_ON_ARRIVAL, reply_to="R", reply_to_queue_manager="QM2")
    letter = client.take(handle=2)[0].message
    header, _ = dead_letter.split(letter.format, letter.body)
    assert header is not None
    assert (header.reason, header.destination, header.destination_queue_manager) == (
        2087,
        "R",
        "QM2",
    )


def test_a_reply_queue_that_is_remote_is_resolved_by_the_put() -> None:
    client = client_on("Q")
    attributes = {"remote_name": "ANSWERS", "remote_queue_manager": "QM2"}
    client.do(c.DefineObject("remote", "REPLIES", attributes))
    client.put("a", reply_to="REPLIES")
    client.put("b", reply_to="REPLIES", reply_to_queue_manager="QM3")
    found = [client.take()[0].message for _ in range(2)]
    assert [(one.reply_to, one.reply_to_queue_manager) for one in found] == [
        ("ANSWERS", "QM2"),
        ("REPLIES", "QM3"),
    ]


def test_publications_to_a_remote_queue() -> None:
    client = knowing("QM2")
    attributes = {"remote_name": "NEWS", "remote_queue_manager": "QM2"}
    client.do(c.DefineObject("remote", "FAR", attributes))
    client.do(c.Subscribe(5, "a", "", "S", c.CREATE | c.DURABLE, "FAR"))
    client.do(c.OpenTopic(6, "a"))
    client.put("first", handle=6)
    unit = client.begin()
    client.put("second", handle=6, unit=unit)
    client.do(c.Commit(unit))
    to = Transmission("NEWS", "QM2")
    assert on(client, "QM2") == [("first", to), ("second", to)]
    with_handle = c.Subscribe(7, "a", "", "T", c.CREATE | c.DURABLE, "FAR", 8)
    assert client.refused(with_handle) is Reason.OPTION_NOT_VALID_FOR_TYPE


def test_what_arrives_for_a_third_queue_manager_goes_on() -> None:
    client = knowing("QM3")
    message = MessageData(b"on", transmission=Transmission("FAR", "QM3"))
    unit = ArrivedUnit("t", "id", 1, Origin("o", "QM1"), [Arrival(message, 0, 1)])
    client.core.take(client.core.give(inputs.Arrived(unit)))
    assert on(client, "QM3") == [("on", Transmission("FAR", "QM3"))]


def test_a_subscription_to_a_queue_of_another_queue_manager() -> None:
    client = knowing("QM2")
    for name in ("X", "DEAD"):
        client.define(name, usage="XMITQ" if name == "X" else "NORMAL")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    there = {"destination": "FAR", "destination_queue_manager": "QM2"}
    client.do(c.DefineObject("subscription", "S", {"topic_string": "a", **there}))
    client.core.crash()
    client = client.core.connect()
    client.do(c.OpenTopic(7, "a"))
    client.put("1", handle=7)
    assert on(client, "QM2") == [("1", Transmission("FAR", "QM2"))]
    client.do(c.DefineObject("remote", "ALIAS", {"remote_queue_manager": "QM2"} | X))
    client.do(c.AlterObject("subscription", "S", {"destination_queue_manager": "ALIAS"}))
    client.put("2", handle=7)
    assert on(client, "X") == [("2", Transmission("FAR", "QM2"))]
    client.do(c.AlterQueue("X", {"inhibit_put": True}))
    client.put("3", handle=7)
    letter = dead_letter.from_dlh(next(client.core.queue("DEAD").in_memory()).message.body)
    assert (letter.reason, letter.destination) == (2051, "FAR")
    assert letter.destination_queue_manager == "ALIAS"


def test_a_destination_that_no_subscription_can_have() -> None:
    client = knowing("QM2")
    client.do(c.DefineObject("subscription", "S", {"topic_string": "a", "destination": "Q"}))
    unknown = {"destination": "Q", "destination_queue_manager": "QM3"}
    for command in (
        c.DefineObject("subscription", "T", {"topic_string": "a", **unknown}),
        c.AlterObject("subscription", "S", {"destination_queue_manager": "QM3"}),
    ):
        assert client.refused(command) == Reason.UNKNOWN_REMOTE_QUEUE_MANAGER
    managed = {"topic_string": "a", "destination_class": "MANAGED"}
    for manager, refused in (("QM2", Reason.OPTIONS_ERROR), ("QM1", None), ("", None)):
        name, given = f"M{manager}", managed | {"destination_queue_manager": manager}
        command = c.DefineObject("subscription", name, given)
        if refused is not None:
            assert client.refused(command) == refused
            continue
        client.do(command)
        altered = c.AlterObject("subscription", name, {"destination_queue_manager": "QM2"})
        assert client.refused(altered) == Reason.ATTRIBUTE_ERROR


X = {"transmission_queue": "X"}
