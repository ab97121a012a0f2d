"""Topics in the memory of this process: one MemoryNetwork is shared by queue managers.

It outlives their restarts and crashes. Everything is under one lock, which is held for moments.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import count

from adapter.runtime.network.port import (
    NetworkError,
    ReceivedRecord,
    SentRecord,
    TopicLost,
    TopicMissing,
)

READ_RECORDS = 500


class MemoryTopic:
    """One topic. first: the offset of the first record that is left."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.first = 0
        self.records: list[ReceivedRecord] = []

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.first + len(self.records)


class MemoryNetwork:
    """A Transport in memory. is_away: nothing can be written, read or made, as without a Kafka."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.topics: dict[str, MemoryTopic] = {}
        self._is_away = False
        self._identities = count(1)

    @property
    def is_away(self) -> bool:
        """Whether nothing answers."""
        return self._is_away

    @is_away.setter
    def is_away(self, away: bool) -> None:
        with self.changed:
            self._is_away = away
            self.changed.notify_all()

    def open(self, topic: str) -> str:
        with self.changed:
            self.check()
            if topic not in self.topics:
                self.topics[topic] = MemoryTopic(f"topic {next(self._identities)}")
                self.changed.notify_all()
            return self.topics[topic].identity

    def open_directory(self, topic: str) -> str:
        """See Transport; nothing is compacted in memory."""
        return self.open(topic)

    def identities(
        self,
        topics: Sequence[str],
        *,
        to_write: bool = False,  # noqa: ARG002 -- memory denies nothing
    ) -> dict[str, str]:
        with self.changed:
            self.check()
            return {one: self.topics[one].identity for one in topics if one in self.topics}

    def bounds(self, topic: str) -> tuple[int, int]:
        with self.changed:
            self.check()
            found = self.topics.get(topic)
            if found is None:
                raise TopicMissing(f"{topic} is not there")
            return found.first, found.end

    def trim(self, offsets: Mapping[str, int]) -> None:
        with self.changed:
            self.check()
            for name, offset in offsets.items():
                topic = self.topics.get(name)
                if topic is not None and offset > topic.first:
                    del topic.records[: offset - topic.first]
                    topic.first = offset

    def delete(self, topic: str) -> None:
        """Delete a topic with all it has, as an operator may."""
        with self.changed:
            del self.topics[topic]
            self.changed.notify_all()

    def writer(self) -> MemoryWriter:
        return MemoryWriter(self)

    def follower(self) -> MemoryFollower:
        return MemoryFollower(self)

    def close(self) -> None:
        pass

    def check(self) -> None:
        """Refuse while nothing answers."""
        if self._is_away:
            raise NetworkError("the network in memory is away")


class MemoryWriter:
    """A TopicWriter in memory."""

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network

    def append(self, topic: str, records: Sequence[SentRecord]) -> None:
        network = self._network
        with network.changed:
            network.check()
            found = network.topics.get(topic)
            if found is None:
                raise TopicMissing(f"{topic} is not there")
            for record in records:
                found.records.append(_as_received(topic, found.end, record))
            network.changed.notify_all()

    def close(self) -> None:
        pass


def _as_received(topic: str, offset: int, sent: SentRecord) -> ReceivedRecord:
    return ReceivedRecord(topic, offset, sent.value, dict(sent.headers), sent.key)


class MemoryFollower:
    """A TopicFollower in memory."""

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network
        self._next: dict[str, tuple[str, int]] = {}
        """Identity and next offset of each topic that is followed."""
        self._paused: set[str] = set()

    def follow(self, topic: str, offset: int) -> None:
        with self._network.changed:
            found = self._network.topics.get(topic)
            self._next[topic] = (found.identity if found else "", offset)
            self._paused.discard(topic)

    def leave(self, topic: str) -> None:
        self._next.pop(topic, None)
        self._paused.discard(topic)

    def pause(self, topic: str) -> None:
        self._paused.add(topic)

    def resume(self, topic: str) -> None:
        self._paused.discard(topic)

    def bounds(self, topic: str) -> tuple[int, int]:
        return self._network.bounds(topic)

    def has_read_all(self, topic: str) -> bool:
        return self._next.get(topic, ("", 0))[1] >= self.bounds(topic)[1]

    def read(self, timeout_s: float) -> list[ReceivedRecord | TopicLost]:
        with self._network.changed:
            found = self._take()
            if not found:
                self._network.changed.wait(timeout_s)
                found = self._take()
            return found

    def close(self) -> None:
        self._next.clear()

    def _take(self) -> list[ReceivedRecord | TopicLost]:
        self._network.check()
        found: list[ReceivedRecord | TopicLost] = []
        for name, (identity, offset) in list(self._next.items()):
            topic = self._network.topics.get(name)
            if topic is None or topic.identity != identity:
                found.append(self._lose(name, "it was deleted"))
            elif not topic.first <= offset <= topic.end:
                found.append(self._lose(name, f"it has no offset {offset}"))
            elif name not in self._paused:
                start = offset - topic.first
                records = topic.records[start : start + READ_RECORDS]
                self._next[name] = (identity, offset + len(records))
                found += records
        return found

    def _lose(self, topic: str, why: str) -> TopicLost:
        self.leave(topic)
        return TopicLost(topic, why)
