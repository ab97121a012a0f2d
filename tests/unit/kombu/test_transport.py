"""Connections: their URLs and options, errors, and event loops."""

import select
import threading
from contextlib import nullcontext, suppress
from typing import Any

import kombu
import pytest
from kombu.asynchronous.hub import Hub
from kombu.exceptions import ChannelError

import adapter
from adapter.errors import (
    ConnectionBroken,
    ConnectionClosed,
    InDoubt,
    NotAuthorized,
    QueueManagerNotAvailable,
    WrongQueueManager,
)
from adapter.kombu import MqkTransport
from adapter.testing import TestQueueManager
from tests.support.backlog import until

NOBODY = "mqk://127.0.0.1:9"


def test_importing_the_package_makes_the_scheme_known() -> None:
    assert kombu.Connection("mqk://").transport_cls == "mqk"
    assert isinstance(kombu.Connection("mqk://").transport, MqkTransport)


def options(url: str, **transport_options: object) -> dict[str, object]:
    client = kombu.Connection(url, transport_options=transport_options)
    return MqkTransport(client).connect_options()


def test_a_url_names_address_user_and_queue_manager() -> None:
    assert options("mqk://app:secret@kafka.example:2414/QM1") == {
        "address": "kafka.example:2414",
        "queue_manager": "QM1",
        "user": "app",
        "password": "secret",
        "connect_timeout_s": 5,
    }
    assert options("mqk://[::1]:2414/QM1")["address"] == "[::1]:2414"
    assert options("mqk://") == {"address": "127.0.0.1:1414", "connect_timeout_s": 5}


def test_options_of_the_transport_are_those_of_connect() -> None:
    given = options(NOBODY, address="a:1,b:2", reconnect_timeout_s=3, connect_timeout_s=1, other=1)
    assert given == {"address": "a:1,b:2", "reconnect_timeout_s": 3, "connect_timeout_s": 1}


def test_what_cannot_be_connected_is_an_error_of_connections(manager: TestQueueManager) -> None:
    with pytest.raises(QueueManagerNotAvailable):
        kombu.Connection(NOBODY).transport.establish_connection()
    with pytest.raises(WrongQueueManager):
        kombu.Connection(f"mqk://{manager.address}/OTHER").transport.establish_connection()
    assert issubclass(QueueManagerNotAvailable, MqkTransport.recoverable_connection_errors)
    assert not issubclass(NotAuthorized, MqkTransport.connection_errors)


def test_a_lost_connection_is_raised_and_made_again(url: str, manager: TestQueueManager) -> None:
    queue = kombu.Queue("Q")
    got: list[int] = []

    def note(body: int, message: kombu.Message) -> None:
        got.append(body)
        message.ack()

    with kombu.Connection(url) as connection:
        consumer = connection.Consumer([queue], callbacks=[note])
        consumer.consume()
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.05)
        manager.restart()
        with pytest.raises(connection.connection_errors):
            connection.drain_events(timeout=10)
        connection.close()
        consumer.revive(connection.default_channel)
        consumer.consume()
        kombu.Producer(connection).publish(7, routing_key="Q")
        connection.drain_events(timeout=10)
    assert got == [7]


@pytest.mark.parametrize("exchange", ["", "shop"])
@pytest.mark.parametrize("is_done", [True, False])
def test_a_publication_that_may_have_been_done_is_not_repeated(
    url: str,
    qm: adapter.Connection,
    monkeypatch: pytest.MonkeyPatch,
    exchange: str,
    is_done: bool,
) -> None:
    """kombu repeats what failed, unless it is not known whether it has failed."""
    calls: list[str] = []
    for verb in ("put", "publish"):
        real = getattr(adapter.Connection, verb)

        def lose_reply(*given: Any, real: Any = real, **fields: Any) -> Any:
            calls.append(given[1])
            if is_done:
                real(*given, **fields)
                raise InDoubt("no reply")
            if len(calls) == 1:
                raise ConnectionBroken("nothing was done")
            return real(*given, **fields)

        monkeypatch.setattr(adapter.Connection, verb, lose_reply)
    with kombu.Connection(url) as connection:
        queue = kombu.Queue("Q", kombu.Exchange("shop"), "Q")
        with suppress(InDoubt, ConnectionBroken):
            queue(connection.default_channel).declare()  # it keeps the type of its exchange
        queue(connection.default_channel).declare()
        calls.clear()
        producer = kombu.Producer(connection)
        policy = {"max_retries": 3, "interval_start": 0, "interval_step": 0}
        with pytest.raises(InDoubt) if is_done else nullcontext():
            producer.publish(
                "x", exchange=exchange, routing_key="Q", retry=True, retry_policy=policy
            )
    assert (len(calls), qm.queue("Q").depth()) == (1 if is_done else 2, 1)


