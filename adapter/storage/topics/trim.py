"""Deleting consumed messages from the queues' topics on Kafka, and the topics of deleted queues.

A message's offset follows from its seq by bisection: what readers of committed records find from
an offset on is in the order of the seqs. A message may be several records of the same seq; what is
deleted ends behind the last record of the message before the one that is needed. What other
programs have written is passed over, as readers of messages do.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from adapter.storage.format import names
from adapter.storage.ledger.answers import answer_of
from adapter.storage.ledger.failures import error_of, explain
from adapter.storage.ledger.kafka_settings import ASSIGNED, LOG, TIMINGS
from adapter.storage.topics.decoder import RecordDecoder
from adapter.storage.topics.port import ALL, LaneKey, Trimmed

CLIENT = "mqk-trim"
ANSWER_S = 2.0
"""For one answer of Kafka's, of which a lane needs up to some thirty."""
STEP_S = 3.0
"""No lane is begun later than this: a stop may have to wait for what is under way."""
POLL_S = 0.1
FETCH_BYTES = 32 * 1024
"""One message is looked at, wherever it is looked."""
GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION})


class KafkaTrimmer:
    """A Trimmer on Kafka. It keeps no connection: there is little to do, and that seldom."""

    def __init__(
        self, queue_manager: str, bootstrap_servers: str, options: Mapping[str, str]
    ) -> None:
        self._queue_manager = queue_manager
        self._connection: dict[str, Any] = {
            **TIMINGS,
            "client.id": CLIENT,
            **options,
            "bootstrap.servers": bootstrap_servers,
            "logger": LOG,
        }

    def trim(self, lanes: Mapping[LaneKey, int]) -> Trimmed:
        trimmed = Trimmed(0, {})
        if not lanes:
            return trimmed
        try:
            with AdminClient(self._connection) as admin:
                # All of them: one that has been deleted would be created again by asking for its
                # name. And it connects: who leads a partition may be asked for ever before that.
                there = frozenset(admin.list_topics(timeout=ANSWER_S).topics)
                lanes = self._delete_topics(admin, lanes, there, trimmed)
                with_bounds = self._find(lanes, there, trimmed)
                if with_bounds:
                    self._delete(admin, with_bounds, trimmed)
        except KafkaException as error:
            trimmed.undone |= {
                lane: explain(error, "Describe", self._place(lane).topic)
                for lane in lanes
                if lane not in trimmed.undone
            }
        return trimmed

    def _delete_topics(
        self,
        admin: AdminClient,
        lanes: Mapping[LaneKey, int],
        there: frozenset[str],
        trimmed: Trimmed,
    ) -> dict[LaneKey, int]:
        """Delete the topics of deleted queues; returns the lanes whose messages are to go."""
        ended = {self._place(lane).topic for lane, seq in lanes.items() if seq == ALL} & there
        refused: dict[str, str] = {}
        disabled: set[str] = set()
        timeouts = {"operation_timeout": ANSWER_S, "request_timeout": ANSWER_S}
        futures = admin.delete_topics(sorted(ended), **timeouts) if ended else {}
        for topic, future in futures.items():
            try:
                answer_of(future, 2 * ANSWER_S)
            except KafkaException as error:
                if error_of(error).code() == KafkaError.TOPIC_DELETION_DISABLED:
                    disabled.add(topic)
                elif error_of(error).code() not in GONE:
                    refused[topic] = explain(error, "Delete", topic)
            else:
                trimmed.topics += 1
        left: dict[LaneKey, int] = {}
        for lane, seq in lanes.items():
            topic = self._place(lane).topic
            if topic in refused:
                trimmed.undone[lane] = refused[topic]
            elif seq != ALL or topic in disabled:
                left[lane] = seq
        return left

    def _find(
        self, lanes: Mapping[LaneKey, int], there: frozenset[str], trimmed: Trimmed
    ) -> dict[LaneKey, tuple[int, int]]:
        """Find each lane's first offset, and the one before which records are to go.

        there: the topics that there are.
        """
        found: dict[LaneKey, tuple[int, int]] = {}
        until_s = time.monotonic() + STEP_S
        with Finder(self._connection) as finder:
            for lane, seq in lanes.items():
                place = self._place(lane)
                if place.topic not in there:
                    continue
                if time.monotonic() > until_s:
                    trimmed.undone[lane] = ""
                    continue
                try:
                    first, end = finder.before(place, seq)
                except KafkaException as error:
                    if error_of(error).code() not in GONE:
                        trimmed.undone[lane] = explain(error, "Read", place.topic, group=CLIENT)
                    continue
                if end > first:
                    found[lane] = first, end
        return found

    def _delete(
        self, admin: AdminClient, found: dict[LaneKey, tuple[int, int]], trimmed: Trimmed
    ) -> None:
        lanes = {
            (place.topic, place.partition): lane for lane in found for place in [self._place(lane)]
        }
        wanted = [self._place(lane, end) for lane, (_, end) in found.items()]
        futures = admin.delete_records(wanted, request_timeout=ANSWER_S, operation_timeout=ANSWER_S)
        for place, future in futures.items():
            lane = lanes[place.topic, place.partition]
            try:
                answer_of(future, 2 * ANSWER_S)
            except KafkaException as error:
                if error_of(error).code() not in GONE:
                    trimmed.undone[lane] = explain(error, "Delete", place.topic)
            else:
                first, end = found[lane]
                trimmed.offsets += end - first

    def _place(self, lane: LaneKey, offset: int = 0) -> TopicPartition:
        queue, incarnation, number = lane
        topic = names.queue_topic(self._queue_manager, queue, incarnation)
        return TopicPartition(topic, number, offset)


class Finder:
    """Finds offsets by seqs; a context manager. Raises KafkaException."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._decoder = RecordDecoder()
        self._consumer = Consumer(
            {
                "fetch.wait.max.ms": 1,  # what comes next waits for a fetch that finds nothing
                "fetch.queue.backoff.ms": 1,
                "fetch.error.backoff.ms": 20,
                **connection,
                "fetch.message.max.bytes": FETCH_BYTES,
                "queued.max.messages.kbytes": 2 * FETCH_BYTES // 1024,
                "group.id": CLIENT,  # asked for by the client, never used
                **ASSIGNED,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._consumer.close()

    def before(self, place: TopicPartition, seq: int) -> tuple[int, int]:
        """Return the partition's first offset, and the one behind the last message before seq."""
        bounds = self._consumer.get_watermark_offsets(place, ANSWER_S)
        if bounds is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        first, end = bounds
        low, high = first, end
        while low < high:
            middle = (low + high) // 2
            found = self._at_or_behind(place, middle, end)
            if found is None or found[1] >= seq:
                high = middle
            else:
                low = found[0] + 1
        return first, low

    def _at_or_behind(self, place: TopicPartition, offset: int, end: int) -> tuple[int, int] | None:
        """Return the offset and seq of the first committed record of a message from an offset on,
        if there is one before the end.
        """
        self._consumer.assign([TopicPartition(place.topic, place.partition, offset)])
        until_s = time.monotonic() + ANSWER_S
        while time.monotonic() < until_s:
            message = self._consumer.poll(POLL_S)
            error = None if message is None else message.error()
            if message is None:
                continue
            if error is None:
                at = message.offset() or 0
                if at >= end:
                    return None
                with contextlib.suppress(LookupError, ValueError):  # another program wrote it
                    return at, self._decoder.position(message).seq
                continue
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if (message.offset() or 0) >= end:
                return None
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
