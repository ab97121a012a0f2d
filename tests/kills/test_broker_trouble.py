"""A broker in trouble under load: its disk is full, its clock is wrong.

Each time: the same owner goes on by itself, what was answered is there once, what was not has an
outcome, and every copy is on the topic once.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import adapter
from adapter.localkafka import LocalKafka
from adapter.storage.format import names
from adapter.storage.ledger.kafka_reader import KafkaLedgerReader
from adapter.storage.ledger.kafka_settings import LedgerSettings
from tests.support.full_disk import FullDisk
from tests.support.load import Load
from tests.support.queue_topic import read_until
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka
from tests.support.wrong_clock import WrongClock

STOP_S = 20.0
MARKER = b"the end"
LANES = 10
MEGABYTE = 1024 * 1024
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S
AT_ONCE = {"controller.quorum.append.linger.ms": "0", "metadata.max.idle.interval.ms": "0"}
"""The controller writes at once, and only what changes. Else a write would linger until a time of
the broker's clock, twice a second: for days, with all later ones, if that is set back meanwhile.
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WrongClock]:
    with pytest.MonkeyPatch.context() as patch:
        yield WrongClock(tmp_path_factory.mktemp("clock"), patch)


@pytest.fixture(scope="module")
def own_kafka(clock: WrongClock) -> Iterator[LocalKafka]:
    """Of these tests alone; its clock is `clock`."""
    clock.set(0.0)
    with LocalKafka(settings=AT_ONCE) as kafka:
        yield kafka


@contextmanager
def under_load(kafka: AnyKafka, name: str, folder: Path) -> Iterator[tuple[ServerProcess, Load]]:
    """A queue manager at work, to be disturbed; at the end all must be well."""
    with ServerProcess(name, kafka.bootstrap_servers, folder) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            qm.define_queue("LOAD")
            with Load(server.address, "LOAD") as load:
                load.await_gets(50)
                await_copies(qm)
                yield server, load
                load.await_gets(50)
                count = load.finish()
            queue = qm.queue("LOAD")
            assert queue.depth() == 0
            for priority in range(LANES):
                queue.put(MARKER, priority=priority)
            copies = read_until(kafka.bootstrap_servers, names.queue_topic(name, "LOAD", 0), MARKER)
            assert len(copies) == count
            assert max(Counter(copy.body for copy in copies).values()) == 1
            assert qm.figures()["terms"] == 1
        server.ask_to_end()
        assert server.await_end(STOP_S) == 0
        assert "Traceback" not in server.said(), server.said()


def await_copies(qm: adapter.Connection) -> None:
    """Wait until the movers have begun: Kafka makes no topic if its clock is set back meanwhile.

    It lets what it has to note down linger until a time of that clock, whatever comes later too.
    """
    while not qm.figures()["movers"].get("stream", {}).get("copied"):
        time.sleep(0.05)  # bounded by the test's own time


def test_a_full_disk_ends_the_broker(
    own_kafka: LocalKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    name = unique_name()
    disk = FullDisk(own_kafka)
    with under_load(own_kafka, name, tmp_path):
        disk.fill(names.ledger_topic(name), left_bytes=5000)
        disk.await_end_of_broker()
        disk.make_room()


def test_a_clock_that_jumps(
    own_kafka: LocalKafka, clock: WrongClock, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """Hours and days, to and fro, beyond what Kafka keeps of producers and transactions.

    The last test of this broker: after it Kafka may create no topic for days of its clock.
    """
    name = unique_name()
    with under_load(own_kafka, name, tmp_path) as (_, load):
        for ahead_s in (3 * HOUR_S, -5 * HOUR_S, 9 * DAY_S, -400 * DAY_S):
            clock.set(ahead_s)
            load.await_gets(50)
    times = times_of_ledger(own_kafka, name)
    clock.set(0.0)
    assert max(times) - min(times) > 400 * DAY_S * 1000, "the clock did not jump"
    assert times != sorted(times)


def times_of_ledger(kafka: AnyKafka, name: str) -> list[int]:
    """When Kafka says that it took each entry."""
    settings = LedgerSettings(
        bootstrap_servers=kafka.bootstrap_servers, topic=names.ledger_topic(name)
    )
    reader = KafkaLedgerReader(settings)
    try:
        times: list[int] = []
        while entries := reader.read(2.0):
            times += [entry.time_ms for entry in entries]
        return times
    finally:
        reader.close()
