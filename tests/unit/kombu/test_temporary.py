"""Temporary queues: whole again after a lost connection, and their consumers hear of their end."""

import threading
from collections.abc import Callable

import kombu
import pytest
from amqp.exceptions import ConsumerCancelled

import adapter
from adapter.kombu.links import ProcessLink
from adapter.kombu.temporary import TemporaryQueue
from adapter.testing import TestQueueManager

USES: dict[str, Callable[[kombu.Queue], object]] = {
    "declare": lambda queue: queue.declare(),
    "declare alone": lambda queue: queue.queue_declare(),
    "bind": lambda queue: queue.queue_bind(),
    "get": lambda queue: queue.get(),
    "get without ack": lambda queue: queue.get(no_ack=True),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("how", ["exclusive", "auto_delete"])
def test_whatever_uses_a_queue_that_was_lost_makes_it_whole(
    manager: TestQueueManager, url: str, use: str, how: str
) -> None:
    """Publications reach it by each of its bindings, and by its name."""
    exchanges = [kombu.Exchange("f", "fanout"), kombu.Exchange("t", "topic")]
    with kombu.Connection(url) as connection:
        channel = connection.default_channel
        queue = kombu.Queue("mine", exchanges[0], durable=False, **{how: True})(channel)
        queue.declare()
        exchanges[1](channel).declare()
        queue.bind_to(exchanges[1], routing_key="a.*")
        manager.restart()
        try:
            USES[use](queue)
        except connection.recoverable_connection_errors:  # kombu's programs declare again then
            queue.declare()
        if use == "nothing":
            temporary = connection.transport.link.temporary("mine")
            connection.transport.link.restore_temporary()
            assert temporary.is_whole
        producer = kombu.Producer(channel)
        producer.publish("1", exchange="f")
        producer.publish("2", exchange="t", routing_key="a.b")
        producer.publish("3", routing_key="mine")
        got = [queue.get() for _ in range(4)]
        assert [None if one is None else one.payload for one in got] == ["1", "2", "3", None]


def test_what_came_since_it_was_subscribed_again_stays(
    manager: TestQueueManager, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessLink, "restore_temporary", lambda _: None)
    with kombu.Connection(url) as connection:
        channel = connection.default_channel
        kombu.Queue("mine", exclusive=True)(channel).declare()
        link = connection.transport.link
        manager.restart()
        assert link.put("mine", b"1", {})
        assert not link.temporary("mine").is_whole
        channel.queue_declare("mine", exclusive=True)
        assert link.temporary("mine").is_whole
        assert channel.basic_get("mine").body == b"1"


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.parametrize("no_ack", [False, True])
def test_consumers_of_a_deleted_queue_are_cancelled(
    url: str, is_waiting: bool, no_ack: bool
) -> None:
    with kombu.Connection(url) as first, kombu.Connection(url) as second:
        first.default_channel.queue_declare("mine", exclusive=True)
        second.default_channel.basic_consume("mine", no_ack, print, "tag")
        met: list[BaseException] = []

        def drain() -> None:
            try:
                second.drain_events(timeout=20)
            except second.recoverable_connection_errors as error:
                met.append(error)

        drained = threading.Thread(target=drain)
        if is_waiting:
            drained.start()
            drained.join(0.1)
            assert drained.is_alive()
        first.default_channel.queue_delete("mine")
        if not is_waiting:
            drained.start()
        drained.join(20)
        assert [type(one) for one in met] == [ConsumerCancelled]
        first.default_channel.queue_declare("mine", exclusive=True)
        second.close()
        kombu.Producer(first).publish("1", routing_key="mine")
        assert first.default_channel.basic_get("mine").payload == "1"


def test_a_queue_that_cannot_be_asked_is_empty(qm: adapter.Connection) -> None:
    temporary = TemporaryQueue(qm, "mine")
    temporary.drop()
    assert temporary.depth() == 0
