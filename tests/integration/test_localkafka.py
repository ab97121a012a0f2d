"""A real Kafka: it starts, keeps its data, fails with words, and never stays behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from adapter import localkafka
from adapter.localkafka import LocalKafka, LocalKafkaError, cluster, free_port
from tests.support.shared_kafka import AnyKafka

WAIT_S = 30.0


def create_topic(servers: str, topic: str, copies: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, copies)])[topic].result(WAIT_S)


def produce(servers: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "log_level": 0})
    problems: list[str] = []
    for value in values:
        producer.produce(topic, value, callback=lambda e, _: problems.append(str(e)) if e else None)
    assert producer.flush(WAIT_S) == 0
    assert problems == []


def consume(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "none", "log_level": 0,
         "auto.offset.reset": "error", "enable.auto.commit": False}
    )  # fmt: skip
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[bytes] = []
        deadline_s = time.monotonic() + WAIT_S
        while len(values) < count and time.monotonic() < deadline_s:
            record = consumer.poll(0.2)
            if record is not None and record.error() is None:
                values.append(record.value() or b"")
        return values
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """A broker that the tests of this file may kill and restart."""
    with LocalKafka(data_dir=tmp_path_factory.mktemp("kafka")) as running:
        yield running


def test_what_is_produced_is_consumed(
    killable_kafka: LocalKafka, unique_name: Callable[..., str]
) -> None:
    topic = unique_name()
    create_topic(killable_kafka.bootstrap_servers, topic)
    produce(killable_kafka.bootstrap_servers, topic, [b"one", b"two"])
    assert consume(killable_kafka.bootstrap_servers, topic, 2) == [b"one", b"two"]
    assert killable_kafka.statistics() == {"brokers": 1, "running": 1}


def test_eight_mebibytes_pass(kafka: AnyKafka, unique_name: Callable[..., str]) -> None:
    topic, body = unique_name(), os.urandom(8 * 1024 * 1024)
    create_topic(kafka.bootstrap_servers, topic)
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": len(body) + 1024}
    )
    producer.produce(topic, body)
    assert producer.flush(WAIT_S) == 0
    assert consume(kafka.bootstrap_servers, topic, 1) == [body]


def test_topics_are_not_created_by_themselves(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    topic = unique_name()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    found = admin.list_topics(topic, timeout=WAIT_S).topics[topic]
    assert found.error is not None
    assert topic not in admin.list_topics(timeout=WAIT_S).topics


def test_the_listener_behind_the_proxy_sends_clients_to_the_proxy(
    killable_kafka: LocalKafka,
) -> None:
    host, port = killable_kafka.behind_proxy(1)
    admin = AdminClient({"bootstrap.servers": f"{host}:{port}", "log_level": 0})
    broker = admin.list_topics(timeout=WAIT_S).brokers[1]
    assert f"{broker.host}:{broker.port}" == killable_kafka.proxied_bootstrap_servers
    assert broker.port != port


def test_a_killed_broker_starts_again_with_its_data_on_its_port(
    own: LocalKafka, unique_name: Callable[..., str]
) -> None:
    topic, servers = unique_name(), own.bootstrap_servers
    create_topic(servers, topic)
    produce(servers, topic, [b"before"])
    own.kill(1)
    assert own.pid(1) is None
    assert own.statistics()["running"] == 0
    own.start(1)
    assert own.bootstrap_servers == servers
    produce(servers, topic, [b"after"])
    assert consume(servers, topic, 2) == [b"before", b"after"]


def test_stop_and_start_keeps_a_chosen_folder(
    own: LocalKafka, unique_name: Callable[..., str]
) -> None:
    topic = unique_name()
    create_topic(own.bootstrap_servers, topic)
    produce(own.bootstrap_servers, topic, [b"kept"])
    own.stop()
    own.start()
    assert consume(own.bootstrap_servers, topic, 1) == [b"kept"]


def test_a_frozen_broker_goes_on(own: LocalKafka) -> None:
    own.pause(1)
    try:
        admin = AdminClient({"bootstrap.servers": own.bootstrap_servers, "log_level": 0})
        with pytest.raises(Exception, match=r"_TRANSPORT|_TIMED_OUT"):
            admin.list_topics(timeout=0.5)
    finally:
        own.resume(1)
    assert 1 in admin.list_topics(timeout=WAIT_S).brokers


def test_two_kafkas_cannot_share_a_folder(own: LocalKafka) -> None:
    with pytest.raises(LocalKafkaError, match="another Kafka is running"):
        LocalKafka(data_dir=own.data_dir).start()
    assert own.statistics()["running"] == 1


def test_a_taken_port_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as server:
        port = server.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=f"port {port} .* is taken"):
            LocalKafka(data_dir=tmp_path / "kafka", port=port).start()
    assert not (tmp_path / "kafka").exists()


def test_a_broker_that_ends_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port taken between our check and the broker's own attempt must not end it silently."""
    monkeypatch.setattr(cluster, "require_startable", lambda _plans: None)
    taken = free_port()
    with socket.create_server(("127.0.0.1", taken)):
        broken = LocalKafka(data_dir=tmp_path, port=taken)
        with pytest.raises(LocalKafkaError) as caught:
            broken.start()
    assert "broker 1 ended with status 1 while starting" in str(caught.value)
    assert "Address already in use" in str(caught.value)
    assert broken.statistics()["running"] == 0


