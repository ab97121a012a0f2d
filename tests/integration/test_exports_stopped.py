"""Exports whose queue manager dies or stands still at every step: no record is lost or comes twice.

The queue manager is killed with SIGKILL, or stopped with SIGSTOP while another process takes over.
"""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from tests.support.backlog import until
from tests.support.examples import few
from tests.support.export_site import ExportedTopic
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka
from tests.support.stopped_exporter import STEPS, StoppedServer

PARTITIONS = 3
NUMBERS = [b"%03d" % n for n in range(300)]
WITHIN_S = 60.0
HELD = 0
"""In the place of a signal: only the exporter stops."""


@pytest.fixture
def topic(kafka: AnyKafka, unique_name: Callable[..., str]) -> ExportedTopic:
    return ExportedTopic(kafka.bootstrap_servers, unique_name("results"), PARTITIONS)


@pytest.fixture
def server(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path, topic: ExportedTopic
) -> Iterator[StoppedServer]:
    """A queue manager that does not run, with an export and 300 messages on its queue."""
    with StoppedServer(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as one:
        one.stop_at("opened", sent=HELD)
        one.start()
        with adapter.connect(one.address) as qm:
            qm.define_queue("RESULTS")
            qm.define_object("export", "E", topic=topic.name, queue="RESULTS")
            put_numbers(qm, NUMBERS)
        one.kill()
        yield one


def put_numbers(qm: adapter.Connection, numbers: list[bytes], priority: int = 0) -> None:
    """Put numbers, each to the partition that it names."""
    with qm.unit():
        for one in numbers:
            to = {"KafkaToPartition": int(one) % PARTITIONS}
            qm.put("RESULTS", one, properties=to, priority=priority)


def check(topic: ExportedTopic, *parts: list[bytes]) -> None:
    """See that every number is there once, those of each partition in the order of their parts."""
    numbers = [one for part in parts for one in part]
    found = topic.read(len(numbers))
    for n in range(PARTITIONS):
        mine = [one.value() for one in found if one.partition() == n]
        assert mine == [one for one in numbers if int(one) % PARTITIONS == n]


def die_at(server: StoppedServer, step: str) -> None:
    """Let the queue manager run until its exporter comes to a step, and is killed there."""
    server.stop_at(step)
    server.launch()
    assert server.await_end(WITHIN_S) == -signal.SIGKILL


def run(server: StoppedServer) -> None:
    """Let the queue manager run."""
    server.stop_at("")
    server.start()


def await_empty(server: ServerProcess) -> None:
    """Wait until the queue is empty."""
    with adapter.connect(server.address) as qm:
        until(lambda: qm.queue("RESULTS").depth() == 0)


@pytest.mark.parametrize("step", few(STEPS, 2))
def test_no_record_comes_twice_if_the_queue_manager_is_killed(
    server: StoppedServer, topic: ExportedTopic, step: str
) -> None:
    die_at(server, step)
    run(server)
    check(topic, NUMBERS)
    await_empty(server)


@pytest.mark.parametrize(("priority", "count"), [(0, 30), (9, 600)])
def test_nor_if_it_is_killed_again_before_the_messages_are_gone(
    server: StoppedServer, topic: ExportedTopic, priority: int, count: int
) -> None:
    """What the first transaction wrote is on the queue still when the second one is committed; with
    the other priority it is behind more messages than are got at a time.
    """
    others = [b"%03d" % n for n in range(300, 300 + count)]
    die_at(server, "committed")
    server.stop_at("opened", sent=HELD)
    server.start()
    with adapter.connect(server.address) as qm:
        put_numbers(qm, others, priority)
    server.kill()
    die_at(server, "committed")
    run(server)
    check(topic, NUMBERS, others)
    await_empty(server)


@pytest.mark.parametrize("step", few(STEPS, 2))
def test_an_exporter_that_stood_still_writes_nothing(
    server: StoppedServer, topic: ExportedTopic, kafka: AnyKafka, tmp_path: Path, step: str
) -> None:
    """Another process has taken over, and has written everything."""
    server.stop_at(step, sent=signal.SIGSTOP)
    server.launch()
    until(server.is_stopped)
    name = server.queue_manager
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path, take_over=True) as successor:
        successor.start()
        check(topic, NUMBERS)
        await_empty(successor)
        server.resume()
        server.await_end(WITHIN_S)
        more = [b"%03d" % n for n in range(300, 330)]
        with adapter.connect(successor.address) as qm:
            put_numbers(qm, more)
        check(topic, NUMBERS, more)
