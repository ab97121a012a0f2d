"""A client's session: the outcomes of its numbered commands, kept until it has seen them.

Hard state: the ledger rebuilds it. The client numbers its durable commands densely from 1. An
outcome is kept from the moment it is decided until the client says that it has seen it, so that a
command sent again is answered and never executed twice.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.message import weight
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.results import Messages, Result

WINDOW: Final = 1024
"""Numbered commands a client may have unseen: bounds what is kept for it."""
UNIT_RANGES_MAX: Final = 1000
"""Gaps remembered among committed units, before the oldest are forgotten."""


class Session:
    """One client session."""

    __slots__ = (
        "away_since_ms",
        "backed_out",
        "committed",
        "expected",
        "fenced",
        "forgotten",
        "ident",
        "issued",
        "kept_bytes",
        "last_seen_ms",
        "outcomes",
        "running",
        "seen",
        "user",
        "written",
    )

    def __init__(self, ident: bytes, time_ms: int) -> None:
        self.ident = ident
        self.user = ""  # whose it is; "": of nobody in particular
        self.issued = 0  # the highest number met
        self.outcomes: dict[int, Result] = {}
        self.kept_bytes = 0  # of the messages in outcomes
        self.running: set[int] = set()  # commands that wait
        self.expected: set[int] = set()  # numbers that may come again after a resumption
        self.written: set[int] = set()  # of the outcomes, those that the ledger holds
        self.seen: list[int] = []  # of those, acknowledged, but the ledger does not say so yet
        self.last_seen_ms = time_ms
        self.away_since_ms = 0  # by the queue manager's elapsed_ms; while no connection has it
        self.committed = Ranges()
        self.backed_out = Ranges()  # as far as this process knows
        self.fenced = Ranges()  # said to be backed out, and never to begin again
        self.forgotten = -1  # outcomes of units numbered up to this one are no longer known

    def record(self, number: int, result: Result, *, written: bool = False) -> None:
        """Keep the outcome of a command until it is acknowledged. written: the ledger holds it."""
        self.running.discard(number)
        self.issued = max(self.issued, number)
        self.keep(number, result)
        if written:
            self.written.add(number)

    def keep(self, number: int, result: Result) -> None:
        """Keep an outcome, in the place of what was known of it."""
        self.drop(number)
        self.outcomes[number] = result
        self.kept_bytes += _weight(result)

    def drop(self, number: int) -> bool:
        """Forget an outcome; whether there was one."""
        result = self.outcomes.pop(number, None)
        if result is None:
            return False
        self.kept_bytes -= _weight(result)
        return True

    def acknowledge(self, seen: list[int]) -> None:
        """Drop the outcomes that the client has seen; the ledger is told with the next outcome."""
        for number in seen:
            if self.drop(number) and number in self.written:
                self.written.discard(number)
                self.seen.append(number)

    def told(self, seen: list[int]) -> None:
        """Drop the outcomes of which the ledger now says that the client has seen them."""
        if not seen:
            return
        gone = set(seen)
        for number in gone:
            self.drop(number)
        self.written -= gone
        self.seen = [number for number in self.seen if number not in gone]

    def unit_committed(self, number: int) -> None:
        """Remember a committed unit by its number in this session."""
        self.committed.add(number)
        if len(self.committed) > UNIT_RANGES_MAX:
            self.forgotten = max(self.forgotten, self.committed.pop_first()[1])

    def unit_backed_out(self, number: int) -> None:
        """Remember a unit that was backed out: soft, for those who ask while the session lives."""
        _remember(self.backed_out, number)

    def unit_fenced(self, number: int) -> None:
        """Remember a unit that must not begin any more."""
        _remember(self.fenced, number)

    def is_committed(self, number: int) -> bool | None:
        """Say whether a unit was committed; None if that is no longer known."""
        if number in self.committed:
            return True
        return None if number <= self.forgotten else False


def _weight(result: Result) -> int:
    if type(result) is not Messages:
        return 0
    return sum(weight(one.message) for one in result.messages)


def _remember(units: Ranges, number: int) -> None:
    """Add a unit, and forget the oldest where there are too many gaps."""
    units.add(number)
    if len(units) > UNIT_RANGES_MAX:
        units.pop_first()
