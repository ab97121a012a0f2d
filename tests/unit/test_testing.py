"""The front door of the package: parts that most programs do without are loaded on demand."""

import subprocess
import sys

import pytest

from adapter import msmq, servicebroker, testing
from adapter.errors import QueueDamaged

PROGRAM = """
import sys
import adapter
loaded = set(sys.modules)
assert not loaded & {"confluent_kafka", "uvloop", "aiohttp", "fastavro", "structlog"}, loaded
for name in ("kafka", "mqi", "testing"):
    assert f"adapter.{name}" not in loaded
with adapter.testing.queue_manager() as manager, manager.connect() as qm:
    assert qm.queues() == []
assert adapter.mqi.TriggerMessage and adapter.kafka.Decoder
try:
    adapter.nothing
except AttributeError as error:
    assert "'nothing'" in str(error)
else:
    raise AssertionError("adapter has everything")
"""


def test_parts_are_loaded_when_they_are_first_used() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)


IF_THERE = ("sitecustomize", "typing_extensions")
"""Python and msgspec load them in an environment that has them."""
CLIENT = """
import sys
import adapter
with adapter.connect(sys.argv[1]) as qm:
    qm.define_queue("Q")
    with qm.unit():
        qm.put("Q", "one", properties={"a": 1})
    queue = qm.queue("Q")
    assert queue.put_many(["two", "three"]) == 2
    assert [m.text for u in queue.units(timeout=0) for m in u.messages if u.commit() is None]
    fruit = qm.subscribe("fruit/#")
    qm.publish("fruit/apple", b"x")
    assert fruit.get().body == b"x" and qm.connections() and qm.queues()
loaded = {name.split(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(*sorted(name for name in loaded if not name.startswith("_")))
"""


def test_a_client_loads_nothing_of_others_but_msgspec() -> None:
    with testing.queue_manager() as manager:
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, manager.address],
            check=True,
            timeout=60,
            stdout=subprocess.PIPE,
            text=True,
        )
    assert set(done.stdout.split()) <= {"adapter", "msgspec", *IF_THERE}


def test_a_damaged_message_is_refused_on_every_face() -> None:
    with testing.queue_manager() as manager:
        with manager.connect() as qm:
            qm.define_queue("Q")
            for body in ("one", "two", "three"):
                qm.put("Q", body)
            manager.corrupt("Q", 1)
            with pytest.raises(QueueDamaged):
                list(qm.queue("Q").browse())
            got = qm.get("Q")
            assert got is not None
            assert got.body == b"one"
            with pytest.raises(QueueDamaged):
                qm.get("Q")
        with manager.connect_msmq() as host:
            queue = host.create(r".\private$\orders")
            queue.send(b"one")
            manager.corrupt(r".\private$\orders", 0)
            with pytest.raises(msmq.MessageQueueException):
                queue.receive(0)


def test_a_damaged_message_does_not_count_as_poison() -> None:
    with testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_queue("Work")
        broker.create_service("//work", "Work", contracts=[servicebroker.DEFAULT])
        for body in ("one", "two"):
            broker.send(broker.begin_dialog("//work", "//work"), body=body)
        manager.corrupt("Work", 0)
        for _ in range(6):
            with pytest.raises(servicebroker.ServiceBrokerError):
                broker.receive("Work")
        assert (broker.queue("Work").status, broker.queue("Work").rollback_count) == (True, 0)
        manager.crash()
        manager.start()
        assert [broker.receive("Work")[0].text for _ in range(2)] == ["one", "two"]


@pytest.mark.parametrize(("name", "position"), [("Q", 1), ("Q", -1), ("NONE", 0)])
def test_only_a_message_that_is_there_can_be_damaged(name: str, position: int) -> None:
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("Q")
        qm.put("Q", "one")
        with pytest.raises((IndexError, KeyError)):
            manager.corrupt(name, position)


def test_services_of_msmq_are_loaded_when_they_are_first_used() -> None:
    program = (
        "import adapter\n"
        "assert adapter.msmq.triggers.TriggerService and adapter.msmq.read_response\n"
        "assert adapter.servicebroker.connect and adapter.localkafka.LocalKafka\n"
        "assert not hasattr(adapter.msmq, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
