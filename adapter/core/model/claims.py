"""Claims: which messages of a queue its durable consumers have been given, and not consumed yet.

Theory. A consumer is a name under which programs, one after another, take a queue's messages in
*batches*: spans of places, whose content they read from the queue's topic. Batches are numbered
from 1 without gaps. Those up to `consumed` are gone for good; those behind it are held:

    1 ... consumed | consumed + 1 ... last | last + 1: the next one to be claimed

A batch never changes while it is held, whichever program asks for it and however often: a program
that was restarted, or a second attempt of the same task, reads the same messages. It ends in one of
two ways: it is consumed, with all batches before it, or its messages go back to their places and it
stays as an empty batch, so that the numbers behind it keep their meaning.

Who may ask is said by the claim, an id. When a consumer loses its messages, because its program
stayed away or an operator took them, the claim is drawn anew and everything held is counted as
consumed: a program with the old claim is refused, and can neither consume nor read what others get.

What fails is found by halving: a batch that was delivered backout_threshold times goes back, and
the next batches have size_max messages at most, a fraction of it, until one message is alone and is
moved to the backout queue; batches that are consumed let size_max grow again.
This module does not know what a verb means.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.spans import Count, Span


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


class DurableConsumer:
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
        """Since when no program has it open; of no meaning while one has."""

    @property
    def last(self) -> int:
        """The number of the last batch that was claimed."""
        return self.consumed + len(self.batches)

    @property
    def spans(self) -> list[Span]:
        """What it holds."""
        return [span for batch in self.batches.values() for span in batch.spans]

    @property
    def held(self) -> int:
        """How many messages it has been given, and has not consumed."""
        return sum(batch.size for batch in self.batches.values())
