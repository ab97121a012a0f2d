"""Units that hold one message each, from its get until the framework acknowledges it.

When the program dies, or loses its connection, the queue manager backs the units out: the messages
are back in their places at once, without a time-out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import adapter
from adapter.errors import BackedOut, ConnectionBroken, Error


class SpareUnit:
    """A unit that is open and empty: a get that finds nothing leaves it to the next one."""

    def __init__(self, qm: adapter.Connection) -> None:
        self._qm = qm
        self._unit: adapter.Unit | None = None

    @contextmanager
    def lent(self) -> Iterator[adapter.Unit]:
        """Let a get use it; after an exception of any kind it is not used again."""
        if self._unit is None:
            self._unit = self._qm.unit()
            self._unit.begin()
        try:
            yield self._unit
        except BaseException as error:  # also what a signal handler raises: it has ended the unit
            spoilt, self._unit = self._unit, None
            if not isinstance(error, ConnectionBroken):
                with suppress(Error):
                    give_back(spoilt, counted=False)  # a refusal leaves it open
            raise

    def take(self) -> adapter.Unit:
        """Return it for good, because it holds a message now."""
        taken, self._unit = self._unit, None
        assert taken is not None
        return taken

    def close(self) -> None:
        """End it."""
        give_back(self._unit, counted=False)


def give_back(unit: adapter.Unit | None, *, counted: bool) -> None:
    """Back a unit out, if it is open: its message is back in its place.

    counted: whether a worker may have failed with it. What was only fetched must not come to the
    backout_threshold of its queue because workers were stopped.
    """
    if unit is not None and unit.is_open:
        with suppress(BackedOut, ConnectionBroken):  # it is gone with a lost connection
            unit.backout(counted=counted)
