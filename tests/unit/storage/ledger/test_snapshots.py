"""Snapshots: complete or not there; the newest is the one that leaves least to be read."""

from collections.abc import Callable
from typing import Self

import pytest

from adapter.storage.ledger import kafka_snapshots
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.ledger.port import LedgerMismatch, LedgerUnavailable, Position
from adapter.storage.ledger.snapshots import MemorySnapshots, Snapshot, collect, frame

OWNER = b"o" * 16


def snapshot(offset: int, cut_n: int, *parts: bytes) -> Snapshot:
    return Snapshot(Position(offset, OWNER, cut_n - 1), cut_n, list(parts))


def test_a_snapshot_comes_back_as_it_was() -> None:
    log = MemorySnapshots()
    assert log.newest() is None
    first, second = snapshot(5, 3, b"a", b"", b"c"), snapshot(9, 7, b"d")
    log.write(first)
    assert log.newest() == first
    log.write(second)
    assert log.newest() == second


def test_an_older_one_that_was_written_late_is_not_the_newest() -> None:
    log = MemorySnapshots()
    log.write(snapshot(9, 7, b"new"))
    log.write(snapshot(5, 3, b"old"))
    assert log.newest() == snapshot(9, 7, b"new")


@pytest.mark.parametrize("records", [0, 1, 2])
def test_an_interrupted_one_is_not_seen(records: int) -> None:
    log = MemorySnapshots()
    whole = snapshot(5, 3, b"a", b"b")
    log.write(whole)
    log.interrupt_after = records
    with pytest.raises(LedgerUnavailable, match="not written to its end"):
        log.write(snapshot(9, 7, b"a", b"b", b"c"))
    assert log.newest() == whole
    log.write(snapshot(11, 8, b"z"))
    assert log.newest() == snapshot(11, 8, b"z")


def test_parts_of_two_writers_may_be_mixed() -> None:
    one, two = snapshot(5, 3, b"a", b"b"), snapshot(6, 4, b"c", b"d")
    (a, b), (c, d) = frame(one, b"1" * 16), frame(two, b"2" * 16)
    found = collect(enumerate([a, c, d, b]))
    assert [written.snapshot for written in found.complete] == [two, one]
    assert [written.offset for written in found.complete] == [1, 0]


@pytest.mark.parametrize("value", [None, b"", b"text"])
def test_what_is_no_snapshot_is_passed_over(value: bytes | None) -> None:
    assert collect([(0, value)]).newest() is None


def test_one_part_that_is_missing_makes_it_incomplete() -> None:
    a, _, c = frame(snapshot(5, 3, b"a", b"b", b"c"), b"1" * 16)
    assert collect(enumerate([a, c])).newest() is None


def test_a_newer_version_is_refused() -> None:
    (record,) = frame(snapshot(5, 3, b"a"), b"1" * 16)
    with pytest.raises(LedgerMismatch, match="version 3"):
        collect([(0, b"\x03" + record[1:])])


@pytest.mark.parametrize("piece_bytes", [1, 2, 3, 100])
def test_long_parts_are_several_records(piece_bytes: int) -> None:
    whole = snapshot(5, 3, b"abcde", b"", b"f", b"ghij")
    records = frame(whole, b"1" * 16, piece_bytes)
    assert collect(enumerate(records)).newest() == whole
    for lost in range(len(records)):
        left = [*enumerate(records)]
        del left[lost]
        assert collect(left).newest() is None


class Topic:
    """Stands for the topic of the snapshots, which holds none."""

    is_deleted = False

    def __init__(self, _settings: LedgerSettings) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        pass

    def is_there(self) -> bool:
        return not self.is_deleted


def test_finding_reliability_d8_a_topic_deleted_before_the_first_snapshot_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever hears of it writes a snapshot, which makes the topic again."""
    monkeypatch.setattr(kafka_snapshots, "LedgerSource", Topic)
    where = LedgerSettings(bootstrap_servers="nowhere:9", topic="mq.QM1.snapshots")
    snapshots = KafkaSnapshots(where)
    assert snapshots.is_kept()
    monkeypatch.setattr(Topic, "is_deleted", True)
    assert not snapshots.is_kept()


class StoredRecord:
    """A record of a topic, as a reader and a delivery report have it."""

    def __init__(self, offset: int, value: bytes) -> None:
        self._offset, self._value = offset, value

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return self._value


class SnapshotsTopic:
    """A topic in memory, as LedgerSource reads and a producer writes it."""

    def __init__(self) -> None:
        self.records: list[StoredRecord] = []
        self.first = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        pass

    def purge(self) -> None:
        pass

    def close(self) -> None:
        pass

    def is_there(self, _within_s: float | None = None) -> bool:
        return True

    def check_topic(self) -> None:
        pass

    def bounds(self) -> tuple[int, int]:
        return self.first, len(self.records)

    def start(self, _offset: int) -> None:
        pass

    def take_some(self) -> list[StoredRecord]:
        return self.records[self.first :]

    def produce(
        self,
        _topic: str,
        value: bytes,
        partition: int,
        on_delivery: Callable[[object, StoredRecord], None],
    ) -> None:
        assert partition == 0
        self.records.append(StoredRecord(len(self.records), value))
        on_delivery(None, self.records[-1])

    def poll(self, _timeout_s: float) -> None:
        pass

    def delete(self, _settings: LedgerSettings, before: int) -> None:
        self.first = max(self.first, before)


@pytest.mark.parametrize("late", [1, 2, 3])
def test_what_a_deposed_owner_writes_late_deletes_no_newer_snapshot(
    monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    """It was frozen while it wrote snapshots, and its successor has trimmed the ledger since."""
    topic = SnapshotsTopic()
    monkeypatch.setattr(kafka_snapshots, "LedgerSource", lambda _settings: topic)
    monkeypatch.setattr(kafka_snapshots, "Producer", lambda _settings: topic)
    monkeypatch.setattr(kafka_snapshots, "delete_before", topic.delete)
    where = LedgerSettings(bootstrap_servers="nowhere:9", topic="mq.QM1.snapshots")
    frozen, successor = KafkaSnapshots(where), KafkaSnapshots(where)
    for at in range(1, 4):
        frozen.write(snapshot(at, 3, b"a", b"b"))
    assert successor.newest() == snapshot(3, 3, b"a", b"b")
    successor.write(snapshot(90, 3, b"new"))
    for at in range(late):
        frozen.write(snapshot(10 + at, 3, b"old"))
    assert successor.newest() == snapshot(90, 3, b"new")
    assert successor.is_kept()
    for at in range(91, 95):
        successor.write(snapshot(at, 3, b"new"))
    assert successor.newest() == snapshot(94, 3, b"new")
    assert len(topic.records) - topic.first == 2, "two are kept"
