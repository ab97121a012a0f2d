"""How long a transactional producer waits for an answer of Kafka.

librdkafka sends a request again when its answer does not come within socket.timeout.ms, and a
commit that may have been sent twice is doubtful: the writer begins anew. With one fixed bound, a
Kafka whose every commit is slower would keep a writer from ever committing; so each commit that is
too slow doubles the bound of the producers that are made next, up to a limit, and the first quick
one restores it. This module knows no producers.
"""

from __future__ import annotations

from msgspec import Struct

SOCKET_TIMEOUT_MS = 3000
"""What a writer begins with: so long does a writer stand still whose broker is gone."""
SOCKET_TIMEOUT_MAX_MS = 12_000
DEFINITE_PART = 0.6
"""A commit that took more than this part of the timeout may have been sent twice."""
QUICK_PART = 0.3


class SocketTimeout(Struct):
    """Of one writer, or of several that write to the same Kafka.

    next_ms: of the producers that are made next.
    """

    next_ms: int = SOCKET_TIMEOUT_MS

    def note_commit(self, took_s: float, timeout_ms: int) -> bool:
        """Note how long a commit took, of a producer with this timeout; returns whether it is sure
        that it was sent only once.
        """
        if took_s * 1000 >= timeout_ms * DEFINITE_PART:
            longer_ms = min(2 * timeout_ms, SOCKET_TIMEOUT_MAX_MS)
            self.next_ms = max(self.next_ms, longer_ms)
            return False
        if took_s * 1000 < SOCKET_TIMEOUT_MS * QUICK_PART:
            self.next_ms = SOCKET_TIMEOUT_MS
        return True
