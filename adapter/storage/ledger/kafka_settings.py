"""The settings of a ledger on Kafka, and what they are in librdkafka's words.

Three layers: timings that keep a stall short when a broker fails, what the caller's cluster needs
(security), and what the ledger's safety stands on, which cannot be overridden.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError
from msgspec import Struct

from adapter.storage.ledger.failures import describe
from adapter.storage.ledger.port import RECORD_BYTES_MAX
from adapter.storage.ledger.seals import NO_KEYS, SealKeys, Seals

# Measured with three brokers: commits stall 2-4 s when one fails instead of 7-71 s.
TIMINGS: Mapping[str, Any] = {
    "socket.timeout.ms": 3000,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 100,
    "reconnect.backoff.ms": 100,
    "reconnect.backoff.max.ms": 1000,
    "topic.metadata.refresh.fast.interval.ms": 20,
    "socket.nagle.disable": True,
}

# When no broker answers, librdkafka drops them all and begins again with bootstrap.servers, and the
# new ones know no pause: so it tries again after half of reconnect.backoff.ms, for ever, whatever
# reconnect.backoff.max.ms is. To give that up (metadata.recovery.strategy) would be worse: a client
# that was told of no brokers by one that was just starting would never find any.
RECONNECTS: Mapping[str, Any] = {"reconnect.backoff.ms": 500, "reconnect.backoff.max.ms": 2000}
"""For clients that may take half a second to find their broker again."""

RECONNECTS_AT_ONCE: Mapping[str, Any] = {"reconnect.backoff.ms": 20}
"""For a client of one question. librdkafka 2.16 drops its first connection when Kafka has named the
brokers, with the question that was asked there, and makes the next one after half of this."""
RECONNECTS_SOON: Mapping[str, Any] = {"reconnect.backoff.ms": TIMINGS["reconnect.backoff.ms"]}
"""For one that asks now and then, of which the first question is waited for."""

ASSIGNED: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
}
"""For readers that are assigned their partitions: no stored offsets, no silent resets."""

# The owner has a few entries in flight; more than this is a fault of the caller.
IN_FLIGHT_RECORDS_MAX = 10_000
IN_FLIGHT_KBYTES_MAX = 5 * 128 * 1024

ANSWER_BYTES_MAX = 2**31 - 1
"""Of an answer to a consumer that reads topics of others: an answer has one batch at least, however
long, and librdkafka would ask again for ever for one that is longer than this. The brokers have a
bound of their own: 100 MiB, unless socket.request.max.bytes is another one."""

READER = "mqk-ledger-reader"
"""Client and group of consumers that read ledgers."""

LOG = logging.getLogger("adapter.storage.ledger.kafka")
LOG.addHandler(logging.NullHandler())  # librdkafka would write to stderr


def of_follower(
    bootstrap_servers: str, options: Mapping[str, Any], name: str, ahead_kbytes: int
) -> dict[str, Any]:
    """Return the settings of a consumer that follows topics as they are written, by assignment.

    options: what the cluster needs. name: of the client and its group, which is asked for by the
    client, and by which nothing is read. ahead_kbytes: of records fetched before they are asked
    for.
    """
    return {
        **TIMINGS,
        **RECONNECTS,
        "client.id": name,
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 20,
        "fetch.queue.backoff.ms": 5,
        "receive.message.max.bytes": ANSWER_BYTES_MAX,
        **options,
        "bootstrap.servers": bootstrap_servers,
        "fetch.message.max.bytes": RECORD_BYTES_MAX,
        "queued.max.messages.kbytes": ahead_kbytes,
        "group.id": name,
        **ASSIGNED,
        "isolation.level": "read_committed",
        "check.crcs": True,
        "enable.metrics.push": False,
        "logger": LOG,
    }


class LastError:
    """Remembers what a client said last of an error that belongs to no request.

    A client holds it, and it holds no client: so a client that is let go of is gone at once. A
    callback that is a method of the object that has the client would keep it until the next full
    garbage collection, and with it one of the 1,024 thread keys that a process has.
    """

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, error: KafkaError) -> None:
        self.text = describe(error)


REFUSALS = frozenset(
    {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL}
)


class LastRefusal(LastError):  # noqa: N818 -- it is a callback, and no exception
    """Remembers that Kafka refused a client's password or certificate: a call only times out."""

    def __call__(self, error: KafkaError) -> None:
        if error.code() in REFUSALS:
            super().__call__(error)


