"""Connections: their URLs and options, errors, and event loops."""

import select

import kombu
import pytest
from kombu.asynchronous.hub import Hub

import adapter
from adapter.errors import NotAuthorized, QueueManagerNotAvailable, WrongQueueManager
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
