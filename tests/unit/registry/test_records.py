"""Which records of a registry's topic are needed: whatever is compacted, and whenever one reads."""

from __future__ import annotations

import random
from typing import Any

import pytest

from adapter.registry import state
from adapter.registry.records import NeededRecords
from adapter.registry.state import (
    Change,
    ChangeEntry,
    LevelSet,
    ModeSet,
    RegistryState,
    SchemaDeleted,
    SchemaKept,
    SchemaPurged,
)


class Topic:
    """The records that are there, with their places; None: a tombstone. And who writes them."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bytes, list[Change] | None]] = []
        self.end = 0
        self.writer = Reader(self)

    def put(self, record: bytes, changes: list[Change] | None) -> None:
        self.records.append((self.end, record, changes))
        self.end += 1

    def write(self, *changes: Change) -> None:
        """Write a record, read it, and forget what is needed no more, as a registry does."""
        self.put(b"%d" % self.end, list(changes))
        self.writer.read()
        unneeded = self.writer.needed.unneeded(1_000)
        for record in unneeded:
            self.put(record, None)
        self.writer.needed.note_written(unneeded)

    def compact(self, until: int | None = None, *, tombstones: bool = True) -> None:
        """Keep the last record of each key, of those up to a place; as Kafka does."""
        until = self.end if until is None else until
        last = {record: at for at, record, _ in self.records if at < until}
        self.records = [
            (at, record, changes)
            for at, record, changes in self.records
            if at >= until or (last[record] == at and not (tombstones and changes is None))
        ]

    def values(self) -> int:
        return sum(changes is not None for _, _, changes in self.records)


class Reader:
    """A registry that reads a topic, as far as it likes."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._next = 0
        self.is_whole = False
        """Whether it has come to an end of the topic: then it notices what is missing behind."""
        self.state = RegistryState()
        self.needed = NeededRecords()

    def read(self, until: int | None = None) -> Reader:
        until = self._topic.end if until is None else until
        there = {at for at, _, _ in self._topic.records}
        if self.is_whole and any(at not in there for at in range(self._next, until)):
            self.__init__(self._topic)  # type: ignore[misc]
            until = self._topic.end
        for at, record, changes in self._topic.records:
            if not self._next <= at < until:
                continue
            if changes is None:
                for what in self.needed.forget(record):
                    if (change := state.nothing_of(what)) is not None:
                        self.state.make(change)
            else:
                self.state.apply(ChangeEntry(changes, self.state.next_id))
                self.needed.add(record, changes)
        self._next = max(self._next, until)
        self.is_whole |= until == self._topic.end
        return self

    def seen(self) -> Any:
        return self.state.kept, self.state.levels, self.state.modes


def kept(subject: str, version: int = 1) -> SchemaKept:
    return SchemaKept(subject, version, version, '"int"')


def test_what_came_and_went_leaves_nothing() -> None:
    topic = Topic()
    for number in range(50):
        subject = f"s{number}"
        topic.write(kept(subject), kept(subject, 2))
        topic.write(SchemaDeleted(subject, 1), SchemaDeleted(subject, 2))
        topic.write(SchemaPurged(subject, 1), SchemaPurged(subject, 2))
        topic.write(LevelSet(subject, "FULL"))
        topic.write(ModeSet(subject, "IMPORT"))
        topic.write(LevelSet(subject, ""), ModeSet(subject, ""))
        if number % 7 == 0:
            topic.compact()
    topic.write(LevelSet("", "NONE"))
    topic.write(LevelSet("", "FULL"))
    topic.write(LevelSet("", "NONE"))
    topic.compact()
    assert topic.values() <= 3
    assert topic.writer.needed.size() <= 3
    assert Reader(topic).read().seen() == topic.writer.seen() == ({}, {"": "NONE"}, {})


def test_a_purge_stays_while_the_version_may_be_met() -> None:
    topic = Topic()
    topic.write(kept("s"), LevelSet("s", "FULL"))
    topic.write(SchemaPurged("s", 1))
    for number in range(3):
        topic.write(ModeSet("other", ("IMPORT", "READONLY")[number % 2]))
    topic.compact(tombstones=False)
    assert topic.writer.seen()[0] == Reader(topic).read().seen()[0] == {}
    assert topic.values() == 3, "the level's record says of the version, too"


def test_the_last_record_stays() -> None:
    topic = Topic()
    topic.write(LevelSet("s", ""))
    assert topic.writer.needed.unneeded(9) == []
    topic.write(LevelSet("t", ""))
    assert topic.values() == 2
    assert topic.writer.needed.unneeded(9) == []


@pytest.mark.parametrize("seed", range(60))
def test_whenever_one_reads_it_comes_to_the_same(seed: int) -> None:
    """Readers begin and go on at any time, while compaction removes what it may, in its order."""
    chance = random.Random(seed)
    topic = Topic()
    readers: list[Reader] = []
    for _ in range(60):
        changes: list[Change] = []
        for _ in range(chance.randrange(1, 4)):
            subject, version = chance.choice("st"), chance.randrange(1, 3)
            made: tuple[Change, ...] = (
                kept(subject, version),
                SchemaDeleted(subject, version),
                SchemaPurged(subject, version),
                LevelSet(subject, chance.choice(("", "FULL"))),
                ModeSet(subject, chance.choice(("", "IMPORT"))),
            )
            changes.append(chance.choice(made))
        topic.write(*changes)
        if chance.random() < 0.3:
            are_whole = all(reader.is_whole for reader in [topic.writer, *readers])
            tombstones = are_whole and chance.random() < 0.5
            topic.compact(chance.randrange(topic.end + 1), tombstones=tombstones)
        if chance.random() < 0.2:
            readers.append(Reader(topic))
        for reader in readers:
            if chance.random() < 0.5:
                reader.read(chance.randrange(topic.end + 1))
    for reader in readers:
        assert reader.read().seen() == topic.writer.read().seen()
    topic.compact()
    assert Reader(topic).read().seen() == topic.writer.seen()
