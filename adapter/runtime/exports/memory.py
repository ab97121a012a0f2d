"""Topics in memory, as exports write them: an ExportTopics without a Kafka.

The last transaction of each export is noted beside the topics, so that a writer that takes over
knows it, after a crash of the queue manager too. This module knows no message.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from adapter.runtime.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.storage.format import exports as format_exports
from adapter.storage.format.exports import ExportedRecord, ExportProgress
from adapter.storage.format.hops import ORIGIN
from adapter.storage.topics.memory import (
    MemoryTopics,
    TopicAbsentError,
    UnfitRecordError,
    UnwrittenRecord,
)

ExportId = tuple[str, str]
"""Queue manager and export."""


class MemoryExports:
    """What exports wrote to topics in memory. progress: encoded, by export."""

    def __init__(self, topics: MemoryTopics) -> None:
        self.topics = topics
        self.lock = threading.Lock()
        self.progress: dict[ExportId, bytes] = {}
        self.epochs: dict[ExportId, int] = {}
        """How many writers each export has had: only the last one may write."""

    def writer(self, queue_manager: str, export: str, topic: str) -> MemoryExportWriter:
        return MemoryExportWriter(self, (queue_manager, export), topic)

    def append(
        self, ident: ExportId, number: int, topic: str, records: Sequence[ExportedRecord]
    ) -> None:
        """Append the records of a transaction, all or none. Raises as ExportWriter.write()."""
        origin = format_exports.origin_of(*ident, number)
        try:
            self.topics.append(topic, *(_unwritten(one, origin) for one in records))
        except TopicAbsentError as error:
            raise _absent(error) from error
        except UnfitRecordError as error:
            raise _refusal_of(error) from error


def _unwritten(record: ExportedRecord, origin: bytes) -> UnwrittenRecord:
    return UnwrittenRecord(
        value=record.value,
        key=record.key,
        headers=[*record.headers, (ORIGIN, origin)],
        partition=record.partition,
        time_ms=record.time_ms,
    )


def _refusal_of(error: UnfitRecordError) -> RecordRefusedError:
    return RecordRefusedError(str(error), error.at, is_too_long=error.is_too_long)


def _absent(error: TopicAbsentError) -> TopicRefusedError:
    return TopicRefusedError(f"{error}: create it, or delete the export")


class MemoryExportWriter:
    """Writes one topic; see ExportWriter."""

    def __init__(self, exports: MemoryExports, ident: ExportId, topic: str) -> None:
        self._exports = exports
        self._ident = ident
        self._topic = topic
        self._epoch = 0
        self._began: dict[int, int] = {}

    def resume(self) -> ExportProgress:
        exports = self._exports
        with exports.lock:
            self._epoch = exports.epochs[self._ident] = exports.epochs.get(self._ident, 0) + 1
            try:
                self._began = exports.topics.ends(self._topic)
            except TopicAbsentError as error:
                raise _absent(error) from error
            last = exports.progress.get(self._ident)
        return ExportProgress() if last is None else format_exports.decode(last)

    def refusals(self, records: Sequence[ExportedRecord]) -> Sequence[RecordRefusedError]:
        origin = format_exports.origin_of(*self._ident, 0)
        unwritten = [_unwritten(one, origin) for one in records]
        try:
            return [_refusal_of(one) for one in self._exports.topics.unfit(self._topic, *unwritten)]
        except TopicAbsentError as error:
            raise _absent(error) from error

    def write(self, records: Sequence[ExportedRecord], progress: ExportProgress) -> None:
        exports = self._exports
        with exports.lock:
            self.check_epoch()
            exports.append(self._ident, progress.number, self._topic, records)
            exports.progress[self._ident] = format_exports.encode(progress)

    def check_epoch(self) -> None:
        """Raise ExportError if another writer has taken over."""
        if self._exports.epochs[self._ident] != self._epoch:
            raise ExportError(f"export {self._ident[1]}: another writer has taken over")

    def check_shown(self) -> None:
        """See ExportWriter; everything is shown."""

    @property
    def ends(self) -> Mapping[int, int]:
        try:
            now = self._exports.topics.ends(self._topic)
        except TopicAbsentError:
            return {}
        return {at: end for at, end in now.items() if end > self._began.get(at, 0)}

    def close(self) -> None:
        pass
