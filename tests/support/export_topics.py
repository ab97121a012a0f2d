"""Topics in memory that go wrong as Kafka does, for exports.

A transaction may be committed or not, and the writer not know which. Kafka may leave one open that
was committed, or was not: nothing shows of it until the next transaction of the export is
committed, or a writer resumes: it goes by the number of the last one that was committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from adapter.runtime.exports.memory import ExportId, MemoryExports, MemoryExportWriter
from adapter.runtime.exports.port import ExportError, RecordRefusedError
from adapter.storage.format import exports as format_exports
from adapter.storage.format.exports import ExportedRecord, ExportProgress
from adapter.storage.topics.memory import MemoryTopics

LOST, LANDED, HIDDEN, UNSHOWN = "lost", "landed", "hidden", "unshown"
"""What becomes of a transaction: it is not committed, it is, or it is and Kafka does not show it;
in these cases the writer does not know. In the last one it knows that it is committed, and Kafka
shows nothing of it.
"""
Watch = Callable[[str], str]
"""Called "resume", "write" and "written"; what it returns of "write" is one of the above, or "".
It may raise ExportError.
"""


class OpenTransaction(Struct):
    """A transaction that Kafka has not ended. number: that its records say."""

    number: int
    topic: str
    records: Sequence[ExportedRecord]


class FaultyExports(MemoryExports):
    """Exports of topics in memory. open: what shows later or never, by export."""

    def __init__(self, topics: MemoryTopics, watch: Watch, record_bytes: int) -> None:
        """record_bytes: that the topics take."""
        super().__init__(topics)
        self.record_bytes = record_bytes
        self.watch = watch
        self.open: dict[ExportId, list[OpenTransaction]] = {}
        self.aborted = 0
        self.shown_later = 0

    def writer(self, queue_manager: str, export: str, topic: str) -> FaultyWriter:
        return FaultyWriter(self, (queue_manager, export), topic)

    def check(
        self, ident: ExportId, number: int, topic: str, records: Sequence[ExportedRecord]
    ) -> None:
        """See whether a topic takes the records of a transaction. Raises as append()."""
        elsewhere = MemoryExports(MemoryTopics())
        elsewhere.topics.create(topic, len(self.topics.ends(topic)), self.record_bytes)
        elsewhere.append(ident, number, topic, records)

    def _number(self, ident: ExportId) -> int:
        """Return the number of the last transaction that was committed."""
        last = self.progress.get(ident)
        return 0 if last is None else format_exports.decode(last).number

    def unshown(self, ident: ExportId) -> list[ExportedRecord]:
        """Return the records that are committed, and that Kafka does not show yet."""
        number, open_ = self._number(ident), self.open.get(ident, [])
        return [record for one in open_ if one.number <= number for record in one.records]

    def end_open(self, ident: ExportId) -> None:
        """End what is open: it counts if its number is not behind the last one's."""
        number = self._number(ident)
        for one in self.open.pop(ident, []):
            if one.number <= number:
                self.shown_later += 1
                self.append(ident, one.number, one.topic, one.records)
            else:
                self.aborted += 1


class FaultyWriter(MemoryExportWriter):
    """Writes one topic."""

    def __init__(self, exports: FaultyExports, ident: ExportId, topic: str) -> None:
        super().__init__(exports, ident, topic)
        self._faulty = exports

    def resume(self) -> ExportProgress:
        self._faulty.watch("resume")
        progress = super().resume()
        self._faulty.end_open(self._ident)
        return progress

    def refusals(self, _records: Sequence[ExportedRecord]) -> Sequence[RecordRefusedError]:
        """What the topic refuses is known when it is written, as of a record that is too long."""
        return []

    def write(self, records: Sequence[ExportedRecord], progress: ExportProgress) -> None:
        what = self._faulty.watch("write")
        faulty = self._faulty
        self.check_epoch()
        faulty.check(self._ident, progress.number, self._topic, records)
        if what != LOST:
            faulty.end_open(self._ident)
        if what in (LOST, HIDDEN, UNSHOWN):
            one = OpenTransaction(progress.number, self._topic, records)
            faulty.open.setdefault(self._ident, []).append(one)
        else:
            faulty.append(self._ident, progress.number, self._topic, records)
        if what != LOST:
            faulty.progress[self._ident] = format_exports.encode(progress)
        if what in (LOST, LANDED, HIDDEN):
            raise ExportError(f"the commit was not answered: {what}")
        faulty.watch("written")

    def check_shown(self) -> None:
        if self._faulty.open.get(self._ident):
            raise ExportError("Kafka does not show what was written")
