"""Managed queues are like the model queues say, but for how long they live."""

from collections.abc import Callable

import pytest

from adapter.core import dispatch
from adapter.core.contract import commands as c
from adapter.core.contract.records import QueueDeleted
from adapter.storage.format import entries
from tests.support.topics import DURABLE, core_with_topics, subscribe

ENDS = {
    "queue, subscription, other": ("queue", "subscription", "other"),
    "subscription, queue, other": ("subscription", "queue", "other"),
    "queue, other, subscription": ("queue", "other", "subscription"),
    "other, subscription, queue": ("other", "subscription", "queue"),
    "connection, other": ("connection", "other"),
    "queue, connection, other": ("queue", "connection", "other"),
}


def test_they_are_as_their_model_queue_is_at_the_time() -> None:
    client = core_with_topics().connect()
    for model in ("SYSTEM.NDURABLE.MODEL.QUEUE", "SYSTEM.DURABLE.MODEL.QUEUE"):
        given = {"max_depth": 7, "definition_type": "PERMDYN"}
        client.do(c.AlterObject("model", model, given))
    soft = client.core.queue(subscribe(client, "a").queue)
    hard = client.core.queue(subscribe(client, "a", DURABLE, name="S", handle=20).queue)
    assert (soft.attributes.max_depth, hard.attributes.max_depth) == (7, 7)
    assert (soft.is_temporary, hard.is_temporary) == (True, False)


def test_without_the_model_queue_they_are_usual_ones() -> None:
    client = core_with_topics().connect()
    client.do(c.DeleteObject("model", "SYSTEM.NDURABLE.MODEL.QUEUE"))
    assert client.core.queue(subscribe(client, "a").queue).is_temporary


def test_a_deleted_queue_leaves_its_subscription_closable() -> None:
    client = core_with_topics().connect()
    told = subscribe(client, "a", DURABLE, name="S")
    client.do(c.Close(11))
    client.do(c.DeleteQueue(told.queue))
    client.do(c.CloseSubscription(10, remove=True))
    assert not client.core.qm.topics.named


def test_the_end_of_a_connection_deletes_one_that_it_has_open_twice() -> None:
    core = core_with_topics()
    client = core.connect()
    told = subscribe(client, "a")
    client.do(c.Open(12, told.queue, c.INPUT))
    client.lose()
    assert told.queue not in core.qm.queues


def test_closing_a_second_handle_leaves_it_to_its_program() -> None:
    core = core_with_topics()
    client = core.connect()
    told = subscribe(client, "a")
    client.do(c.Open(12, told.queue, c.INPUT))
    client.do(c.CloseSubscription(10))
    client.do(c.Close(12))
    assert told.queue in core.qm.queues
    client.do(c.Close(11))
    assert told.queue not in core.qm.queues


@pytest.mark.parametrize("mode", [c.BROWSE, c.INPUT, c.OUTPUT])
@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize("order", ENDS.values(), ids=ENDS)
def test_a_temporary_one_goes_with_the_last_that_has_it_open(
    order: tuple[str, ...], mode: int, loses: bool
) -> None:
    core = core_with_topics()
    client, other = core.connect(), core.connect()
    told = subscribe(client, "a")
    other.do(c.Open(1, told.queue, mode))
    ends: dict[str, Callable[[], object]] = {
        "queue": lambda: client.do(c.Close(11)),
        "subscription": lambda: client.do(c.CloseSubscription(10)),
        "connection": client.lose,
        "other": other.lose if loses else lambda: other.do(c.Close(1)),
    }
    for one in order:
        assert told.queue in core.qm.queues
        ends[one]()
    assert told.queue not in core.qm.queues
    core.crash()


def test_deleting_a_temporary_queue_is_nothing_that_the_ledger_knows() -> None:
    core = core_with_topics()
    client = core.connect()
    told = subscribe(client, "a")
    client.do(c.Close(11))
    client.do(c.DeleteQueue(told.queue))
    logged = [type(record) for entry in core.entries for record in entries.decode(entry)]
    assert QueueDeleted not in logged
    core.crash()


def test_a_ledger_that_says_so_of_a_temporary_queue_is_read() -> None:
    core = core_with_topics()
    client = core.connect()
    client.define("Q")
    deletion = QueueDeleted("SYSTEM.MANAGED.NDURABLE.0000000001000002")
    client.define("R")
    qm = core.replayed()
    assert dispatch.replay(qm, deletion) == "it is about something that is not there"
    assert set(qm.queues) == set(core.qm.queues)


def test_a_queue_that_is_defined_in_its_place_is_not_its_own() -> None:
    core = core_with_topics()
    client = core.connect()
    told = subscribe(client, "a", DURABLE, name="S")
    client.do(c.Close(11))
    client.do(c.DeleteQueue(told.queue))
    client.define(told.queue)
    client.open(told.queue)
    client.put("kept", persistence=1)
    client.do(c.CloseSubscription(10, remove=True))
    core.crash()
    assert core.queue(told.queue).depth == 1
