"""What waits for its schemas, of each partition by itself, in its order and within bounds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from adapter.runtime.feeds import undecided
from adapter.runtime.feeds.port import (
    FeedError,
    PartitionEnd,
    Preparation,
    Read,
    UnaskedError,
    UnsettledError,
)
from adapter.runtime.feeds.undecided import UndecidedPartitions
from adapter.storage.format.feeds import TopicRecord


def record(partition: int, offset: int, value: bytes = b"x") -> TopicRecord:
    return TopicRecord(partition, offset, None, value, [], 1)


LONG = b"new" + bytes(100)


class Schemas:
    """What can be decoded: all but these values. broken: why nothing can be asked. turns: for how
    many questions there is time in a turn.
    """

    def __init__(self) -> None:
        self.unsettled: set[bytes | None] = set()
        self.broken = ""
        self.turns = 10**9
        self.waits_of: list[tuple[int, Preparation]] = []
        self.asked: set[bytes | None] = set()
        self.said: list[str] = []
        self.waits = UndecidedPartitions(self.prepare, self.said.append)

    def prepare(self, records: Sequence[TopicRecord], wait: Preparation) -> None:
        if self.broken:
            raise FeedError(self.broken)
        self.waits_of += [(one.partition, wait) for one in records[:1]]
        for one in records:
            if one.value not in self.asked:
                if not self.turns:
                    raise UnaskedError("there was no time")
                self.turns -= 1
                self.asked.add(one.value)
        waiting = [one.value for one in records if one.value in self.unsettled]
        if waiting:
            raise UnsettledError(f"{waiting[0]!r} is on its way")

    def read(self, *found: Read) -> list[Read]:
        self.waits.add(found)
        return self.waits.decide()


@pytest.fixture(autouse=True)
def asks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undecided, "AGAIN_S", (0.0,))


def test_one_partition_waits_and_the_others_go_on() -> None:
    at = Schemas()
    at.unsettled = {b"new"}
    assert at.read(record(0, 1, b"new"), record(1, 5), record(0, 2)) == [record(1, 5)]
    assert (set(at.waits.held), at.waits.why) == ({0}, "b'new' is on its way")
    assert at.read(record(1, 6), PartitionEnd(1, 7), PartitionEnd(0, 4)) == [
        record(1, 6),
        PartitionEnd(1, 7),
    ]
    at.unsettled.clear()
    assert at.read() == [record(0, 1, b"new"), record(0, 2), PartitionEnd(0, 4)]
    assert (set(at.waits.held), at.waits.why) == (set(), "")


def test_nothing_is_lost_nor_out_of_order_whatever_fails() -> None:
    chance = random.Random(5)
    for _ in range(100):
        at = Schemas()
        values = [b"%d" % n for n in range(6)]
        offsets = dict.fromkeys(range(4), 0)
        read: list[Read] = []
        found: list[Read] = []
        for step in range(40):
            is_last = step == 39
            at.unsettled = set() if is_last else set(chance.sample(values, 2))
            at.broken = "away" if chance.random() < 0.3 and not is_last else ""
            some: list[Read] = []
            for _ in range(chance.randrange(8)):
                partition = chance.randrange(4)
                some.append(record(partition, offsets[partition], chance.choice(values)))
                offsets[partition] += 1
            read += some
            at.waits.add(some)
            try:
                found += at.waits.decide()
            except FeedError:
                continue
        for partition in offsets:
            ours = [one for one in read if one.partition == partition]
            assert [one for one in found if one.partition == partition] == ours


def test_it_is_asked_again_after_pauses_that_get_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undecided, "AGAIN_S", (60.0,))
    at = Schemas()
    at.unsettled = {b"new"}
    for _ in range(5):
        assert at.read() == []
        at.read(record(1, 1))
    assert not at.said
    at.read(record(0, 1, b"new"))
    for _ in range(5):
        at.read()
    assert at.said == ["b'new' is on its way"]


def test_another_consumer_begins_without_what_waited() -> None:
    at = Schemas()
    at.unsettled = {b"new"}
    at.read(record(0, 1, b"new"))
    at.waits.begin()
    assert (set(at.waits.held), at.waits.why) == (set(), "")


def test_partitions_are_asked_about_in_rotation_and_each_turn_ends() -> None:
    """One partition with many schemas leaves the turns to the others, too; what is known is read on
    in each turn.
    """
    at = Schemas()
    at.asked.add(b"known")
    at.waits.add([record(0, number, b"%d" % number) for number in range(100)])
    at.waits.add([record(2, number, b"1%d" % number) for number in range(100)])
    decided: list[int] = []
    for turn in range(10):
        at.turns = 20
        found = at.read(record(1, turn, b"known"))
        assert record(1, turn, b"known") in found
        decided += {one.partition for one in found} - {1}
        if turn == 0:
            at.waits.add([record(3, 0, b"other")])
    assert sorted(decided) == [0, 2, 3]
    assert decided[0] == 3, "each had a turn before one had two"


def test_a_round_of_questions_spans_turns_and_another_one_begins_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(undecided, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(undecided, "AGAIN_S", (3.0,))
    at = Schemas()
    at.unsettled = {b"a"}
    at.turns = 1
    at.waits.add([record(0, 0, b"a"), record(0, 1, b"b")])
    for turns in (0, 1, 0, 0):
        at.waits.decide()
        at.turns = turns
        now[0] += 1.0
    assert [(wait.since_s, wait.round_s) for _, wait in at.waits_of] == [(0.0, 0.0)] * 3
    assert [wait.until_s for _, wait in at.waits_of] == [
        at_s + undecided.TURN_S for at_s in (0.0, 1.0, 2.0)
    ]
    now[0] = 5.0
    at.waits.decide()
    assert [(wait.since_s, wait.round_s) for _, wait in at.waits_of[3:]] == [(0.0, 5.0)]


@pytest.mark.parametrize(("records", "size"), [(4, 10**9), (10**9, 4 * record(0, 0, LONG).size)])
def test_what_waits_is_bounded(records: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undecided, "RECORDS_MAX", records)
    monkeypatch.setattr(undecided, "BYTES_MAX", size)
    at = Schemas()
    at.unsettled = {LONG}
    for offset in range(3):
        at.read(record(0, offset, LONG), record(1, offset))
        assert not at.waits.is_full
    at.read(record(2, 0, LONG))
    assert at.waits.is_full
    at.unsettled.clear()
    assert len(at.read()) == 4
    assert not at.waits.is_full
