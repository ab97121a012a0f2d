"""Channels: declaring, publishing, consuming, acknowledging; what kombu's own suite leaves out."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import kombu
import pytest
from kombu.exceptions import ChannelError

import adapter
from adapter.errors import BackedOut, CallInProgress, NotAuthorized, QueueInUse, QueueNotFound
from adapter.kombu.channel import attributes_of
from adapter.testing import TestQueueManager
from tests.support.bad_envelopes import BAD_ENVELOPES, ODD_ENVELOPES


def publish(connection: kombu.Connection, queue: kombu.Queue, *bodies: Any, **how: Any) -> None:
    producer = kombu.Producer(connection.default_channel)
    for body in bodies:
        producer.publish(body, routing_key=queue.name, declare=[queue], **how)


def test_the_body_is_on_the_queue_as_it_is(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    publish(connection, kombu.Queue("in-box"), {"a": 1}, headers={"task": "t", "id": "7"})
    message = qm.get("in%2Dbox")
    assert message is not None
    assert (message.body, message.properties["task"]) == (b'{"a": 1}', "t")
    assert message.persistent


def test_prefetch_bounds_what_is_held(connection: kombu.Connection, qm: adapter.Connection) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1, 2, 3)
    held: list[Any] = []
    with connection.Consumer([queue], on_message=held.append, prefetch_count=2):
        for _ in range(2):
            connection.drain_events(timeout=1)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.05)
        assert qm.queue("Q").depth() == 1
        held[0].ack()
        connection.drain_events(timeout=1)
    assert [message.payload for message in held] == [1, 2, 3]


def test_an_acknowledgement_of_another_thread_makes_room(connection: kombu.Connection) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1, 2)
    held: list[Any] = []
    with connection.Consumer([queue], on_message=held.append, prefetch_count=1):
        connection.drain_events(timeout=1)
        drained = threading.Thread(target=connection.drain_events, kwargs={"timeout": 10})
        drained.start()
        drained.join(0.05)
        assert drained.is_alive()
        held[0].ack()
        drained.join(5)
        assert [message.payload for message in held] == [1, 2]


def test_multiple_acknowledges_all_before(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1, 2, 3)
    held: list[Any] = []
    with connection.Consumer([queue], on_message=held.append):
        for _ in range(3):
            connection.drain_events(timeout=1)
        held[1].ack(multiple=True)
        assert qm.queue("Q").status().uncommitted_gets == 1


def test_closing_the_channel_puts_messages_back(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1, 2)
    held: list[Any] = []
    with connection.channel() as channel, kombu.Consumer(channel, [queue], on_message=held.append):
        connection.drain_events(timeout=1)
    assert qm.queue("Q").depth() == 2
    with pytest.raises(BackedOut, match="back on the queue"):
        held[0].ack()
    again = queue(connection.default_channel).get()
    assert (again.payload, again.delivery_info["redelivered"]) == (1, False)
    connection.default_channel.basic_recover(requeue=True)
    again = queue(connection.default_channel).get()
    assert (again.payload, again.delivery_info["redelivered"]) == (1, True)
    again.ack()
    with pytest.raises(RuntimeError, match="recover"):
        connection.default_channel.basic_recover()


VERBS: dict[str, Callable[[Any], object]] = {
    "declare": lambda channel: channel.queue_declare("Q"),
    "declare temporary": lambda channel: channel.queue_declare("T", exclusive=True),
    "bind": lambda channel: channel.queue_bind("Q", "amq.topic", "k"),
    "unbind": lambda channel: channel.queue_unbind("Q", "amq.topic", "k"),
    "delete": lambda channel: channel.queue_delete("Q"),
    "purge": lambda channel: channel.queue_purge("Q"),
    "declare exchange": lambda channel: channel.exchange_declare("X", "topic"),
    "delete exchange": lambda channel: channel.exchange_delete("X"),
    "publish": lambda channel: kombu.Producer(channel).publish("x", routing_key="Q"),
    "consume": lambda channel: channel.basic_consume("Q", False, print, "tag"),
    "get": lambda channel: channel.basic_get("Q"),
    "get without ack": lambda channel: channel.basic_get("Q", no_ack=True),
    "recover": lambda channel: channel.basic_recover(requeue=True),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_channel_does_nothing(
    connection: kombu.Connection, qm: adapter.Connection, verb: str
) -> None:
    qm.define_queue("Q")
    qm.put("Q", "x")
    connection.connect()
    channel = connection.channel()
    channel.close()
    with pytest.raises(connection.recoverable_connection_errors, match="channel is closed"):
        VERBS[verb](channel)
    channel.close()
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (1, 0)
    assert (status.open_input_count, status.open_output_count) == (0, 0)


def test_a_message_without_acknowledgement_may_be_acknowledged_after_the_close(
    connection: kombu.Connection,
) -> None:
    publish(connection, kombu.Queue("Q"), 1)
    channel = connection.channel()
    message = channel.basic_get("Q", no_ack=True)
    channel.close()
    message.ack()


def test_a_mandatory_publication_says_that_it_reaches_no_queue(
    connection: kombu.Connection, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    producer = kombu.Producer(connection)
    qm.define_queue("Q")
    producer.publish("x", routing_key="Q", mandatory=True, immediate=True, timeout=1)
    for to in ({"routing_key": "none"}, {"exchange": "none", "routing_key": "k"}):
        producer.publish("x", **to)
        with pytest.raises(ChannelError, match="NO_ROUTE - no queue for exchange") as refused:
            producer.publish("x", mandatory=True, **to)
        assert refused.value.reply_code == "312"
    assert [one.getMessage()[:43] for one in caplog.records if "no effect" in one.getMessage()] == [
        "immediate of a publication has no effect on"
    ]


def test_a_consumer_that_cannot_be_opened_leaves_nothing(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    channel = connection.default_channel
    with pytest.raises(QueueNotFound):
        channel.basic_consume("none", False, print, "tag")
    qm.define_queue("none")
    channel.basic_consume("none", False, print, "tag")
    assert qm.queue("none").status().open_input_count == 1
    channel.basic_cancel("tag")


def test_workers_that_are_stopped_raise_no_count_of_what_they_only_fetched(
    url: str, qm: adapter.Connection
) -> None:
    qm.define_queue("FAILED")
    qm.define_queue("Q", backout_threshold=2, backout_requeue_queue="FAILED", backout_action="MOVE")
    qm.put("Q", "1")
    qm.put("Q", "2")
    held: list[Any] = []
    for _ in range(3):
        with kombu.Connection(url) as worker, worker.channel() as channel:
            channel.basic_qos(0, 2, False)
            with kombu.Consumer(channel, [kombu.Queue("Q")], on_message=held.append):
                worker.drain_events(timeout=1)
                worker.drain_events(timeout=1)
    assert len(held) == 6
    assert [one.backout_count for one in qm.queue("Q").browse()] == [0, 0]
    assert qm.queue("FAILED").depth() == 0


def test_a_message_that_always_ends_its_worker_is_moved_aside(
    url: str, qm: adapter.Connection
) -> None:
    qm.define_queue("FAILED")
    qm.define_queue("Q", backout_threshold=2, backout_requeue_queue="FAILED", backout_action="MOVE")
    qm.put("Q", "1")
    for _ in range(2):
        with kombu.Connection(url) as worker:
            assert kombu.Queue("Q")(worker.default_channel).get() is not None
            worker.transport.link.qm.disconnect(abrupt=True)
    assert (qm.queue("Q").depth(), qm.queue("FAILED").depth()) == (0, 1)


def test_a_rejected_message_goes_where_its_queue_says(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    qm.define_queue("FAILED")
    arguments = {"x-dead-letter-routing-key": "FAILED"}
    queue = kombu.Queue("Q", queue_arguments=arguments)
    publish(connection, queue, "bad", "worse")
    message = queue(connection.default_channel).get()
    message.reject()
    assert qm.queue("FAILED").depth() == 1
    message = queue(connection.default_channel).get()
    message.reject(requeue=True)
    assert (qm.queue("FAILED").depth(), qm.queue("Q").depth()) == (1, 1)


def test_an_alias_is_a_queue_like_others(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    qm.define_queue("FAILED")
    qm.define_queue("REAL", backout_requeue_queue="FAILED")
    qm.define_object("alias", "Q", target="REAL")
    queue = kombu.Queue("Q")
    publish(connection, queue, "bad")
    queue(connection.default_channel).queue_declare(passive=True)
    queue(connection.default_channel).get().reject()
    qm.delete_object("alias", "Q")
    assert (qm.queue("REAL").depth(), qm.queue("FAILED").depth()) == (0, 1)


def test_a_rejected_message_is_discarded(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, "bad")
    queue(connection.default_channel).get().reject()
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (0, 0)


def test_a_message_that_cannot_go_where_its_queue_says_is_not_delivered_again(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    qm.alter_queue_manager(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")
    queue = kombu.Queue("Q", queue_arguments={"x-dead-letter-routing-key": "GONE"})
    publish(connection, queue, "bad")
    queue(connection.default_channel).get().reject()
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (0, 0)
    letter = qm.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert letter is not None
    assert letter.dead_letter is not None
    assert letter.dead_letter.destination == "GONE"
    qm.alter_queue_manager(dead_letter_queue="")
    publish(connection, queue, "worse")
    queue(connection.default_channel).get().reject()
    assert queue(connection.default_channel).get() is None


def test_a_message_whose_queue_cannot_be_asked_is_a_dead_letter(
    connection: kombu.Connection, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    qm.alter_queue_manager(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")
    queue = kombu.Queue("Q")
    publish(connection, queue, "bad")
    message = queue(connection.default_channel).get()

    def refuse(*_: object) -> None:
        raise NotAuthorized("not authorized", "Q")

    monkeypatch.setattr(adapter.Connection, "queues", refuse)
    message.reject()
    letter = qm.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert letter is not None
    assert letter.dead_letter is not None
    assert letter.dead_letter.reason == NotAuthorized.reason
    assert qm.queue("Q").status().uncommitted_gets == 0


@pytest.mark.parametrize("ends", ["ack", "reject"])
def test_a_message_whose_end_fails_is_held_as_before(
    connection: kombu.Connection,
    qm: adapter.Connection,
    monkeypatch: pytest.MonkeyPatch,
    ends: str,
) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1, 2)
    channel = connection.default_channel
    held = [queue(channel).get() for _ in range(2)]

    def interrupt(_: object) -> None:
        raise CallInProgress("a signal handler interrupted it")

    with monkeypatch.context() as interrupted:
        interrupted.setattr(adapter.Unit, "commit", interrupt)
        for message in held:
            with pytest.raises(CallInProgress):
                getattr(channel.qos, ends)(message.delivery_tag)
        with pytest.raises(CallInProgress):
            channel.qos.ack(held[1].delivery_tag, multiple=True)
    channel.qos.ack(held[1].delivery_tag, multiple=True)
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (0, 0)


@pytest.mark.parametrize("no_ack", [False, True])
def test_no_message_of_another_program_ends_a_consumer(
    connection: kombu.Connection, qm: adapter.Connection, no_ack: bool
) -> None:
    qm.define_queue("Q")
    put = 0
    for envelope in (*BAD_ENVELOPES, *ODD_ENVELOPES):
        with suppress(adapter.Error):  # longer than a property may be
            qm.put("Q", "x", properties={"kombu": envelope})
            put += 1
    held: list[Any] = []
    with connection.Consumer([kombu.Queue("Q")], on_message=held.append, no_ack=no_ack):
        for _ in range(put):
            connection.drain_events(timeout=5)
        for message in held:
            assert message.body == b"x"
            message.ack()
    assert put > 50
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (0, 0)


def test_arguments_of_rabbitmq_with_an_equivalent_are_attributes() -> None:
    given = {"x-message-ttl": 1500, "x-max-length": 7, "x-max-priority": 10}
    assert attributes_of(given) == {"expiry_cap": 15, "max_depth": 7}


@pytest.mark.parametrize(("ttl_ms", "cap"), [(0, 1), (1, 1), (100, 1), (101, 2), (149, 2)])
def test_no_message_ends_before_its_time(ttl_ms: int, cap: int) -> None:
    assert attributes_of({"x-message-ttl": ttl_ms}) == {"expiry_cap": cap}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x-message-ttl", (-1, 1.5, float("nan"), "100", None, True)),
        ("x-max-length", (-3, 7.0, float("inf"), "7", None, True)),
        ("x-dead-letter-routing-key", (None, 5, b"dead")),
    ],
)
def test_arguments_that_rabbitmq_refuses_are_refused(
    connection: kombu.Connection, qm: adapter.Connection, name: str, values: tuple[object, ...]
) -> None:
    for value in values:
        with pytest.raises(ChannelError, match=f"PRECONDITION_FAILED - invalid {name}") as refused:
            connection.default_channel.queue_declare("Q", arguments={name: value})
        assert refused.value.reply_code == "406"
    assert not qm.queues("Q")


def test_a_message_expires_by_the_ttl_of_its_queue(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    publish(connection, kombu.Queue("Q", message_ttl=60), 1)
    message = next(iter(qm.queue("Q").browse()))
    assert message.expiry_s is not None
    assert 50 < message.expiry_s <= 60


def test_passive_declares_only_look(connection: kombu.Connection, qm: adapter.Connection) -> None:
    channel = connection.default_channel
    with pytest.raises(ChannelError, match="no queue 'Q'"):
        channel.queue_declare("Q", passive=True)
    qm.define_queue("Q")
    qm.put("Q", "x")
    assert channel.queue_declare("Q", passive=True).message_count == 1


def test_a_queue_without_a_name_gets_one(connection: kombu.Connection) -> None:
    declared = connection.default_channel.queue_declare(auto_delete=True)
    assert declared.queue.startswith("amq.gen-")


def test_an_auto_delete_queue_goes_with_its_last_consumer(connection: kombu.Connection) -> None:
    queue = kombu.Queue("goes", auto_delete=True, durable=False)
    channel = connection.default_channel
    with connection.Consumer([queue]):
        with connection.Consumer([queue]):
            pass
        assert channel.queue_declare("goes", passive=True)
    with pytest.raises(ChannelError):
        channel.queue_declare("goes", passive=True)


def test_a_queue_can_be_deleted_by_its_own_consumer(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1)
    with connection.Consumer([queue]):
        bound = queue(connection.default_channel)
        bound.delete(if_unused=True)
        bound.delete(if_empty=True)
        assert qm.queue("Q").depth() == 1
        assert connection.default_channel.queue_delete("Q") == 1
    assert not qm.queues("Q")


def test_a_queue_that_another_program_uses_is_not_deleted(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    qm.define_queue("Q")
    channel = connection.default_channel
    with qm.queue("Q", open_for="input"):
        assert channel.queue_delete("Q", if_unused=True) == 0
        with pytest.raises(QueueInUse):
            channel.queue_delete("Q")


def test_purging_returns_how_many_there_were(connection: kombu.Connection) -> None:
    queue = kombu.Queue("Q")
    publish(connection, queue, 1, 2, 3)
    bound = queue(connection.default_channel)
    assert (bound.purge(), bound.purge()) == (3, 0)


def test_delivery_is_delayed_until_the_eta(
    url: str, manager: TestQueueManager, qm: adapter.Connection
) -> None:
    eta = {"task": "t", "id": "1", "eta": "2099-01-01T00:00:00"}
    queue = kombu.Queue("Q")
    with kombu.Connection(url) as delaying:
        publish(delaying, queue, 1, headers=eta)
    with kombu.Connection(url, transport_options={"delayed_delivery": False}) as direct:
        publish(direct, queue, 1, headers=eta)
    status = qm.queue("Q").status()
    assert (status.delayed, status.current_depth) == (1, 1)
