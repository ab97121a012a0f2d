"""Managed queues are like the model queues say, but for how long they live."""

from adapter.core.contract import commands as c
from tests.support.topics import DURABLE, core_with_topics, subscribe


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
