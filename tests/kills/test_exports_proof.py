"""From a topic through a queue manager to another topic: each record once, in the order of its key.

A producer writes to the first topic in transactions, of which half are aborted. A feed reads it, a
worker moves each message to another queue in units, and an export writes that queue. Meanwhile
queue manager, movers, worker and broker are killed, and stand still, in a random order.

`python -m tests.kills.test_exports_proof 200000 60 SEED BROKERS` runs it with other
numbers.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

import adapter
from adapter.host import launch
from adapter.localkafka import LocalKafka
from tests.support import java_client
from tests.support.backlog import until
from tests.support.export_site import ExportedTopic
from tests.support.java_client import JavaRecord
from tests.support.server_process import ServerProcess

RECORDS, FAULTS = 20_000, 8
KEYS = 1_000
PARTITIONS = 6
TRANSACTION = 200
FROZEN_S = 4.0
"""Longer than a client waits for an answer before it asks again."""
LOOKS = {
    "group.id": "looks",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
}
STALLED_S = 60.0
"""After so long without a record at the other end something does not go on."""
WORKER = """
import sys
import adapter

with adapter.connect(sys.argv[1]) as qm:
    results = qm.queue("RESULTS")
    for work in qm.queue("WORK").units(100):
        with work:
            for one in work.messages:
                results.put(one.body, properties={"KafkaKey": one.properties["KafkaKey"]})
"""


class Worker:
    """A program that moves messages, and is started again whenever it has ended."""

    def __init__(self, address: str, folder: Path) -> None:
        self._command = [sys.executable, "-c", WORKER, address]
        self._output = folder / "worker.log"
        self.child = launch.start(self._command, output=self._output)

    def keep(self) -> None:
        """Start it again if it has ended."""
        if self.child.exit_status() is not None:
            self.child = launch.start(self._command, output=self._output)


class Proof:
    """Topics, a queue manager, a worker and one broker, all of its own."""

    def __init__(
        self, folder: Path, records: int, faults: int, seed: int, brokers: int = 1
    ) -> None:
        self._brokers = range(1, brokers + 1)
        self._chance = random.Random(seed)
        self._count = records
        self._faults = faults
        self._kafka = LocalKafka(brokers)
        self._kafka.start()
        servers = self._kafka.bootstrap_servers
        self._source = ExportedTopic(servers, "orders", PARTITIONS)
        self._target = ExportedTopic(servers, "results", PARTITIONS)
        self._server = ServerProcess("PROOF", servers, folder)
        self._server.start()
        self._worker = Worker(self._server.address, folder)
        self._shown = 0
        self._producer: Producer | None = None

    def close(self) -> None:
        self._worker.child.kill()
        self._server.__exit__(None, None, None)
        self._kafka.stop()

    def run(self, say: Callable[[str], None] = lambda text: None) -> None:
        """Write, disturb, and compare what came with what was written."""
        with adapter.connect(self._server.address) as qm:
            for queue in ("WORK", "RESULTS"):
                qm.define_queue(queue, msg_delivery_sequence="FIFO", max_depth=self._count)
            qm.define_object("feed", "F", topic="orders", queue="WORK")
            qm.define_object("export", "E", topic="results", queue="RESULTS")
        records = [
            JavaRecord(b"key-%d" % self._chance.randrange(KEYS), b"%d" % n)
            for n in range(self._count)
        ]
        part = self._count // (self._faults + 1) + 1
        parts = [records[at : at + part] for at in range(0, self._count, part)]
        for number, fault in enumerate(self._drawn_faults()):
            self._write(parts[number])
            self._await_records(part * number)
            say(f"{number + 1}: {fault.__name__} at {self._shown}")
            fault()
        for some in parts[self._faults :]:
            self._write(some)
        self._await_records(self._count)
        given = self._read_with_java("orders", self._count)
        lost = {one.value for one in records} - {one.value for one in given}
        assert not lost, f"the first topic has lost {lost}"
        check(self._read_with_java("results", len(given)), given)
        check(self._read(len(given)), given)

    def _write(self, records: list[JavaRecord]) -> None:
        """Write records in transactions, and each time before that in one that is aborted.

        A transaction whose end is not known, as Kafka fences a producer whose broker stood still,
        is looked for, and written again if it is not there.
        """
        for at in range(0, len(records), TRANSACTION):
            some = records[at : at + TRANSACTION]
            while True:
                try:
                    self._transact(some)
                    break
                except KafkaException:
                    self._producer = None
                    if self._is_committed(some[-1]):
                        break

    def _transact(self, records: list[JavaRecord]) -> None:
        producer = self._producer
        if producer is None:
            settings = {"transactional.id": "orders", "partitioner": "murmur2_random"}
            producer = self._source.producer(**settings)
            producer.init_transactions(STALLED_S)
            self._producer = producer
        for end in (producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            for one in records:
                producer.produce("orders", one.value, one.key)
            assert producer.flush(STALLED_S) == 0
            end(STALLED_S)

    def _is_committed(self, record: JavaRecord) -> bool:
        """Whether a record is there, whose producer has failed; all of its transaction is then."""
        servers = self._kafka.bootstrap_servers
        producer = self._source.producer(**{"transactional.id": "orders"})
        producer.init_transactions(STALLED_S)  # which ends what is open
        with contextlib.closing(Consumer(LOOKS | {"bootstrap.servers": servers})) as consumer:
            consumer.assign([TopicPartition("orders", n, 0) for n in range(PARTITIONS)])
            ended: set[int | None] = set()
            while len(ended) < PARTITIONS:
                one = consumer.poll(STALLED_S)
                assert one is not None, "the topic is not read"
                error = one.error()
                if error is None and one.value() == record.value:
                    return True
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    ended.add(one.partition())
        return False

    def _drawn_faults(self) -> list[Callable[[], None]]:
        """Draw what happens: everything, as far as there are faults, in a random order."""
        kinds = [
            *(self.kill_queue_manager, self.kill_movers, self.kill_worker, self.kill_broker),
            *(self.freeze_queue_manager, self.freeze_movers, self.freeze_worker),
            self.freeze_broker,
        ]
        drawn: list[Callable[[], None]] = []
        while len(drawn) < self._faults:
            drawn += self._chance.sample(kinds, len(kinds))
        return drawn[: self._faults]

    def kill_queue_manager(self) -> None:
        self._server.kill()
        self._server.start()

    def kill_movers(self) -> None:
        os.kill(self._movers(), signal.SIGKILL)

    def _movers(self) -> int:
        """Return the process id of the movers; they may just be started again."""
        found: list[int] = []

        def are_there() -> bool:
            with contextlib.suppress(AssertionError):
                found.append(self._server.movers_pid())
            return bool(found)

        until(are_there)
        return found[0]

    def kill_worker(self) -> None:
        self._worker.child.kill()

    def kill_broker(self) -> None:
        broker = self._chance.choice(self._brokers)
        self._kafka.kill(broker)
        self._kafka.start(broker)

    def freeze_queue_manager(self) -> None:
        freeze(self._server.pid)

    def freeze_movers(self) -> None:
        freeze(self._movers())

    def freeze_worker(self) -> None:
        self._worker.keep()
        freeze(self._worker.child.pid)

    def freeze_broker(self) -> None:
        broker = self._chance.choice(self._brokers)
        self._kafka.pause(broker)
        time.sleep(FROZEN_S)
        self._kafka.resume(broker)

    def _await_records(self, count: int) -> None:
        """Wait until so many records, and markers, are committed in the last topic."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._kafka.bootstrap_servers,
                "group.id": "looks",
                "isolation.level": "read_committed",
            }
        )
        stalled_s = time.monotonic() + STALLED_S
        try:
            while (found := sum(self._ends(consumer))) < count:
                if found > self._shown:
                    self._shown, stalled_s = found, time.monotonic() + STALLED_S
                assert time.monotonic() < stalled_s, self._state(found)
                self._worker.keep()
                time.sleep(0.1)
            self._shown = found
        finally:
            consumer.close()

    def _state(self, found: int) -> str:
        """Say how far everything has come, when it does not go on."""
        with adapter.connect(self._server.address) as qm:
            figures = qm.figures()
        return f"{found} records; {figures['feeds']} {figures['exports']}\n{self._server.said()}"

    def _ends(self, consumer: Consumer) -> Iterable[int]:
        for one in range(PARTITIONS):
            try:
                yield consumer.get_watermark_offsets(TopicPartition("results", one), 5.0)[1]
            except KafkaException:  # the broker is not back yet
                yield 0

    def _read_with_java(self, topic: str, count: int) -> list[JavaRecord]:
        """Read all that is committed; of the first topic that may be more than was written.

        Kafka drops the end of a transaction in a partition that has no leader at that moment. If it
        was aborted, the producer's next commit there shows its records as well.
        """
        return java_client.consume(self._kafka.bootstrap_servers, topic, count)

    def _read(self, count: int) -> list[JavaRecord]:
        return [
            JavaRecord(one.key(), one.value(), partition=one.partition() or 0)
            for one in self._target.read(count, STALLED_S)
        ]


