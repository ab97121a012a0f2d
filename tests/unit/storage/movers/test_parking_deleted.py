"""What becomes of a parked topic that is deleted: it has all that the ledger has, or says why not.

Kafka, the transactions and the ledger are stood for; each combination of what a topic was, of why
it refused and of what the ledger still has is tried.
"""

import threading
from typing import Any, cast

import pytest

from adapter.core.contract.records import QueueDefined, QueueDeleted
from adapter.storage.format import names, progress
from adapter.storage.format.copied import Copy
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import NOWHERE, CopyProgress, Parked
from adapter.storage.ledger.port import Entry, LedgerMismatch, Position
from adapter.storage.movers import stream
from adapter.storage.movers.parking import Parking
from adapter.storage.movers.settings import MoverSettings
from adapter.storage.movers.stream import Stream
from adapter.storage.topics.admin import TopicError
from adapter.storage.topics.specs import TopicSpec
from tests.unit.storage.movers.test_stream import SETTINGS

OWNER = bytes(16)


class OneTopicKafka:
    """Stands for a Kafka with the topic of one queue."""

    def __init__(self) -> None:
        self.exists = True
        self.written = True
        self.refusal = ""

    def admin(self, *_connection: object) -> "OneTopicKafka":
        return self

    def ensure(self, specs: list[TopicSpec]) -> None:
        if self.refusal:
            raise TopicError(f"{specs[0].name}: {self.refusal}")
        self.exists = True

    def never_written(self, _settings: MoverSettings, _topic: str, _partitions: int = 1) -> bool:
        return self.exists and not self.written

    def ever_written(self, _settings: MoverSettings, topics: list[str]) -> list[str]:
        return [topic for topic in topics if self.exists and self.written]

    def delete(self) -> None:
        self.exists = self.written = False


class NotedProducers:
    """Stands for producers that nothing refuses."""

    def forget_partitions(self) -> None:
        pass


class NotedWriter:
    """Stands for transactions: all of them commit."""

    def __init__(self, at: CopyProgress) -> None:
        self.at = at
        self.is_open = False
        self.producers = NotedProducers()
        self.sent: list[bytes] = []

    def begin(self) -> None:
        self.is_open = True

    def commit(self) -> None:
        self.is_open = False

    def has_room(self, _record: list[Movable]) -> bool:
        return True

    def send(self, record: list[Movable], _send: object = None) -> None:
        self.is_open = True
        self.sent += [one.body for one in record if isinstance(one, Copy)]


class Ledger:
    """Stands for a ledger: one record in each entry, of which the first ones may be trimmed."""

    def __init__(self, *records: list[Movable], first: int = 0) -> None:
        self.records = records
        self.first = first

    def reader(self, position: Position | None) -> Any:
        start = 0 if position is None else position.offset + 1
        if start < self.first:
            raise LedgerMismatch(f"the ledger begins at offset {self.first} now")
        return LedgerFrom(self, start)


class LedgerFrom:
    def __init__(self, ledger: Ledger, start: int) -> None:
        self._ledger, self._next = ledger, start

    def read(self, _timeout_s: float) -> list[Entry]:
        numbers = range(self._next, len(self._ledger.records))
        self._next = len(self._ledger.records)
        return [Entry(one, OWNER, one, 0, b"%d" % one) for one in numbers]

    def close(self) -> None:
        pass


