"""Avro values on a real Kafka: read by programs that know nothing of mqk, and our own schemas."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    SchemaRegistryError,
    topic_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from adapter import kafka as plain
from adapter.errors import RegistryNotAvailable
from adapter.host.logs import LogSettings
from adapter.localkafka import LocalKafka, free_port
from adapter.registry import topic
from adapter.registry.http import RegistryServer
from adapter.registry.log import TopicLog
from adapter.registry.port import Level
from adapter.registry.rest import RestRegistry
from adapter.registry.topic import TopicRegistry
from adapter.server.access import credentials
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.topics.admin import admin_client
from adapter.testing import queue_manager
from tests.support.certificates import Authority
from tests.support.passwords import hash_cheaply
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka
from tests.support.topic_settings import configure

WAIT_S = 60.0
ORDER = json.dumps(
    {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}
)
WITH_NOTE = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "number", "type": "int"},
            {"name": "note", "type": "string", "default": "-"},
        ],
    }
)
LEVELS: tuple[Level, ...] = ("NONE", "FULL", "FORWARD", "BACKWARD", "FULL_TRANSITIVE") * 2
STRATEGY = {"subject.name.strategy": topic_subject_name_strategy}


@pytest.fixture
def registry(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TopicRegistry]:
    made = topic.on_kafka(kafka.bootstrap_servers, unique_name("_schemas."))
    with closing(made):
        yield made


def records(servers: str, name: str, count: int) -> list[tuple[int, bytes]]:
    """Priority and value of what is on a queue's topic, read by a plain consumer."""
    reader = Consumer({"bootstrap.servers": servers, "group.id": "plain"})
    try:
        reader.assign([TopicPartition(name, lane, 0) for lane in range(10)])
        found: list[tuple[int, bytes]] = []
        deadline_s = time.monotonic() + WAIT_S
        while len(found) < count and time.monotonic() < deadline_s:
            record = reader.poll(0.5)
            if record is not None and record.error() is None:
                found.append((record.partition() or 0, record.value() or b""))
        return found
    finally:
        reader.close()


def test_a_queues_topic_is_read_by_a_plain_consumer_with_the_official_deserializer(
    kafka: AnyKafka, unique_name: Callable[..., str], registry: TopicRegistry
) -> None:
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    with (
        RegistryServer(registry) as server,
        SchemaRegistryClient({"url": (url := server.start(port=0))}) as official,
        queue_manager(name, bootstrap_servers=servers) as manager,
        manager.connect(registry=url) as qm,
    ):
        qm.define_queue("ORDERS")
        context = SerializationContext("ORDERS", MessageField.VALUE)
        queue = qm.queue("ORDERS")
        queue.put_value({"number": 1}, schema=ORDER, register=True, priority=3)
        queue.put_value({"number": 2, "note": "x"}, schema=WITH_NOTE, register=True, priority=7)
        settings = {"auto.register.schemas": False, **STRATEGY}
        write = AvroSerializer(official, WITH_NOTE, conf=settings)
        queue.put(write({"number": 3, "note": "y"}, context), priority=9)

        read = AvroDeserializer(official, conf=STRATEGY)
        found = records(servers, plain.topic_name(name, "ORDERS"), 3)
        values = {lane: read(value, context) for lane, value in found}
        assert values == {
            3: {"number": 1},
            7: {"number": 2, "note": "x"},
            9: {"number": 3, "note": "y"},
        }
        got = [message.decode(("ORDERS-value", 2)) for message in iter(queue.get, None)]
        assert got == [values[9], values[7], {"number": 1, "note": "-"}]


