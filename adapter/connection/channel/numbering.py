"""The client's end of a session: numbers for durable commands, and ids for units.

With the numbers the queue manager answers a command that comes again from what it recorded, and
never executes it twice. This module does not know how a command is sent.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from typing import Final

from adapter.core.contract.commands import SessionOpen, SessionResume

SESSION_BYTES: Final = 16
UNANSWERED_MAX: Final = 512
"""Durable commands without an answer. With the doubtful ones they are the 1,024 outcomes that the
queue manager keeps for a session."""
DOUBTFUL_MAX: Final = UNANSWERED_MAX
"""Commands given up whose outcomes the queue manager is asked to keep; the oldest go first. So many
may be given up at once: after a loss of the connection each outcome can be asked for."""
OWN_UNIT: Final = 1 << 63
"""Marks the number of the unit that a command outside any unit is by itself."""


class SessionNumbers:
    """One session."""

    def __init__(self) -> None:
        self.ident = os.urandom(SESSION_BYTES)
        self.issued = 0
        self._answered = 0
        self.given_up = 0
        """How many numbers no call waits for any more, without an answer."""
        self._doubtful: deque[int] = deque(maxlen=DOUBTFUL_MAX)
        self._seen: deque[int] = deque()
        self._units = itertools.count(1)

    @property
    def unanswered_count(self) -> int:
        """How many numbers were given out and neither answered nor given up."""
        return self.issued - self._answered - self.given_up

    def open_command(self) -> SessionOpen:
        """Make the command that makes this session known."""
        return SessionOpen(self.ident)

    def resume_command(self, unanswered: list[int]) -> SessionResume:
        """Make the command that attaches to this session on another connection."""
        expected = [*self._doubtful, *unanswered]
        return SessionResume(self.ident, expected, self.issued)

    def new_unit_id(self) -> bytes:
        """Draw a unit id."""
        return self.ident + next(self._units).to_bytes(8, "big")

    def own_unit_id(self, number: int) -> bytes:
        """Name the unit that the durable command of this number is by itself."""
        return self.ident + (OWN_UNIT | number).to_bytes(8, "big")

    def saw(self, number: int) -> None:
        """Note an outcome that has arrived; only the thread that reads does this."""
        self._answered += 1
        self._seen.append(number)

    @property
    def has_seen(self) -> bool:
        """Whether there is something to tell the queue manager with the next frame."""
        return bool(self._seen)

    def take_seen(self) -> list[int]:
        """Return what the queue manager is to be told with the next frame."""
        seen: list[int] = []
        while self._seen:  # the thread that reads may append meanwhile: that is for the next frame
            seen.append(self._seen.popleft())
        return seen

    def give_back(self, seen: list[int]) -> None:
        """Take back what could not be told."""
        self._seen.extend(seen)

    def give_up(self, number: int, *, was_sent: bool) -> None:
        """Wait no longer for a command; if it was sent its outcome stays to be asked for."""
        self.given_up += 1
        if was_sent:
            self._doubtful.append(number)

    def recount(self, unanswered: int) -> None:
        """Know how many numbers are unanswered, where a link is put in place of a lost one.

        An exception of a signal handler may have come between two steps of a count.
        """
        self._answered = self.issued - self.given_up - unanswered
