"""Claims: which messages of a queue its durable consumers have been given, and not consumed yet.

A consumer is a name under which programs, one after another, take a queue's messages in *batches*:
ranges of places, whose content they read from the queue's topic. A batch stays as it is, whoever
asks for it and however often, until it is consumed. This module does not know what a verb means.
"""

from __future__ import annotations

from msgspec import Struct


class Span(Struct, gc=False, frozen=True):
    """Adjacent messages of a lane, alike in what a queue must know of them: first to last seq.

    expires_by_ms: when all of them will have expired, as lane.bucket_of; 0: never.
    """

    lane: int
    first: int
    last: int
    priority: int
    expires_by_ms: int = 0

    @property
    def count(self) -> int:
        """How many messages it has."""
        return self.last - self.first + 1


class Count(Struct, gc=False, frozen=True):
    """The backout count of a message of a batch."""

    lane: int
    seq: int
    count: int


class Batch(Struct):
    """What was handed out together. counts: of the messages that came back before.

    deliveries: how often it was handed out, each time to another handle. broke_off: a program that
    it was handed out to went without closing its consumer, as far as this queue manager has seen.
    """

    spans: list[Span]
    counts: list[Count]
    deliveries: int = 0
    broke_off: bool = False

    @property
    def size(self) -> int:
        """How many messages it has."""
        return sum(span.count for span in self.spans)


class Consumer:
    """A durable consumer of one queue.

    claim: an id of 24 bytes, another one whenever what it had was taken from it. consumed: the
    number of the last batch that is consumed. size_max: messages a batch may have while batches
    that failed are made smaller; 0: as many as are asked for.
    """

    __slots__ = ("away_since_ms", "batches", "claim", "consumed", "name", "size_max", "timeout_ms")

    def __init__(self, name: str, claim: bytes, timeout_ms: int) -> None:
        self.name = name
        self.claim = claim
        self.timeout_ms = timeout_ms
        self.consumed = 0
        self.size_max = 0
        self.batches: dict[int, Batch] = {}
        """By number, ascending without gaps: those behind consumed."""
        self.away_since_ms = 0
        """Since when nobody has it open; of no meaning while somebody has."""

    @property
    def last(self) -> int:
        """The number of the last batch that was claimed."""
        return self.consumed + len(self.batches)

    @property
    def held(self) -> int:
        """How many messages it has been given, and has not consumed."""
        return sum(batch.size for batch in self.batches.values())