def freeze(pid: int) -> None:
    """Let a process stand still for a time."""
    os.kill(pid, signal.SIGSTOP)
    time.sleep(FROZEN_S)
    os.kill(pid, signal.SIGCONT)


def check(found: Iterable[JavaRecord], given: Iterable[JavaRecord]) -> None:
    """See that every record came once, and those of each key in their order, in one partition."""
    values: dict[bytes | None, list[bytes | None]] = defaultdict(list)
    partitions: dict[bytes | None, set[int]] = defaultdict(set)
    for one in found:
        values[one.key].append(one.value)
        partitions[one.key].add(one.partition)
    wanted: dict[bytes | None, list[bytes | None]] = defaultdict(list)
    for one in given:
        wanted[one.key].append(one.value)
    wrong = [key for key in wanted | values if values[key] != wanted[key]]
    assert not wrong, f"{wrong[0]!r}: {values[wrong[0]]} instead of {wanted[wrong[0]]}"
    assert all(len(places) == 1 for places in partitions.values())


@pytest.mark.timeout(300)
def test_every_record_comes_once_whatever_fails(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    proof = Proof(tmp_path, RECORDS, FAULTS, seed)
    try:
        proof.run()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
    finally:
        proof.close()


def main(records: int, faults: int, seed: int, brokers: int = 1) -> None:
    """Run it by hand."""
    began_s = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began_s:7.1f} s  {text}", flush=True)

    say(f"seed {seed}")
    with TemporaryDirectory() as folder:
        proof = Proof(Path(folder), records, faults, seed, brokers)
        try:
            proof.run(say)
        finally:
            proof.close()
    say("every record came once")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
