"""What feeds read, for the owner: batches of topics' records are given to core.

They come from threads that read, and are given to core on the owner's thread, those of a partition
in their order; a partition whose next record waits for its queue does not hold up the others. Each
term begins to read anew from the positions that the ledger has, and so does a feed that has become
another one. This module must not know how anything is read, nor what a record becomes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog
from msgspec import structs

from adapter.core import inputs
from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.contract.feeds import FeedStart
from adapter.core.model.manager import QueueManager
from adapter.host import watched
from adapter.runtime.feeds.port import Deliver, FeedFigures, FeedReading, SizedBatch
from adapter.runtime.owner.term import OwnerTerm
from adapter.runtime.owner.waiting_inputs import GiveOutcome, WaitingInputs

LOOK_S = 0.25
"""How often it is looked whether another term has begun, or a feed is another one."""
SHOW_LOOKS = 8
"""How many looks lie between two notes of positions for those who watch consumer groups."""
REASONS_MAX = 3
"""Different ones, of partitions that wait, in the figures of a feed."""
AT_ONCE = 20
"""Batches given in one go; clients come between."""

log = structlog.get_logger("mqk.owner")

Place = tuple[str, int]
"""A feed, and a partition of its topic."""


class FeedReadersOfTerm(Protocol):
    """Reads the topics of feeds."""

    def read(self, wanted: Mapping[str, FeedReading], deliver: Deliver) -> None:
        """Read these feeds, by name, and no others. Those that are read already are read on."""

    def note_taken(self, feed: str, version: int, partition: int, size: int) -> None:
        """So many bytes that were read for a feed wait no more."""

    def show(self, positions: Mapping[str, dict[int, int]]) -> None:
        """Let those who watch consumer groups see these positions, by feed."""

    def figures(self, feed: str, positions: dict[int, int]) -> FeedFigures | None:
        """Return the figures of a feed; None if it is not read."""


class Feeding:
    """Gives to core what feeds read. All methods are called on the event loop's thread."""

    def __init__(
        self,
        term: Callable[[], OwnerTerm | None],
        readers: FeedReadersOfTerm,
        broke: watched.Ended,
    ) -> None:
        """term: the one that requests are served in, if they are."""
        self._asyncio = asyncio.get_running_loop()
        self._current = term
        self._readers = readers
        self._broke = broke
        self._term: OwnerTerm | None = None
        self._version = -1
        """Of all feeds, as they were looked at last."""
        self._readings: dict[str, FeedReading] = {}
        self._waiting: WaitingInputs[Place, SizedBatch] = WaitingInputs(
            "feeds", self._serving, self._give, AT_ONCE, broke
        )
        self._timer: asyncio.TimerHandle | None = None
        self._looks = 0
        self._noted: tuple[int, dict[str, dict[int, int]]] = (0, {})
        """Entry and positions, of the last time that they were noted."""

    def _serving(self) -> OwnerTerm | None:
        """Return the term that is read for, if requests are served in it."""
        term = self._term
        return term if term is self._current() else None

    def start(self) -> None:
        """Begin to read."""
        self._look()

    def stop(self) -> None:
        """Give core nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        self._term, self._timer = None, None
        self._waiting.clear()

    def figures(self) -> dict[str, FeedFigures]:
        """Return the figures of all feeds, by name."""
        term = self._term
        if term is None:
            return {}
        return {name: self._figures_of(term.qm, name) for name in sorted(term.qm.feeds.by_name)}

    def _figures_of(self, qm: QueueManager, name: str) -> FeedFigures:
        state = qm.feeds.by_name[name]
        feed = _attributes(qm, name)
        found = self._readers.figures(name, dict(state.offsets))
        if found is None:
            found = FeedFigures(
                state="paused" if feed.state == "PAUSED" else "starting",
                why="",
                topic=feed.topic,
                queue=feed.target,
                positions=dict(state.offsets),
                ends={},
                lag=0,
                records=0,
                held_bytes=0,
                failures=0,
            )
        elif state.blocked and found.state == "running":
            found.state = "waiting"
            found.why = "; ".join(list(dict.fromkeys(state.blocked.values()))[:REASONS_MAX])
        return found

    # Which feeds are read.

    def _look(self) -> None:
        """See whether another term has begun, or which feeds are other ones."""
        call = watched.callback("the look at feeds", self._look, self._broke)
        self._timer = self._asyncio.call_later(LOOK_S, call)
        term = self._current()
        if term is None:
            return
        if term is not self._term:
            self._term, self._version = term, -1
            self._readings = {}
            self._noted = (0, {})  # an entry of this number is another one now
        if term.qm.feeds.version != self._version:
            self._read(term)
        self._looks += 1
        if self._looks % SHOW_LOOKS == 0 and self._readings:
            self._show(term)

    def _read(self, term: OwnerTerm) -> None:
        """Read what is to be read now; of feeds that are other ones nothing waits any more."""
        qm = term.qm
        self._version = qm.feeds.version
        readings = {}
        for name, state in qm.feeds.by_name.items():
            feed = _attributes(qm, name)
            known = self._readings.get(name)
            if known is not None and known.version == state.version:
                readings[name] = known
            elif feed.state != "PAUSED":
                readings[name] = FeedReading(
                    feed=name,
                    version=state.version,
                    attributes=structs.replace(feed),  # another thread reads them
                    begin=state.begin or feed.begin,
                    topic_id=state.topic_id,
                    offsets=dict(state.offsets),
                )
        read_on = {name for name, one in readings.items() if one is self._readings.get(name)}
        self._waiting.forget(lambda place: place[0] not in read_on)
        self._readings = readings

        def deliver(found: Sequence[FeedStart | SizedBatch]) -> None:
            take = partial(self._take, term, found)
            watched.from_thread("feeds", self._asyncio, take, self._broke)

        self._readers.read(readings, deliver)

    def _show(self, term: OwnerTerm) -> None:
        """Show the positions that were noted, if they are durable by now; and note those of now."""
        n, positions = self._noted
        if positions and term.loop.appends.durable_n >= n:
            self._readers.show(positions)
        found = {name: dict(state.offsets) for name, state in term.qm.feeds.by_name.items()}
        self._noted = (term.loop.entry_n, found)

    # What was read.

    def _take(self, term: OwnerTerm, found: Sequence[FeedStart | SizedBatch]) -> None:
        if term is not self._serving():
            return
        for one in found:
            if isinstance(one, FeedStart):
                term.loop.take(inputs.FeedBegins(one))
            elif self._is_wanted(one):
                at = one.batch.feed, one.batch.partition
                self._waiting.add(at, one)

    def _is_wanted(self, one: SizedBatch) -> bool:
        reading = self._readings.get(one.batch.feed)
        return reading is not None and reading.version == one.batch.version

    def _give(self, term: OwnerTerm, one: SizedBatch) -> GiveOutcome:
        """Give core a batch."""
        batch = one.batch
        if not term.loop.take(inputs.Fed(batch)):
            return GiveOutcome.BLOCKED
        state = term.qm.feeds.of_version(batch.feed, batch.version)
        if state is not None and batch.partition in state.blocked:
            return GiveOutcome.BLOCKED
        position = -1 if state is None else state.offsets.get(batch.partition, -1)
        if state is not None and position < batch.next:
            if batch.start <= position:
                return GiveOutcome.MORE  # a step has put as much as it may
            self._read_again(batch.feed)
        self._readers.note_taken(batch.feed, batch.version, batch.partition, one.size)
        return GiveOutcome.DONE

    def _read_again(self, feed: str) -> None:
        """Begin anew where the positions are: what comes does not follow what was put."""
        log.warning("a feed is read again from its positions", feed=feed)
        self._readings.pop(feed, None)
        self._version = -1


def _attributes(qm: QueueManager, name: str) -> FeedAttributes:
    feed = qm.objects[FEED, name]
    assert isinstance(feed, FeedAttributes)
    return feed
