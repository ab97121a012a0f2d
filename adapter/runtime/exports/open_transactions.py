"""What Kafka does not show of an export's transactions: those it has left open, and their records.

A partition is stable up to the first record of the first transaction that is open in it. So the
record at this offset says whose that one is: an export marks its records. A transaction that is
open behind one of another producer shows when that has ended. This module ends nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import Message

from adapter.runtime.exports.port import ExportError
from adapter.storage.format import exports as format_exports
from adapter.storage.format.hops import ORIGIN
from adapter.storage.format.record_headers import headers_of
from adapter.storage.movers.open_lanes import LaneEnds, OpenLane
from adapter.storage.movers.progress import Committed, uncommitted
from adapter.storage.movers.settings import MoverSettings

LOOK_S = 0.05
OTHERS_S = 10.0
"""How long to wait until transactions of others have ended that may hide one of ours."""
SHOWN_S = 3.0
"""How long Kafka may take to end a transaction after it has answered."""

Ranges = Mapping[int, tuple[int, int]]
"""By partition: the first offset, and the one behind the last."""


class OpenTransactions:
    """What is open in one topic, as an export sees it. For one thread. Raises Doubtful,
    KafkaException.
    """

    def __init__(self, settings: MoverSettings, topic: str, export: str) -> None:
        self._settings = settings
        self._topic = topic
        self._export = export
        self._ends: LaneEnds | None = None

    def of_ours(self) -> list[OpenLane]:
        """Return the partitions in which a transaction of this export is open, from its first
        record on. Raises ExportError if those of others do not end.
        """
        deadline_s = time.monotonic() + OTHERS_S
        while True:
            with_ours = [one for one in self.lanes() if self._has_ours(one)]
            others = [one for one in with_ours if not self.is_first_ours(one)]
            if not others:
                return with_ours
            if time.monotonic() > deadline_s:
                one = others[0]
                raise ExportError(
                    f"a transaction of another producer is open in {one.topic}[{one.lane}] from "
                    f"offset {one.stable} on, and hides what comes behind it: end it, by "
                    "kafka-transactions abort if its producer is gone"
                )
            time.sleep(LOOK_S)

    def await_ended(self) -> None:
        """Wait until none of this export is open. Raises ExportError if that does not happen."""
        deadline_s = time.monotonic() + SHOWN_S
        while left := self.of_ours():
            if time.monotonic() > deadline_s:
                one = left[0]
                raise ExportError(
                    f"a transaction of this export is open in {one.topic}[{one.lane}] from offset "
                    f"{one.stable} on, and hides what comes behind it; the export cannot end it, "
                    "because Kafka has forgotten its producer: end it by kafka-transactions abort"
                )
            time.sleep(LOOK_S)

    def lanes(self) -> list[OpenLane]:
        """Return the partitions in which any transaction is open."""
        self._ends = self._ends or LaneEnds(self._settings)
        found, unknown = self._ends.open_lanes([self._topic])
        if unknown:
            raise ExportError(
                f"topic {self._topic} has a partition without a leader: check that all brokers run"
            )
        return found

    def is_first_ours(self, lane: OpenLane) -> bool:
        """Whether the first transaction that is open in a partition is of this export."""
        first = next(self._uncommitted(lane), None)
        return first is not None and self.number_of(first) is not None

    def hidden(self, ranges: Ranges, number: int) -> list[Message]:
        """Return the records of transactions up to a number, within ranges, that readers of
        committed records do not see; in the order of each partition. None of ours may be open.
        """
        # Compaction may come between: what it removes must not seem to be hidden.
        shown = {(one.partition(), one.offset()) for one in self._read(ranges, "read_committed")}
        return [
            one
            for one in self._read(ranges, "read_uncommitted")
            if (one.partition(), one.offset()) not in shown
            and (written := self.number_of(one)) is not None
            and written <= number
        ]

    def number_of(self, record: Message) -> int | None:
        """Return the number of the transaction that wrote a record; None if it is of others."""
        headers = headers_of(record) or []
        origin = next((value for name, value in reversed(headers) if name == ORIGIN), None)
        return format_exports.number_of(origin, self._settings.queue_manager, self._export)

    def _has_ours(self, lane: OpenLane) -> bool:
        return any(self.number_of(one) is not None for one in self._uncommitted(lane))

    def _uncommitted(self, lane: OpenLane) -> Iterator[Message]:
        return uncommitted(self._settings, lane.topic, lane.lane, lane.stable, lane.end)

    def _read(self, ranges: Ranges, isolation: str) -> Iterator[Message]:
        """Read ranges, as far as they are there: the topic may have been trimmed or made again."""
        if not ranges:
            return
        with Committed(self._settings, isolation) as reader:
            partitions = reader.partitions(self._topic)
            for partition, (start, end) in sorted(ranges.items()):
                if partition < partitions:
                    first, behind = reader.bounds(self._topic, partition)
                    first, behind = max(start, first), min(end, behind)
                    yield from reader.records(self._topic, partition, first, behind)