class ReadStream:
    """A stream whose entries are read by their numbers. (A compiled one lets no method be set.)"""

    def __init__(self, ledger: Ledger) -> None:
        self.stream = Stream(SETTINGS)
        self._ledger = ledger

    def read(self, payload: bytes) -> list[list[Movable]]:
        return [self._ledger.records[int(payload)]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class ParkingPlace:
    """Parking of a stream whose surroundings are stood for."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, kafka: OneTopicKafka, ledger: Ledger, copied: int
    ) -> None:
        monkeypatch.setattr(stream, "TopicAdmin", kafka.admin)
        monkeypatch.setattr(stream, "never_written", kafka.never_written)
        monkeypatch.setattr(stream, "ever_written", kafka.ever_written, raising=False)
        self.ledger = ledger
        read = ReadStream(ledger)
        self.projection = read.stream
        self.writer = NotedWriter(CopyProgress(copied - 1, OWNER, copied - 1))
        self.parking = Parking(
            SETTINGS,
            cast("Any", read),
            cast("Any", self.writer),
            ledger.reader,
            threading.Event(),
        )
        no_lanes: Any = self.parking._open_lanes
        monkeypatch.setattr(no_lanes, "end", lambda *_: set())
        self.projection.incarnations = self.writer.at.incarnations

    @property
    def parked(self) -> dict[str, Parked]:
        return self.writer.at.parked

    def copy(self, count: int = 1) -> None:
        """Take the next entries of the ledger, as a mover does."""
        at = self.writer.at
        for _ in range(count):
            record = self.ledger.records[at.offset + 1]
            self.parking.ends_transaction(record)
            self.writer.sent += [
                one.body for one in self.parking.take(record) if isinstance(one, Copy)
            ]
            at.offset, at.n = at.offset + 1, at.n + 1

    def try_again(self) -> None:
        """Try what is parked until nothing changes."""
        for _ in range(3):
            self.parking._schedule._due_s.clear()
            self.parking.try_parked()


def put(queue: str, number: int) -> list[Movable]:
    return [Copy(queue, 0, 7, b"d", b"m%d" % number)]


REFUSALS = ["has retention.ms=1000 and needs -1", "DescribeConfigs is not allowed"]


@pytest.mark.parametrize("why", REFUSALS)
@pytest.mark.parametrize("trimmed", [0, 3])
@pytest.mark.parametrize("queue", ["SYSTEM.TEST.QUEUE", "AMQ.0123456789ABCDEF"])
@pytest.mark.parametrize("topic", ["full", "empty", "absent"])
def test_a_topic_that_could_not_be_made_and_is_deleted_has_all_or_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, topic: str, queue: str, trimmed: int, why: str
) -> None:
    """Whether anything was on it is what Kafka says, not which request failed."""
    kafka = OneTopicKafka()
    kafka.exists, kafka.written = topic != "absent", topic == "full"
    puts = [put(queue, one) for one in range(1, 7)]
    ledger = Ledger([QueueDefined(queue, 0, {})], *puts, first=trimmed)
    place = ParkingPlace(monkeypatch, kafka, ledger, copied=6)
    kafka.refusal = why
    place.copy()
    assert (list(place.parked), place.writer.sent) == ([names.queue_topic("QM1", queue)], [])
    kafka.refusal = ""
    kafka.delete()
    place.try_again()
    if topic == "full" and trimmed:
        (held,) = place.parked.values()
        assert "the ledger has been trimmed" in held.why
        assert place.writer.sent == []
    else:
        assert not place.parked
        missing = range(1 if topic == "full" else 6, 7)
        assert place.writer.sent == [b"m%d" % one for one in missing]


def test_a_queue_that_the_ledger_has_just_defined_was_never_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever is on a topic of its name: its place is its beginning, on a trimmed ledger too."""
    kafka = OneTopicKafka()
    kafka.refusal = "it has 3 partitions and needs 10"
    ledger = Ledger([], [], [QueueDefined("A", 0, {})], put("A", 1), first=2)
    place = ParkingPlace(monkeypatch, kafka, ledger, copied=2)
    place.copy(2)
    (held,) = place.parked.values()
    assert held.unwritten
    kafka.refusal = ""
    kafka.delete()
    place.try_again()
    assert (place.parked, place.writer.sent) == ({}, [b"m1"])


@pytest.mark.parametrize("incarnation", [0, 1])
@pytest.mark.parametrize("after", ["nothing", "the next one", "the next one, deleted"])
def test_a_topic_of_a_deleted_queue_is_parked_no_more_when_it_is_deleted(
    monkeypatch: pytest.MonkeyPatch, incarnation: int, after: str
) -> None:
    """As the operator is told: nothing of the ledger is kept for it, though much is trimmed."""
    kafka = OneTopicKafka()
    later: dict[str, list[list[Movable]]] = {
        "nothing": [],
        "the next one": [[QueueDefined("A", incarnation + 1, {})]],
        "the next one, deleted": [[QueueDefined("A", incarnation + 1, {})], [QueueDeleted("A")]],
    }
    changes: list[list[Movable]] = [[QueueDeleted("A")], *later[after]]
    ledger = Ledger(*([[]] * 5), *changes, first=4)
    place = ParkingPlace(monkeypatch, kafka, ledger, copied=5)
    if incarnation:
        place.writer.at.incarnations["A"] = incarnation
    topic = names.queue_topic("QM1", "A", incarnation)
    place.parked[topic] = Parked(3, OWNER, 3, 0, 3, 30, "it may not be written")
    place.copy(len(changes))
    # A new term has what the progress says.
    place.writer.at = progress.decode(progress.encode(place.writer.at))
    place.projection.incarnations = place.writer.at.incarnations
    kafka.delete()
    place.try_again()
    place.parking.show()
    assert (place.parked, place.parking.keeps_from) == ({}, NOWHERE)


def test_a_queue_that_is_there_is_not_taken_for_a_deleted_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka = OneTopicKafka()
    other: list[list[Movable]] = [[QueueDefined("B", 0, {})], [QueueDeleted("B")]]
    place = ParkingPlace(monkeypatch, kafka, Ledger(*([[]] * 5), *other, first=4), copied=5)
    place.parked["mq.QM1.q.A"] = Parked(3, OWNER, 3, 0, 3, 30, "it may not be written")
    place.copy(2)
    kafka.delete()
    place.try_again()
    (held,) = place.parked.values()
    assert "restore the topic from a copy" in held.why
