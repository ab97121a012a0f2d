"""A consumer that reads one partition at a time, within a bound of time.

It takes what has come together, asks for bounds, and says why it could not read. It must not know
what records mean, nor where a message is.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from adapter.storage.ledger.failures import error_of, explain
from adapter.storage.ledger.kafka_settings import LastError
from adapter.storage.topics.port import MessageMissingError, PagesUnavailableError

CLIENT = "mqk-pages"
READ_TIMEOUT_S = 10.0
POLL_S = 0.5
BEYOND = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
"""What reading behind a partition's end, or before its beginning, is answered with."""
GONE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    *BEYOND,
)
"""What reading a topic that has been deleted, or lost its records, is answered with."""

Partition = tuple[str, int]
"""Topic and number."""


class PartitionConsumer:
    """A consumer at _place, of which _left has come and was not taken yet.

    ahead: how many records it takes at a time. closed: set when it is to wait for nothing any more.
    _is_late: the last look for records ended by its bound. For one thread at a time.
    """

    def __init__(
        self, settings: dict[str, Any], ahead: int, closed: threading.Event | None = None
    ) -> None:
        self._closed = closed or threading.Event()
        self._error = LastError()
        self._settings = settings | {"error_cb": self._error}
        self._consumer: Consumer | None = None
        self._asker: Consumer | None = None
        """Sees also what is not committed; made when that is asked for."""
        self._ahead = ahead
        self._place: Partition = ("", 0)
        self._left: deque[Message] = deque()
        self._is_late = False

    def close(self) -> None:
        for one in (self._consumer, self._asker):
            if one is not None:
                one.close()
        self._consumer = self._asker = None

    def _open(self) -> Consumer:
        if self._consumer is None:
            self._consumer = Consumer(self._settings)
        return self._consumer

    def _bounds(self, place: Partition) -> tuple[int, int]:
        try:
            bounds = self._open().get_watermark_offsets(TopicPartition(*place), READ_TIMEOUT_S)
        except KafkaException as error:
            if error_of(error).code() == KafkaError._UNKNOWN_PARTITION:
                self._require_there(place)
            raise
        if bounds is None:
            raise self._unread(place, 0, self._error.text or "no answer")
        return bounds

    def _require_there(self, place: Partition) -> None:
        """Raise what passes if a partition is there, of which the client remembers no leader: it
        asks Kafka for it with this, and of itself not for five minutes.
        """
        topic, lane = place
        found = self._open().list_topics(topic, READ_TIMEOUT_S).topics[topic]
        if found.error is None and lane in found.partitions:
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))

    def _written(self, place: Partition) -> int:
        """Return the partition's end, as its leader has it: behind what is not shown yet too."""
        if self._asker is None:
            self._asker = Consumer(self._settings | {"isolation.level": "read_uncommitted"})
        bounds = self._asker.get_watermark_offsets(TopicPartition(*place), READ_TIMEOUT_S)
        if bounds is None:
            raise self._unread(place, 0, self._error.text or "no answer")
        return bounds[1]

    def _poll(self) -> Message | None:
        """Return the next record; None at the end of what is committed, or if none came in time."""
        self._is_late = False
        if not self._left:
            self._fetch()
            if self._is_late:
                return None
        message = self._left.popleft()
        error = message.error()
        if error is None:
            return message
        if error.code() == KafkaError._PARTITION_EOF:
            return None
        raise KafkaException(error)

    def _fetch(self) -> None:
        """Wait for records; what is there then is taken together.

        Whatever the client hands out, nothing of another partition is: a message that is shown to
        a program is of the queue that it asked for.
        """
        consumer, deadline_s = self._open(), time.monotonic() + READ_TIMEOUT_S
        while not self._left:
            if self._closed.is_set():
                raise self._unread(self._place, 0, "the reader was closed")
            if time.monotonic() > deadline_s:
                self._is_late = True
                return
            first = consumer.poll(POLL_S)
            if first is not None:
                found = [first]
                if self._ahead > 1:
                    found += consumer.consume(self._ahead - 1, 0)
                self._left.extend(filter(self._is_here, found))

    def _is_here(self, message: Message) -> bool:
        """Whether a record, or an error, is of the partition that is read, or an error of all."""
        topic, lane = self._place
        return (message.partition() == lane and message.topic() == topic) or (
            message.topic() is None and message.error() is not None
        )

    def _failure(self, place: Partition, seq: int, error: KafkaException) -> PagesUnavailableError:
        kind = MessageMissingError if error_of(error).code() in GONE else PagesUnavailableError
        why = explain(error, "Read", place[0], group=self._settings.get("group.id", ""))
        return self._unread(place, seq, why, kind)

    def _unread(
        self,
        place: Partition,
        seq: int,
        why: str,
        kind: type[PagesUnavailableError] = PagesUnavailableError,
    ) -> PagesUnavailableError:
        """Make the error. seq: of the message; 0: what was to be read has no number yet."""
        which = f"message {seq}" if seq else "what comes next"
        topic, lane = place
        return kind(f"{which} of {topic}[{lane}] was not read: {why}")
