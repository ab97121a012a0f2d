"""The pace of a mover: when it reads, and for how long a transaction stays open.

A read costs Kafka a fetch, and a transaction some milliseconds however few copies are in it. While
entries trickle in, the first after a pause is copied at once, and the mover then leaves time for
more to come. Under load a transaction takes in several reads, so that copies are on their topics
soon and a batch of a lane holds many of them. In a backlog the mover reads on without a pause.

It also says how long ago the progress was written. This module does not know what is copied.
"""

from __future__ import annotations

import time

from adapter.storage.ledger.port import Entry, LedgerReader
from adapter.storage.movers.parking import READ_S

SMALL_BYTES = 1024 * 1024
"""After fewer bytes of entries there is time for more to come; more are of a backlog."""
BUSY_BYTES = 64 * 1024
"""Two reads in a row that bring so much are a load: then a transaction takes in several reads."""
OPEN_S = 0.2
"""How long a transaction may take in reads. With the last one, and its commit, copies are on their
topics within 250 ms. It writes what each read brought at once, and has little left to write when it
ends: while records wait for others on their way, librdkafka's thread goes round without a rest."""
PACE_S = 0.025
"""Between two reads of an open transaction: what they bring goes into one batch of a lane."""
GATHER_S = 0.01
"""How long to wait for what came while the mover was busy. Kafka is asked for more when nothing is
left of what came before, at most 5 ms later, so that entries come many at a time."""
BACKLOG_BYTES = 8 * 1024 * 1024
"""As SMALL_BYTES, of a projection that is patient, and reads seldom."""


class Pace:
    """The pace of one mover; for its thread.

    interval_s: how long to collect entries that trickle in, see MoverSettings. patience_s: the same
    under load, see Projection.
    """

    def __init__(self, interval_s: float, patience_s: float) -> None:
        self._interval_s = interval_s
        self._patience_s = patience_s
        self._began_s = 0.0  # when entries were read last
        self._opened_s: float | None = None  # when the open transaction was left open first
        self._is_busy = False  # whether the last read, and the one before, brought much
        self._was_busy = False
        self._wrote_s = 0.0  # when the progress was written last

    def read(self, reader: LedgerReader, *, is_open: bool, waits: bool = True) -> list[Entry]:
        """Wait for entries; soon after others, for those too that came meanwhile.

        is_open: whether a transaction is. waits: whether to wait if there are none.
        """
        last_s = self._began_s
        wait_s = PACE_S if is_open else READ_S
        entries = reader.read(wait_s if waits else 0.0)
        self._began_s = time.monotonic()
        if entries and self._began_s - last_s < 2 * max(self._interval_s, self._patience_s):
            entries += reader.read(GATHER_S)
        self._was_busy = self._is_busy
        self._is_busy = _bytes_of(entries) >= BUSY_BYTES
        return entries

    def pause_s(self, entries: list[Entry], *, is_open: bool) -> float:
        """Return how long to leave time for more after these entries: 0.0 in a backlog."""
        pause_s, most = self._interval_s, SMALL_BYTES
        if is_open:
            pause_s = min(pause_s, PACE_S)
        elif self._is_busy:
            pause_s, most = max(pause_s, self._patience_s), BACKLOG_BYTES
        if _bytes_of(entries) >= most:
            return 0.0
        return max(0.0, self._began_s + pause_s - time.monotonic())

    def keeps_open(self) -> bool:
        """Whether the open transaction takes in the next read too: under load, and not for long."""
        if not (self._is_busy and self._was_busy and self._interval_s):
            return False
        now_s = time.monotonic()
        if self._opened_s is None:
            self._opened_s = now_s
        return now_s - self._opened_s < OPEN_S

    def wrote_progress(self) -> None:
        """The progress was written."""
        self._wrote_s = time.monotonic()

    def since_progress_s(self) -> float:
        """Return how long ago the progress was written last."""
        return time.monotonic() - self._wrote_s

    def committed(self) -> None:
        """The open transaction has ended."""
        self._opened_s = None


def _bytes_of(entries: list[Entry]) -> int:
    return sum(len(entry.payload) for entry in entries)
