"""Snapshots on Kafka: a topic of one partition beside the ledger's."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.storage.ledger.failures import Failure
from adapter.storage.ledger.kafka_producers import POLL_S, await_reports, closing
from adapter.storage.ledger.kafka_reader import (
    PARTITION,
    LedgerSource,
    delete_before,
    ledger_failure,
    offset_of,
    unavailable,
    wrong_settings,
)
from adapter.storage.ledger.kafka_settings import LastError, LedgerSettings, producer_settings
from adapter.storage.ledger.port import LedgerUnavailable
from adapter.storage.ledger.snapshots import KEPT, Collector, Snapshot, Written, frame, in_order
from adapter.storage.ledger.trims import reading_anew

WRITING = "writing a snapshot"


class KafkaSnapshots:
    """A SnapshotLog: one queue manager's topic of them, which must exist. For one thread."""

    def __init__(
        self, settings: LedgerSettings, make_topic: Callable[[], object] = lambda: None
    ) -> None:
        """make_topic: called before a writing if the topic is gone."""
        self._make_topic = make_topic
        self._settings = settings
        self._last_error = LastError()
        self._kept: list[Written] = []
        """The complete snapshots that are kept, the newest last; of their parts nothing."""
        self._end = 0
        """Up to where the topic is known."""

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:
        timeout_s = self._settings.message_timeout_ms / 1000
        deadline_s = time.monotonic() + (timeout_s if within_s is None else within_s)
        with LedgerSource(self._settings) as source:
            is_there = source.is_there(within_s)
        if not is_there:
            self._make_topic()
        try:
            producer = Producer(producer_settings(self._settings, self._last_error))
        except KafkaException as error:
            raise wrong_settings(self._settings, error) from error
        reports: list[tuple[KafkaError | None, Message]] = []
        records = frame(snapshot, os.urandom(16))
        topic = self._settings.topic
        try:
            with closing(producer):
                for record in records:
                    self._produce(producer, record, reports, deadline_s)
                await_reports(producer, topic, lambda: len(reports) >= len(records), deadline_s)
        except KafkaException as error:
            raise ledger_failure(self._settings, WRITING, error, "Write") from error
        self._check(reports, len(records))
        # What cannot be deleted now goes with the next: this snapshot is written all the same.
        with contextlib.suppress(LedgerUnavailable):
            self._note(offset_of(reports[0][1]), offset_of(reports[-1][1]) + 1, snapshot)

    def _note(self, start: int, end: int, snapshot: Snapshot) -> None:
        """Delete snapshots that are older than those which are kept.

        start, end: where the one is that was just written. If another process has written too, that
        may be newer: a process that was frozen must not delete what its successor needs.
        """
        if start != self._end:
            self.newest()
        else:
            self._kept = in_order([*self._kept, _without_parts(start, snapshot)])
            self._end = end
        if len(self._kept) > KEPT:
            delete_before(self._settings, min(one.offset for one in self._kept[-KEPT:]))
            self._kept = self._kept[-KEPT:]

    def is_kept(self) -> bool:
        with LedgerSource(self._settings) as source:
            if not source.is_there():
                return False  # though there may have been no snapshot yet: the next start needs it
            if not self._kept:
                return True
            first, end = source.bounds()
        return first <= self._kept[-1].offset < end

    def newest(self) -> Snapshot | None:
        with LedgerSource(self._settings) as source:
            source.check_topic()
            collector, self._end = reading_anew(source.bounds, partial(self._collect, source))
        newest = collector.newest()
        self._kept = [
            _without_parts(one.offset, one.snapshot) for one in in_order(collector.complete)
        ]
        return newest

    def _collect(self, source: LedgerSource, first: int, end: int) -> tuple[Collector, int]:
        """Read all; what is read may be deleted meanwhile, by the owner that has written more."""
        collector = Collector(self._settings.topic)
        if first < end:
            source.start(first)
        at = first
        while at < end:
            for message in source.take_some():
                at = offset_of(message) + 1
                collector.take(at - 1, message.value())
        return collector, end

    def _produce(
        self,
        producer: Producer,
        record: bytes,
        reports: list[tuple[KafkaError | None, Message]],
        deadline_s: float,
    ) -> None:
        while True:
            try:
                producer.produce(
                    self._settings.topic,
                    record,
                    partition=PARTITION,
                    on_delivery=lambda error, message: reports.append((error, message)),
                )
            except BufferError:
                if time.monotonic() > deadline_s:
                    raise self._no_answer() from None
                producer.poll(POLL_S)
            else:
                producer.poll(0)
                return

    def _check(self, reports: list[tuple[KafkaError | None, Message]], count: int) -> None:
        errors = [error for error, _ in reports if error is not None]
        if errors:
            raise ledger_failure(self._settings, WRITING, errors[0], "Write")
        if len(reports) < count:
            raise self._no_answer(self._last_error.text)

    def _no_answer(self, why: str = "") -> LedgerUnavailable:
        return unavailable(self._settings, WRITING, why or "no answer", Failure.RETRY)


def _without_parts(offset: int, snapshot: Snapshot) -> Written:
    """Return where a snapshot is, without what it holds in memory."""
    return Written(offset, Snapshot(snapshot.after, snapshot.cut_n, []))
