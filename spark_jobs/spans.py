"""Spans of lanes: reads the messages of given numbers, in a task, as a consumer was given them.

It jumps to where a lane's messages are, as the queue manager does when it pages, and joins those
that are several records. This module knows Kafka; it must not know who was given the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adapter.topics.decoder import RecordDecoder
from adapter.topics.port import PagesUnavailableError
from adapter.topics.reader import KafkaPageReader
from spark_jobs.errors import SparkJobError
from spark_jobs.rows import FoundMessage

SeqSpan = tuple[int, int]
"""The first and the last seq of adjacent messages."""
READ_OVER = 2_000
"""Messages between two spans that are rather read over than jumped over."""


class SpanReader:
    """Reads lanes of one queue manager's queues. Close it."""

    def __init__(
        self,
        queue_manager: str,
        bootstrap_servers: str,
        options: Mapping[str, str],
        *,
        fail_on_data_loss: bool = True,
    ) -> None:
        self._fail_on_data_loss = fail_on_data_loss
        self._pages = KafkaPageReader(queue_manager, bootstrap_servers, options)

    def messages(
        self, queue: str, incarnation: int, lane: int, spans: Sequence[SeqSpan]
    ) -> Iterator[FoundMessage]:
        """Iterate over the messages of a lane that the spans name, in the spans' order.

        Raises SparkJobError for what is not there, unless it may be left out, and if Kafka does not
        answer.
        """
        try:
            for near in _neighbours(spans):
                yield from self._read(queue, incarnation, lane, near)
        except PagesUnavailableError as problem:
            raise SparkJobError(f"mqk: {problem}", queue) from None

    def close(self) -> None:
        """Let go of the connections."""
        self._pages.close()

    def _read(
        self, queue: str, incarnation: int, lane: int, spans: list[SeqSpan]
    ) -> Iterator[FoundMessage]:
        """Read ascending spans that are near one another, in one go."""
        decoder = RecordDecoder()
        waiting = iter(spans)
        first, last = next(waiting)
        for seq, record in self._pages.records(queue, incarnation, lane, first):
            found = decoder.take(record)
            if seq > first and not self._fail_on_data_loss:
                while seq > last:
                    following = next(waiting, None)
                    if following is None:
                        return
                    first, last = following
                first = max(first, seq)
            if found is None or seq < first:
                continue
            if seq > first:
                break
            yield *found, record.offset() or 0
            first += 1
            if first > last:
                following = next(waiting, None)
                if following is None:
                    return
                first, last = following
        if not self._fail_on_data_loss:
            return
        raise SparkJobError(
            f"mqk: message {first} of lane {lane} of queue {queue} was assigned to this job, and "
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
