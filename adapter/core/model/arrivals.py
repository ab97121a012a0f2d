"""What has arrived from other queue managers, so that nothing arrives twice.

Theory. A sender that does not know whether a message left sends it again, and one that was deposed
may go on for a while. So each message comes with its place on the transmission queue, which is
never given to another one, and the places that came are kept. With its messages a sender says from
which place on its queue still has any: lower ones came before, or never come. They are forgotten,
and whatever comes from below is a duplicate. So a few ranges are kept for each transmission queue,
however many messages came.

Also kept is from where each topic of arrivals is to be read. This module does not know what becomes
of a message.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from adapter.core.contract.arrivals import Lowest, Origin
from adapter.core.contract.ranges import Ranges


class TopicPosition(Struct):
    """From where a topic is to be read; topic_id: which topic of its name that is."""

    topic_id: str
    offset: int


class LaneArrivals:
    """What came from one lane: all persistent messages below a seq, and these; so for n."""

    __slots__ = ("below_n", "below_seq", "others", "seqs")

    def __init__(self, below_seq: int = 0, below_n: int = 0) -> None:
        self.below_seq = below_seq
        self.below_n = below_n
        self.seqs = Ranges()
        self.others = Ranges()

    def has(self, seq: int, n: int) -> bool:
        """Say whether the message of a place came."""
        if n:
            return n < self.below_n or n in self.others
        return seq < self.below_seq or seq in self.seqs

    def add(self, seq: int, n: int) -> None:
        """Note that the message of a place came."""
        if n:
            if n >= self.below_n:
                self.others.add(n)
        elif seq >= self.below_seq:
            self.seqs.add(seq)

    def forget_below(self, seq: int, n: int) -> None:
        """Keep no single places below these: nothing new comes from there."""
        self.below_seq, self.below_n = max(self.below_seq, seq), max(self.below_n, n)
        self.seqs.discard_below(self.below_seq)
        self.others.discard_below(self.below_n)


class Arrivals:
    """What has arrived at one queue manager. Hard state, but for blocked and unfinished."""

    __slots__ = ("blocked", "origins", "positions", "unfinished")

    def __init__(self) -> None:
        self.positions: dict[str, TopicPosition] = {}
        """By topic."""
        self.origins: dict[Origin, dict[int, LaneArrivals]] = {}
        """By lane."""
        self.blocked: dict[str, str] = {}
        """The topics whose next arrival has no room, and the queue that it is for; soft."""
        self.unfinished: set[str] = set()
        """The topics whose next arrival was put in part, and is to be given again; soft."""

    def position(self, topic: str, topic_id: str) -> int:
        """Return from which offset a topic is to be read; 0: nothing was read from it."""
        known = self.positions.get(topic)
        return known.offset if known is not None and known.topic_id == topic_id else 0

    def has(self, origin: Origin, lane: int, seq: int, n: int) -> bool:
        """Say whether a message came."""
        known = self.origins.get(origin, {}).get(lane)
        return known is not None and known.has(seq, n)

    def lane(self, origin: Origin, lane: int) -> LaneArrivals:
        """Return what came from a lane, to be added to."""
        lanes = self.origins.setdefault(origin, {})
        if lane not in lanes:
            lanes[lane] = LaneArrivals()
        return lanes[lane]

    def forget_below(self, origin: Origin, lowest: Iterable[Lowest]) -> None:
        """Keep no single places below the lowest ones that may still come."""
        for one in lowest:
            self.lane(origin, one.lane).forget_below(one.seq, one.n)

    def move(self, topic: str, topic_id: str, offset: int) -> None:
        """Read a topic from an offset on from now on; never from a lower one than before."""
        offset = max(offset, self.position(topic, topic_id))
        self.positions[topic] = TopicPosition(topic_id, offset)