def test_what_is_registered_outlives_the_registry(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    name = unique_name("_schemas.")
    with closing(topic.on_kafka(kafka.bootstrap_servers, name)) as first:
        assert first.register("s", ORDER) == 1
        first.set_level("FULL", "s")
        with closing(topic.on_kafka(kafka.bootstrap_servers, name)) as second:
            assert second.register("s", WITH_NOTE) == 2
            assert second.level("s") == "FULL"
            assert first.versions("s") == [1, 2]
            first.close()
            assert first.delete_subject("s") == [1, 2]
            assert second.subjects() == []
            assert second.schema(2) == first.schema(2)


def test_a_topic_that_was_made_again_is_noticed_however_long_it_is(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    """As by a restore, while a registry runs."""
    name = unique_name("_schemas.")
    servers = kafka.bootstrap_servers
    with closing(topic.on_kafka(servers, name)) as running, admin_client(servers, None) as admin:
        assert running.register("s", ORDER) == 1
        admin.delete_topics([name])[name].result(WAIT_S)
        with closing(topic.on_kafka(servers, name)) as restored:
            until_s = time.monotonic() + WAIT_S
            while True:
                try:
                    assert restored.register("other", WITH_NOTE) == 1
                    break
                except RegistryNotAvailable:  # the broker has not deleted it yet
                    assert time.monotonic() < until_s
            for level in LEVELS:
                restored.set_level(level, "other")
            for _ in range(2):
                with pytest.raises(RegistryNotAvailable, match="created again"):
                    running.register("s", '"int"')
                with pytest.raises(RegistryNotAvailable, match="created again"):
                    running.schema(1)
            assert restored.subjects() == ["other"]
            with closing(topic.on_kafka(servers, name)) as restarted:
                assert restarted.schema(1) == restored.schema(1)


EAGER = {
    "segment.ms": "10",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
    "max.compaction.lag.ms": "100",
}


def test_compaction_removes_what_nobody_needs_and_nothing_else() -> None:
    """On a broker of its own, whose cleaner looks all the time."""
    with LocalKafka(settings={"log.cleaner.backoff.ms": "100"}) as kafka:
        servers = kafka.bootstrap_servers
        with closing(topic.on_kafka(servers)) as registry:
            registry.register("s", ORDER)
            configure(servers, "_schemas", EAGER)
            deadline_s, kept, written = time.monotonic() + WAIT_S, 1, 0
            while kept > written // 2 and time.monotonic() < deadline_s:
                for level in LEVELS:
                    registry.set_level(level, "s")
                written += len(LEVELS)
                kept = len(values_on(servers, "_schemas"))
            assert kept <= written // 2
            registry.register("s", WITH_NOTE)
            registry.register("t", ORDER)
            with closing(topic.on_kafka(servers)) as again:
                assert again.level("s") == LEVELS[-1]
                assert (again.versions("s"), again.versions("t")) == ([1, 2], [1])
                assert again.lookup("s", ORDER).schema_id == 1
                assert again.register("u", WITH_NOTE) == 2


def values_on(servers: str, name: str) -> list[bytes]:
    """The values that a topic still has."""
    settings = LedgerSettings(bootstrap_servers=servers, topic=name)
    return [raw.value for raw in Whole(settings).records() if raw.value is not None]


def test_a_kafka_that_is_away_is_an_error_in_time() -> None:
    away = {"socket.connection.setup.timeout.ms": 1000}
    asked = TopicLog(f"127.0.0.1:{free_port()}", "_schemas", away, read_timeout_s=1.0)
    with closing(TopicRegistry(asked)) as registry:
        with pytest.raises(RegistryNotAvailable) as caught:
            registry.subjects()
        assert caught.value.code == 50001


def test_a_queue_manager_registers_its_schemas_and_serves_its_registry(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    name, port = unique_name("QM"), free_port()
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path, http_port=port) as process:
        kafka_settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers)
        told = ServerSettings(
            queue_manager=name,
            kafka=kafka_settings,
            port=process.port,
            http_port=port,
            registry="topic",
            log=LogSettings(format="text"),
        )
        process.write_settings(msgspec.json.encode(told))
        process.start()
        url = f"http://127.0.0.1:{port}/registry/subjects/mqk.Entry/versions/latest"
        deadline_s = time.monotonic() + WAIT_S
        while (found := answer(url)) is None and time.monotonic() < deadline_s:
            time.sleep(0.1)
        assert found is not None
        assert found["subject"] == "mqk.Entry"
        assert json.loads(str(found["schema"]))["name"] == "Entry"


def test_a_registry_with_tls_is_for_users_of_the_queue_manager(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    name, port = unique_name("QM"), free_port()
    authority = Authority(tmp_path)
    credentials.write(tmp_path / "users", {"ann": hash_cheaply("right")})
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path) as process:
        told = ServerSettings(
            queue_manager=name,
            kafka=KafkaSettings(bootstrap_servers=kafka.bootstrap_servers),
            port=process.port,
            registry="topic",
            registry_topic=unique_name("_schemas."),
            registry_host="127.0.0.1",
            registry_port=port,
            http_tls=True,
            tls=authority.server(client_ca=str(authority.path), host=""),
            credentials_file=str(tmp_path / "users"),
            log=LogSettings(format="text"),
        )
        process.write_settings(msgspec.json.encode(told))
        process.start()
        where = {"url": f"https://127.0.0.1:{port}", "ssl.ca.location": str(authority.path)}
        with SchemaRegistryClient(where | {"basic.auth.user.info": "ann:right"}) as client:
            number = client.register_schema("orders-value", Schema(ORDER, "AVRO"))
            assert json.loads(client.get_schema(number).schema_str or "") == json.loads(ORDER)
        certificate, key = authority.issue("app", "app.test", common_name="app")
        shown = {"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)}
        with SchemaRegistryClient(where | shown) as certified:
            assert "orders-value" in certified.get_subjects()
        for wrong in ({}, {"basic.auth.user.info": "ann:wrong"}):
            with (
                SchemaRegistryClient(where | wrong) as stranger,
                pytest.raises(SchemaRegistryError) as refused,
            ):
                stranger.get_subjects()
            assert refused.value.http_status_code == 401
        options = {"ssl.ca.location": str(authority.path), "basic.auth.user.info": "ann:right"}
        with closing(RestRegistry(f"https://127.0.0.1:{port}", options)) as ours:
            assert ours.schema(number)


def test_a_registry_is_served_until_it_is_told_to_end(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    command = [sys.executable, "-m", "adapter.cli", "registry", "serve", "--json"]
    where = ["--bootstrap-server", kafka.bootstrap_servers, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, *where, "--topic", unique_name("_schemas.")], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            with closing(RestRegistry(url)) as registry:
                assert registry.register("s", ORDER) == 1
                assert registry.subjects() == ["s"]
            process.terminate()
            assert process.wait(WAIT_S) == 0
        finally:
            process.kill()


def answer(url: str) -> dict[str, object] | None:
    """What a page says; None until it answers."""
    try:
        with urllib.request.urlopen(url, timeout=WAIT_S) as page:
            said: dict[str, object] = json.loads(page.read())
            return said
    except OSError:
        return None
