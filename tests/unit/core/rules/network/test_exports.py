"""Opening a topic of Kafka by its name: the queue of its export, made when it is first needed."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.attributes.export import EXPORT
from adapter.core.attributes.feed import FEED
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused, Result
from adapter.core.rules.network.exports import KAFKA_NAME, name_of
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

NAME = "SYSTEM.EXPORT.shop.results"


def open_topic(
    client: Client, topic: str = "shop.results", handle: int = 1, **given: Any
) -> Result:
    command = c.Open(handle, given.pop("queue", ""), given.pop("modes", c.OUTPUT), **given)
    command.kafka_topic = topic
    return client.do(command)


def refusal(answer: Result) -> tuple[Reason, str]:
    assert isinstance(answer, Refused), answer
    return Reason(answer.reason), answer.detail


def client_of(**limits: int) -> Client:
    return Core(Limits(**limits)).connect()


def test_the_first_open_makes_a_queue_and_an_export() -> None:
    client = client_of()
    assert not isinstance(open_topic(client), Refused)
    qm = client.core.qm
    assert list(qm.exports) == [NAME]
    export, queue = qm.exports[NAME], qm.queues[NAME]
    assert (export.topic, export.queue) == ("shop.results", NAME)
    assert queue.attributes.msg_delivery_sequence == "FIFO"
    assert queue.attributes.max_message_length == 104_857_600
    assert queue.attributes.description == "for topic shop.results"
    client.put("1", persistence=1)
    assert queue.depth == 1


def test_other_opens_find_them() -> None:
    client = client_of()
    open_topic(client)
    entries = len(client.core.entries)
    other = client.core.connect()
    for handle in (1, 2):
        assert not isinstance(open_topic(other, handle=handle), Refused)
    assert len(client.core.entries) == entries
    for handle in (1, 2):
        other.put("1", handle=handle)
    assert len(client.core.qm.queues) == len(client.core.qm.exports) == 1
    client.put("2")
    assert client.core.queue(NAME).depth == 3


@pytest.mark.parametrize("ends", ["crash", "crash_with_snapshot"])
def test_they_are_durable(ends: str) -> None:
    client = client_of()
    open_topic(client)
    client.put("1", persistence=1)
    check_snapshots(client.core.qm, client.core.replayed())
    getattr(client.core, ends)()
    assert list(client.core.qm.exports) == [NAME]
    client = client.core.connect()
    assert not isinstance(open_topic(client), Refused)
    client.put("2", persistence=1)
    client.open(NAME, c.INPUT, handle=2)
    assert [*client.get(handle=2), *client.get(handle=2)] == ["1", "2"]
    assert client.core.queue(NAME).incarnation == 0


def test_what_was_deleted_is_made_again() -> None:
    client = client_of()
    open_topic(client)
    client.do(c.Close(1))
    assert isinstance(client.do(c.DeleteObject(EXPORT, NAME)), Done)
    open_topic(client)  # the queue is there
    client.do(c.Close(1))
    assert isinstance(client.do(c.DeleteQueue(NAME)), Done)
    open_topic(client)  # the export is there
    assert client.core.queue(NAME).incarnation == 1
    assert list(client.core.qm.exports) == [NAME]
    client.core.crash()
    assert client.core.queue(NAME).incarnation == 1


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("a", "SYSTEM.EXPORT.a"),
        ("a-b", "SYSTEM.EXPORT.a%2Db"),
        ("a_b.C", "SYSTEM.EXPORT.a_b.C"),
        ("x" * 34, "SYSTEM.EXPORT." + "x" * 34),
    ],
)
def test_names(topic: str, name: str) -> None:
    assert name_of(topic) == name


@given(st.text("abcXYZ019._-", min_size=1, max_size=249))
def test_names_are_those_of_queues(topic: str) -> None:
    assert len(name_of(topic)) <= 48
    assert re.fullmatch(r"[A-Za-z0-9._/%]{1,48}", name_of(topic))


@given(st.sets(st.text("ab.-_%2D", min_size=1, max_size=60), min_size=2, max_size=20))
def test_topics_have_names_of_their_own(topics: set[str]) -> None:
    valid = {topic for topic in topics if KAFKA_NAME.fullmatch(topic)}
    assert len({name_of(topic) for topic in valid}) == len(valid)


def test_the_longest_topic() -> None:
    client = client_of()
    for handle, topic in enumerate(("x" * 249, "x" * 248 + "y"), 1):
        assert not isinstance(open_topic(client, topic, handle), Refused)
    assert {one.topic for one in client.core.qm.exports.values()} == {"x" * 249, "x" * 248 + "y"}
    assert len({one.queue for one in client.core.qm.exports.values()}) == 2


@pytest.mark.parametrize("topic", ["a b", "a/b", "caf\xe9", ".", "..", "x" * 250, "mq.QM1.ledger"])
def test_topics_that_are_none(topic: str) -> None:
    client = client_of()
    reason, detail = refusal(open_topic(client, topic))
    assert reason == Reason.ATTRIBUTE_ERROR
    assert "not a valid name of a Kafka topic" in detail or "queue managers write" in detail
    assert not client.core.qm.exports
    assert not client.core.qm.queues


@pytest.mark.parametrize(
    "given", [{"queue": "Q"}, {"queue_manager": "QM1"}, {"dynamic_name": "X.*"}]
)
def test_a_topic_is_named_alone(given: dict[str, Any]) -> None:
    reason, detail = refusal(open_topic(client_of(), **given))
    assert (reason, detail) == (
        Reason.OPTIONS_ERROR,
        "it is a topic of Kafka: name no queue with it",
    )


@pytest.mark.parametrize(
    "modes", [c.INPUT, c.BROWSE, c.OUTPUT | c.INPUT, c.SET, c.INPUT | c.EXCLUSIVE]
)
def test_a_topic_is_opened_for_output(modes: int) -> None:
    client = client_of()
    reason, detail = refusal(open_topic(client, modes=modes))
    assert reason == Reason.OPTION_NOT_VALID_FOR_TYPE
    assert detail == "it is a topic of Kafka: open it for output"
    assert not client.core.qm.exports


def test_modes_that_go_with_output() -> None:
    modes = c.OUTPUT | c.INQUIRE | c.SET_CONTEXT
    assert not isinstance(open_topic(client_of(), modes=modes), Refused)


def test_a_topic_that_a_feed_reads() -> None:
    client = client_of()
    client.do(c.DefineObject(FEED, "F", {"topic": "shop.results", "queue": "Q"}))
    reason, detail = refusal(open_topic(client))
    assert reason == Reason.ATTRIBUTE_ERROR
    assert detail.startswith("feed F reads topic shop.results")
    client.do(c.AlterObject(FEED, "F", {"hops": 1}))
    assert not isinstance(open_topic(client), Refused)


@pytest.mark.parametrize("given", [{"topic": "other"}, {"queue": "OTHER"}])
def test_a_name_that_is_taken_by_another_export(given: dict[str, str]) -> None:
    client = client_of()
    attributes = {"topic": "shop.results", "queue": NAME} | given
    client.do(c.DefineObject(EXPORT, NAME, attributes))
    reason, detail = refusal(open_topic(client))
    assert reason == Reason.ATTRIBUTE_ERROR
    assert detail == (f"export {NAME} has another topic or queue: delete it, or put to its queue")


def test_a_name_that_is_taken_by_another_object() -> None:
    client = client_of()
    assert isinstance(client.do(c.DefineObject("alias", NAME, {"target": "Q"})), Done)
    reason, detail = refusal(open_topic(client))
    assert reason == Reason.OBJECT_EXISTS
    assert f"{NAME}, which is the name of an object of kind alias: delete it" in detail
    assert not client.core.qm.exports
    client.do(c.DeleteObject("alias", NAME))
    assert not isinstance(open_topic(client), Refused)


def test_a_queue_that_is_there_is_taken() -> None:
    client = client_of()
    client.define(NAME, max_depth=7)
    assert not isinstance(open_topic(client), Refused)
    assert client.core.queue(NAME).attributes.max_depth == 7
    assert list(client.core.qm.exports) == [NAME]


def test_limits() -> None:
    client = client_of(exports=1)
    open_topic(client, "a")
    assert refusal(open_topic(client, "b", 2))[0] == Reason.LIMIT_REACHED
    assert not isinstance(open_topic(client, "a", 2), Refused)
    client = client_of(queues=1)
    open_topic(client, "a")
    assert refusal(open_topic(client, "b", 2))[0] == Reason.LIMIT_REACHED
    assert list(client.core.qm.exports) == [name_of("a")]


def test_an_open_that_is_refused_makes_nothing() -> None:
    client = client_of(handles_per_connection=1)
    open_topic(client, "a")
    answer = open_topic(client, "b", 2)
    assert isinstance(answer, Refused)
    assert list(client.core.qm.exports) == [name_of("a")]
    assert list(client.core.qm.queues) == [name_of("a")]
