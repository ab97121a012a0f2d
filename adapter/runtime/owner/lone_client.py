"""Whether one client alone is served, and waits for what it has committed.

Then the owner's thread has nothing else to do than to wait for Kafka, and takes the report of the
append itself: otherwise the report wakes the ledger's thread, and that one the owner's. With a
second client, or one that sends more without waiting, requests would be left waiting meanwhile. So
a client counts as alone after some commits during which nothing was requested, and that is checked
again and again. This module does not know what an append is.
"""

from __future__ import annotations

from typing import Final

LOOK_S: Final = 0.005
"""How long the owner waits, and so the requests of a client that was idle. A local append takes
0.13-0.15 ms, on a busy machine ten times that."""
ROUNDS: Final = 8
"""Commits in turn, with no other request while one was in flight, after which a client is alone."""
LOOKS: Final = 64
"""Waits until some commits are counted again: no request is read during a wait."""
ROUNDS_AGAIN: Final = 2
"""These commits: one that sends more without waiting does so at each of them."""
ROUNDS_AFTER_FAILURE: Final = 100
"""After a wait in vain: Kafka is too slow, perhaps for a moment."""


class LoneClient:
    """Which connection asked last, and how many of its commits were waited for."""

    __slots__ = ("_connection", "_left", "is_alone", "is_waited_for")

    def __init__(self) -> None:
        self._connection = 0
        self._left = ROUNDS
        """Commits until the client is alone; if it is, waits until that is checked again."""
        self.is_alone = False
        self.is_waited_for = False
        """The loop takes the reports of its appends itself."""

    def asked(self, connection: int, *, while_in_flight: bool) -> None:
        """Note a request; while_in_flight: before the last append has become durable."""
        if connection != self._connection or while_in_flight:
            self._connection = connection
            self._expect(ROUNDS if self.is_alone else max(self._left, ROUNDS))

    def committed(self) -> None:
        """Note that entries have become durable."""
        self._left -= 1
        if self._left <= 0:
            self.is_alone = not self.is_alone
            self._left = LOOKS if self.is_alone else ROUNDS_AGAIN

    def failed(self) -> None:
        """Note that a wait was in vain."""
        self._expect(ROUNDS_AFTER_FAILURE)

    def _expect(self, rounds: int) -> None:
        self.is_alone = False
        self._left = rounds
