"""Reading back what is committed: how far a mover has come, and whether topics hold records."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from adapter.storage.format import progress as progress_format
from adapter.storage.format.progress import CopyProgress
from adapter.storage.format.record_headers import headers_of
from adapter.storage.ledger.failures import TOPIC_MISSING, explain
from adapter.storage.ledger.kafka_reader import passes, watermarks
from adapter.storage.ledger.kafka_settings import LastError
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.settings import PROGRESS_READER, MoverSettings, consumer_settings

READ_TIMEOUT_S = 20.0
"""How long Kafka may take for each answer, and for each record that is read: what a reader asks in
all, of thousands of lanes perhaps, takes as long as it takes."""
POLL_S = 0.2
SETTLE_S = 0.005
"""Between two looks for a mark: Kafka shows a commit some milliseconds after it answers it."""
TAIL_RECORDS = 64
"""Where the last committed record is looked for first; behind it there are markers and what was
aborted. Each further look goes back so many times further."""

T = TypeVar("T")


def read_last(
    settings: MoverSettings, partition: int, key: str, mark: bytes
) -> tuple[CopyProgress, int | None] | None:
    """Return the progress that was committed last under a key; None if there never was one.

    With the turn of the producer that wrote it, if that is known.
    mark: the value of a record that was committed after it. To be called when no transaction of
    this mover is open: then all that it ever committed is visible as soon as the mark is.
    """
    topic = settings.progress_topic
    with Committed(settings) as committed:
        committed.await_mark(topic, partition, mark)
        last = committed.last(topic, partition, key)
    if last is None:
        return None
    return progress_format.decode(last.value() or b""), progress_format.turn_of(headers_of(last))


def uncommitted(
    settings: MoverSettings, topic: str, partition: int, start: int, end: int
) -> Iterator[Message]:
    """Read the records of some offsets, whether they are committed or not."""
    with Committed(settings, "read_uncommitted") as everything:
        yield from everything.records(topic, partition, start, end)


def with_records(settings: MoverSettings, topics: list[str]) -> list[str]:
    """Say which of these topics hold committed records."""
    with Committed(settings) as committed:
        return [topic for topic in topics if committed.is_any(topic)]


def never_written(settings: MoverSettings, topic: str, partitions: int = 1) -> bool:
    """Whether nothing was ever written to a topic: not even what was deleted or aborted since.

    partitions: how many it must have for that.
    """
    with Committed(settings) as committed:
        return committed.is_new(topic, partitions)


def ever_written(settings: MoverSettings, topics: list[str]) -> list[str]:
    """Say to which of these topics anything was ever written, though it may be gone."""
    with Committed(settings) as committed:
        return [topic for topic in topics if not committed.is_new(topic, 0)]


def topics_like(settings: MoverSettings, beginning: str) -> list[str]:
    """List the topics that are there and whose names begin like this."""
    with Committed(settings) as committed:
        return [topic for topic in committed.topics() if topic.startswith(beginning)]


class Committed:
    """Reads what is committed, once; a context manager. Raises Doubtful if it cannot.

    isolation: read_uncommitted, to read also what is not.
    """

    def __init__(self, settings: MoverSettings, isolation: str = "read_committed") -> None:
        self._topic = ""
        self._what = f"Kafka at {settings.destination.bootstrap_servers}"
        self._error = LastError()
        self._consumer = Consumer(
            consumer_settings(settings, self._error) | {"isolation.level": isolation}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()
        if isinstance(problem, KafkaException):
            why = explain(problem, "Read", self._topic, group=PROGRESS_READER)
            raise Doubtful(f"reading {self._what} failed: {why}") from problem

    def rest(self) -> None:
        """Read no more, until records are asked for again."""
        self._consumer.unassign()

    def serve(self) -> None:
        """Take what the client has reported, while it rests."""
        self._consumer.poll(0.0)

    def await_mark(self, topic: str, partition: int, mark: bytes) -> None:
        """Wait until a record with this value is visible at the end of a partition."""
        deadline_s = time.monotonic() + READ_TIMEOUT_S
        while True:
            first, end = self.bounds(topic, partition)
            tail = self.records(topic, partition, max(first, end - TAIL_RECORDS), end)
            if mark in [one.value() for one in tail]:
                return
            if time.monotonic() > deadline_s:
                raise self._unread(
                    "a transaction that Kafka has not ended hides what comes behind it"
                )
            time.sleep(SETTLE_S)

    def last(self, topic: str, partition: int, key: str) -> Message | None:
        """Return the last record with a key, or None."""
        wanted = key.encode()
        return self.last_that(topic, partition, lambda one: one if one.key() == wanted else None)

    def last_that(
        self, topic: str, partition: int, take: Callable[[Message], T | None]
    ) -> T | None:
        """Return what is taken of the last record of which something is, or None."""
        first, end = self.bounds(topic, partition)
        back = TAIL_RECORDS
        start = end
        while start > first:
            start = max(first, end - back)
            taken = map(take, self.records(topic, partition, start, end))
            tail = deque((one for one in taken if one is not None), maxlen=1)
            if tail:
                return tail[0]
            back *= TAIL_RECORDS
        return None

    def is_untrimmed(self, topic: str, partition: int) -> bool:
        """Whether a partition still begins with its first record."""
        return self.bounds(topic, partition)[0] == 0

    def is_any(self, topic: str) -> bool:
        """Whether a topic holds a record; one that does not exist holds none."""
        found = self._consumer.list_topics(topic, READ_TIMEOUT_S).topics[topic]
        for partition in found.partitions:
            for _ in self.records(topic, partition, *self.bounds(topic, partition)):
                return True
        return False

    def is_new(self, topic: str, least: int) -> bool:
        """Whether a topic was never written, as Kafka says: not even what was aborted or trimmed.

        least: how many partitions it must have; with 0 a topic that does not exist is new too.
        """
        found = self._consumer.list_topics(topic, READ_TIMEOUT_S).topics[topic]
        if len(found.partitions) < least:
            return False
        if found.error is not None and found.error.code() not in TOPIC_MISSING:
            return False  # Kafka does not say, as of a topic that this user may not describe
        return all(self.bounds(topic, one)[1] == 0 for one in found.partitions)

    def partitions(self, topic: str) -> int:
        """Say how many partitions a topic has; 0 if it does not exist."""
        found = self._consumer.list_topics(timeout=READ_TIMEOUT_S).topics.get(topic)
        return len(found.partitions) if found else 0

    def topics(self) -> list[str]:
        """List all topics."""
        return sorted(self._consumer.list_topics(timeout=READ_TIMEOUT_S).topics)

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the offsets of the first record of a partition, and behind the last."""
        self._topic, self._what = topic, f"{topic}[{partition}]"
        place = TopicPartition(topic, partition)
        deadline_s = time.monotonic() + READ_TIMEOUT_S
        bounds = watermarks(self._consumer, place, READ_TIMEOUT_S, deadline_s)
        if bounds is None:
            raise self._unread()
        return bounds

    def records(self, topic: str, partition: int, start: int, end: int) -> Iterator[Message]:
        """Read the records from start to before end; of what is read_committed, end is stable."""
        if start >= end:
            return
        self._topic, self._what = topic, f"{topic}[{partition}]"
        self._consumer.assign([TopicPartition(topic, partition, start)])
        deadline_s = time.monotonic() + READ_TIMEOUT_S
        while time.monotonic() < deadline_s:
            message = self._consumer.poll(POLL_S)
            error = None if message is None else message.error()
            if message is None:
                continue
            elif error is None and (message.offset() or 0) < end:
                yield message
                deadline_s = time.monotonic() + READ_TIMEOUT_S
            elif error is not None and error.code() != KafkaError._PARTITION_EOF:
                if not passes(error):
                    raise KafkaException(error)
            elif (message.offset() or 0) >= end:
                return
        raise self._unread()

    def _unread(self, why: str = "no answer") -> Doubtful:
        why = self._error.text or why
        return Doubtful(f"{self._what} was not read within {READ_TIMEOUT_S:g} s: {why}")