def test_temporary_data_is_removed() -> None:
    with LocalKafka() as running:
        folder = running.data_dir
        assert folder.is_dir()
    assert not folder.exists()


def test_the_parents_death_ends_the_broker(tmp_path: Path) -> None:
    program = (
        "import sys; from adapter.localkafka import LocalKafka;"
        "k = LocalKafka(data_dir=sys.argv[1]); k.start(); print(k.pid(1), flush=True);"
        "sys.stdin.read(); k.stop()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.send_signal(signal.SIGKILL)
    await_end(pid)


def await_end(pid: int) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline_s, f"process {pid} still runs"
        time.sleep(0.02)


def test_three_brokers_lose_one_and_go_on(unique_name: Callable[..., str]) -> None:
    with LocalKafka(3) as three:
        topic, servers = unique_name(), three.bootstrap_servers
        create_topic(servers, topic, copies=3)
        produce(servers, topic, [b"all"])
        three.kill(2)
        produce(servers, topic, [b"two left"])
        three.start(2)
        assert three.statistics() == {"brokers": 3, "running": 3}
        assert consume(servers, topic, 2) == [b"all", b"two left"]


def test_a_detached_kafka_outlives_its_starter_until_it_is_stopped(tmp_path: Path) -> None:
    port = free_port()
    program = (
        "import sys; from adapter import localkafka;"
        "print(localkafka.start_detached(1, sys.argv[1], port=int(sys.argv[2])).bootstrap_servers)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), str(port)],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    try:
        running = localkafka.status(tmp_path)
        assert running.running
        assert running.bootstrap_servers == done.stdout.strip() == f"127.0.0.1:{port}"
        create_topic(running.bootstrap_servers, "kept")
        with pytest.raises(LocalKafkaError, match="another Kafka is running"):
            localkafka.start_detached(1, tmp_path, port=port)
    finally:
        stopped = localkafka.stop_detached(tmp_path)
    assert not stopped.running
    for pid in running.pids.values():
        await_end(pid)


def test_a_kafka_that_is_started_twice_at_once_is_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "adapter.cli", "kafka", "start", "--data-dir", str(tmp_path)]
    command += ["--port", str(free_port())]
    try:
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        told = [one.communicate(timeout=100)[0] for one in both]
        running = localkafka.status(tmp_path)
    finally:
        stopped = localkafka.stop_detached(tmp_path)
    assert [one.returncode for one in both] == [0, 0]
    assert told[0] == told[1]
    assert running.bootstrap_servers in told[0]
    assert not stopped.running
