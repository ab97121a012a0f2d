"""A reader that meets a deletion by the owner reads anew, and finds what there is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Self

import pytest

from adapter.storage.ledger import kafka_signs, kafka_snapshots
from adapter.storage.ledger.envelope import ENTRY, encode, encode_change
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.ledger.port import LastRecord, LedgerMismatch, LedgerUnavailable, Position
from adapter.storage.ledger.signs import probe
from adapter.storage.ledger.snapshots import Snapshot, frame
from adapter.storage.ledger.trims import TRIMS_MET, reading_anew
from tests.support.examples import examples

OWNER = b"o" * 16
SETTINGS = LedgerSettings(bootstrap_servers="", topic="t")


class TrimmedTopic:
    """A topic of one partition that its owner writes and trims while it is read."""

    def __init__(self, chance: random.Random, grow: Callable[[TrimmedTopic], None]) -> None:
        self.values: list[bytes] = []
        self.first = 0
        self.trims = TRIMS_MET - 1
        """How many more it is trimmed while a reader is about."""
        self._chance, self._grow = chance, grow

    def source(self, _settings: LedgerSettings) -> TrimmedSource:
        return TrimmedSource(self)

    def go_on(self) -> None:
        """The owner may write and trim now."""
        if self.trims and self._chance.random() < 0.4:
            self.trims -= 1
            self._grow(self)


class TrimmedSource:
    """A LedgerSource on such a topic."""

    def __init__(self, topic: TrimmedTopic) -> None:
        self._topic, self._at = topic, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        pass

    def check_topic(self) -> None:
        self._topic.go_on()

    def bounds(self) -> tuple[int, int]:
        found = self._topic.first, len(self._topic.values)
        self._topic.go_on()  # right behind the answer
        return found

    def start(self, offset: int) -> None:
        self._at = offset

    def take_some(self) -> list[Any]:
        topic = self._topic
        topic.go_on()
        if self._at < topic.first:
            raise LedgerMismatch("no record at the next offset")
        found = list(islice_from(topic, self._at, 2))
        self._at += len(found)
        return found


def islice_from(topic: TrimmedTopic, at: int, count: int) -> Iterator[Any]:
    for offset in range(at, min(at + count, len(topic.values))):
        value = topic.values[offset]
        yield SimpleNamespace(
            offset=lambda offset=offset: offset,
            timestamp=lambda offset=offset: (1, 100 + offset),
            value=lambda value=value: value,
        )


def snapshot(number: int) -> Snapshot:
    return Snapshot(Position(10 * number, OWNER, number), number, [b"%d" % number, b"more"])


def write_snapshot(topic: TrimmedTopic) -> None:
    """Write one, and delete what is older than the last two."""
    number = len(topic.values) + 1
    topic.values += frame(snapshot(number), number.to_bytes(16, "big"))
    topic.first = max(topic.first, len(topic.values) - 2 * len(frame(snapshot(1), bytes(16))))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_the_newest_snapshot_is_found_while_older_ones_are_deleted(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = TrimmedTopic(random.Random(seed), write_snapshot)
    for _ in range(2):
        write_snapshot(topic)
    before = len(topic.values)
    monkeypatch.setattr(kafka_snapshots, "LedgerSource", topic.source)
    found = KafkaSnapshots(SETTINGS).newest()
    assert found is not None
    step = len(frame(snapshot(1), bytes(16)))
    assert found.cut_n in range(before - step + 1, len(topic.values) + 1, step)
    assert found == snapshot(found.cut_n)


def write_entries(topic: TrimmedTopic) -> None:
    """Write some entries and the announcement, and trim the ledger up to the last entry."""
    n = len(topic.values)
    topic.values += [encode(ENTRY, OWNER, at, b"%d" % at) for at in range(n, n + 20)]
    topic.values.append(probe(OWNER, b"who"))
    topic.first = len(topic.values) - 2


@pytest.mark.parametrize("seed", range(examples(60)))
def test_signs_are_found_while_the_ledger_is_trimmed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = TrimmedTopic(random.Random(seed), write_entries)
    topic.values.append(encode_change(OWNER, b"", b"who"))
    topic.values += [encode(ENTRY, OWNER, at, b"%d" % at) for at in range(1, 30)]
    monkeypatch.setattr(kafka_signs, "LedgerSource", topic.source)
    sign = kafka_signs.find_last_record(SETTINGS)
    assert isinstance(sign, LastRecord)
    assert sign.owner == OWNER
    assert int(sign.payload) >= 29
    assert kafka_signs.find_announcement(SETTINGS, OWNER) == "who"


def test_what_is_no_trim_is_refused_at_once() -> None:
    reads: list[int] = []

    def read(first: int, _end: int) -> None:
        reads.append(first)
        raise LedgerMismatch("damaged")

    with pytest.raises(LedgerMismatch, match="damaged"):
        reading_anew(lambda: (3, 9), read)
    assert reads == [3]


def test_trims_without_an_end_are_no_damage() -> None:
    """Kafka answers so slowly that the reading is to be tried later."""
    firsts = iter(range(100))

    def read(first: int, _end: int) -> None:
        raise LedgerMismatch(f"{first} was deleted")

    with pytest.raises(LedgerUnavailable, match=f"deleted {TRIMS_MET} times") as caught:
        reading_anew(lambda: (next(firsts), 100), read)
    assert caught.value.retriable
