"""What arrives for the owner: units that were read from inbound topics are given to core.

They come from a thread that reads, and are given to core on the owner's thread, a source's in their
order; a source whose next unit has no room anywhere does not hold up the others. Each term begins
to read anew from the positions that the ledger has; when positions are durable, what lies before
them may be deleted. This module must not know how anything is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from adapter.core import inputs
from adapter.core.contract.arrivals import ArrivedUnit
from adapter.host import watched
from adapter.runtime.owner.term import OwnerTerm
from adapter.runtime.owner.waiting_inputs import GiveOutcome, WaitingInputs

LOOK_S = 0.25
"""How often it is looked whether another term has begun."""
TRIM_LOOKS = 8
"""How many looks lie between two deletions of what was received. By what is left senders see what
their destination has not received."""
AT_ONCE = 50
"""Units given in one go; clients come between."""

log = structlog.get_logger("mqk.owner")


class ArrivedBytes(Protocol):
    """A unit, and the bytes that its records were."""

    @property
    def given(self) -> ArrivedUnit: ...

    @property
    def size(self) -> int: ...


class InboundReader(Protocol):
    """Reads inbound topics for one term after another."""

    def begin_at(self, term: int, positions: Mapping[str, tuple[str, int]]) -> None:
        """Read from these positions on: topic id and offset by topic."""

    def note_taken(self, term: int, topic: str, size: int) -> None:
        """So many bytes wait no more."""

    def trim(self, offsets: Mapping[tuple[str, str], int], tried: Callable[[bool], object]) -> None:
        """Delete what lies before these offsets. tried: is called when that was tried, from any
        thread, with whether it succeeded.
        """


class Inbound:
    """Gives arrivals to core. All methods but deliver() are called on the event loop's thread."""

    def __init__(self, term: Callable[[], OwnerTerm | None], broke: watched.Ended) -> None:
        """term: the one that requests are served in, if they are."""
        self._asyncio = asyncio.get_running_loop()
        self._current = term
        self._broke = broke
        self._reader: InboundReader | None = None
        self._term: OwnerTerm | None = None
        self._number = 0
        self._waiting: WaitingInputs[str, ArrivedBytes] = WaitingInputs(
            "arrivals", self._serving, self._give, AT_ONCE, broke
        )
        """By topic, of this term."""
        self._timer: asyncio.TimerHandle | None = None
        self._looks = 0
        self._noted: tuple[int, dict[tuple[str, str], int]] = (0, {})
        """Entry and positions, of the last time that it was looked what can be deleted."""
        self._trimmed: dict[tuple[str, str], int] = {}
        """What was deleted, by topic and its id: one that is made again begins anew."""
        self._trims = False
        """Whether a deletion has been asked for, and not been tried yet."""
        self._known = inputs.QueueManagersKnown(frozenset())
        self.units = self.messages = 0
        """Given to core since the process started."""

    def _serving(self) -> OwnerTerm | None:
        """Return the term that arrivals are read for, if requests are served in it."""
        term = self._term
        return term if term is self._current() else None

    def start(self, reader: InboundReader) -> None:
        """Begin to give core what this reads."""
        self._reader, self._trims = reader, False
        self._look()

    def stop(self) -> None:
        """Give core nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        self._reader, self._term, self._timer = None, None, None
        self._waiting.clear()

    def deliver(self, number: int, ready: Sequence[ArrivedBytes]) -> None:
        """Take what was read for a term; from any thread."""
        take = partial(self._take, number, ready)
        watched.from_thread("arrivals", self._asyncio, take, self._broke)

    def know(self, known: inputs.QueueManagersKnown) -> None:
        """Let core know which other queue managers there are; from any thread."""

        def know() -> None:
            self._known = known
            self._tell_known()

        watched.from_thread("the directory", self._asyncio, know, self._broke)

    def _tell_known(self) -> None:
        term = self._serving()
        if term is not None:
            term.loop.take(self._known)

    @property
    def blocked(self) -> dict[str, str]:
        """The queue for which the next unit of a topic waits, by the topic."""
        return dict(self._term.qm.arrivals.blocked) if self._term is not None else {}

    # Terms.

    def _look(self) -> None:
        """See whether another term has begun, and what can be deleted."""
        call = watched.callback("the look at arrivals", self._look, self._broke)
        self._timer = self._asyncio.call_later(LOOK_S, call)
        term = self._current()
        if term is not None and term is not self._term:
            self._begin(term)
        self._looks += 1
        if term is not None and self._looks % TRIM_LOOKS == 0:
            self._trim(term)

    def _begin(self, term: OwnerTerm) -> None:
        assert self._reader is not None
        self._term = term
        self._number += 1
        self._waiting.clear()
        self._noted, self._trims = (0, {}), False
        found = term.qm.arrivals.positions
        positions = {topic: (at.topic_id, at.offset) for topic, at in found.items()}
        self._reader.begin_at(self._number, positions)
        self._tell_known()

    def _trim(self, term: OwnerTerm) -> None:
        """Delete what was received, up to the positions that are durable."""
        if self._reader is None:
            return
        n, positions = self._noted
        if positions and term.loop.appends.durable_n >= n:
            moved = {
                place: offset
                for place, offset in positions.items()
                if offset > self._trimmed.get(place, 0)
            }
            if moved and not self._trims:
                self._trims = True
                self._reader.trim(moved, partial(self._tell_trimmed, moved))
        found = term.qm.arrivals.positions.items()
        places = {(topic, at.topic_id): at.offset for topic, at in found}
        self._noted = (term.loop.entry_n, places)

    def _tell_trimmed(self, offsets: Mapping[tuple[str, str], int], succeeded: bool) -> None:
        """Take in, from any thread, that a deletion was tried; what failed is tried again."""

        def note() -> None:
            self._trims = False
            if succeeded:
                self._trimmed |= offsets

        watched.from_thread("a deletion of what was received", self._asyncio, note, self._broke)

    # Arrivals.

    def _take(self, number: int, ready: Sequence[ArrivedBytes]) -> None:
        if number != self._number or self._term is None:
            return
        for one in ready:
            self._waiting.add(one.given.topic, one)

    def _give(self, term: OwnerTerm, one: ArrivedBytes) -> GiveOutcome:
        """Give core a unit."""
        topic = one.given.topic
        if not term.loop.take(inputs.Arrived(one.given)) or topic in term.qm.arrivals.blocked:
            return GiveOutcome.BLOCKED
        if topic in term.qm.arrivals.unfinished:
            return GiveOutcome.MORE
        self.units += 1
        self.messages += len(one.given.messages)
        assert self._reader is not None
        self._reader.note_taken(self._number, topic, one.size)
        return GiveOutcome.DONE
