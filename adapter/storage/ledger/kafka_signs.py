"""Signs of life in a ledger topic on Kafka: its last records, and the broker's time."""

import os
import time
from collections.abc import Iterator
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.storage.ledger import signs
from adapter.storage.ledger.envelope import OWNER_BYTES
from adapter.storage.ledger.failures import Failure, describe
from adapter.storage.ledger.kafka_producers import await_reports, closing
from adapter.storage.ledger.kafka_reader import (
    PARTITION,
    LedgerSource,
    ledger_failure,
    offset_of,
    unavailable,
    wrong_settings,
)
from adapter.storage.ledger.kafka_settings import LedgerSettings, producer_settings
from adapter.storage.ledger.port import LastRecord
from adapter.storage.ledger.trims import reading_anew

PROBING = "asking for its time"


def find_last_record(
    settings: LedgerSettings, ready: LedgerSource | None = None
) -> LastRecord | None:
    """See the port. ready: a source that stays open, if there is one."""
    if ready is None:
        with LedgerSource(settings) as source:
            return _last_record(settings, source)
    try:
        return _last_record(settings, ready)
    finally:
        ready.rest()


def _last_record(settings: LedgerSettings, source: LedgerSource) -> LastRecord | None:
    source.check_topic()
    read, seals = partial(_read, source), settings.seals()

    def find(first: int, end: int) -> LastRecord | None:
        return signs.find_last_record(settings.topic, first, end, read, seals)

    return reading_anew(source.bounds, find)


def find_announcement(settings: LedgerSettings, owner: bytes) -> str:
    """See the port."""
    with LedgerSource(settings) as source:
        return reading_anew(source.bounds, partial(_announcement, settings, source, owner))


def _announcement(
    settings: LedgerSettings, source: LedgerSource, owner: bytes, first: int, end: int
) -> str:
    uncertain, until, seals = "", end, settings.seals()
    while until > max(first, end - signs.ANNOUNCEMENT_RECORDS_MAX):
        start = max(first, until - signs.WINDOWS[-1])
        text, is_certain = signs.announcement(_read(source, start, until), owner, seals)
        if is_certain:
            return text
        uncertain = uncertain or text
        until = start
    return uncertain


def _read(source: LedgerSource, start: int, end: int) -> Iterator[signs.Seen]:
    if start < end:
        source.start(start)
    while start < end:
        for message in source.take_some():
            if offset_of(message) < end:
                yield signs.Seen(offset_of(message), message.timestamp()[1], message.value())
            start = offset_of(message) + 1


def time_ms(settings: LedgerSettings) -> int:
    """See the port."""
    last_error = ""

    def on_error(error: KafkaError) -> None:
        nonlocal last_error
        last_error = describe(error)

    try:
        producer = Producer(producer_settings(settings, on_error))
    except KafkaException as error:
        raise wrong_settings(settings, error) from error
    reports: list[tuple[KafkaError | None, Message]] = []
    deadline_s = time.monotonic() + settings.take_over_timeout_s
    try:
        with closing(producer):
            producer.list_topics(settings.topic, settings.take_over_timeout_s)
            producer.produce(
                settings.topic,
                signs.probe(os.urandom(OWNER_BYTES)),
                partition=PARTITION,
                on_delivery=lambda error, message: reports.append((error, message)),
            )
            await_reports(producer, settings.topic, lambda: bool(reports), deadline_s)
    except KafkaException as error:
        raise ledger_failure(settings, PROBING, error, "Write") from error
    if not reports:
        why = f"{last_error or 'no answer'} within {settings.take_over_timeout_s:g} s"
        raise unavailable(settings, PROBING, why, Failure.RETRY)
    problem, message = reports[0]
    if problem is not None:
        raise ledger_failure(settings, PROBING, problem, "Write")
    return message.timestamp()[1]
