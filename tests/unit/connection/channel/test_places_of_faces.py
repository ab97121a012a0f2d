"""Fail-over of every face: a list of addresses, in any order, of an owner and its standbys.

The owner's address dies, the queue manager's soft state with it, and the same ledger is served at
another address of the list; or the owner switches, says where it is now, and stands by. A third
address is a standby's, which serves nobody.
"""

import asyncio
import threading
import uuid
from collections.abc import Iterator

import dramatiq
import ibmmq
import kombu
import pytest
from msgspec import Struct

import adapter
from adapter import msmq, servicebroker, testing
from adapter.dramatiq import MqkBroker
from adapter.kombu import MqkTransport
from adapter.servicebroker.activation import ActivationService
from adapter.services.trigger_monitor import TriggerMonitor
from tests.support.backlog import until
from tests.support.msmq_site import activated, running, trigger
from tests.support.relay import Relay, relay

WAIT_S = 20.0


class Hosts(Struct):
    """The addresses of one queue manager: where its owner was, where it is, and a standby's."""

    manager: testing.TestQueueManager
    owner: Relay
    standby: Relay
    order: tuple[int, int, int]
    switches: bool

    @property
    def listed(self) -> list[str]:
        every = self.owner.address, self.standby.address, self.manager.address
        return [every[at] for at in self.order]

    @property
    def addresses(self) -> str:
        return ",".join(self.listed)

    def fail_over(self) -> None:
        """Let the owner die, or switch; another one serves the same ledger at the other address."""
        if self.switches:
            self.owner.follows, self.owner.moved_to = True, self.manager.address
            self.owner.say_moved(self.manager.address)
            return
        self.owner.die()
        self.manager.crash()
        self.manager.start()


@pytest.fixture(params=[False, True], ids=["owner dies", "owner switches"])
def switches(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=[(0, 1, 2), (1, 0, 2)], ids=["owner first", "standby first"])
def hosts(request: pytest.FixtureRequest, switches: bool) -> Iterator[Hosts]:
    with (
        testing.queue_manager() as manager,
        relay(manager.address) as owner,
        relay(manager.address, follows=True) as standby,
    ):
        yield Hosts(manager, owner, standby, request.param, switches)


@pytest.fixture
def qm(hosts: Hosts) -> Iterator[adapter.Connection]:
    with adapter.connect(hosts.addresses) as connection:
        connection.define_queue("Q")
        yield connection


def test_the_sdk(hosts: Hosts, qm: adapter.Connection) -> None:
    qm.put("Q", b"1")
    hosts.fail_over()
    qm.put("Q", b"2")
    assert [one.body for one in qm.queue("Q").browse()] == [b"1", b"2"]
    assert hosts.owner.accepted == 1


def test_tasks(hosts: Hosts, qm: adapter.Connection) -> None:
    async def work() -> int:
        async with await adapter.aio.connect(hosts.addresses) as connection:
            await connection.put("Q", b"1")
            await asyncio.to_thread(hosts.fail_over)
            await connection.put("Q", b"2")
            return await connection.queue("Q").depth()

    assert asyncio.run(work()) == 2


def test_the_mqi(hosts: Hosts, qm: adapter.Connection) -> None:
    listed = [one.rsplit(":", 1) for one in hosts.listed]
    names = ",".join(f"{host}({port})" for host, port in listed)
    program = ibmmq.connect(hosts.manager.name, "APP.SVRCONN", names)
    program.put1("Q", b"1")
    hosts.fail_over()
    program.put1("Q", b"2")
    program.disconnect()
    assert qm.queue("Q").depth() == 2


def test_msmq_and_its_trigger_service(hosts: Hosts) -> None:
    host = msmq.connect(hosts.addresses)
    path = rf"{hosts.manager.name}\private$\orders"
    queue = host.create(path)
    with running(host, trigger(queue)) as service:
        queue.send("x", label="1")
        assert activated(service) == ["1"]
        hosts.fail_over()
        queue.send("x", label="2")
        until(lambda: [one.label for one in service.activations][-1] == "2")
    queue.close()
    host.close()


seen: list[str] = []


def receive_all(session: servicebroker.ServiceBroker, queue: str) -> None:
    """Be the reader that activation starts."""
    while rows := session.receive(queue):
        seen.extend(row.text for row in rows)


def test_service_broker_and_its_activation(hosts: Hosts) -> None:
    seen.clear()
    reader = f"{__name__}:{receive_all.__name__}"
    with servicebroker.connect(hosts.addresses) as broker:
        for name, queue in (("//orders", "Orders"), ("//shop", "Shop")):
            broker.create_queue(queue)
            broker.create_service(name, queue, contracts=[servicebroker.DEFAULT])
        activation = servicebroker.QueueActivation(reader, max_queue_readers=1)
        broker.alter_queue("Orders", activation=activation)
        conversation = broker.begin_dialog("//shop", "//orders")
        service = ActivationService(broker, allow=[reader])
        service.start()
        try:
            broker.send(conversation, body="1")
            until(lambda: seen == ["1"])
            hosts.fail_over()
            broker.send(conversation, body="2")
            until(lambda: seen == ["1", "2"])
        finally:
            service.stop()


def test_kombu(hosts: Hosts, qm: adapter.Connection) -> None:
    queue = kombu.Queue("K")
    options = {"address": hosts.addresses}
    with kombu.Connection(transport=MqkTransport, transport_options=options) as connection:
        producer = kombu.Producer(connection)
        producer.publish(1, routing_key="K", declare=[queue], retry=True)
        hosts.fail_over()
        producer.publish(2, routing_key="K", declare=[queue], retry=True)
        simple = connection.SimpleQueue(queue)
        assert [simple.get(timeout=WAIT_S).payload for _ in range(2)] == [1, 2]


def test_dramatiq(hosts: Hosts) -> None:
    broker = MqkBroker(address=hosts.addresses)
    broker.declare_queue("default")

    def message() -> dramatiq.Message[object]:
        return dramatiq.Message("default", "work", (), {}, {"uuid": str(uuid.uuid4())})

    broker.enqueue(message())
    hosts.fail_over()
    broker.enqueue(message())
    assert broker.get_queue_message_counts("default")[0] == 2
    broker.close()


def test_the_trigger_monitor(hosts: Hosts, qm: adapter.Connection) -> None:
    qm.define_queue("INITQ")
    monitor = TriggerMonitor(qm, "INITQ")
    thread = threading.Thread(target=monitor.run)
    thread.start()
    until(lambda: qm.queue("INITQ").status().waiting_gets == 1)
    hosts.fail_over()
    until(lambda: qm.queue("INITQ").status().waiting_gets == 1)
    monitor.stop()
    thread.join(WAIT_S)
    assert not thread.is_alive()
