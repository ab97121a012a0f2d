"""What exports write is what Kafka's own client in Java writes: partitions, keys, header bytes."""

import random
import struct
from collections import defaultdict
from collections.abc import Callable

import adapter
from adapter.core.contract.exports import encode_headers
from adapter.storage.format.hops import ORIGIN
from tests.support import java_client
from tests.support.export_site import ExportedTopic
from tests.support.java_client import JavaRecord
from tests.support.shared_kafka import AnyKafka

RECORDS = 10_000
PARTITIONS = 7
NAMES = ("a", "a", "", "trace-id", "\u00fcber", "mqk", "\U0001f40d" * 3)
UNIT = 500


def drawn_bytes(chance: random.Random, most: int) -> bytes | None:
    """Draw null, nothing, or any bytes."""
    if (kind := chance.randrange(8)) < 2:
        return None if kind else b""
    return chance.randbytes(chance.randrange(1, most))


def drawn(chance: random.Random, number: int) -> JavaRecord:
    """Draw a record; one without a key names its partition, which Kafka would choose at random."""
    key = drawn_bytes(chance, 64)
    names = chance.choices(NAMES, k=chance.randrange(5))
    headers = tuple((name, drawn_bytes(chance, 20)) for name in names)
    value = None if chance.random() < 0.05 else struct.pack(">i", number) + chance.randbytes(9)
    partition = chance.randrange(PARTITIONS) if key is None or chance.random() < 0.1 else -1
    time_ms = chance.randrange(1, 1_700_000_000_000)
    return JavaRecord(key, value, headers, partition, time_ms)


def test_records_are_those_of_kafkas_own_client(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    records = [drawn(chance, number) for number in range(RECORDS)]
    servers = kafka.bootstrap_servers
    ours = ExportedTopic(servers, unique_name("ours"), PARTITIONS)
    theirs = ExportedTopic(servers, unique_name("theirs"), PARTITIONS)
    java_client.produce(servers, theirs.name, records)
    with (
        adapter.testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("RESULTS", msg_delivery_sequence="FIFO")
        qm.define_object("export", "E", topic=ours.name, queue="RESULTS")
        for first in range(0, RECORDS, UNIT):
            with qm.unit():
                for one in records[first : first + UNIT]:
                    put(qm, one)
        written = java_client.consume(servers, ours.name, RECORDS)
    wanted = java_client.consume(servers, theirs.name, RECORDS)
    assert by_partition(written) == by_partition(wanted), f"seed {seed}"
    for one in written:
        assert one.headers[-1][0] == ORIGIN


def put(qm: adapter.Connection, record: JavaRecord) -> None:
    """Put the message of a record."""
    properties: dict[str, str | int | bytes | None] = {
        "KafkaHeaders": encode_headers(list(record.headers)),
        "KafkaToTimestamp": record.time_ms,
    }
    if record.key is not None:
        properties["KafkaKey"] = record.key
    if record.partition >= 0:
        properties["KafkaToPartition"] = record.partition
    if record.value is None:
        properties["KafkaTombstone"] = True
    qm.put("RESULTS", record.value or b"", properties=properties)


def by_partition(records: list[JavaRecord]) -> dict[int, list[JavaRecord]]:
    """Return the records of each partition, in their order, without the export's own header."""
    found: dict[int, list[JavaRecord]] = defaultdict(list)
    for one in records:
        headers = tuple(header for header in one.headers if header[0] != ORIGIN)
        found[one.partition].append(
            JavaRecord(one.key, one.value, headers, one.partition, one.time_ms)
        )
    return found
