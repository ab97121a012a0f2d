"""Spans of lanes: reads the messages of given numbers, in a task, as a consumer was given them.

It jumps to where a lane's messages are, as the queue manager does when it pages, and joins those
that are several records. This module knows Kafka; it must not know who was given the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pyarrow import RecordBatch, array

from adapter.storage.format.names import queue_topic
from adapter.storage.topics.port import PagesUnavailableError
from adapter.storage.topics.reader import KafkaPageReader
from spark_jobs.errors import SparkJobError
from spark_jobs.lane_rows import LaneRows
from spark_jobs.ranges import GROUP

SeqSpan = tuple[int, int]
"""The first and the last seq of adjacent messages."""
READ_OVER = 2_000
"""Messages between two spans that are rather read over than jumped over."""


AHEAD_MAX = 10_000
"""Messages that are fetched before they are asked for, at most."""


class SpanReader:
    """Reads lanes of one queue manager's queues. Close it.

    count: about how many messages are read: no more are fetched ahead.
    """

    def __init__(
        self,
        queue_manager: str,
        bootstrap_servers: str,
        options: Mapping[str, str],
        count: int,
        *,
        fail_on_data_loss: bool = True,
    ) -> None:
        self._queue_manager = queue_manager
        self._fail_on_data_loss = fail_on_data_loss
        ahead = {"queued.min.messages": str(min(count, AHEAD_MAX))}
        self._pages = KafkaPageReader(queue_manager, bootstrap_servers, {**ahead, **options}, GROUP)

    def rows(
        self, queue: str, incarnation: int, lane: int, spans: Sequence[SeqSpan]
    ) -> Iterator[RecordBatch]:
        """Read the messages of a lane that the spans name, in the spans' order, as Arrow batches.

        Raises SparkJobError for what is not there, unless it may be left out, and if Kafka does not
        answer.
        """
        lane_rows = LaneRows(queue, queue_topic(self._queue_manager, queue, incarnation), lane)
        try:
            for near in _neighbours(spans):
                wanted = WantedSeqs(near)
                first, last = near[0][0], near[-1][1]
                blocks = self._pages.blocks(queue, incarnation, lane, first, last)
                for batch in lane_rows.batches(blocks, wanted.count):
                    chosen = wanted.choose(batch.column("seq").to_numpy())
                    if wanted.missing and self._fail_on_data_loss:
                        raise _loss(queue, lane, wanted.missing)
                    rows = batch if chosen.all() else batch.filter(array(chosen))
                    if rows.num_rows:
                        yield rows
                    if wanted.is_done:
                        break
                if not wanted.is_done and self._fail_on_data_loss:
                    raise _loss(queue, lane, wanted.following)
        except PagesUnavailableError as problem:
            raise SparkJobError(f"mqk: {problem}", queue) from None

    def close(self) -> None:
        """Let go of the connections."""
        self._pages.close()


class WantedSeqs:
    """Which messages of ascending spans have come. count: how many they are."""

    def __init__(self, spans: Sequence[SeqSpan]) -> None:
        firsts, lasts = np.array(spans, np.int64).T
        self._seqs = np.concatenate(
            [np.arange(*span) for span in zip(firsts, lasts + 1, strict=True)]
        )
        self.count = len(self._seqs)
        self._through = 0
        """Seqs up to here have been looked at."""
        self.missing = 0
        """The first message that must have come before another one that has; 0: none."""

    @property
    def is_done(self) -> bool:
        """Whether no more will come."""
        return self._through >= int(self._seqs[-1])

    @property
    def following(self) -> int:
        """The first message that has not come yet."""
        return int(self._seqs[np.searchsorted(self._seqs, self._through, side="right")])

    def choose(self, seqs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which messages of a lane, that come in its order, are wanted.

        One that came before does not count again.
        """
        before = np.maximum.accumulate(np.concatenate([[self._through], seqs[:-1]]))
        chosen: NDArray[np.bool_] = np.isin(seqs, self._seqs) & (seqs > before)
        through = max(self._through, int(seqs.max()))
        first, end = np.searchsorted(self._seqs, (self._through, through), side="right")
        expected = self._seqs[first:end]
        if np.count_nonzero(chosen) < len(expected):
            self.missing = int(np.setdiff1d(expected, seqs[chosen])[0])
        self._through = through
        return chosen


def _loss(queue: str, lane: int, seq: int) -> SparkJobError:
    return SparkJobError(
        f"mqk: message {seq} of lane {lane} of queue {queue} was assigned to this job, and "
        "is no longer on the queue's topic. Find out what deleted the topic or its records; "
        "option failOnDataLoss=false continues without them",
        queue,
    )


def _neighbours(spans: Sequence[SeqSpan]) -> Iterator[list[SeqSpan]]:
    """Put together the spans that ascend and are near one another."""
    near: list[SeqSpan] = []
    for span in spans:
        if near and not 0 < span[0] - near[-1][1] <= READ_OVER:
            yield near
            near = []
        near.append(span)
    if near:
        yield near
