"""A queue manager's own entry in the directory: written when it has taken over, and again when the
directory says something else. For one thread. This module reads no topic.
"""

from __future__ import annotations

from collections.abc import Callable

from adapter.runtime.network import port
from adapter.runtime.network.directory import Directory
from adapter.storage.format import names


class OwnEntry:
    """Of one queue manager."""

    def __init__(self, transport: port.Transport, directory: Directory) -> None:
        self._transport = transport
        self._directory = directory
        self._topic_id = ""
        """Of the directory's topic, as it was opened last."""
        self._make: Callable[[], port.SentRecord] | None = None
        self._tried: Callable[[], object] = int
        self._written: port.SentRecord | None = None
        self._tells = False
        """It is written, and tried has not been called for that."""
        self._next = self._end = 0
        """Up to where the directory was read, and its end when it was opened."""
        self._is_missed = False
        """The directory said something else at the last look."""

    def want(self, make: Callable[[], port.SentRecord], tried: Callable[[], object]) -> None:
        """Have a record written. make: makes it, and may ask Kafka. tried: is called when it is
        written and what others had written before is read, and when either has failed.
        """
        self._make, self._tried, self._written = make, tried, None

    def write(self) -> None:
        """Write it, if it is wanted and not written. Raises NetworkError."""
        if self._make is None or self._written is not None:
            return
        record = self._make()
        writer = self._transport.writer()
        try:
            writer.append(names.DIRECTORY_TOPIC, [record])
        finally:
            writer.close()
        self._written, self._tells = record, True
        self._tell()

    def note_failed(self) -> None:
        """The directory cannot be used for now."""
        self._directory.note_tried()
        if self._make is not None and (self._written is None or self._tells):
            self._tried()

    def note_opened(self, first: int, end: int) -> None:
        """The directory is read from its first record on, and ends here."""
        self._next, self._end = first, end
        self._tell()

    def note_read(self, offset: int) -> None:
        """A record of the directory was read."""
        self._next = offset + 1
        self._tell()

    def _tell(self) -> None:
        if self._next < self._end:
            return
        self._directory.note_read()
        if self._tells:
            self._tells = False
            self._tried()

    def open_topic(self) -> None:
        """Make the directory's topic, or check it. Raises NetworkError."""
        found = self._transport.open_directory(names.DIRECTORY_TOPIC)
        if found != self._topic_id:
            self._topic_id, self._written = found, None

    def is_topic_deleted(self) -> bool:
        """Whether the topic is not the one that was opened. Raises NetworkError."""
        topic = names.DIRECTORY_TOPIC
        return self._transport.identities([topic]).get(topic) != self._topic_id

    def look(self) -> None:
        """Have it written again if the directory says something else: a process that was replaced
        has written its own entry late. Only at the second look, so that a process that was frozen
        has time to find out that it is the one that was replaced.
        """
        if self._written is not None:
            is_missed = not self._directory.has(self._written)
            if is_missed and self._is_missed:
                self._written, is_missed = None, False
            self._is_missed = is_missed
