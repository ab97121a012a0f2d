"""How an owner announces itself in a ledger on Kafka: when it takes over, and again after that."""

import threading
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.storage.ledger import signs
from adapter.storage.ledger.failures import Failure
from adapter.storage.ledger.kafka_producers import POLL_S, await_reports
from adapter.storage.ledger.kafka_reader import (
    NO_OFFSET,
    PARTITION,
    ledger_failure,
    offset_of,
    unavailable,
)
from adapter.storage.ledger.kafka_settings import LastError, LedgerSettings
from adapter.storage.ledger.port import LedgerClosed
from adapter.storage.ledger.term import Term

ANNOUNCING = "announcing the new owner"
ANNOUNCING_AGAIN = "announcing the owner again"


def check_wanted(settings: LedgerSettings, given_up: threading.Event) -> None:
    """Raise LedgerUnavailable if the owner does not want the ledger any more."""
    if given_up.is_set():
        why = "the queue manager was told to stop"
        raise unavailable(settings, "taking it over", why, Failure.RETRY)


def announce(
    settings: LedgerSettings,
    producer: Producer,
    last_error: LastError,
    given_up: threading.Event,
    change: bytes,
) -> int:
    """Append an OWNER_CHANGED and wait for it; its offset. Raises LedgerUnavailable."""
    reports: list[tuple[KafkaError | None, Message]] = []
    deadline_s = time.monotonic() + settings.take_over_timeout_s
    try:
        producer.produce(
            settings.topic,
            change,
            partition=PARTITION,
            on_delivery=lambda error, message: reports.append((error, message)),
        )
        wanted = partial(check_wanted, settings, given_up)
        await_reports(producer, settings.topic, lambda: bool(reports), deadline_s, wanted)
    except KafkaException as failure:
        raise ledger_failure(settings, ANNOUNCING, failure, "Write") from failure
    if not reports:
        why = last_error.text or "no answer"
        within = f"{why} within {settings.take_over_timeout_s:g} s"
        raise unavailable(settings, ANNOUNCING, within, Failure.RETRY)
    error, message = reports[0]
    offset = offset_of(message)
    if error is not None:
        raise ledger_failure(settings, ANNOUNCING, error, "Write", last_error.text)
    if offset == NO_OFFSET:
        why = "it was reported without its offset"
        raise unavailable(settings, ANNOUNCING, why, Failure.RETRY)
    return offset


def announce_again(
    settings: LedgerSettings,
    producer: Producer,
    term: Term,
    who: bytes,
    passes: Callable[[int], None],
    is_over: Callable[[], bool],
) -> None:
    """Append what an owner says of itself once more, among its entries, and wait for it.

    passes: is called in the thread that polls, with its offset. is_over: whether the term has
    ended, behind which no thread polls any more. Raises LedgerUnavailable or LedgerClosed.
    """
    told = threading.Event()
    errors: list[KafkaError | None] = []

    def reported(error: KafkaError | None, message: Message) -> None:
        if error is None and offset_of(message) != NO_OFFSET:
            passes(offset_of(message))
        errors.append(error)
        told.set()

    (record,) = term.as_written((signs.probe(term.owner, who),))
    try:
        producer.produce(settings.topic, record, partition=PARTITION, on_delivery=reported)
    except BufferError as full:
        why = f"{len(producer)} records wait for their durability"
        raise unavailable(settings, ANNOUNCING_AGAIN, why, Failure.RETRY) from full
    except KafkaException as failure:
        raise ledger_failure(settings, ANNOUNCING_AGAIN, failure, "Write") from failure
    while not told.wait(POLL_S):  # for as long as the producer tries, or the term lasts
        if is_over():
            raise LedgerClosed(f"{settings.topic}: this owner's term has ended")
    if errors[0] is not None:
        raise ledger_failure(settings, ANNOUNCING_AGAIN, errors[0], "Write")