class LedgerSettings(Struct, frozen=True, kw_only=True):
    """Where a ledger is, and how long to wait for it.

    client: further librdkafka settings, for security. message_timeout_ms: after it an append is
    doubtful; a slow append alone is no reason to step down, so it is long. take_over_timeout_s:
    for our OWNER_CHANGED. read_timeout_s: without any progress while reading. reader: settings of
    consumers only, of which a producer would complain. keys: of the ledger's seals.
    """

    bootstrap_servers: str
    topic: str
    client: Mapping[str, Any] = {}
    reader: Mapping[str, Any] = {}
    message_timeout_ms: int = 120_000
    take_over_timeout_s: float = 30.0
    read_timeout_s: float = 30.0
    keys: SealKeys = NO_KEYS

    def seals(self) -> Seals:
        """Make what seals and checks the ledger's records."""
        return Seals(self.topic, self.keys)


BATCH_BY_BATCH = {"max.in.flight.requests.per.connection": 1}
"""A partition takes any first number of a producer that it does not know: if it refuses the
first batch and takes the second one, librdkafka holds the first one for written, which is nowhere
(docs/decisions/0014). More is for those who await their first record."""


def producer_settings(
    settings: LedgerSettings, on_error: Callable[[KafkaError], None]
) -> dict[str, Any]:
    """For a producer: idempotent, acknowledged by all, at once, batch by batch."""
    return {
        **TIMINGS,
        "request.timeout.ms": 2500,
        "client.id": "mqk-ledger",
        **settings.client,
        "bootstrap.servers": settings.bootstrap_servers,
        "message.timeout.ms": settings.message_timeout_ms,
        "queue.buffering.max.messages": IN_FLIGHT_RECORDS_MAX,
        "queue.buffering.max.kbytes": IN_FLIGHT_KBYTES_MAX,
        "enable.idempotence": True,
        "acks": "all",
        **BATCH_BY_BATCH,
        "linger.ms": 0,
        "message.max.bytes": RECORD_BYTES_MAX,
        "error_cb": on_error,
        "logger": LOG,
    }


def owner_settings(
    settings: LedgerSettings, on_error: Callable[[KafkaError], None]
) -> dict[str, Any]:
    """For the owner's producer, which awaits its first record: five batches are in flight."""
    return producer_settings(settings, on_error) | {"max.in.flight.requests.per.connection": 5}


def consumer_settings(
    settings: LedgerSettings, on_error: Callable[[KafkaError], None]
) -> dict[str, Any]:
    """For readers of one assigned partition.

    Uncommitted is read: the ledger is not transactional, and nothing may be hidden.
    """
    return {
        **TIMINGS,
        "client.id": READER,
        "fetch.wait.max.ms": 500,  # new records answer it at once; an idle reader asks rarely
        "fetch.error.backoff.ms": 20,
        "fetch.queue.backoff.ms": 5,
        "fetch.message.max.bytes": RECORD_BYTES_MAX,
        **settings.reader,
        **settings.client,
        "bootstrap.servers": settings.bootstrap_servers,
        "group.id": READER,  # asked for by the client, never used
        **ASSIGNED,
        "isolation.level": "read_uncommitted",
        "check.crcs": True,
        "error_cb": on_error,
        "logger": LOG,
    }


def admin_settings(settings: LedgerSettings) -> dict[str, Any]:
    """For deleting records."""
    return {
        **TIMINGS,
        "client.id": "mqk-ledger-trim",
        **settings.client,
        "bootstrap.servers": settings.bootstrap_servers,
        "logger": LOG,
    }
