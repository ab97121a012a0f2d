"""Which transactions of an export Kafka has left open in its topic.

A partition is stable up to the first record of the first transaction that is open in it. So the
record at this offset says whose that one is: an export marks its records. A transaction that is
open behind one of another producer shows when that has ended. This module ends nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import cast

from confluent_kafka import Message

from adapter.exports.port import ExportError
from adapter.format import exports as format_exports
from adapter.format.exports import ORIGIN
from adapter.format.record_headers import Headers
from adapter.movers.open_lanes import LaneEnds, OpenLane
from adapter.movers.progress import uncommitted
from adapter.movers.settings import MoverSettings

LOOK_S = 0.05
OTHERS_S = 10.0
"""How long to wait until transactions of others have ended that may hide one of ours."""


class OpenTransactions:
    """What is open in the topic of one export. For one thread. Raises Doubtful, KafkaException."""

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
            with_ours = [one for one in self.lanes() if len(self.records(one)) > 0]
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

    def records(self, lane: OpenLane) -> list[Message]:
        """Read the records between two offsets of a partition that this export has written,
        whether they are committed or not.
        """
        return [one for one in self._uncommitted(lane) if self.number_of(one) is not None]

    def number_of(self, record: Message) -> int | None:
        """Return the number of the transaction that wrote a record; None if it is of others."""
        headers = cast("Headers", record.headers() or [])
        origin = next((value for name, value in headers if name == ORIGIN), None)
        return format_exports.number_of(origin, self._settings.queue_manager, self._export)

    def _uncommitted(self, lane: OpenLane) -> Iterator[Message]:
        return uncommitted(self._settings, lane.topic, lane.lane, lane.stable, lane.end)
