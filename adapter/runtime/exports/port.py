"""What writes the topic of an export, and how what went wrong is said.

This module knows no queue and no Kafka client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from adapter.storage.format.exports import ExportedRecord, ExportProgress


class ExportError(Exception):
    """A topic could not be written; trying again may help."""


class TopicRefusedError(ExportError):
    """The topic takes nothing: it is not there, or may not be written."""


class RecordRefusedError(ExportError):
    """The topic never takes a record as it is. at: which one, of those that were to be written.
    is_too_long: for its length. others: the same of further records, as far as they are known.
    """

    def __init__(
        self,
        text: str,
        at: int,
        *,
        is_too_long: bool,
        others: Sequence[RecordRefusedError] = (),
    ) -> None:
        super().__init__(text)
        self.at = at
        self.is_too_long = is_too_long
        self.others = others


class ExportWriter(Protocol):
    """Writes the topic of one export. For one thread; every call is bounded. Raises ExportError:
    then what was written last may be there or not, and this writer is of no more use.
    """

    def resume(self) -> ExportProgress:
        """Take over from any other writer of this export, which can write nothing from now on;
        return what was written last.
        """

    def refusals(self, records: Sequence[ExportedRecord]) -> Sequence[RecordRefusedError]:
        """Return which of some records the topic never takes, as far as it is known before they are
        written. Nothing is written: the writer is of use.
        """

    def write(self, records: Sequence[ExportedRecord], progress: ExportProgress) -> None:
        """Write records, in their order, and the progress: all of it or nothing."""

    def check_shown(self) -> None:
        """Raise ExportError if Kafka does not show what was written: resume() mends that."""

    @property
    def ends(self) -> Mapping[int, int]:
        """The offset behind the last record that was written here, by partition."""

    def close(self) -> None:
        """Close the connections."""


class ExportTopics(Protocol):
    """The topics of a Kafka."""

    def writer(self, queue_manager: str, export: str, topic: str) -> ExportWriter:
        """Make a writer of a topic."""


class ExportFigures(Struct, kw_only=True):
    """Figures of one export, by the names that operators see.

    state: "waiting" (for messages), "running", "retrying" or "paused"; for_s: since when. why: it
    is retrying; "" once something was written. waiting: messages on its queue. records, bytes,
    dead_letters, failures: since the export was started. ends: the offset behind the last record
    that was written, by partition, since then.
    """

    state: str
    for_s: float = 0.0
    why: str = ""
    waiting: int = 0
    records: int = 0
    bytes: int = 0
    dead_letters: int = 0
    failures: int = 0
    ends: dict[int, int] = {}
