"""Avro values over a connection: put, got, browsed, and what is said without a registry."""

import copy
import json
import pickle
from collections.abc import Iterator

import pytest

import adapter
from adapter.errors import InvalidOption, InvalidType, NotAvro, RegistryNotAvailable, SchemaNotFound
from adapter.registry.topic import TopicRegistry
from adapter.testing import TestQueueManager, queue_manager, schema_registry
from tests.drivers import Driver

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}


@pytest.fixture
def registry() -> TopicRegistry:
    made = schema_registry()
    made.register("ORDERS-value", json.dumps(ORDER))
    return made


@pytest.fixture
def manager(driver: Driver) -> Iterator[TestQueueManager]:
    with queue_manager() as running:
        yield driver.of(running)


@pytest.fixture
def qm(manager: TestQueueManager, registry: TopicRegistry) -> Iterator[adapter.Connection]:
    with manager.connect(registry=registry) as connected:
        connected.define_queue("ORDERS")
        yield connected


def test_a_value_is_put_and_got_wherever_messages_are(qm: adapter.Connection) -> None:
    with qm.queue("ORDERS") as queue:
        for number in range(4):
            queue.put_value({"number": number}, schema=ORDER, priority=4, format="AVRO")
        assert [one.decode() for one in queue.browse()] == [{"number": n} for n in range(4)]
        shared = queue.browse(cooperate=True)
        assert [one.decode() for one in shared] == [{"number": n} for n in range(4)]
        first = queue.get()
        assert first is not None
        assert (first.decode(), first.format, first.priority) == ({"number": 0}, "AVRO", 4)
        with qm.unit():
            second = qm.get("ORDERS")
            assert second is not None
            assert second.decode() == {"number": 1}
        for unit in queue.units(timeout=0):
            with unit:
                assert [one.decode()["number"] for one in unit.messages] in ([2], [3])


def test_a_value_can_be_part_of_a_unit(qm: adapter.Connection) -> None:
    queue = qm.queue("ORDERS")
    unit = qm.unit()
    with unit:
        queue.put_value({"number": 1}, schema="ORDERS-value")
        unit.backout()
    assert queue.get() is None


def test_a_value_that_does_not_fit_puts_nothing(qm: adapter.Connection) -> None:
    queue = qm.queue("ORDERS")
    with pytest.raises(NotAvro):
        queue.put_value({"number": "x"}, schema=ORDER)
    with pytest.raises(SchemaNotFound):
        queue.put_value({"number": 1}, schema=ORDER, subject="OTHER")
    assert queue.depth() == 0


def test_what_decodes_a_message_is_no_part_of_it(qm: adapter.Connection) -> None:
    qm.queue("ORDERS").put_value({"number": 1}, schema=ORDER)
    got = qm.get("ORDERS")
    assert got is not None
    twin = pickle.loads(pickle.dumps(got))
    assert twin == got == copy.copy(got)
    assert "schemas" not in repr(got)
    with pytest.raises(InvalidOption, match="MQK_REGISTRY"):
        twin.decode()


def test_without_a_registry_bytes_are_moved_all_the_same(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.define_queue("PLAIN")
        qm.put("PLAIN", b"\0\0\0\0\1\2")
        got = qm.get("PLAIN")
        assert got is not None
        assert got.body == b"\0\0\0\0\1\2"
        with pytest.raises(InvalidOption, match="no schema registry was named"):
            got.decode()
        with pytest.raises(InvalidOption, match="no schema registry was named"):
            qm.queue("PLAIN").put_value({}, schema=ORDER)


def test_the_registry_may_come_from_the_environment(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQK_REGISTRY", "http://127.0.0.1:1")
    with manager.connect() as qm:
        qm.define_queue("ORDERS")
        with pytest.raises(RegistryNotAvailable, match=r"http://127\.0\.0\.1:1 does not answer"):
            qm.queue("ORDERS").put_value({"number": 1}, schema=ORDER)
        assert qm.queue("ORDERS").depth() == 0


def test_schemas_serve_plain_kafka_users_and_several_connections(
    manager: TestQueueManager, registry: TopicRegistry
) -> None:
    with adapter.Schemas(registry) as schemas:
        body = schemas.encode({"number": 7}, schema=ORDER, subject="ORDERS-value")
        with manager.connect(registry=schemas) as qm:
            qm.define_queue("ORDERS")
            qm.put("ORDERS", body)
            got = qm.get("ORDERS")
        assert got is not None
        assert got.decode() == schemas.decode(got.body) == {"number": 7}
        assert schemas.registry is registry


def test_what_is_no_registry_is_refused() -> None:
    with pytest.raises(InvalidType):
        adapter.Schemas(8081)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="no registry can be asked"):
        _ = adapter.Schemas("localhost:8081").registry
