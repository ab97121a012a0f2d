"""The settings of movers, and what they are in librdkafka's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from confluent_kafka import KafkaError
from msgspec import Struct

from adapter.host.logs import LogSettings
from adapter.storage.format import names
from adapter.storage.ledger.kafka import LedgerSettings
from adapter.storage.ledger.kafka_settings import ANSWER_BYTES_MAX, ASSIGNED, RECONNECTS, TIMINGS
from adapter.storage.ledger.port import RECORD_BYTES_MAX
from adapter.storage.ledger.seals import NO_KEYS, SealKeys
from adapter.storage.topics.specs import TopicSettings

PROGRESS_READER = "mqk-mover-progress"
"""Client and group of consumers that read what is committed."""
STREAM = "stream"
EVENTS = "events"
PARTITIONS: Mapping[str, int] = MappingProxyType({STREAM: 0, EVENTS: 1})
"""The partition of the progress topic that each mover has, by the mover's name. A number stays the
mover's for ever; a new mover gets the next one, and existing topics the partition for it. None is
shared: a transaction that one mover left open would hide the progress of the other."""
TRANSACTION_TIMEOUT_MS = 30_000
"""After this Kafka aborts a transaction whose mover is gone; until then readers of the topics that
it had written to wait, if no new mover comes. A new mover aborts it at once."""
MISSING_TOPIC_MS = 5000
"""How long a topic may be unknown before its copies fail; a new one is known within a second."""
FLUSH_TIMEOUT_S = 20.0
BATCH_BYTES = 128 * 1024
"""Kafka returns whole batches even for one message: in batches of 1 MB that took 2.8 ms, in these
1.8."""

BUFFERED_MAX = 100_000
BUFFERED_KBYTES = 1024 * 1024
"""What a producer holds at most, in records and KiB; movers write all before it is full."""


class ProducerWatch(Protocol):
    """Hears what librdkafka would write to stderr, and of errors that belong to no request."""

    def log(self, level: int, text: str, *args: object) -> None:
        """Take a line, as a logger does."""

    def error(self, error: KafkaError) -> None:
        """Take an error."""


class KafkaCluster(Struct, frozen=True):
    """A Kafka. options: further librdkafka settings, for security."""

    bootstrap_servers: str
    options: dict[str, str] = {}


class MoverSettings(Struct, kw_only=True, frozen=True):
    """What movers need to know.

    source: where the ledger is. destination: where the copies go, and with them the progress, which
    is written in their transactions.
    topics: how topics are created at the destination. interval_ms: while entries trickle in,
    how long to collect them: the first after a pause is copied at once, the others wait so long at
    most, and do not cost a transaction each. Under load a transaction takes entries for up to 250
    ms; with 0, every read is a transaction. log: how their process logs. keys: of the ledger's
    seals.
    """

    queue_manager: str
    source: KafkaCluster
    destination: KafkaCluster
    topics: TopicSettings
    interval_ms: int = 50
    log: LogSettings = LogSettings()
    keys: SealKeys = NO_KEYS

    @property
    def progress_topic(self) -> str:
        return names.progress_topic(self.queue_manager)

    @property
    def ledger(self) -> LedgerSettings:
        """Where the ledger is."""
        return LedgerSettings(
            bootstrap_servers=self.source.bootstrap_servers,
            topic=names.ledger_topic(self.queue_manager),
            # What waits in the client is enough, if it is one record: the next fetch then brings
            # all that has come meanwhile, where many fetches would bring them one by one.
            client={**self.source.options, "queued.min.messages": "1"},
            reader=RECONNECTS,
            keys=self.keys,
        )


def producer_settings(
    settings: MoverSettings, transactional_id: str, watch: ProducerWatch, socket_timeout_ms: int
) -> dict[str, Any]:
    """For one of a mover's two producers, and who hears of its troubles.

    socket_timeout_ms: see SocketTimeout.
    """
    return {
        **TIMINGS,
        "request.timeout.ms": 2500,
        "client.id": "mqk-mover",
        **settings.destination.options,
        "bootstrap.servers": settings.destination.bootstrap_servers,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
        "socket.timeout.ms": socket_timeout_ms,
        "retry.backoff.ms": 10,
        "topic.metadata.propagation.max.ms": MISSING_TOPIC_MS,
        "message.max.bytes": RECORD_BYTES_MAX,
        # A flush ends the lingering: large batches under load cost nothing when there is none.
        "linger.ms": 20,
        "batch.size": BATCH_BYTES,
        "queue.buffering.max.messages": BUFFERED_MAX,
        "queue.buffering.max.kbytes": BUFFERED_KBYTES,
        "delivery.report.only.error": True,
        "enable.metrics.push": False,
        # Whatever troubles the connection must be heard of: it makes a commit doubtful.
        "log_level": 6,
        "log.connection.close": True,
        "logger": watch,
        "error_cb": watch.error,
    }


def consumer_settings(
    settings: MoverSettings, on_error: Callable[[KafkaError], None]
) -> dict[str, Any]:
    """For reading progress back: committed records of one assigned partition."""
    return {
        **TIMINGS,
        "client.id": PROGRESS_READER,
        "fetch.wait.max.ms": 1,  # it jumps, and what comes next waits for a fetch without records
        "receive.message.max.bytes": ANSWER_BYTES_MAX,  # the topic of an export is one of others
        **settings.destination.options,
        "bootstrap.servers": settings.destination.bootstrap_servers,
        "group.id": PROGRESS_READER,  # asked for by the client, never used
        **ASSIGNED,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "error_cb": on_error,
    }
