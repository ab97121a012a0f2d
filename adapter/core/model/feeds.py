"""From where the topics of feeds are read, so that nothing is put twice, and nothing left out.

Theory. A record of a topic has a place that is never given to another one: the topic's id, its
partition, its offset. The position of a partition says that everything before it was put, or left
out for good; it moves in the same step, and so in the same entry of the ledger, as the messages
that are put. What is read again after a crash lies before the position, and is dropped. What was
read from behind the position is dropped too, so that a position never moves past a record that was
not put.

A feed has a version, another one whenever what was read for it is void: it was defined anew, it was
altered, or its positions were set. This module does not know what becomes of a record.
"""

from __future__ import annotations


class FeedState:
    """What is known of one feed. Hard state, but for version and blocked.

    begin: where it begins, if that was said since it was defined. topic_id: of the topic that its
    offsets are of; "" while there are none. offsets: from where each partition is read. blocked:
    why a partition's next record waits.
    """

    __slots__ = ("begin", "blocked", "offsets", "topic_id", "version")

    def __init__(self, version: int) -> None:
        self.version = version
        self.begin = ""
        self.topic_id = ""
        self.offsets: dict[int, int] = {}
        self.blocked: dict[int, str] = {}


class FeedStates:
    """What is known of all feeds, by name. version: of the last change; it only grows."""

    __slots__ = ("by_name", "version")

    def __init__(self) -> None:
        self.by_name: dict[str, FeedState] = {}
        self.version = 0

    def define(self, name: str) -> None:
        """Note a new feed; or one that is to read another topic."""
        self.version += 1
        self.by_name[name] = FeedState(self.version)

    def delete(self, name: str) -> None:
        """Forget a feed, and what it has read."""
        self.version += 1
        del self.by_name[name]

    def renew(self, name: str) -> FeedState:
        """Void what was read for a feed and is not put yet."""
        state = self.by_name[name]
        self.version += 1
        state.version = self.version
        state.blocked.clear()
        return state

    def of_version(self, name: str, version: int) -> FeedState | None:
        """Return a feed, unless what was read for this version is void."""
        state = self.by_name.get(name)
        return state if state is not None and state.version == version else None
