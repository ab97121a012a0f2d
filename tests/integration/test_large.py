"""Long messages and large units: entries in parts, bodies in chunks, and whoever dies meanwhile."""

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

import adapter
import adapter.kafka
from adapter import testing
from adapter.connection.wire import codec, frames
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.errors import BackedOut, InvalidValue, MessageTooLong, UnitTooLarge
from adapter.storage.format import chunks
from adapter.testing import TestQueueManager
from tests.support.raw_client import RawClient
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

MIB = 1024 * 1024
LONGEST = 100 * MIB
WAIT_S = 30.0


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[TestQueueManager]:
    with testing.queue_manager(
        unique_name(), bootstrap_servers=kafka.bootstrap_servers, window_bytes=MIB
    ) as one:
        with one.connect() as qm:
            qm.define_queue("Q", max_message_length=LONGEST)
        yield one


def drain(qm: adapter.Connection, count: int) -> list[bytes]:
    got = [qm.get("Q", timeout=WAIT_S) for _ in range(count)]
    return [message.body for message in got if message is not None]


def read_topic(bootstrap_servers: str, topic: str, partition: int, count: int) -> list[bytes]:
    """Read messages as a program does that knows Kafka and adapter.kafka."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "anybody",
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    decoder = adapter.kafka.Decoder()
    bodies: list[bytes] = []
    parts = 0
    try:
        while len(bodies) < count:
            record = consumer.poll(WAIT_S)
            assert record is not None, f"{len(bodies)} messages came"
            if dict(record.headers() or ()).get(chunks.HEADER) is not None:
                parts += 1
                with pytest.raises(InvalidValue, match=r"is chunk \d+ of \d+ of a message"):
                    adapter.kafka.decode(record)
            message = decoder.decode(record)
            bodies += [] if message is None else [message.body]
    finally:
        consumer.close()
    assert parts > len([body for body in bodies if len(body) > chunks.CHUNK_BYTES])
    return bodies


def start_again(killer: threading.Thread, server: ServerProcess) -> None:
    killer.join()
    server.start()


def test_the_longest_message_and_large_units_through_a_crash(
    kafka: AnyKafka, manager: TestQueueManager
) -> None:
    longest = os.urandom(LONGEST)
    with manager.connect() as qm:
        qm.put("Q", b"first")
        qm.put("Q", longest)
        with qm.unit() as unit:
            for start in range(0, 30 * MIB, 5 * MIB):
                qm.put("Q", longest[start : start + 5 * MIB + start % 7], unit=unit)
        qm.put("Q", b"last")
        manager.restart()
        sent = [b"first", longest]
        sent += [longest[at : at + 5 * MIB + at % 7] for at in range(0, 30 * MIB, 5 * MIB)]
        sent.append(b"last")
        topic = adapter.kafka.topic_name(manager.name, "Q")
        assert read_topic(kafka.bootstrap_servers, topic, 0, len(sent)) == sent
        assert drain(qm, len(sent)) == sent
        assert qm.get("Q") is None


def test_what_is_longer_is_refused_and_nothing_else_happens(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        with pytest.raises(MessageTooLong, match="max_message_length is 104857600"):
            qm.put("Q", bytes(LONGEST + 1))
        part = bytes(30 * MIB)
        with qm.unit() as unit:
            for _ in range(3):
                qm.put("Q", part, unit=unit)
            with pytest.raises(UnitTooLarge, match="commit more often"):
                qm.put("Q", part, unit=unit)
        assert [len(body) for body in drain(qm, 3)] == [len(part)] * 3


def test_a_client_that_dies_within_a_long_put(manager: TestQueueManager) -> None:
    """Half of a frame has come, or the frame and no commit: nothing of it stays."""
    put = codec.raw(c.Put(1, [MessageData(body=bytes(60 * MIB))], b""))
    frame = codec.encode(frames.Requests([frames.Operation(1, 1, put)]))
    with manager.connect() as other, RawClient(manager.address) as client:
        client.hello()
        client.send(frame[: 40 * MIB])
        qm = manager.connect()
        unit = qm.unit()
        unit.begin()
        qm.put("Q", bytes(60 * MIB), unit=unit)
        qm.disconnect(abrupt=True)
        client.sock.close()
        other.put("Q", b"of another")
        assert drain(other, 1) == [b"of another"]
        assert other.get("Q") is None
        for _ in range(6):  # what the dead held in memory is given back
            with other.unit() as again:
                other.put("Q", bytes(90 * MIB), unit=again)
                again.backout()


def test_a_queue_manager_that_dies_within_a_large_commit(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """Whatever part of the entry was written: all of the unit is there once, or nothing of it."""
    with ServerProcess(unique_name(), kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue("Q", max_message_length=LONGEST)
            for delay_s in (0.02, 0.1, 0.2):
                killer = threading.Timer(delay_s, server.kill)
                unit = qm.unit()
                unit.begin()
                for number in range(8):
                    qm.put("Q", bytes([number]) * (5 * MIB), unit=unit)
                killer.start()
                restarted = threading.Thread(target=partial(start_again, killer, server))
                restarted.start()
                try:
                    unit.commit()
                except BackedOut:
                    expected = []
                else:
                    expected = [bytes([number]) * (5 * MIB) for number in range(8)]
                restarted.join()
                assert drain(qm, len(expected)) == expected
                assert qm.get("Q") is None