def test_what_is_refused_is_not_repeated(connection: kombu.Connection) -> None:
    """A retry without a policy would never end."""
    producer = kombu.Producer(connection)
    bad = kombu.Queue("Q", queue_arguments={"x-message-ttl": -1})
    for fields in ({"mandatory": True}, {"declare": [bad]}):
        with pytest.raises(ChannelError):
            producer.publish("x", routing_key="none", retry=True, **fields)


@pytest.mark.parametrize("wait", ["drain_events", "SimpleQueue"])
def test_a_connection_that_another_thread_closes_ends_waits(url: str, wait: str) -> None:
    connection = kombu.Connection(url)
    connection.default_channel.basic_consume(
        connection.default_channel.queue_declare("Q").queue, False, print, "tag"
    )
    simple = connection.SimpleQueue("S")
    met: list[BaseException] = []

    def run() -> None:
        try:
            connection.drain_events() if wait == "drain_events" else simple.get(block=True)
        except connection.recoverable_connection_errors as error:
            met.append(error)

    waits = threading.Thread(target=run, daemon=True)
    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    connection.close()
    waits.join(20)
    assert [type(one) for one in met] == [ConnectionClosed]


def test_exclusive_queues_are_gone_with_their_connection(url: str, qm: adapter.Connection) -> None:
    with kombu.Connection(url) as stays:
        stays.default_channel.queue_declare("auto-delete", auto_delete=True)
        for number in range(5):
            with kombu.Connection(url) as goes:
                goes.default_channel.queue_declare(f"reply-{number}", exclusive=True)
                goes.default_channel.queue_declare("auto-delete", auto_delete=True)
        there = [stays.transport.link.has(f"reply-{number}") for number in range(5)]
        assert there == [False] * 5
        assert stays.transport.link.has("auto-delete")
        assert len(qm.queues("SYSTEM.MANAGED.*", system=True)) == 1


def test_a_closed_connection_leaves_nothing_behind(url: str, qm: adapter.Connection) -> None:
    before = len(qm.connections())
    with kombu.Connection(url) as connection, connection.Consumer([kombu.Queue("Q")]):
        assert connection.transport.verify_connection(connection)
        assert len(qm.connections()) == before + 1
    until(lambda: len(qm.connections()) == before)
    assert not connection.transport.verify_connection(connection)


def test_an_event_loop_delivers_messages(url: str) -> None:
    queue = kombu.Queue("Q")
    got: list[int] = []
    with kombu.Connection(url) as connection:
        consumer = connection.Consumer(
            [queue], no_ack=True, callbacks=[lambda body, _: got.append(body)]
        )
        consumer.consume()
        hub = Hub()
        connection.register_with_event_loop(hub)
        for number in range(5):
            kombu.Producer(connection).publish(number, routing_key="Q")
        for _ in range(100):
            hub.run_once()
            if len(got) == 5:
                break
    assert not hub.on_tick
    assert not hub.readers
    hub.close()
    assert got == list(range(5))


def test_an_event_loop_is_asked_to_come_back_for_the_next_message(
    url: str, qm: adapter.Connection
) -> None:
    queues = [kombu.Queue("A"), kombu.Queue("B")]
    got: list[object] = []
    with kombu.Connection(url) as connection, connection.Consumer(queues, on_message=got.append):
        hub = Hub()
        connection.register_with_event_loop(hub)
        inbox = connection.transport.inbox
        inbox.arm_all()
        for name in ("A", "B"):
            qm.put(name, "1")
        until(lambda: len(inbox._arrived) == 2)
        connection.transport.on_readable(connection, hub)
        assert len(got) == 1
        assert select.select([inbox.bell()], [], [], 0)[0]
        connection.transport.unregister_from_event_loop(connection, hub)
        hub.close()


def test_it_says_which_driver_it_is() -> None:
    transport = kombu.Connection("mqk://").transport
    assert (transport.driver_type, transport.driver_version()) == ("mqk", adapter.__version__)
